/* Iteration over the records of one batch. Uncompressed records are views into the batch;
 * compressed ones are views into the decoder's present piece, or, when a record crosses pieces,
 * into a buffer that collects it.
 *
 * Invariants: the iterator hands out exactly as many records as the header counts, and ends well
 * only if no byte is left then. The collecting buffer grows with bytes received, never by what a
 * record announces, and never above record_size_max.
 *
 * Called on loops (coordinators, look-ups) and workers (loading, recovery, the cleaner). */
#include "record/records.h"

#include "record/batch.h"
#include "record/compress.h"
#include "record/walk.h"

bool record_header_next(struct slice *headers, struct record_header *ret_header)
{
    const uint8_t *p = headers->data, *end = p + headers->size;
    int32_t key_size, value_size;
    if (!headers->size)
        return false;
    p = walk_varint_checked(p, end, &key_size);
    if (!p || key_size < 0 || key_size > end - p)
        return false;
    const uint8_t *key = p;
    p = walk_varint_checked(p + key_size, end, &value_size);
    if (!p || value_size > end - p)
        return false;
    ret_header->key = slice_of(key, (size_t)key_size);
    ret_header->value = value_size < 0 ? SLICE_NULL : slice_of(p, (size_t)value_size);
    p += value_size > 0 ? value_size : 0;
    *headers = slice_of(p, (size_t)(end - p));
    return true;
}

static enum err decoder_err(enum err err)
{
    return err == ERR_NO_MEMORY || err == ERR_NONE ? err : ERR_CORRUPT_MESSAGE;
}

enum err records_iter_init(struct records_iter *iter, struct slice batch, size_t record_size_max)
{
    *iter = (struct records_iter){.record_size_max = record_size_max ? record_size_max : INT32_MAX};
    buf_init(&iter->stitch);
    iter->err = batch_check_header(batch);
    if (iter->err)
        return iter->err;
    struct slice payload = batch_payload(batch.data);
    iter->batch = batch.data;
    iter->left = batch_record_count(batch.data);
    iter->at = payload.data;
    iter->end = payload.data + payload.size;
    if (batch_codec(batch.data) == CODEC_NONE || !iter->left)
        return ERR_NONE;
    iter->end = iter->at;
    iter->err = decoder_err(decoder_open(batch_codec(batch.data), payload, 0, &iter->decoder));
    return iter->err;
}

/* The next piece of decoded bytes; false at the end or on an error. */
static bool more(struct records_iter *iter)
{
    if (!iter->decoder)
        return false;
    struct slice piece;
    iter->err = decoder_err(decoder_next(iter->decoder, &piece));
    if (iter->err || !piece.size)
        return false;
    iter->at = piece.data;
    iter->end = piece.data + piece.size;
    return true;
}

/* Moves up to `size` bytes at hand into the collecting buffer. */
static void collect(struct records_iter *iter, size_t size)
{
    size_t left = (size_t)(iter->end - iter->at);
    size = size < left ? size : left;
    buf_put(&iter->stitch, iter->at, size);
    iter->at += size;
}

/* Collects a record of which the piece at hand has only the first bytes, if any. */
static bool collect_record(struct records_iter *iter)
{
    int32_t body_size = -1;
    const uint8_t *body = NULL;
    buf_clear(&iter->stitch);
    while (!body && iter->stitch.size < WALK_LENGTH_MAX) {
        if (iter->at == iter->end && !more(iter))
            break;
        collect(iter, 1);
        struct slice s = buf_slice(&iter->stitch);
        body = walk_varint_checked(s.data, s.data + s.size, &body_size);
    }
    if (!body || body_size < 0) {
        iter->err = iter->err ? iter->err : ERR_INVALID_RECORD;
        return false;
    }
    size_t size = iter->stitch.size + (size_t)body_size;
    if (size > iter->record_size_max) {
        iter->err = ERR_TOO_LARGE;
        return false;
    }
    while (iter->stitch.size < size) {
        if (iter->at == iter->end && !more(iter)) {
            iter->err = iter->err ? iter->err : ERR_INVALID_RECORD;
            return false;
        }
        collect(iter, size - iter->stitch.size);
    }
    return true;
}

/* Finds the next record's bytes and parses them; returns their end, NULL on an error. */
static const uint8_t *parse_next(struct records_iter *iter, struct walk_record *r)
{
    const uint8_t *next = walk_parse(iter->at, iter->end, r);
    if (next) {
        iter->at = next;
        return next;
    }
    if (iter->decoder) {
        if (!collect_record(iter))
            return NULL;
        const uint8_t *from = iter->stitch.data, *end = from + iter->stitch.size;
        if (walk_parse(from, end, r) == end)
            return end;
    }
    iter->err = ERR_INVALID_RECORD;
    return NULL;
}

