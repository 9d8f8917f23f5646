/* See the header for the rules. A batch is walked once to decide (hashes a few records ahead of
 * their look-ups, as in cleaner_keys.c) and, when only a part stays, once more to write; so a
 * compressed batch takes no memory in proportion to what is in it, bar one bit a record.
 *
 * Answers to Kafka's Cleaner.cleanInto and MemoryRecords.filterTo. Called by a round, on a worker.
 */
#include "store/cleaner_filter.h"

#include "base/mem.h"
#include "record/builder.h"
#include "record/compress.h"
#include "record/control.h"
#include "store/cleaner_keys.h"
#include "store/cleaner_records.h"

enum { AHEAD = 32, BITS = 64 };

/* What is decided about a batch before its records are looked at. */
struct verdict {
    bool drop_records;
    bool keep_empty;
    bool is_control;
    bool marker_idle; /* a marker that no batch needs any more */
    bool has_horizon;
    int64_t horizon_ms;
};

/* What its records say. */
struct choice {
    uint64_t count, kept;
    int64_t offset_first; /* of those kept */
    bool tombstone;       /* among those kept */
};

struct pending {
    struct siphash hash;
    int64_t offset;
    bool has_value;
};

void cleaner_filter_init(struct cleaner_filter *filter)
{
    *filter = (struct cleaner_filter){0};
}

void cleaner_filter_fini(struct cleaner_filter *filter)
{
    mem_free(filter->indexed);
    mem_free(filter->bits);
    *filter = (struct cleaner_filter){0};
}

/* ---- the batch --------------------------------------------------------------------------------
 */

static const struct cleaner_last *last_of(const struct cleaner_filter *f, int64_t producer_id)
{
    size_t from = 0, to = f->last_count;
    while (from < to) {
        size_t at = from + (to - from) / 2;
        if (f->lasts[at].producer_id == producer_id)
            return &f->lasts[at];
        if (f->lasts[at].producer_id < producer_id)
            from = at + 1;
        else
            to = at;
    }
    return NULL;
}

static bool is_last_of_producer(const struct cleaner_filter *f, const uint8_t *b)
{
    if (!batch_has_producer_id(b))
        return false;
    const struct cleaner_last *last = last_of(f, batch_producer_id(b));
    if (!last)
        return false;
    if (last->offset_last >= 0)
        return batch_offset_last(b) == last->offset_last;
    return batch_is_control(b) && batch_producer_epoch(b) == last->epoch;
}

static enum err pass_marker(struct cleaner_filter *f, struct slice bytes, struct verdict *v)
{
    int type;
    bool empty, indexed = false;
    struct txn_index_entry entry;
    enum err err = cleaner_keys_marker(bytes, &type, &empty);
    if (err)
        return err;
    if (empty) {
        v->marker_idle = true; /* its record went before */
    } else if (type == CONTROL_ABORT || type == CONTROL_COMMIT) {
        v->marker_idle =
            cleaner_txns_pass_marker(f->txns, batch_producer_id(bytes.data), type == CONTROL_COMMIT,
                                     batch_offset_last(bytes.data), &entry,
                                     &indexed) == CLEANER_MARKER_IDLE;
    }
    if (indexed) {
        f->indexed =
            mem_grow(f->indexed, &f->indexed_capacity, f->indexed_count, sizeof *f->indexed);
        f->indexed[f->indexed_count++] = entry;
    }
    return ERR_NONE;
}

static enum err judge(struct cleaner_filter *f, const struct batch_info *info, struct slice bytes,
                      struct verdict *v)
{
    *v = (struct verdict){.keep_empty = info->offset_last + 1 == f->offset_end};
    if (info->magic < BATCH_MAGIC) {
        cleaner_txns_pass_data(f->txns, BATCH_NO_PRODUCER_ID, false, info->offset_last);
        return ERR_NONE;
    }
    const uint8_t *b = bytes.data;
    v->has_horizon = batch_has_delete_horizon(b);
    v->horizon_ms = batch_base_timestamp(b);
    v->is_control = batch_is_control(b);
    v->keep_empty = v->keep_empty || is_last_of_producer(f, b);
    if (!v->is_control) {
        v->drop_records = cleaner_txns_pass_data(f->txns, batch_producer_id(b),
                                                 batch_is_transactional(b), info->offset_last);
        return ERR_NONE;
    }
    enum err err = pass_marker(f, bytes, v);
    v->drop_records = v->marker_idle && v->has_horizon && v->horizon_ms <= f->now_ms;
    return err;
}

