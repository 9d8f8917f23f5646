/* OffsetCommit, OffsetDelete, and what the deletion of a topic does to offsets. TxnOffsetCommit is
 * in offsets_txn.c.
 *
 * Kafka behaviour: a commit without generation to a group that is not there makes a "simple" group
 * (KAFKA-14201: with generation -1, member and instance id are ignored while the group is Empty); a
 * member's commit keeps its session alive; a group that waits for its assignments answers
 * REBALANCE_IN_PROGRESS. An unknown group with a generation is ILLEGAL_GENERATION, from version 9
 * GROUP_ID_NOT_FOUND.
 * Called under the shard holder's lock. */
#include "coord/offsets.h"

#include "coord/answers.h"
#include "coord/group.h"
#include "coord/group_record.h"
#include "coord/offset_store.h"
#include "coord/rebalance.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_offset_commit.h"
#include "wire_offset_delete.h"

enum {
    OFFSETS_GROUP_NOT_FOUND_SINCE = 9, /* of OffsetCommit: the error that old clients do not know */
};

/* ---- commit ------------------------------------------------------------------------------ */

static enum err check_commit(const struct group *group, int16_t version,
                             const struct offset_commit_request *request)
{
    int32_t generation = request->generation_id_or_member_epoch;
    if (!group) {
        if (generation < 0)
            return ERR_NONE;
        return version >= OFFSETS_GROUP_NOT_FOUND_SINCE ? ERR_GROUP_ID_NOT_FOUND
                                                        : ERR_ILLEGAL_GENERATION;
    }
    if (group->kind == GROUP_SHARE)
        return ERR_GROUP_ID_NOT_FOUND;
    if (group->kind != GROUP_CLASSIC)
        return generation < 0 && map_count(&group->foreign_members) == 0 ? ERR_NONE
                                                                         : ERR_UNKNOWN_MEMBER_ID;
    if (generation < 0 && group->state == GROUP_EMPTY)
        return ERR_NONE;
    if (generation < 0 && request->member_id.size == 0 && slice_is_null(request->group_instance_id))
        return ERR_UNKNOWN_MEMBER_ID;
    enum err err = group_check_member(group, request->member_id, request->group_instance_id);
    if (err)
        return err;
    if (generation != group->generation)
        return ERR_ILLEGAL_GENERATION;
    return group->state == GROUP_COMPLETING_REBALANCE ? ERR_REBALANCE_IN_PROGRESS : ERR_NONE;
}

static void touch(struct coord_shard *shard, struct group *group, struct slice member_id)
{
    if (!group || group->kind != GROUP_CLASSIC ||
        (group->state != GROUP_STABLE && group->state != GROUP_PREPARING_REBALANCE))
        return;
    struct member *member = group_member(group, member_id);
    if (member)
        rebalance_touch(shard, member);
}

/* When a commit with this retention expires; -1 = by the broker's setting. */
static int64_t expire_at(int64_t now_ms, int64_t retention_ms)
{
    int64_t at_ms;
    if (retention_ms == -1)
        return -1;
    if (__builtin_add_overflow(now_ms, retention_ms, &at_ms))
        return INT64_MAX;
    return at_ms < 0 ? 0 : at_ms;
}

/* Writes the topic's records and fills its answers. */
static void commit_topic(struct coord_shard *shard, const struct offset_commit_request *request,
                         int32_t index, struct offset_commit_response *response,
                         struct shard_records *records)
{
    const struct offset_commit_request_offset_commit_request_topic *topic = &request->topics[index];
    int64_t now_ms = shard->event->wall_ms;
    struct offset_value value = {
        .commit_timestamp_ms = now_ms,
        .expire_timestamp_ms = expire_at(now_ms, request->retention_time_ms),
        .topic_id = topic->topic_id,
    };
    for (int32_t p = 0; p < topic->partitions_count; p++) {
        const struct offset_commit_request_offset_commit_request_partition *asked =
            &topic->partitions[p];
        value.offset = asked->committed_offset;
        value.leader_epoch = asked->committed_leader_epoch;
        enum err err = group_record_commit(
            records, request->group_id, topic->name, asked->partition_index, &value,
            asked->committed_metadata, shard->config.offset_metadata_size_max);
        if (err)
            response->topics[index].partitions[p].error_code = err_to_wire(err);
    }
}

static void commit_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct offset_commit_response *response = write->reply->response;
    for (int32_t t = 0; error && t < response->topics_count; t++) {
        for (int32_t p = 0; p < response->topics[t].partitions_count; p++)
            response->topics[t].partitions[p].error_code = err_to_wire(error);
    }
    shard_reply_complete(shard, write->reply);
}

