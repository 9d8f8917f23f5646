/* Builds batches of magic 2 straight into the caller's buf: the header's place first, then the
 * records (through an encoder when there is a codec), then the header.
 *
 * Invariants: until builder_end succeeds, `out` holds no half batch that anyone may look at; after
 * a failure it is as long as it was. Timestamps count from the first record's, as the Java producer
 * writes them, so batches equal Kafka's byte by byte where the codec's encoder does.
 *
 * Called wherever records are made: coordinators (under their lock), the controller, the validator
 * when it recompresses (loops). */
#include "record/builder.h"

#include "base/ensure.h"
#include "record/compress.h"

void builder_begin(struct builder *b, struct buf *out, const struct builder_options *options)
{
    *b = (struct builder){.out = out,
                          .from = out->size,
                          .had_failed = out->failed,
                          .options = *options,
                          .last_offset_delta = -1,
                          .base_timestamp = options->has_delete_horizon ? options->delete_horizon_ms
                                                                        : BATCH_NO_TIMESTAMP,
                          .max_timestamp = BATCH_NO_TIMESTAMP};
    buf_init(&b->scratch);
    if (!buf_extend(out, BATCH_HEADER_SIZE))
        b->err = ERR_TOO_LARGE;
    else if (options->codec != CODEC_NONE)
        b->err = encoder_open(options->codec, options->level, out, &b->encoder);
}

struct body {
    int64_t timestamp_delta;
    int32_t offset_delta;
    struct slice key, value;
    const struct record_header *headers; /* or: */
    struct slice encoded_headers;
    int32_t header_count;
};

static size_t blob_size(struct slice s)
{
    return s.data ? varint_size((int64_t)s.size) + s.size : varint_size(-1);
}

static void put_blob(struct buf *out, struct slice s)
{
    buf_put_varint(out, s.data ? (int64_t)s.size : -1);
    buf_put(out, s.data, s.size);
}

static size_t body_size(const struct body *body)
{
    size_t size = 1 + varint_size(body->timestamp_delta) + varint_size(body->offset_delta) +
                  blob_size(body->key) + blob_size(body->value) + varint_size(body->header_count) +
                  body->encoded_headers.size;
    for (int32_t i = 0; body->headers && i < body->header_count; i++)
        size += blob_size(body->headers[i].key) + blob_size(body->headers[i].value);
    return size;
}

static void put_record(struct buf *out, const struct body *body)
{
    buf_put_varint(out, (int64_t)body_size(body));
    buf_put_i8(out, 0);
    buf_put_varint(out, body->timestamp_delta);
    buf_put_varint(out, body->offset_delta);
    put_blob(out, body->key);
    put_blob(out, body->value);
    buf_put_varint(out, body->header_count);
    buf_put_slice(out, body->encoded_headers);
    for (int32_t i = 0; body->headers && i < body->header_count; i++) {
        put_blob(out, body->headers[i].key);
        put_blob(out, body->headers[i].value);
    }
}

static void append(struct builder *b, int64_t timestamp, struct body *body)
{
    if (b->err)
        return;
    if (!b->record_count && !b->options.has_delete_horizon)
        b->base_timestamp = timestamp;
    body->timestamp_delta = (int64_t)((uint64_t)timestamp - (uint64_t)b->base_timestamp);
    size_t size = body->key.size + body->value.size + body->encoded_headers.size;
    if (size > INT32_MAX / 2) {
        b->err = ERR_TOO_LARGE;
        return;
    }
    if (b->encoder) {
        buf_clear(&b->scratch);
        put_record(&b->scratch, body);
        b->err = encoder_write(b->encoder, buf_slice(&b->scratch));
    } else {
        put_record(b->out, body);
        b->err = b->out->failed ? ERR_TOO_LARGE : ERR_NONE;
    }
    b->last_offset_delta = body->offset_delta;
    if (timestamp > b->max_timestamp)
        b->max_timestamp = timestamp;
    b->record_count++;
}

void builder_append(struct builder *b, int64_t timestamp, struct slice key, struct slice value)
{
    struct body body = {.offset_delta = b->last_offset_delta + 1, .key = key, .value = value};
    append(b, timestamp, &body);
}

void builder_append_full(struct builder *b, int32_t offset_delta, int64_t timestamp,
                         struct slice key, struct slice value, const struct record_header *headers,
                         int32_t header_count)
{
    struct body body = {.offset_delta = offset_delta,
                        .key = key,
                        .value = value,
                        .headers = headers,
                        .header_count = header_count};
    append(b, timestamp, &body);
}

void builder_append_record(struct builder *b, const struct record *record)
{
    struct body body = {.offset_delta = b->last_offset_delta + 1,
                        .key = record->key,
                        .value = record->value,
                        .encoded_headers = record->headers,
                        .header_count = record->header_count};
    append(b, record->timestamp, &body);
}

void builder_append_kept(struct builder *b, const struct record *record)
{
    struct body body = {.offset_delta = (int32_t)(record->offset - b->options.base_offset),
                        .key = record->key,
                        .value = record->value,
                        .encoded_headers = record->headers,
                        .header_count = record->header_count};
    append(b, record->timestamp, &body);
}

void builder_set_offset_last(struct builder *b, int64_t offset_last)
{
    b->last_offset_delta = (int32_t)(offset_last - b->options.base_offset);
}

size_t builder_size(const struct builder *b)
{
    return b->out->size - b->from;
}

static void put_header(struct builder *b)
{
    const struct builder_options *o = &b->options;
    uint8_t *p = b->out->data + b->from;
    int16_t attributes =
        (int16_t)((int)o->codec | (o->log_append_time ? BATCH_LOG_APPEND_TIME : 0) |
                  (o->transactional ? BATCH_TRANSACTIONAL : 0) | (o->control ? BATCH_CONTROL : 0) |
                  (o->has_delete_horizon ? BATCH_DELETE_HORIZON : 0));
    be_put_i64(p, o->base_offset);
    be_put_i32(p + 8, (int32_t)(builder_size(b) - BATCH_PREFIX_SIZE));
    be_put_i32(p + 12, o->leader_epoch);
    p[16] = BATCH_MAGIC;
    be_put_i16(p + 21, attributes);
    be_put_i32(p + 23, b->record_count ? b->last_offset_delta : 0);
    be_put_i64(p + 27, b->base_timestamp);
    be_put_i64(p + 35, o->log_append_time ? o->log_append_time_ms : b->max_timestamp);
    be_put_i64(p + 43, o->producer_id);
    be_put_i16(p + 51, o->producer_epoch);
    be_put_i32(p + 53, o->base_sequence);
    be_put_i32(p + 57, b->record_count);
    batch_seal(p);
}

enum err builder_end(struct builder *b)
{
    if (b->encoder) {
        struct encoder *encoder = b->encoder;
        b->encoder = NULL;
        if (b->err)
            encoder_close(encoder);
        else
            b->err = encoder_finish(encoder);
    }
    if (!b->err && builder_size(b) > INT32_MAX)
        b->err = ERR_TOO_LARGE;
    enum err err = b->err;
    if (err)
        builder_abort(b);
    else
        put_header(b);
    buf_fini(&b->scratch);
    return err;
}

void builder_abort(struct builder *b)
{
    encoder_close(b->encoder);
    b->encoder = NULL;
    b->out->size = b->from;
    b->out->failed = b->had_failed;
    buf_fini(&b->scratch);
}
