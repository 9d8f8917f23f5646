/* Hashes of a few records are computed ahead of the look-ups, so that these find their slots in the
 * processor's cache: most of the time of this pass would be waiting for memory.
 *
 * Answers to Kafka's Cleaner.buildOffsetMap. Pure; called by a round, on a worker. */
#include "store/cleaner_keys.h"

#include "record/control.h"
#include "store/cleaner_records.h"

enum { AHEAD = 32 };

struct pending {
    struct siphash hash;
    int64_t offset;
};

enum err cleaner_keys_marker(struct slice batch, int *ret_type, bool *ret_empty)
{
    struct records_iter iter;
    struct record record;
    enum control_type type = CONTROL_UNKNOWN;
    bool empty = false;
    enum err err = records_iter_init(&iter, batch, 0);
    if (!err && records_iter_next(&iter, &record))
        err = control_parse_type(&record, &type);
    else if (!err && !iter.err)
        empty = true;
    else if (!err)
        err = iter.err;
    records_iter_fini(&iter);
    if (err)
        return err;
    *ret_type = type;
    *ret_empty = empty;
    return ERR_NONE;
}

static enum err pass_marker(struct cleaner_keys *keys, struct slice batch)
{
    int type;
    bool empty, indexed;
    struct txn_index_entry entry;
    enum err err = cleaner_keys_marker(batch, &type, &empty);
    if (!err && (type == CONTROL_ABORT || type == CONTROL_COMMIT))
        cleaner_txns_pass_marker(keys->txns, batch_producer_id(batch.data), type == CONTROL_COMMIT,
                                 batch_offset_last(batch.data), &entry, &indexed);
    return err;
}

static bool put_all(struct cleaner_keys *keys, struct pending *pending, int count)
{
    for (int i = 0; i < count; i++) {
        if (!cleaner_map_put(keys->map, pending[i].hash, pending[i].offset)) {
            keys->full = true;
            return false;
        }
    }
    return true;
}

static enum err put_records(struct cleaner_keys *keys, const struct batch_info *info,
                            struct slice bytes)
{
    struct cleaner_records records;
    struct pending pending[AHEAD];
    int count = 0;
    enum err err = cleaner_records_begin(&records, info, bytes, keys->record_size_max);
    struct record record;
    while (!err && !keys->full && cleaner_records_next(&records, &record)) {
        if (slice_is_null(record.key) || record.offset < keys->offset_first)
            continue;
        pending[count].hash = cleaner_map_hash(keys->map, record.key);
        pending[count].offset = record.offset;
        cleaner_map_prefetch(keys->map, pending[count].hash);
        if (++count == AHEAD) {
            put_all(keys, pending, count);
            count = 0;
        }
    }
    enum err end = cleaner_records_end(&records);
    err = err ? err : end;
    if (!err && !keys->full)
        put_all(keys, pending, count);
    return err;
}

enum err cleaner_keys_batch(struct cleaner_keys *keys, const struct batch_info *info,
                            struct slice bytes)
{
    bool is_current = info->magic >= BATCH_MAGIC;
    enum err err = ERR_NONE;
    if (is_current && batch_is_control(info->data)) {
        err = pass_marker(keys, bytes);
    } else {
        bool aborted = cleaner_txns_pass_data(
            keys->txns, is_current ? batch_producer_id(info->data) : BATCH_NO_PRODUCER_ID,
            is_current && batch_is_transactional(info->data), info->offset_last);
        if (!aborted)
            err = put_records(keys, info, bytes);
    }
    if (!err && !keys->full && info->offset_last >= keys->offset_first)
        keys->map->offset_last = info->offset_last;
    return err;
}
