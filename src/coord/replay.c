/* Records of __consumer_offsets into the shard's state: while loading (everything), and live after
 * each append of our own (offsets and tombstones; a classic group's members are ahead of their
 * record already, so that one only tells where the group began).
 *
 * Kafka behaviour: offsets of a group without a record make a "simple" group (Empty, no protocol
 * type); commits in a batch with a producer id wait for its marker; an offset tombstone drops
 * pending commits too; unknown record types are skipped, for they come from a later version.
 * Consumer, share and streams groups are kept as what they are: that they exist and which members
 * they have, so that classic requests for them are refused and nothing overwrites them. */
#include "coord/replay.h"

#include "base/cursor.h"
#include "coord/group.h"
#include "coord/group_record.h"
#include "coord/offset_store.h"
#include "record/control.h"
#include "record/records.h"
#include "wire/codec.h"
#include "wire_group_records.h"

/* One record on its way into the state. */
struct replay {
    struct coord_shard *shard;
    bool live;
    int64_t offset;
    int64_t producer_id; /* -1 = not in a transaction */
    int16_t type;
    struct cursor key;  /* behind the type */
    struct slice value; /* null = tombstone */
};

static struct slice read_string(struct cursor *c)
{
    int16_t size = cursor_i16(c);
    if (size < 0) {
        c->failed = true;
        return SLICE_NULL;
    }
    return cursor_slice(c, (size_t)size);
}

/* Decodes a value: its version, then the body. A version above ours is read as the latest we know:
 * flexible versions only add tagged fields. */
static enum err read_value(const struct wire_schema *schema, struct slice value,
                           struct arena *arena, void *ret_message)
{
    struct cursor c = cursor_of(value);
    int version = cursor_i16(&c);
    if (c.failed || version < schema->first)
        return ERR_CORRUPT;
    if (version > schema->last)
        version = schema->last;
    return wire_decode(schema, version, &c, arena, ret_message) ? ERR_CORRUPT : ERR_NONE;
}

static void simple_group(struct replay *r, struct slice group_id)
{
    struct group *group = shard_group(r->shard, group_id);
    if (!group) {
        group = group_new(group_id, GROUP_CLASSIC);
        if (r->live)
            group->state_timestamp_ms = r->shard->event->wall_ms;
        shard_group_add(r->shard, group);
    }
    if (group->created_offset > r->offset)
        group->created_offset = r->offset;
}

static enum err replay_offset(struct replay *r)
{
    struct slice group_id = read_string(&r->key);
    struct slice topic = read_string(&r->key);
    int32_t partition = cursor_i32(&r->key);
    if (r->key.failed)
        return ERR_CORRUPT;
    if (slice_is_null(r->value)) {
        offset_store_remove(r->shard, group_id, topic, partition, r->offset);
        return ERR_NONE;
    }
    struct arena arena;
    arena_init(&arena);
    struct offset_commit_value record;
    enum err err = read_value(&wire_offset_commit_value, r->value, &arena, &record);
    if (!err) {
        const struct offset_value value = {
            .record_offset = r->offset,
            .offset = record.offset,
            .leader_epoch = record.leader_epoch,
            .commit_timestamp_ms = record.commit_timestamp,
            .expire_timestamp_ms = record.expire_timestamp,
            .topic_id = record.topic_id,
        };
        simple_group(r, group_id);
        if (r->producer_id >= 0)
            offset_store_put_pending(r->shard, r->producer_id, group_id, topic, partition, &value,
                                     record.metadata);
        else
            offset_store_put(r->shard, group_id, topic, partition, &value, record.metadata);
    }
    arena_fini(&arena);
    return err;
}

static void load_member(struct coord_shard *shard, struct group *group,
                        const struct group_metadata_value *record,
                        const struct group_metadata_value_member_metadata *item)
{
    if (group_member(group, item->member_id) ||
        (!slice_is_null(item->group_instance_id) &&
         map_get(&group->static_members, item->group_instance_id)))
        return; /* not written so by any coordinator; the first one counts */
    struct member *member = member_new(group, item->member_id, item->group_instance_id);
    member->client_id = slice_dup(item->client_id);
    member->client_host = slice_dup(item->client_host);
    member->session_timeout_ms = item->session_timeout;
    member->rebalance_timeout_ms =
        item->rebalance_timeout == -1 ? item->session_timeout : item->rebalance_timeout;
    struct member_protocol protocol = {
        slice_is_null(record->protocol) ? SLICE_LIT("") : record->protocol, item->subscription};
    struct group_offer offer = {record->protocol_type, &protocol, 1};
    member_set_protocols(member, &offer);
    member_set_assignment(member, item->assignment);
    group_add_member(shard, group, member, record->protocol_type);
}

