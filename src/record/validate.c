/* The leader's checks of produced record bytes, in the order and with the answers of Apache Kafka
 * 4.4 (tests/golden/record/produce-answers.tsv holds what it says to some 190 crafted batches).
 *
 * Transitions: bytes -> one framed batch (frame) -> header and CRC (check_header) -> every record
 * (walk_in_place, or rebuild where the topic's codec is another) -> timestamps set. Most failures
 * carry no text, because Kafka's do not.
 *
 * Invariants: nothing of the caller's bytes changes unless validation succeeds; memory follows the
 * bytes received, also for compressed batches that expand without end.
 *
 * One difference from Kafka: a compressed record's length field must be that of its fields, since
 * no consumer could read it otherwise (Kafka checks that of uncompressed records only).
 *
 * Called by the produce path on the request's loop and by the coordinators' writer. */
#include "record/validate.h"

#include "record/batch.h"
#include "record/builder.h"
#include "record/compress.h"
#include "record/records.h"
#include "record/walk.h"

#include <inttypes.h>

enum {
    LENGTH_MIN = 14,                      /* the least that any magic allows */
    VERSION_ZSTD = 7,                     /* first Produce version that may carry zstd */
    RECORD_ERRORS_MAX = 10000,            /* listed; the count in the text is the true one */
    RECORD_ERRORS_SHOWN = 3,              /* inside the text */
    REBUILD_SLACK = 64 * 1024,            /* encoders ask for their worst case */
    REBUILD_RECORD_MAX = 64 * 1024 * 1024 /* a single record while recompressing */
};

struct validation {
    const struct validate_options *options;
    struct arena *arena;
    struct validate_result *result;
    const uint8_t *batch;
    size_t size;
    enum codec codec, codec_target;

    /* Timestamps in [timestamp_min, timestamp_min + timestamp_span] pass; all do where the broker
     * sets them. */
    int64_t timestamp_min;
    uint64_t timestamp_span;

    int64_t max_timestamp;
    bool is_in_order; /* offset deltas are 0, 1, 2 ... */
    bool is_partial;  /* keys and values are skipped: shows in a text */
    bool has_bad_timestamp;
    int64_t error_count; /* records refused */
    int32_t error_capacity;
    struct slice key_text; /* one text serves all records without a key */
};

/* ---- the bytes around the batch ---------------------------------------------------------- */

static enum err fail_text(struct validation *v, enum err err, struct slice text)
{
    v->result->message = text;
    return err;
}

/* The first entry of `bytes`, if whole. ERR_NOT_FOUND: there is none. Texts only for the first, as
 * Kafka looks at the second one elsewhere. */
static enum err entry_at(struct validation *v, struct slice bytes, bool is_first, size_t *ret_size)
{
    if (bytes.size < BATCH_PREFIX_SIZE)
        return ERR_NOT_FOUND;
    int32_t length = batch_length(bytes.data);
    if (length < LENGTH_MIN)
        return fail_text(v, ERR_CORRUPT_MESSAGE,
                         is_first ? arena_printf(v->arena,
                                                 "Record size %" PRId32 " is less than the minimum "
                                                 "record overhead (%d)",
                                                 length, LENGTH_MIN)
                                  : SLICE_NULL);
    if (bytes.size < BATCH_PEEK_SIZE)
        return ERR_NOT_FOUND;
    int magic = batch_magic(bytes.data);
    if (magic < 0 || magic > BATCH_MAGIC)
        return fail_text(v, ERR_CORRUPT_MESSAGE,
                         is_first
                             ? arena_printf(v->arena, "Invalid magic found in record: %d", magic)
                             : SLICE_NULL);
    if (length > INT32_MAX - BATCH_PREFIX_SIZE)
        return ERR_UNKNOWN_SERVER_ERROR; /* the sum wraps inside Kafka */
    if (bytes.size < batch_size(bytes.data))
        return ERR_NOT_FOUND;
    *ret_size = batch_size(bytes.data);
    return ERR_NONE;
}

