/* OffsetFetch for one group: a read of committed offsets, answered at once. The handler splits a
 * request over groups and shards, and turns old versions into this shape.
 *
 * Kafka behaviour: a group that is not there has offset -1 everywhere, without an error; with
 * require_stable (KIP-447) a partition that an open transaction has committed to answers
 * UNSTABLE_OFFSET_COMMIT. Kafka delays such a request until plain commits under way are done; here
 * the partition answers the same retriable error meanwhile. A member id or epoch is checked for
 * groups of the consumer protocol only: none of their members can be alive here.
 * Called under the shard holder's lock. */
#include "coord/answers.h"
#include "coord/group.h"
#include "coord/offset_store.h"
#include "coord/offsets.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_offset_fetch.h"

struct offset_fetch {
    const struct coord_shard *shard;
    bool require_stable;
    struct arena *arena;
};

static bool is_unstable(const struct offset_entry *entry, const struct offset_value *committed)
{
    if (entry->pending > 0)
        return true;
    return entry->newest &&
           !(committed == entry->newest || (!committed && entry->newest->tombstone));
}

/* A commit for a topic of this name that was deleted since; ids that are not known agree. */
static bool is_of_other_topic(const struct offset_value *value, const struct uuid *topic_id)
{
    return !uuid_is_zero(&value->topic_id) && !uuid_is_zero(topic_id) &&
           !uuid_eq(&value->topic_id, topic_id);
}

static void fetch_partition(const struct offset_fetch *fetch, const struct offset_entry *entry,
                            int32_t partition, const struct uuid *topic_id,
                            struct offset_fetch_response_offset_fetch_response_partitions *item)
{
    const struct offset_value *value = offset_store_committed(fetch->shard, entry);
    item->partition_index = partition;
    item->committed_offset = -1;
    item->metadata = SLICE_LIT("");
    if (entry && fetch->require_stable && is_unstable(entry, value)) {
        item->error_code = err_to_wire(ERR_UNSTABLE_OFFSET_COMMIT);
    } else if (value && !is_of_other_topic(value, topic_id)) {
        item->committed_offset = value->offset;
        item->committed_leader_epoch = value->leader_epoch;
        if (value->metadata_size > 0)
            item->metadata =
                arena_dup(fetch->arena, slice_of(value->metadata, value->metadata_size));
    }
}

static void fetch_asked(const struct offset_fetch *fetch, const struct offset_group *offsets,
                        const struct offset_fetch_request_offset_fetch_request_group *request,
                        struct offset_fetch_response_offset_fetch_response_group *ret_group)
{
    struct offset_fetch_response_offset_fetch_response_topics *topics =
        offset_fetch_response_offset_fetch_response_group_topics_new(fetch->arena, ret_group,
                                                                     request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct offset_fetch_request_offset_fetch_request_topics *asked = &request->topics[t];
        const struct offset_topic *stored = offset_store_topic(offsets, asked->name);
        struct offset_fetch_response_offset_fetch_response_partitions *items =
            offset_fetch_response_offset_fetch_response_topics_partitions_new(
                fetch->arena, &topics[t], asked->partition_indexes_count);
        topics[t].name = asked->name;
        topics[t].topic_id = asked->topic_id;
        for (int32_t p = 0; p < asked->partition_indexes_count; p++) {
            int32_t partition = asked->partition_indexes[p];
            fetch_partition(fetch, offset_store_entry(stored, partition), partition,
                            &asked->topic_id, &items[p]);
        }
    }
}

/* Whether a partition is part of the answer for all topics: Kafka walks what is committed. */
static bool has_offset(const struct offset_fetch *fetch, const struct offset_entry *entry)
{
    return offset_store_committed(fetch->shard, entry) != NULL;
}

static void fetch_all(const struct offset_fetch *fetch, const struct offset_group *offsets,
                      struct offset_fetch_response_offset_fetch_response_group *ret_group)
{
    int32_t count = 0;
    struct offset_fetch_response_offset_fetch_response_topics *topics =
        offset_fetch_response_offset_fetch_response_group_topics_new(
            fetch->arena, ret_group, (int32_t)map_count(&offsets->topics));
    for (size_t t = 0; t < map_count(&offsets->topics); t++) {
        const struct offset_topic *stored = map_at(&offsets->topics, t);
        int32_t item_count = 0;
        struct offset_fetch_response_offset_fetch_response_partitions *items =
            offset_fetch_response_offset_fetch_response_topics_partitions_new(
                fetch->arena, &topics[count], (int32_t)stored->count);
        for (size_t p = 0; p < stored->count; p++) {
            const struct offset_entry *entry = &stored->entries[p];
            if (!has_offset(fetch, entry))
                continue;
            const struct uuid *topic_id = &offset_store_committed(fetch->shard, entry)->topic_id;
            fetch_partition(fetch, entry, entry->partition, topic_id, &items[item_count++]);
            topics[count].topic_id = *topic_id;
        }
        if (item_count == 0)
            continue;
        topics[count].name = arena_dup(fetch->arena, stored->name);
        topics[count].partitions_count = item_count;
        count++;
    }
    ret_group->topics_count = count;
}

static enum err check_fetch(const struct group *group,
                            const struct offset_fetch_request_offset_fetch_request_group *request)
{
    bool as_member = !slice_is_null(request->member_id) || request->member_epoch >= 0;
    bool modern = group && (group->kind == GROUP_CONSUMER || group->kind == GROUP_STREAMS);
    return modern && as_member ? ERR_UNKNOWN_MEMBER_ID : ERR_NONE;
}

void coord_offsets_fetch(struct coord_shard *shard, const struct coord_event *event,
                         const struct offset_fetch_request_offset_fetch_request_group *request,
                         bool require_stable, struct arena *arena,
                         struct offset_fetch_response_offset_fetch_response_group *ret_group)
{
    struct offset_fetch fetch = {shard, require_stable, arena};
    const struct group *group = shard_group_committed(shard, request->group_id);
    enum err err = coord_shard_state(shard);
    if (!err)
        err = check_fetch(group, request);
    if (err) {
        coord_answer_offset_fetch(event->version, err, request, arena, ret_group);
        return;
    }
    *ret_group =
        (struct offset_fetch_response_offset_fetch_response_group){.group_id = request->group_id};
    const struct offset_group *offsets =
        group ? offset_store_group(shard, request->group_id) : NULL;
    if (request->topics_count >= 0)
        fetch_asked(&fetch, offsets, request, ret_group);
    else if (offsets)
        fetch_all(&fetch, offsets, ret_group);
}
