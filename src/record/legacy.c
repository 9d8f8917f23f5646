/* Message sets of magic 0 and 1. An entry is one message, or a wrapper whose value is a compressed
 * message set. Inner offsets of magic 0 are absolute; those of magic 1 count so that the last inner
 * message has the wrapper's offset, which takes a first pass over the set to know.
 *
 * Invariants: inner messages are never compressed themselves; a torn last inner message ends the
 * set silently, as in Kafka; the collecting buffer grows with bytes received up to
 * message_size_max.
 *
 * Called by the log (recovery, time look-ups) and the tools that print old segments, on workers. */
#include "record/legacy.h"

#include "base/cursor.h"
#include "record/compress.h"

struct message {
    int64_t offset;
    int64_t timestamp;
    int8_t magic;
    uint8_t attributes;
    struct slice key, value;
};

static struct slice take_blob(struct cursor *c)
{
    int32_t size = cursor_i32(c);
    return size < 0 ? SLICE_NULL : cursor_slice(c, (size_t)size);
}

/* One whole entry, prefix included, of magic 0 or 1. */
static enum err parse(struct slice entry, struct message *ret_message)
{
    struct cursor c = cursor_of(entry);
    struct message m = {.offset = cursor_i64(&c), .timestamp = BATCH_NO_TIMESTAMP};
    cursor_take(&c, 8); /* size and CRC */
    m.magic = cursor_i8(&c);
    m.attributes = (uint8_t)cursor_i8(&c);
    if (m.magic == 1)
        m.timestamp = cursor_i64(&c);
    m.key = take_blob(&c);
    m.value = take_blob(&c);
    if (c.failed || m.magic < 0 || m.magic > 1)
        return ERR_CORRUPT_MESSAGE;
    *ret_message = m;
    return ERR_NONE;
}

static enum codec codec_of(const struct message *m)
{
    return (enum codec)(m->attributes & BATCH_CODEC_MASK);
}

/* Decodes from the start of the wrapper's value. */
static enum err start(struct legacy_iter *iter, const struct message *wrapper)
{
    decoder_close(iter->decoder);
    iter->decoder = NULL;
    iter->at = iter->end = NULL;
    unsigned flags = wrapper->magic == 0 ? DECODER_LZ4_ANY_HEADER_CHECKSUM : 0;
    enum err err = decoder_open(codec_of(wrapper), wrapper->value, flags, &iter->decoder);
    return err == ERR_NONE || err == ERR_NO_MEMORY ? err : ERR_CORRUPT_MESSAGE;
}

/* Makes the collecting buffer `size` bytes long; false when the set ends before. */
static bool collect(struct legacy_iter *iter, size_t size)
{
    while (iter->stitch.size < size) {
        size_t left = (size_t)(iter->end - iter->at);
        if (!left) {
            struct slice piece;
            enum err err = decoder_next(iter->decoder, &piece);
            if (err)
                iter->err = err == ERR_NO_MEMORY ? err : ERR_CORRUPT_MESSAGE;
            if (err || !piece.size)
                return false;
            iter->at = piece.data;
            iter->end = piece.data + piece.size;
            left = piece.size;
        }
        size_t part = size - iter->stitch.size;
        part = part < left ? part : left;
        buf_put(&iter->stitch, iter->at, part);
        iter->at += part;
    }
    return true;
}

/* The next inner message. False at the end of the set, or on an error (iter->err). */
static bool next_inner(struct legacy_iter *iter, struct message *ret_message)
{
    buf_clear(&iter->stitch);
    if (!collect(iter, BATCH_PREFIX_SIZE))
        return false;
    int32_t length = batch_length(iter->stitch.data);
    if (length < BATCH_SIZE_MIN_V0 - BATCH_PREFIX_SIZE) {
        iter->err = ERR_CORRUPT_MESSAGE;
        return false;
    }
    if ((size_t)length > iter->message_size_max) {
        iter->err = ERR_TOO_LARGE;
        return false;
    }
    if (!collect(iter, BATCH_PREFIX_SIZE + (size_t)length))
        return false;
    iter->err = parse(buf_slice(&iter->stitch), ret_message);
    if (!iter->err && codec_of(ret_message) != CODEC_NONE)
        iter->err = ERR_INVALID_RECORD;
    return !iter->err;
}

/* First pass: what to add to the inner offsets. */
static enum err find_base(struct legacy_iter *iter, const struct message *wrapper)
{
    struct message inner;
    int64_t last = 0;
    bool is_empty = true;
    while (next_inner(iter, &inner)) {
        last = inner.offset;
        is_empty = false;
    }
    if (iter->err)
        return iter->err;
    if (is_empty)
        return ERR_INVALID_RECORD;
    if (wrapper->magic == 0 || wrapper->offset == 0)
        return ERR_NONE; /* offset 0: what some old clients sent; the inner ones stand */
    if (wrapper->offset < last)
        return ERR_INVALID_RECORD;
    iter->base = (int64_t)((uint64_t)wrapper->offset - (uint64_t)last); /* last may be negative */
    return ERR_NONE;
}

enum err legacy_iter_init(struct legacy_iter *iter, struct slice entry, size_t message_size_max)
{
    *iter = (struct legacy_iter){
        .entry = entry, .message_size_max = message_size_max ? message_size_max : INT32_MAX};
    buf_init(&iter->stitch);
    struct batch_info info;
    struct message wrapper;
    iter->err = batch_peek(entry, &info);
    if (iter->err || info.magic == BATCH_MAGIC || info.size != entry.size) {
        iter->err = ERR_CORRUPT_MESSAGE;
        return iter->err;
    }
    iter->magic = info.magic;
    iter->err = parse(entry, &wrapper);
    if (iter->err || codec_of(&wrapper) == CODEC_NONE)
        return iter->err;
    if (codec_of(&wrapper) > CODEC_LZ4 || !wrapper.value.data)
        iter->err = ERR_INVALID_RECORD;
    if (!iter->err)
        iter->err = start(iter, &wrapper);
    if (!iter->err)
        iter->err = find_base(iter, &wrapper);
    if (!iter->err)
        iter->err = start(iter, &wrapper);
    return iter->err;
}

bool legacy_iter_next(struct legacy_iter *iter, struct record *ret_record)
{
    struct message m, wrapper;
    if (iter->err || iter->is_done)
        return false;
    if (!iter->decoder) {
        iter->is_done = true;
        iter->err = parse(iter->entry, &m);
        if (iter->err)
            return false;
    } else {
        if (!next_inner(iter, &m)) {
            iter->is_done = true;
            return false;
        }
        m.offset = (int64_t)((uint64_t)m.offset + (uint64_t)iter->base);
        iter->err = parse(iter->entry, &wrapper);
        if (iter->err)
            return false;
        if (m.magic == 1 && wrapper.magic == 1 && (wrapper.attributes & BATCH_LOG_APPEND_TIME))
            m.timestamp = wrapper.timestamp;
    }
    *ret_record = (struct record){
        .offset = m.offset,
        .timestamp = m.timestamp,
        .sequence = BATCH_NO_SEQUENCE,
        .size = (int32_t)(iter->decoder ? iter->stitch.size : iter->entry.size),
        .attributes = (int8_t)m.attributes,
        .key = m.key,
        .value = m.value,
        .headers = {(const uint8_t *)"", 0},
    };
    return true;
}

void legacy_iter_fini(struct legacy_iter *iter)
{
    decoder_close(iter->decoder);
    iter->decoder = NULL;
    buf_fini(&iter->stitch);
    iter->is_done = true;
}