/* Exactly one whole batch of magic 2; a torn entry behind it is dropped, as in Kafka. */
static enum err frame(struct validation *v, struct slice bytes)
{
    size_t size, size_second;
    enum err err = entry_at(v, bytes, true, &size);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_INVALID_RECORD : err;
    const uint8_t *b = bytes.data;
    if (batch_magic(b) != BATCH_MAGIC)
        return ERR_INVALID_RECORD;
    if (v->options->origin == VALIDATE_CLIENT && v->options->produce_version < VERSION_ZSTD &&
        size >= BATCH_HEADER_SIZE && batch_codec(b) == CODEC_ZSTD)
        return ERR_UNSUPPORTED_COMPRESSION_TYPE;
    err = entry_at(v, slice_sub(bytes, size, bytes.size - size), false, &size_second);
    if (err != ERR_NOT_FOUND)
        return err ? err : ERR_INVALID_RECORD;
    v->batch = b;
    v->size = size;
    v->result->is_framed = true;
    return ERR_NONE;
}

/* ---- the header -------------------------------------------------------------------------- */

static enum err check_client_header(const uint8_t *b)
{
    int64_t count_from_offsets = (int64_t)batch_last_offset_delta(b) + 1;
    if (count_from_offsets <= 0 || batch_record_count(b) <= 0 ||
        count_from_offsets != batch_record_count(b))
        return ERR_INVALID_RECORD;
    if (batch_is_control(b))
        return ERR_INVALID_RECORD;
    if (batch_has_producer_id(b) && batch_base_sequence(b) < 0)
        return ERR_INVALID_RECORD;
    return ERR_NONE;
}

static enum err check_header(struct validation *v)
{
    const uint8_t *b = v->batch;
    const struct validate_options *o = v->options;
    if (o->origin == VALIDATE_CLIENT && batch_base_offset(b) != 0)
        return ERR_INVALID_RECORD;
    if (o->batch_size_max > 0 && v->size > (size_t)o->batch_size_max)
        return ERR_MESSAGE_TOO_LARGE;
    if (v->size < BATCH_HEADER_SIZE || !batch_crc_ok(b))
        return ERR_CORRUPT_MESSAGE;
    if ((unsigned)batch_codec(b) >= CODEC_COUNT)
        return ERR_UNKNOWN_SERVER_ERROR;
    v->codec = batch_codec(b);
    v->codec_target = o->codec == VALIDATE_CODEC_PRODUCER ? v->codec : (enum codec)o->codec;
    if (v->codec == CODEC_NONE && batch_is_control(b))
        v->codec_target = CODEC_NONE;
    if (o->origin == VALIDATE_CLIENT)
        return check_client_header(b);
    return batch_check_header(slice_of(b, v->size)) ? ERR_INVALID_RECORD : ERR_NONE;
}

/* ---- one record -------------------------------------------------------------------------- */

static void add_error(struct validation *v, int32_t index, struct slice text)
{
    struct validate_result *r = v->result;
    v->error_count++;
    if (r->record_error_count == RECORD_ERRORS_MAX)
        return;
    if (r->record_error_count == v->error_capacity) {
        int32_t capacity = v->error_capacity ? v->error_capacity * 4 : 8;
        struct validate_record_error *grown =
            arena_array(v->arena, (size_t)capacity, sizeof *grown);
        if (r->record_error_count)
            memcpy(grown, r->record_errors, (size_t)r->record_error_count * sizeof *grown);
        r->record_errors = grown;
        v->error_capacity = capacity;
    }
    r->record_errors[r->record_error_count++] =
        (struct validate_record_error){.index = index, .message = text};
}

static struct slice key_text(struct validation *v)
{
    if (!v->key_text.data)
        v->key_text = arena_printf(v->arena,
                                   "Compacted topic cannot accept message without key in topic "
                                   "partition %.*s-%" PRId32,
                                   SLICE_FMT(v->options->topic), v->options->partition);
    return v->key_text;
}

static struct slice timestamp_text(struct validation *v, int64_t offset, int64_t timestamp)
{
    const struct validate_options *o = v->options;
    uint64_t now = (uint64_t)o->now_ms;
    return arena_printf(v->arena,
                        "Timestamp %" PRId64 " of message with offset %" PRId64 " is out of range. "
                        "The timestamp should be within [%" PRId64 ", %" PRId64 "]",
                        timestamp, offset, (int64_t)(now - (uint64_t)o->timestamp_before_max_ms),
                        (int64_t)(now + (uint64_t)o->timestamp_after_max_ms));
}

