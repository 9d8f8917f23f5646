/* Records of __transaction_state as Kafka 4.4 writes them: an int16 record type 0 and the
 * transactional id; an int16 version and the value, or null as tombstone. Version 0 of the value is
 * written where transaction.version is 0, else version 1, whose tagged fields tell the producer ids
 * before and after and what the client was. An Empty one has null partitions. Both are read.
 *
 * As in Kafka, record types and versions from the future are skipped. */
#include "coord/txn_record.h"

#include "base/cursor.h"
#include "base/ensure.h"
#include "wire/codec.h"
#include "wire_transaction_records.h"

enum { RECORD_TYPE = 0, VALUE_VERSION_TAGGED = 1 };

static void put_key(struct buf *b, struct slice id)
{
    ENSURE_CMP(id.size, <=, TXN_RECORD_ID_MAX);
    buf_put_i16(b, RECORD_TYPE);
    buf_put_i16(b, (int16_t)id.size);
    buf_put_slice(b, id);
}

static void fill_partitions(const struct partition_set *set, struct arena *arena,
                            struct transaction_log_value *value)
{
    struct transaction_log_value_partitions_schema *items =
        transaction_log_value_transaction_partitions_new(arena, value, (int32_t)set->topic_count);
    for (size_t i = 0; i < set->topic_count; i++) {
        items[i].topic = set->topics[i].name;
        items[i].partition_ids = set->topics[i].partitions;
        items[i].partition_ids_count = (int32_t)set->topics[i].count;
    }
}

void txn_record_put(struct shard_records *records, struct slice id, const struct txn_view *view,
                    int16_t transaction_version)
{
    struct buf *b = &records->bytes;
    size_t start = b->size;
    put_key(b, id);
    size_t key_end = b->size;
    struct arena arena;
    arena_init(&arena);
    struct transaction_log_value value;
    wire_init(&wire_transaction_log_value, &value);
    value.producer_id = view->producer_id;
    value.producer_epoch = view->epoch;
    value.transaction_timeout_ms = view->timeout_ms;
    value.transaction_status = (int8_t)view->status;
    value.transaction_last_update_timestamp_ms = view->update_ms;
    value.transaction_start_timestamp_ms = view->start_ms;
    value.transaction_partitions_count = -1;
    if (view->status != TXN_EMPTY)
        fill_partitions(&view->partitions, &arena, &value);
    int16_t version = transaction_version >= 1 ? VALUE_VERSION_TAGGED : 0;
    if (version >= VALUE_VERSION_TAGGED) {
        value.previous_producer_id = view->producer_id_before;
        value.next_producer_id = view->producer_id_next;
        value.next_producer_epoch = view->epoch_next;
        value.client_transaction_version = view->client_version;
    }
    buf_put_i16(b, version);
    enum err err = wire_encode(&wire_transaction_log_value, version, &value, b, NULL);
    ENSURE_CMP(err, ==, ERR_NONE); /* texts came in by the wire: their lengths fit */
    arena_fini(&arena);
    shard_records_close(records, start, key_end, false);
}

void txn_record_tombstone(struct shard_records *records, struct slice id)
{
    size_t start = records->bytes.size;
    put_key(&records->bytes, id);
    shard_records_close(records, start, records->bytes.size, true);
}

enum err txn_record_key(struct slice key, struct slice *ret_id)
{
    struct cursor c = cursor_of(key);
    int16_t type = cursor_i16(&c);
    if (c.failed)
        return ERR_CORRUPT;
    if (type != RECORD_TYPE) {
        *ret_id = SLICE_NULL;
        return ERR_NONE;
    }
    int16_t size = cursor_i16(&c);
    struct slice id = size < 0 ? SLICE_NULL : cursor_slice(&c, (size_t)size);
    if (c.failed || size < 0)
        return ERR_CORRUPT;
    *ret_id = id;
    return ERR_NONE;
}

static enum err view_of(const struct transaction_log_value *value, struct txn_view **ret_view)
{
    if (value->transaction_status < TXN_EMPTY || value->transaction_status > TXN_COMPLETE_ABORT)
        return ERR_CORRUPT;
    struct txn_view *view = txn_view_new();
    view->status = (enum txn_status)value->transaction_status;
    view->producer_id = value->producer_id;
    view->producer_id_before = value->previous_producer_id;
    view->producer_id_next = value->next_producer_id;
    view->epoch = value->producer_epoch;
    view->epoch_next = value->next_producer_epoch;
    view->timeout_ms = value->transaction_timeout_ms;
    view->start_ms = value->transaction_start_timestamp_ms;
    view->update_ms = value->transaction_last_update_timestamp_ms;
    view->client_version = value->client_transaction_version;
    for (int32_t t = 0; view->status != TXN_EMPTY && t < value->transaction_partitions_count; t++) {
        const struct transaction_log_value_partitions_schema *topic =
            &value->transaction_partitions[t];
        for (int32_t p = 0; p < topic->partition_ids_count; p++)
            partition_set_add(&view->partitions, topic->topic, topic->partition_ids[p]);
    }
    *ret_view = view;
    return ERR_NONE;
}

enum err txn_record_value(struct slice bytes, struct txn_view **ret_view)
{
    struct cursor c = cursor_of(bytes);
    int16_t version = cursor_i16(&c);
    if (c.failed)
        return ERR_CORRUPT;
    if (version < wire_transaction_log_value.first || version > wire_transaction_log_value.last) {
        *ret_view = NULL;
        return ERR_NONE;
    }
    struct arena arena;
    arena_init(&arena);
    struct transaction_log_value value;
    enum err err = wire_decode(&wire_transaction_log_value, version, &c, &arena, &value);
    err = err ? ERR_CORRUPT : view_of(&value, ret_view);
    arena_fini(&arena);
    return err;
}