static void load_group(struct replay *r, struct slice group_id,
                       const struct group_metadata_value *record)
{
    struct group *before = shard_group(r->shard, group_id);
    if (before)
        shard_group_remove(r->shard, before, INT64_MAX);
    struct group *group = group_new(group_id, GROUP_CLASSIC);
    group->created_offset = r->offset;
    group->generation = record->generation;
    group->state = record->members_count > 0 ? GROUP_STABLE : GROUP_EMPTY;
    group->state_timestamp_ms = record->current_state_timestamp;
    group_set_text(&group->protocol_name, record->protocol);
    group_set_text(&group->leader, record->leader);
    for (int32_t i = 0; i < record->members_count; i++)
        load_member(r->shard, group, record, &record->members[i]);
    /* Without members the type stays from the generation before; "" is none. */
    group_set_text(&group->protocol_type,
                   record->protocol_type.size > 0 ? record->protocol_type : SLICE_NULL);
    shard_group_add(r->shard, group);
}

static enum err replay_group(struct replay *r)
{
    struct slice group_id = read_string(&r->key);
    if (r->key.failed)
        return ERR_CORRUPT;
    struct group *group = shard_group(r->shard, group_id);
    if (slice_is_null(r->value)) {
        if (group && group->kind == GROUP_CLASSIC)
            shard_group_remove(r->shard, group, r->offset);
        return ERR_NONE;
    }
    if (r->live) {
        if (group && group->created_offset > r->offset)
            group->created_offset = r->offset;
        return ERR_NONE;
    }
    struct arena arena;
    arena_init(&arena);
    struct group_metadata_value record;
    enum err err = read_value(&wire_group_metadata_value, r->value, &arena, &record);
    if (!err)
        load_group(r, group_id, &record);
    arena_fini(&arena);
    return err;
}

/* The group of a record of another kind; made, or put in a classic group's place, when there is
 * something to keep. */
static struct group *foreign_group(struct replay *r, struct slice group_id, enum group_kind kind,
                                   bool make)
{
    struct group *group = shard_group(r->shard, group_id);
    if (group && group->kind == kind)
        return group;
    if (!make)
        return NULL;
    if (group)
        shard_group_remove(r->shard, group, INT64_MAX);
    group = group_new(group_id, kind);
    group->created_offset = r->offset;
    shard_group_add(r->shard, group);
    return group;
}

static enum err replay_foreign(struct replay *r, enum group_kind kind, bool is_member)
{
    struct slice group_id = read_string(&r->key);
    struct slice member_id = is_member ? read_string(&r->key) : SLICE_NULL;
    if (r->key.failed)
        return ERR_CORRUPT;
    bool tombstone = slice_is_null(r->value);
    struct group *group = foreign_group(r, group_id, kind, !tombstone);
    if (!group)
        return ERR_NONE;
    if (is_member && tombstone)
        group_foreign_remove(group, member_id);
    else if (is_member)
        group_foreign_add(group, member_id);
    else if (tombstone)
        shard_group_remove(r->shard, group, r->offset);
    return ERR_NONE;
}

static enum err replay_data(struct replay *r, const struct record *record)
{
    r->key = cursor_of(record->key);
    r->type = cursor_i16(&r->key);
    r->value = record->value;
    if (r->key.failed)
        return ERR_CORRUPT;
    switch (r->type) {
    case GROUP_RECORD_OFFSET_LEGACY:
    case GROUP_RECORD_OFFSET: return replay_offset(r);
    case GROUP_RECORD_METADATA: return replay_group(r);
    case GROUP_RECORD_CONSUMER_METADATA: return replay_foreign(r, GROUP_CONSUMER, false);
    case GROUP_RECORD_CONSUMER_MEMBER: return replay_foreign(r, GROUP_CONSUMER, true);
    case GROUP_RECORD_SHARE_METADATA: return replay_foreign(r, GROUP_SHARE, false);
    case GROUP_RECORD_SHARE_MEMBER: return replay_foreign(r, GROUP_SHARE, true);
    case GROUP_RECORD_STREAMS_METADATA: return replay_foreign(r, GROUP_STREAMS, false);
    case GROUP_RECORD_STREAMS_MEMBER: return replay_foreign(r, GROUP_STREAMS, true);
    default: /* details of the other kinds, and types of later versions */ return ERR_NONE;
    }
}

static enum err replay_control(struct replay *r, const struct record *record)
{
    enum control_type type;
    if (control_parse_type(record, &type))
        return ERR_CORRUPT;
    if (type == CONTROL_COMMIT || type == CONTROL_ABORT)
        offset_store_end(r->shard, r->producer_id, type == CONTROL_COMMIT, r->offset);
    return ERR_NONE;
}

enum err replay_record(struct coord_shard *shard, const struct shard_record *item)
{
    struct replay replay = {.shard = shard,
                            .live = item->live,
                            .offset = item->offset,
                            .producer_id = item->producer_id};
    return item->control ? replay_control(&replay, item->record)
                         : replay_data(&replay, item->record);
}