static struct slice timestamp_type_text(struct validation *v, int64_t offset, int64_t timestamp,
                                        int32_t key_size, int32_t value_size)
{
    if (!v->is_partial) {
        key_size = key_size < 0 ? 0 : key_size;
        value_size = value_size < 0 ? 0 : value_size;
    }
    return arena_printf(v->arena,
                        "Invalid timestamp type in message %s(offset=%" PRId64
                        ", timestamp=%" PRId64 ", key=%" PRId32 " bytes, value=%" PRId32
                        " bytes). Producer should not set "
                        "timestamp type to LogAppendTime.",
                        v->is_partial ? "PartialDefaultRecord" : "DefaultRecord", offset, timestamp,
                        key_size, value_size);
}

static bool is_out_of_range(const struct validation *v, int64_t timestamp)
{
    return (uint64_t)timestamp - (uint64_t)v->timestamp_min > v->timestamp_span;
}

/* The full rules for a record that the tight loop found suspicious. False when it is refused. */
static bool check_record(struct validation *v, int32_t index, const struct walk_record *r,
                         int64_t timestamp)
{
    const struct validate_options *o = v->options;
    int64_t offset =
        (int64_t)((uint64_t)batch_base_offset(v->batch) + (uint64_t)(int64_t)r->offset_delta);
    bool is_listed = v->result->record_error_count < RECORD_ERRORS_MAX;
    struct slice text;
    if (o->compacted && r->key_size < 0) {
        text = key_text(v);
    } else if (!o->log_append_time && timestamp != BATCH_NO_TIMESTAMP) {
        if (!is_out_of_range(v, timestamp))
            return true;
        v->has_bad_timestamp = true;
        text = is_listed ? timestamp_text(v, offset, timestamp) : SLICE_NULL;
    } else if (batch_is_log_append_time(v->batch)) {
        v->has_bad_timestamp = true;
        text = is_listed ? timestamp_type_text(v, offset, timestamp, r->key_size, r->value_size)
                         : SLICE_NULL;
    } else {
        return true;
    }
    add_error(v, index, text);
    return false;
}

/* The answer when records were refused. */
static enum err record_errors(struct validation *v)
{
    if (!v->error_count)
        return ERR_NONE;
    if (v->has_bad_timestamp)
        return fail_text(
            v, ERR_INVALID_TIMESTAMP,
            SLICE_LIT("One or more records have been rejected due to invalid timestamp"));
    struct buf text;
    buf_init(&text);
    buf_printf(&text,
               "One or more records have been rejected due to %" PRId64 " record errors in total, "
               "and only showing the first three errors at most: [",
               v->error_count);
    for (int32_t i = 0; i < v->result->record_error_count && i < RECORD_ERRORS_SHOWN; i++) {
        const struct validate_record_error *e = &v->result->record_errors[i];
        buf_printf(&text, "%sRecordError(batchIndex=%" PRId32 ", message='%.*s')", i ? ", " : "",
                   e->index, SLICE_FMT(e->message));
    }
    buf_put_str(&text, "]");
    v->result->message = arena_dup(v->arena, buf_slice(&text));
    buf_fini(&text);
    return ERR_INVALID_RECORD;
}

/* ---- all records ------------------------------------------------------------------------- */

/* What Kafka answers when the record bytes cannot be read. */
static enum err read_err(enum err err)
{
    if (err == ERR_TOO_LARGE)
        return ERR_MESSAGE_TOO_LARGE;
    return err == ERR_NONE || err == ERR_INVALID_RECORD ? err : ERR_UNKNOWN_SERVER_ERROR;
}

/* The loop's way out for one record: near the end of a piece, across pieces, or broken. */
static enum err walk_one(struct walk *w, struct walk_record *r)
{
    return walk_next(w, r) ? ERR_NONE : read_err(w->err);
}

static bool is_oversized(const uint8_t *at, const uint8_t *end, const struct walk *w)
{
    struct walk_record r;
    walk_parse_checked(at, end, &r);
    return r.body_size > w->body_size_max;
}

/* The tight loop: a few nanoseconds for a record, so its state stays in registers and the rest is
 * out of line. */