/* ---- its records ------------------------------------------------------------------------------
 */

static void set_bit(struct cleaner_filter *f, uint64_t at, bool keep)
{
    size_t word = at / BITS;
    if (word >= f->bits_capacity) {
        size_t capacity = f->bits_capacity ? 2 * f->bits_capacity : 16;
        f->bits = mem_realloc(f->bits, capacity * sizeof *f->bits);
        f->bits_capacity = capacity;
    }
    if (at % BITS == 0)
        f->bits[word] = 0;
    f->bits[word] |= (uint64_t)keep << at % BITS;
}

static bool get_bit(const struct cleaner_filter *f, uint64_t at)
{
    return f->bits[at / BITS] >> at % BITS & 1;
}

static void note(struct cleaner_filter *f, struct choice *c, int64_t offset, bool has_value,
                 bool keep)
{
    set_bit(f, c->count++, keep);
    if (!keep)
        return;
    if (!c->kept++)
        c->offset_first = offset;
    c->tombstone = c->tombstone || !has_value;
}

static void resolve(struct cleaner_filter *f, struct choice *c, struct pending *pending, int count,
                    bool keep_tombstones)
{
    for (int i = 0; i < count; i++) {
        const struct pending *p = &pending[i];
        bool keep =
            p->offset >= cleaner_map_get(f->map, p->hash) && (p->has_value || keep_tombstones);
        note(f, c, p->offset, p->has_value, keep);
    }
}

/* Decides on each record. The map holds nothing beyond its last offset, so what lies there stays as
 * it is, and so do control records. */
