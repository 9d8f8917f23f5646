/* Retention of offsets (KIP-211), every offsets.retention.check.interval.ms: an offset goes when
 * offsets.retention.minutes have passed since
 *   - its group became Empty (its record may be old and not tell: then since the commit),
 *   - the commit, for a group without protocol type (stand-alone consumers), or for one that is
 *     Stable with the consumer protocol and no longer subscribed to the topic;
 * one with an explicit expiry when that is past. Offsets with a pending transactional commit stay.
 * A group without members and offsets goes, too. Groups of the kinds not served are left alone.
 * Called under the shard holder's lock, by coord_shard_tick. */
#include "coord/expiry.h"

#include "coord/group.h"
#include "coord/group_record.h"
#include "coord/offset_store.h"

struct expiry {
    struct coord_shard *shard;
    const struct group *group;
    bool by_state_change; /* else by commit */
    bool all_subscribed;
    struct map subscribed; /* topic names */
    struct shard_records *records;
};

static bool is_expired(const struct expiry *e, const struct offset_value *value)
{
    int64_t now_ms = e->shard->event->wall_ms;
    if (value->expire_timestamp_ms >= 0)
        return now_ms >= value->expire_timestamp_ms;
    int64_t since_ms = e->by_state_change && e->group->state_timestamp_ms >= 0
                           ? e->group->state_timestamp_ms
                           : value->commit_timestamp_ms;
    int64_t age_ms; /* a record may hold any number: what cannot be an age is not expired */
    return !__builtin_sub_overflow(now_ms, since_ms, &age_ms) &&
           age_ms >= e->shard->config.offsets_retention_ms;
}

/* Whether this group's offsets may expire now, and by which rule. */
static bool may_expire(struct expiry *e)
{
    const struct group *group = e->group;
    if (slice_is_null(group->protocol_type))
        return true;
    bool known = group_subscription(group, &e->subscribed);
    e->all_subscribed = !known && group_uses_consumer_protocol(group);
    if (group->state == GROUP_EMPTY) {
        e->by_state_change = true;
        return true;
    }
    return known && group->state == GROUP_STABLE;
}

/* Writes the tombstones; false when an offset stays. */
static bool expire_offsets(struct expiry *e, const struct offset_group *offsets)
{
    bool all = true;
    for (size_t t = 0; t < map_count(&offsets->topics); t++) {
        const struct offset_topic *topic = map_at(&offsets->topics, t);
        bool kept = e->all_subscribed || map_get(&e->subscribed, topic->name);
        for (size_t p = 0; p < topic->count; p++) {
            const struct offset_entry *entry = &topic->entries[p];
            const struct offset_value *value = offset_store_newest(entry);
            if (!value && entry->pending == 0)
                continue;
            if (kept || !value || entry->pending > 0 || !is_expired(e, value)) {
                all = false;
                continue;
            }
            group_record_offset_tombstone(e->records, e->group->id, topic->name, entry->partition);
        }
    }
    return all;
}

static void expire_group(struct coord_shard *shard, const struct group *group,
                         struct shard_records *records)
{
    if (group->kind != GROUP_CLASSIC)
        return;
    struct expiry e = {.shard = shard, .group = group, .records = records};
    const struct offset_group *offsets = offset_store_group(shard, group->id);
    bool all = true;
    map_init(&e.subscribed);
    if (offsets)
        all = may_expire(&e) && expire_offsets(&e, offsets) && offsets->pending == 0;
    map_fini(&e.subscribed);
    /* A handed out member id that is about to be used keeps the group. */
    if (all && group->state == GROUP_EMPTY && map_count(&group->pending_members) == 0)
        group_record_tombstone(records, group->id);
}

void expiry_run(struct coord_shard *shard)
{
    struct shard_records records;
    shard_records_init(&records);
    for (size_t i = 0; i < map_count(&shard_groups(shard)->groups); i++)
        expire_group(shard, map_at(&shard_groups(shard)->groups, i), &records);
    shard_append_split(shard, &records);
    shard_records_fini(&records);
}