static enum err walk_records(struct validation *v, struct walk *w)
{
    const uint8_t *b = v->batch, *at = w->at, *end = w->end;
    const int32_t count = batch_record_count(b);
    const bool is_append_time = batch_is_log_append_time(b);
    const uint64_t base =
        (uint64_t)(is_append_time ? batch_max_timestamp(b) : batch_base_timestamp(b));
    const uint64_t delta_mask = is_append_time ? 0 : UINT64_MAX;
    const uint64_t min = (uint64_t)v->timestamp_min, span = v->timestamp_span;
    const int32_t key_size_min = v->options->compacted ? 0 : INT32_MIN;
    const int32_t size_max = w->body_size_max ? w->body_size_max : INT32_MAX;
    int64_t max_timestamp = BATCH_NO_TIMESTAMP;
    int32_t disorder = 0;
    for (int32_t i = 0; i < count; i++) {
        struct walk_head h;
        struct walk_record r;
        const uint8_t *next = walk_skip(at, end, &h);
        bool is_parsed = false;
        if (__builtin_expect(!next, 0)) {
            w->at = at;
            enum err err = walk_one(w, &r);
            if (err)
                return err;
            h.timestamp_delta = r.timestamp_delta;
            h.offset_delta = r.offset_delta;
            h.key_size = r.key_size;
            is_parsed = true;
            next = w->at;
            end = w->end;
        } else if (__builtin_expect(next - at > size_max, 0) && is_oversized(at, end, w)) {
            return ERR_INVALID_RECORD;
        }
        uint64_t timestamp = base + ((uint64_t)h.timestamp_delta & delta_mask);
        max_timestamp = (int64_t)timestamp > max_timestamp ? (int64_t)timestamp : max_timestamp;
        disorder |= h.offset_delta ^ i;
        if (__builtin_expect(timestamp - min > span || h.key_size < key_size_min || is_append_time,
                             0)) {
            if (!is_parsed)
                walk_parse_checked(at, end, &r);
            check_record(v, i, &r, (int64_t)timestamp);
        }
        at = next;
    }
    w->at = at;
    if (count && !walk_is_at_end(w))
        return read_err(w->err ? w->err : ERR_INVALID_RECORD);
    v->max_timestamp = max_timestamp;
    v->is_in_order = disorder == 0;
    return ERR_NONE;
}

static enum err walk_begin(const struct validation *v, struct walk *w)
{
    struct slice payload = batch_payload(v->batch);
    *w = (struct walk){.at = payload.data, .end = payload.data + payload.size};
    if (v->codec == CODEC_NONE)
        return ERR_NONE;
    w->end = w->at;
    w->body_size_max = v->options->record_size_max;
    return read_err(decoder_open(v->codec, payload, 0, &w->decoder));
}

/* The batch keeps its record bytes. */
static enum err walk_in_place(struct validation *v)
{
    struct walk w;
    enum err err = walk_begin(v, &w);
    if (err)
        return err;
    v->is_partial = v->codec != CODEC_NONE;
    err = walk_records(v, &w);
    decoder_close(w.decoder);
    if (err)
        return err;
    err = record_errors(v);
    if (err)
        return err;
    /* Kafka would write such a batch anew and fails at it; uncompressed ones it takes as they are.
     */
    if (v->codec != CODEC_NONE && !v->is_in_order)
        return ERR_UNKNOWN_SERVER_ERROR;
    return ERR_NONE;
}

static struct walk_record walk_record_of(const struct validation *v, const struct record *record)
{
    return (struct walk_record){
        .offset_delta = (int32_t)(record->offset - batch_base_offset(v->batch)),
        .key_size = record->key.data ? (int32_t)record->key.size : -1,
        .value_size = record->value.data ? (int32_t)record->value.size : -1,
    };
}

/* Before they are collected in memory. */
static enum err check_sizes(const struct validation *v)
{
    struct walk w;
    enum err err = walk_begin(v, &w);
    if (err)
        return err;
    for (int32_t left = batch_record_count(v->batch); !err && left; left--) {
        struct walk_record r;
        err = walk_one(&w, &r);
    }
    decoder_close(w.decoder);
    return err;
}

/* Reads the records and builds them anew, as long as none is refused. */
static enum err copy_records(struct validation *v, struct builder *builder)
{
    struct records_iter iter;
    struct record record;
    enum err err = records_iter_init(&iter, slice_of(v->batch, v->size), REBUILD_RECORD_MAX);
    for (int32_t i = 0; !err && records_iter_next(&iter, &record); i++) {
        struct walk_record r = walk_record_of(v, &record);
        check_record(v, i, &r, record.timestamp);
        if (!v->error_count)
            builder_append_record(builder, &record);
    }
    err = read_err(iter.err);
    records_iter_fini(&iter);
    return err ? err : record_errors(v);
}

