/* DeleteGroups: an empty classic group goes with all its offsets, pending ones of open transactions
 * included: tombstones in one batch, the answer after their commit. Groups with members answer
 * NON_EMPTY_GROUP, unknown ones GROUP_ID_NOT_FOUND. Empty ones of the kinds that are not served,
 * whose records must not be overwritten, answer UNSUPPORTED_VERSION (Kafka deletes them): they are
 * there, and who deletes by script must not take them for deleted. Called under the shard holder's
 * lock. */
#include "coord/answers.h"
#include "coord/group.h"
#include "coord/group_record.h"
#include "coord/groups.h"
#include "coord/offset_store.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_delete_groups.h"

/* Changes the answer in place: other parts of the request may be using its arena by then. */
static void delete_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct delete_groups_response *response = write->reply->response;
    for (int32_t i = 0; error && i < response->results_count; i++)
        response->results[i].error_code = err_to_wire(error);
    shard_reply_complete(shard, write->reply);
}

static enum err check_delete(const struct group *group)
{
    if (group && group->kind != GROUP_CLASSIC)
        return map_count(&group->foreign_members) == 0 ? ERR_UNSUPPORTED_VERSION
                                                       : ERR_NON_EMPTY_GROUP;
    if (!group || group->state == GROUP_DEAD)
        return ERR_GROUP_ID_NOT_FOUND;
    return group->state == GROUP_EMPTY ? ERR_NONE : ERR_NON_EMPTY_GROUP;
}

static void put_offset_tombstones(const struct coord_shard *shard, struct slice group_id,
                                  struct shard_records *records)
{
    const struct offset_group *offsets = offset_store_group(shard, group_id);
    for (size_t t = 0; offsets && t < map_count(&offsets->topics); t++) {
        const struct offset_topic *topic = map_at(&offsets->topics, t);
        for (size_t p = 0; p < topic->count; p++) {
            const struct offset_entry *entry = &topic->entries[p];
            if (offset_store_newest(entry) || entry->pending > 0)
                group_record_offset_tombstone(records, group_id, topic->name, entry->partition);
        }
    }
}

/* Kafka's answer is a set: an id that is named twice is answered, and deleted, once. */
static bool named_before(const struct slice *group_ids, int32_t index)
{
    for (int32_t i = 0; i < index; i++) {
        if (slice_eq(group_ids[i], group_ids[index]))
            return true;
    }
    return false;
}

void coord_groups_delete(struct coord_shard *shard, const struct coord_event *event,
                         const struct slice *group_ids, int32_t group_id_count,
                         struct coord_reply *reply, struct coord_update *update)
{
    enum err state;
    shard_enter(shard, event, update, &state);
    shard_reply_begin(shard, reply);
    coord_answer_delete_groups(state, group_ids, group_id_count, reply->arena, reply->response);
    struct delete_groups_response *response = reply->response;
    struct shard_records records;
    shard_records_init(&records);
    int32_t count = 0;
    for (int32_t i = 0; !state && i < group_id_count; i++) {
        if (named_before(group_ids, i))
            continue;
        enum err err = check_delete(shard_group(shard, group_ids[i]));
        response->results[count].group_id = group_ids[i];
        response->results[count].error_code = err_to_wire(err);
        count++;
        if (err)
            continue;
        put_offset_tombstones(shard, group_ids[i], &records);
        group_record_tombstone(&records, group_ids[i]);
    }
    if (state) {
        shard_reply_complete(shard, reply);
    } else {
        response->results_count = count;
        shard_append(shard, &records, &(struct shard_write){.done = delete_done, .reply = reply});
    }
    shard_records_fini(&records);
    shard_leave(shard);
}