static enum err choose(struct cleaner_filter *f, const struct batch_info *info, struct slice bytes,
                       const struct verdict *v, struct choice *c)
{
    bool keep_tombstones = info->magic < BATCH_MAGIC ? f->keep_legacy_tombstones
                                                     : !v->has_horizon || f->now_ms < v->horizon_ms;
    struct pending pending[AHEAD];
    int waiting = 0;
    struct cleaner_records records;
    struct record record;
    *c = (struct choice){0};
    enum err err = cleaner_records_begin(&records, info, bytes, f->record_size_max);
    while (!err && cleaner_records_next(&records, &record)) {
        bool has_value = !slice_is_null(record.value);
        bool stays = v->is_control || record.offset > f->map->offset_last;
        if (stays || slice_is_null(record.key)) {
            resolve(f, c, pending, waiting, keep_tombstones);
            waiting = 0;
            note(f, c, record.offset, has_value, stays);
            f->counts.keyless += !stays;
            continue;
        }
        pending[waiting].hash = cleaner_map_hash(f->map, record.key);
        pending[waiting].offset = record.offset;
        pending[waiting].has_value = has_value;
        cleaner_map_prefetch(f->map, pending[waiting].hash);
        if (++waiting == AHEAD) {
            resolve(f, c, pending, waiting, keep_tombstones);
            waiting = 0;
        }
    }
    resolve(f, c, pending, waiting, keep_tombstones);
    enum err end = cleaner_records_end(&records);
    return err ? err : end;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

/* The header alone, as Kafka writes it: no codec, no base timestamp, no horizon. */
static void put_empty(const struct batch_info *info, struct buf *out)
{
    uint8_t *p = buf_extend(out, BATCH_HEADER_SIZE);
    if (info->magic >= BATCH_MAGIC) {
        memcpy(p, info->data, BATCH_HEADER_SIZE);
    } else {
        memset(p, 0, BATCH_HEADER_SIZE);
        be_put_i64(p, info->offset_last);
        batch_set_leader_epoch(p, BATCH_NO_LEADER_EPOCH);
        p[16] = BATCH_MAGIC;
        be_put_i16(p + 21, info->attributes);
        be_put_i64(p + 35, info->max_timestamp);
        be_put_i64(p + 43, BATCH_NO_PRODUCER_ID);
        be_put_i16(p + 51, BATCH_NO_PRODUCER_EPOCH);
        be_put_i32(p + 53, BATCH_NO_SEQUENCE);
    }
    const int kept = BATCH_LOG_APPEND_TIME | BATCH_TRANSACTIONAL | BATCH_CONTROL;
    be_put_i32(p + 8, BATCH_HEADER_SIZE - BATCH_PREFIX_SIZE);
    be_put_i16(p + 21, (int16_t)(batch_attributes(p) & kept));
    be_put_i64(p + 27, BATCH_NO_TIMESTAMP);
    be_put_i32(p + 57, 0);
    batch_seal(p);
}

static struct builder_options options_of(const struct batch_info *info, const struct choice *c)
{
    struct builder_options o = BUILDER_DEFAULTS;
    o.codec = (enum codec)(info->attributes & BATCH_CODEC_MASK);
    o.level = codec_level_default(o.codec);
    o.base_offset = c->offset_first;
    o.log_append_time = info->magic > 0 && info->attributes & BATCH_LOG_APPEND_TIME;
    o.log_append_time_ms = info->max_timestamp;
    if (info->magic < BATCH_MAGIC)
        return o;
    const uint8_t *b = info->data;
    o.base_offset = batch_base_offset(b);
    o.leader_epoch = batch_leader_epoch(b);
    o.transactional = batch_is_transactional(b);
    o.control = batch_is_control(b);
    o.producer_id = batch_producer_id(b);
    o.producer_epoch = batch_producer_epoch(b);
    o.base_sequence = batch_base_sequence(b);
    return o;
}

static enum err rewrite(struct cleaner_filter *f, const struct batch_info *info, struct slice bytes,
                        const struct verdict *v, const struct choice *c, bool set_horizon,
                        struct buf *out)
{
    struct builder_options options = options_of(info, c);
    options.has_delete_horizon = set_horizon || v->has_horizon;
    options.delete_horizon_ms = set_horizon ? f->now_ms + f->delete_retention_ms : v->horizon_ms;
    struct builder b;
    builder_begin(&b, out, &options);
    struct cleaner_records records;
    struct record record;
    enum err err = cleaner_records_begin(&records, info, bytes, f->record_size_max);
    for (uint64_t at = 0; !err && cleaner_records_next(&records, &record); at++)
        if (get_bit(f, at))
            builder_append_kept(&b, &record);
    enum err end = cleaner_records_end(&records);
    err = err ? err : end;
    if (err) {
        builder_abort(&b);
        return err;
    }
    if (info->magic >= BATCH_MAGIC)
        builder_set_offset_last(&b, info->offset_last);
    return builder_end(&b);
}

enum err cleaner_filter_batch(struct cleaner_filter *f, const struct batch_info *info,
                              struct slice bytes, struct buf *out)
{
    struct verdict v;
    struct choice c = {0};
    enum err err = judge(f, info, bytes, &v);
    if (err || (v.drop_records && !v.keep_empty))
        return err;
    if (!v.drop_records)
        err = choose(f, info, bytes, &v, &c);
    if (err)
        return err;
    f->counts.records_read += c.count;
    f->counts.records_kept += c.kept;
    if (!c.kept) {
        if (v.keep_empty)
            put_empty(info, out);
        return ERR_NONE;
    }
    bool set_horizon = (c.tombstone || v.marker_idle) && !v.has_horizon &&
                       f->delete_retention_ms <= INT64_MAX - f->now_ms;
    if (info->magic >= BATCH_MAGIC && c.kept == c.count && !set_horizon) {
        buf_put_slice(out, bytes);
        return ERR_NONE;
    }
    return rewrite(f, info, bytes, &v, &c, set_horizon, out);
}