/* The topic wants another codec: a new batch with offsets 0, 1, 2 ... goes into `rebuilt`. */
static enum err rebuild(struct validation *v, struct buf *rebuilt)
{
    const uint8_t *b = v->batch;
    const struct validate_options *o = v->options;
    bool is_limited =
        v->codec != CODEC_NONE && o->record_size_max > 0 && o->record_size_max < REBUILD_RECORD_MAX;
    enum err err = is_limited ? check_sizes(v) : ERR_NONE;
    if (err)
        return err;
    struct builder_options options = BUILDER_DEFAULTS;
    options.codec = v->codec_target;
    options.level = o->level;
    options.log_append_time = o->log_append_time;
    options.log_append_time_ms = o->now_ms;
    options.transactional = batch_is_transactional(b);
    options.producer_id = batch_producer_id(b);
    options.producer_epoch = batch_producer_epoch(b);
    options.base_sequence = batch_base_sequence(b);

    size_t from = rebuilt->size, size_max = rebuilt->size_max;
    size_t limit = from + REBUILD_SLACK + (size_t)(o->batch_size_max > 0 ? o->batch_size_max : 0);
    if (o->batch_size_max > 0 && (!size_max || limit < size_max))
        rebuilt->size_max = limit;
    struct builder builder;
    builder_begin(&builder, rebuilt, &options);
    err = copy_records(v, &builder);
    if (err) {
        builder_abort(&builder);
    } else {
        err = builder_end(&builder);
        err = err == ERR_TOO_LARGE ? ERR_MESSAGE_TOO_LARGE : err ? ERR_UNKNOWN_SERVER_ERROR : err;
    }
    rebuilt->size_max = size_max;
    if (err)
        return err;
    if (o->batch_size_max > 0 && rebuilt->size - from > (size_t)o->batch_size_max) {
        rebuilt->size = from;
        return ERR_MESSAGE_TOO_LARGE;
    }
    v->result->batch = rebuilt->data + from;
    v->result->size = rebuilt->size - from;
    v->result->is_rebuilt = true;
    v->max_timestamp = batch_max_timestamp(v->result->batch);
    return ERR_NONE;
}

static enum err validate(struct validation *v, uint8_t *bytes, size_t size, struct buf *rebuilt)
{
    const struct validate_options *o = v->options;
    if (!o->log_append_time) {
        v->timestamp_min = (int64_t)((uint64_t)o->now_ms - (uint64_t)o->timestamp_before_max_ms);
        v->timestamp_span =
            (uint64_t)o->timestamp_before_max_ms + (uint64_t)o->timestamp_after_max_ms;
    }
    enum err err = frame(v, slice_of(bytes, size));
    if (err)
        return err;
    err = check_header(v);
    if (err)
        return err;
    if (v->codec_target != v->codec)
        return rebuild(v, rebuilt);
    err = walk_in_place(v);
    if (err)
        return err;
    if (o->log_append_time)
        v->max_timestamp = o->now_ms;
    batch_set_max_timestamp(bytes, o->log_append_time, v->max_timestamp);
    v->result->batch = bytes;
    v->result->size = v->size;
    return ERR_NONE;
}

enum err validate_batch(uint8_t *bytes, size_t size, const struct validate_options *options,
                        struct arena *arena, struct buf *rebuilt,
                        struct validate_result *ret_result)
{
    *ret_result = (struct validate_result){
        .max_timestamp = BATCH_NO_TIMESTAMP,
        .log_append_time_ms = BATCH_NO_TIMESTAMP,
    };
    struct validation v = {.options = options,
                           .arena = arena,
                           .result = ret_result,
                           .timestamp_span = UINT64_MAX,
                           .max_timestamp = BATCH_NO_TIMESTAMP};
    enum err err = validate(&v, bytes, size, rebuilt);
    if (err)
        return err;
    ret_result->record_count = batch_last_offset_delta(ret_result->batch) + 1;
    ret_result->max_timestamp = v.max_timestamp;
    if (options->log_append_time)
        ret_result->log_append_time_ms = options->now_ms;
    return ERR_NONE;
}