void coord_offsets_commit(struct coord_shard *shard, const struct coord_event *event,
                          const struct offset_commit_request *request, struct coord_reply *reply,
                          struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    struct group *group = err ? NULL : shard_group(shard, request->group_id);
    if (!err)
        err = check_commit(group, event->version, request);
    coord_answer_offset_commit(err, request, reply->arena, reply->response);
    if (err) {
        shard_reply_complete(shard, reply);
    } else {
        touch(shard, group, request->member_id);
        struct shard_records records;
        shard_records_init(&records);
        for (int32_t t = 0; t < request->topics_count; t++)
            commit_topic(shard, request, t, reply->response, &records);
        shard_append(shard, &records, &(struct shard_write){.done = commit_done, .reply = reply});
        shard_records_fini(&records);
    }
    shard_leave(shard);
}

/* ---- delete ------------------------------------------------------------------------------ */

static enum err check_delete(const struct group *group)
{
    if (!group || group->kind == GROUP_SHARE)
        return ERR_GROUP_ID_NOT_FOUND;
    if (group->kind != GROUP_CLASSIC)
        return map_count(&group->foreign_members) == 0 ? ERR_NONE : ERR_NON_EMPTY_GROUP;
    if (group->state == GROUP_DEAD)
        return ERR_GROUP_ID_NOT_FOUND;
    if (group->state != GROUP_EMPTY && !group_uses_consumer_protocol(group))
        return ERR_NON_EMPTY_GROUP;
    return ERR_NONE;
}

static void delete_topics(struct coord_shard *shard, const struct group *group,
                          const struct offset_delete_request *request, struct coord_reply *reply,
                          struct shard_records *records)
{
    struct map subscribed;
    map_init(&subscribed);
    bool known = group_subscription(group, &subscribed);
    bool all = !known && group_uses_consumer_protocol(group);
    struct offset_delete_response_offset_delete_response_topic *topics =
        offset_delete_response_topics_new(reply->arena, reply->response, request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct offset_delete_request_offset_delete_request_topic *asked = &request->topics[t];
        struct offset_delete_response_offset_delete_response_partition *items =
            offset_delete_response_offset_delete_response_topic_partitions_new(
                reply->arena, &topics[t], asked->partitions_count);
        const struct offset_topic *stored =
            offset_store_topic(offset_store_group(shard, request->group_id), asked->name);
        bool in_use = all || map_get(&subscribed, asked->name);
        topics[t].name = asked->name;
        for (int32_t p = 0; p < asked->partitions_count; p++) {
            int32_t partition = asked->partitions[p].partition_index;
            const struct offset_entry *entry = offset_store_entry(stored, partition);
            items[p].partition_index = partition;
            if (in_use)
                items[p].error_code = err_to_wire(ERR_GROUP_SUBSCRIBED_TO_TOPIC);
            else if (offset_store_newest(entry) || (entry && entry->pending > 0))
                group_record_offset_tombstone(records, request->group_id, asked->name, partition);
        }
    }
    map_fini(&subscribed);
}

static void delete_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    if (error)
        coord_answer_offset_delete(error, write->reply->response);
    shard_reply_complete(shard, write->reply);
}

void coord_offsets_delete(struct coord_shard *shard, const struct coord_event *event,
                          const struct offset_delete_request *request, struct coord_reply *reply,
                          struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    if (request->group_id.size == 0)
        err = ERR_INVALID_GROUP_ID;
    const struct group *group = err ? NULL : shard_group(shard, request->group_id);
    if (!err)
        err = check_delete(group);
    coord_answer_offset_delete(err, reply->response);
    if (err) {
        shard_reply_complete(shard, reply);
    } else {
        struct shard_records records;
        shard_records_init(&records);
        delete_topics(shard, group, request, reply, &records);
        shard_append(shard, &records, &(struct shard_write){.done = delete_done, .reply = reply});
        shard_records_fini(&records);
    }
    shard_leave(shard);
}

void coord_offsets_topics_deleted(struct coord_shard *shard, const struct coord_event *event,
                                  const struct slice *names, size_t name_count,
                                  struct coord_update *update)
{
    enum err err;
    bool serves = shard_enter(shard, event, update, &err);
    struct shard_records records;
    shard_records_init(&records);
    for (size_t g = 0; serves && g < map_count(&shard_groups(shard)->offsets); g++) {
        const struct offset_group *group = map_at(&shard_groups(shard)->offsets, g);
        for (size_t n = 0; n < name_count; n++) {
            const struct offset_topic *topic = offset_store_topic(group, names[n]);
            for (size_t p = 0; topic && p < topic->count; p++) {
                const struct offset_entry *entry = &topic->entries[p];
                if (offset_store_newest(entry) || entry->pending > 0)
                    group_record_offset_tombstone(&records, group->id, names[n], entry->partition);
            }
        }
    }
    if (serves)
        shard_append_split(shard, &records);
    shard_records_fini(&records);
    shard_leave(shard);
}
