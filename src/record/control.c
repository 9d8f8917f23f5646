/* Control records. The key is two int16, version and type; the value of a transaction marker is an
 * int16 version and the coordinator's epoch, those of KRaft's types are messages of the schema
 * whose own first field is the version.
 *
 * Readers take a later version of a value as the newest one they know, as Kafka does.
 *
 * Called by the transaction coordinator's marker writes and the metadata log (under their locks),
 * by snapshot writers and by everything that replays a log (any thread). KIP-98, KIP-595, KIP-853.
 */
#include "record/control.h"

#include "base/cursor.h"
#include "wire_messages.h"

enum {
    KEY_VERSION = 0,
    KEY_SIZE = 4,
    MARKER_VERSION = 0,
    MARKER_SIZE = 6,
    KRAFT_VERSION_WRITTEN = 0,
};

enum err control_parse_type(const struct record *record, enum control_type *ret_type)
{
    struct slice key = record->key;
    if (key.size < KEY_SIZE || be_i16(key.data) < 0)
        return ERR_INVALID_RECORD;
    int16_t type = be_i16(key.data + 2);
    *ret_type = type >= CONTROL_ABORT && type <= CONTROL_KRAFT_VOTERS ? (enum control_type)type
                                                                      : CONTROL_UNKNOWN;
    return ERR_NONE;
}

static void put_key(uint8_t key[KEY_SIZE], enum control_type type)
{
    be_put_i16(key, KEY_VERSION);
    be_put_i16(key + 2, (int16_t)type);
}

/* ---- transaction markers ----------------------------------------------------------------- */

enum err control_parse_end_txn(const struct record *record, struct control_end_txn *ret_marker)
{
    enum control_type type;
    enum err err = control_parse_type(record, &type);
    if (err)
        return err;
    struct slice value = record->value;
    if ((type != CONTROL_ABORT && type != CONTROL_COMMIT) || value.size < MARKER_SIZE ||
        be_i16(value.data) < 0)
        return ERR_INVALID_RECORD;
    *ret_marker = (struct control_end_txn){
        .is_commit = type == CONTROL_COMMIT,
        .coordinator_epoch = be_i32(value.data + 2),
    };
    return ERR_NONE;
}

enum err control_build_end_txn(struct buf *out, int64_t base_offset, int32_t leader_epoch,
                               int64_t timestamp, int64_t producer_id, int16_t producer_epoch,
                               const struct control_end_txn *marker)
{
    uint8_t key[KEY_SIZE], value[MARKER_SIZE];
    put_key(key, marker->is_commit ? CONTROL_COMMIT : CONTROL_ABORT);
    be_put_i16(value, MARKER_VERSION);
    be_put_i32(value + 2, marker->coordinator_epoch);
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = base_offset;
    options.leader_epoch = leader_epoch;
    options.transactional = true;
    options.control = true;
    options.producer_id = producer_id;
    options.producer_epoch = producer_epoch;
    struct builder b;
    builder_begin(&b, out, &options);
    builder_append(&b, timestamp, slice_of(key, sizeof key), slice_of(value, sizeof value));
    return builder_end(&b);
}

/* ---- KRaft ------------------------------------------------------------------------------- */

static const struct wire_schema *schema_of(enum control_type type)
{
    switch (type) {
    case CONTROL_LEADER_CHANGE: return &wire_leader_change_message;
    case CONTROL_SNAPSHOT_HEADER: return &wire_snapshot_header_record;
    case CONTROL_SNAPSHOT_FOOTER: return &wire_snapshot_footer_record;
    case CONTROL_KRAFT_VERSION: return &wire_kraft_version_record;
    case CONTROL_KRAFT_VOTERS: return &wire_voters_record;
    case CONTROL_ABORT:
    case CONTROL_COMMIT:
    case CONTROL_UNKNOWN: break;
    }
    return NULL;
}

static enum err parse(const struct record *record, enum control_type expected, struct arena *arena,
                      void *ret_message)
{
    enum control_type type;
    enum err err = control_parse_type(record, &type);
    if (err)
        return err;
    if (type != expected || record->value.size < 2)
        return ERR_INVALID_RECORD;
    const struct wire_schema *schema = schema_of(type);
    int version = be_i16(record->value.data);
    if (version < schema->first)
        return ERR_INVALID_RECORD;
    if (version > schema->last)
        version = schema->last;
    struct cursor c = cursor_of(record->value);
    err = wire_decode(schema, version, &c, arena, ret_message);
    return err == ERR_NONE || err == ERR_NO_MEMORY ? err : ERR_INVALID_RECORD;
}

enum err control_parse_kraft_version(const struct record *record, struct arena *arena,
                                     struct kraft_version_record *ret_version)
{
    return parse(record, CONTROL_KRAFT_VERSION, arena, ret_version);
}

enum err control_parse_voters(const struct record *record, struct arena *arena,
                              struct voters_record *ret_voters)
{
    return parse(record, CONTROL_KRAFT_VOTERS, arena, ret_voters);
}

enum err control_append(struct builder *b, int64_t timestamp, enum control_type type,
                        const void *message)
{
    const struct wire_schema *schema = schema_of(type);
    if (!schema)
        return ERR_ARGUMENT;
    uint8_t key[KEY_SIZE];
    struct buf value;
    put_key(key, type);
    buf_init(&value);
    enum err err = wire_encode(schema, KRAFT_VERSION_WRITTEN, message, &value, NULL);
    if (!err)
        builder_append(b, timestamp, slice_of(key, sizeof key), buf_slice(&value));
    buf_fini(&value);
    return err;
}

enum err control_build(struct buf *out, int64_t base_offset, int32_t leader_epoch,
                       int64_t timestamp, enum control_type type, const void *message)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = base_offset;
    options.leader_epoch = leader_epoch;
    options.control = true;
    struct builder b;
    builder_begin(&b, out, &options);
    enum err err = control_append(&b, timestamp, type, message);
    if (err) {
        builder_abort(&b);
        return err;
    }
    return builder_end(&b);
}