static int64_t timestamp_of(const uint8_t *batch, const struct walk_record *r)
{
    if (batch_is_log_append_time(batch))
        return batch_max_timestamp(batch);
    return (int64_t)((uint64_t)batch_base_timestamp(batch) + (uint64_t)r->timestamp_delta);
}

static int64_t offset_of(const uint8_t *batch, const struct walk_record *r)
{
    return (int64_t)((uint64_t)batch_base_offset(batch) + (uint64_t)(int64_t)r->offset_delta);
}

bool records_iter_next(struct records_iter *iter, struct record *ret_record)
{
    if (iter->err || !iter->left)
        return false;
    struct walk_record r;
    const uint8_t *end = parse_next(iter, &r);
    if (!end)
        return false;
    if (!--iter->left && (iter->at != iter->end || more(iter) || iter->err)) {
        iter->err = iter->err ? iter->err : ERR_INVALID_RECORD;
        return false;
    }
    const uint8_t *batch = iter->batch;
    int32_t sequence = batch_base_sequence(batch);
    *ret_record = (struct record){
        .offset = offset_of(batch, &r),
        .timestamp = timestamp_of(batch, &r),
        .sequence = sequence < 0 ? BATCH_NO_SEQUENCE : batch_sequence_add(sequence, r.offset_delta),
        .size = r.size,
        .attributes = r.attributes,
        .key = r.key_size < 0 ? SLICE_NULL : slice_of(r.key, (size_t)r.key_size),
        .value = r.value_size < 0 ? SLICE_NULL : slice_of(r.value, (size_t)r.value_size),
        .headers = slice_of(r.headers, (size_t)(end - r.headers)),
        .header_count = r.header_count,
    };
    return true;
}

void records_iter_fini(struct records_iter *iter)
{
    decoder_close(iter->decoder);
    iter->decoder = NULL;
    buf_fini(&iter->stitch);
    iter->left = 0;
}

/* ---- look-ups ---------------------------------------------------------------------------- */

/* The first record with timestamp >= timestamp_min (== when exact) and offset >= offset_min. */
static enum err find(struct slice batch, int64_t timestamp_min, bool exact, int64_t offset_min,
                     int64_t *ret_offset, int64_t *ret_timestamp)
{
    enum err err = batch_check_header(batch);
    if (err)
        return err;
    const uint8_t *b = batch.data;
    struct slice payload = batch_payload(b);
    struct walk w = {.at = payload.data, .end = payload.data + payload.size};
    if (batch_codec(b) != CODEC_NONE && batch_record_count(b)) {
        w.end = w.at;
        err = decoder_err(decoder_open(batch_codec(b), payload, 0, &w.decoder));
        if (err)
            return err;
    }
    err = ERR_NOT_FOUND;
    for (int32_t left = batch_record_count(b); left; left--) {
        struct walk_record r;
        if (!walk_next(&w, &r)) {
            err = w.err == ERR_INVALID_RECORD ? w.err : decoder_err(w.err);
            break;
        }
        int64_t timestamp = timestamp_of(b, &r), offset = offset_of(b, &r);
        if (offset >= offset_min &&
            (exact ? timestamp == timestamp_min : timestamp >= timestamp_min)) {
            *ret_offset = offset;
            *ret_timestamp = timestamp;
            err = ERR_NONE;
            break;
        }
    }
    decoder_close(w.decoder);
    return err;
}

enum err records_find_timestamp(struct slice batch, int64_t timestamp, int64_t offset_min,
                                int64_t *ret_offset, int64_t *ret_timestamp)
{
    return find(batch, timestamp, false, offset_min, ret_offset, ret_timestamp);
}

enum err records_find_max_timestamp(struct slice batch, int64_t *ret_offset)
{
    enum err err = batch_check_header(batch);
    if (err)
        return err;
    int64_t max_timestamp = batch_max_timestamp(batch.data), timestamp;
    if (max_timestamp == BATCH_NO_TIMESTAMP)
        return ERR_NOT_FOUND;
    if (batch_is_log_append_time(batch.data)) {
        *ret_offset = batch_base_offset(batch.data);
        return ERR_NONE;
    }
    return find(batch, max_timestamp, true, INT64_MIN, ret_offset, &timestamp);
}
