/* Records of __consumer_offsets as Kafka 4.4 writes them: an int16 record type and the key body; an
 * int16 version and the value body, or a null value as tombstone. OffsetCommitValue has version 4,
 * with an explicit expiry (OffsetCommit 2 to 4 with a retention) version 1, the only one that has
 * the field; GroupMetadataValue has version 3. */
#include "coord/group_record.h"

#include "base/ensure.h"
#include "wire/codec.h"
#include "wire_group_records.h"

enum {
    OFFSET_VALUE_VERSION = 4,
    OFFSET_VALUE_VERSION_EXPIRING = 1,
    GROUP_VALUE_VERSION = 3,
};

static void put_string(struct buf *b, struct slice s)
{
    ENSURE_CMP(s.size, <=, GROUP_RECORD_STRING_MAX);
    buf_put_i16(b, (int16_t)s.size);
    buf_put_slice(b, s);
}

static void put_offset_key(struct buf *b, struct slice group_id, struct slice topic,
                           int32_t partition)
{
    buf_put_i16(b, GROUP_RECORD_OFFSET);
    put_string(b, group_id);
    put_string(b, topic);
    buf_put_i32(b, partition);
}

static void put_value(struct buf *b, const struct wire_schema *schema, int16_t version,
                      const void *value)
{
    buf_put_i16(b, version);
    enum err err = wire_encode(schema, version, value, b, NULL);
    ENSURE_CMP(err, ==, ERR_NONE); /* lengths were checked when the texts came in */
}

/* Java's length of a text: its UTF-16 units. */
static size_t utf16_units(struct slice text)
{
    size_t units = 0;
    for (size_t i = 0; i < text.size; i++)
        units += (text.data[i] & 0xc0) == 0x80 ? 0 : text.data[i] >= 0xf0 ? 2 : 1;
    return units;
}

enum err group_record_commit(struct shard_records *records, struct slice group_id,
                             struct slice topic, int32_t partition,
                             const struct offset_value *value, struct slice metadata,
                             int32_t units_max)
{
    if (utf16_units(metadata) > (size_t)units_max)
        return ERR_OFFSET_METADATA_TOO_LARGE;
    struct buf *b = &records->bytes;
    size_t start = b->size;
    put_offset_key(b, group_id, topic, partition);
    size_t key_end = b->size;
    struct offset_commit_value record;
    wire_init(&wire_offset_commit_value, &record);
    record.offset = value->offset;
    record.metadata = slice_is_null(metadata) ? SLICE_LIT("") : metadata;
    record.commit_timestamp = value->commit_timestamp_ms;
    if (value->expire_timestamp_ms >= 0) {
        record.expire_timestamp = value->expire_timestamp_ms;
        put_value(b, &wire_offset_commit_value, OFFSET_VALUE_VERSION_EXPIRING, &record);
    } else {
        record.leader_epoch = value->leader_epoch < 0 ? -1 : value->leader_epoch;
        record.topic_id = value->topic_id;
        put_value(b, &wire_offset_commit_value, OFFSET_VALUE_VERSION, &record);
    }
    shard_records_close(records, start, key_end, false);
    return ERR_NONE;
}

void group_record_offset_tombstone(struct shard_records *records, struct slice group_id,
                                   struct slice topic, int32_t partition)
{
    size_t start = records->bytes.size;
    put_offset_key(&records->bytes, group_id, topic, partition);
    shard_records_close(records, start, records->bytes.size, true);
}

static void put_group_key(struct buf *b, struct slice group_id)
{
    buf_put_i16(b, GROUP_RECORD_METADATA);
    put_string(b, group_id);
}

void group_record_metadata(struct shard_records *records, const struct group *group, bool next)
{
    struct buf *b = &records->bytes;
    size_t start = b->size;
    put_group_key(b, group->id);
    size_t key_end = b->size;
    struct arena arena;
    arena_init(&arena);
    struct group_metadata_value record;
    wire_init(&wire_group_metadata_value, &record);
    if (!slice_is_null(group->protocol_type))
        record.protocol_type = group->protocol_type;
    record.generation = group->generation;
    record.protocol = group->protocol_name;
    record.leader = group->leader;
    record.current_state_timestamp = group->state_timestamp_ms;
    int32_t count = (int32_t)map_count(&group->members);
    struct group_metadata_value_member_metadata *items =
        group_metadata_value_members_new(&arena, &record, count);
    for (int32_t i = 0; i < count; i++) {
        const struct member *member = map_at(&group->members, (size_t)i);
        struct slice assignment = next ? member->assignment_next : member->assignment;
        items[i].member_id = member->id;
        items[i].group_instance_id = member->instance_id;
        items[i].client_id = member->client_id;
        items[i].client_host = member->client_host;
        items[i].rebalance_timeout = member->rebalance_timeout_ms;
        items[i].session_timeout = member->session_timeout_ms;
        items[i].subscription = member_metadata(member, group->protocol_name);
        items[i].assignment = slice_is_null(assignment) ? SLICE_LIT("") : assignment;
    }
    put_value(b, &wire_group_metadata_value, GROUP_VALUE_VERSION, &record);
    arena_fini(&arena);
    shard_records_close(records, start, key_end, false);
}

void group_record_new(struct shard_records *records, const struct group *group)
{
    struct buf *b = &records->bytes;
    size_t start = b->size;
    put_group_key(b, group->id);
    size_t key_end = b->size;
    struct group_metadata_value record;
    wire_init(&wire_group_metadata_value, &record);
    record.protocol = SLICE_NULL;
    record.leader = SLICE_NULL;
    record.current_state_timestamp = group->state_timestamp_ms;
    put_value(b, &wire_group_metadata_value, GROUP_VALUE_VERSION, &record);
    shard_records_close(records, start, key_end, false);
}

void group_record_tombstone(struct shard_records *records, struct slice group_id)
{
    size_t start = records->bytes.size;
    put_group_key(&records->bytes, group_id);
    shard_records_close(records, start, records->bytes.size, true);
}
