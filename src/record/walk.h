/* The walk over encoded records, which the validator, the record iterator and time look-ups share.
 * Inside record/ only: the tight loop lives in this header so that it is inlined where it runs.
 *
 * A record is: varint length of the rest, int8 attributes, varlong timestamp delta, varint offset
 * delta, varint key length and key, varint value length and value, varint header count and headers
 * (varint length and bytes, twice). A negative length of a key, value or header value is null. */
#ifndef KLAMM_RECORD_WALK_H
#define KLAMM_RECORD_WALK_H

#include "base/err.h"
#include "base/slice.h"
#include "record/compress.h"

struct walk_record {
    int64_t timestamp_delta;
    int32_t offset_delta;
    int32_t body_size;  /* what the length field says */
    int32_t size;       /* with the length field */
    int32_t key_size;   /* negative: null */
    int32_t value_size; /* negative: null */
    int32_t header_count;
    int8_t attributes;
    const uint8_t *key, *value, *headers; /* NULL when the record crossed pieces (walk_next) */
};

enum {
    WALK_HEAD_MAX = 5 + 1 + 10 + 5 + 5, /* most bytes before a key */
    WALK_LENGTH_MAX = 5,
};

static inline int32_t walk_zigzag(uint32_t v)
{
    return (int32_t)(v >> 1 ^ (0u - (v & 1)));
}

static inline int64_t walk_zigzag_long(uint64_t v)
{
    return (int64_t)(v >> 1 ^ (UINT64_C(0) - (v & 1)));
}

/* Varints of at most 5 and 10 bytes, as Java reads them: bits beyond the type are dropped. NULL
 * when they are longer or reach `end`. */
const uint8_t *walk_varint_checked(const uint8_t *p, const uint8_t *end, int32_t *ret_value);
const uint8_t *walk_varlong_checked(const uint8_t *p, const uint8_t *end, int64_t *ret_value);

/* The same where 5 (10) bytes are known to be readable. Outputs go through locals whose address
 * does not escape, here and below, so that the tight loops keep them in registers. */
static inline const uint8_t *walk_varint(const uint8_t *p, int32_t *ret_value)
{
    uint32_t v = p[0];
    if (__builtin_expect(v < 0x80, 1)) {
        *ret_value = walk_zigzag(v);
        return p + 1;
    }
    uint32_t next = p[1];
    if (__builtin_expect(next < 0x80, 1)) {
        *ret_value = walk_zigzag((v & 0x7f) | next << 7);
        return p + 2;
    }
    int32_t value = 0;
    p = walk_varint_checked(p, p + 5, &value);
    *ret_value = value;
    return p;
}

static inline const uint8_t *walk_varlong(const uint8_t *p, int64_t *ret_value)
{
    uint32_t v = p[0];
    if (__builtin_expect(v < 0x80, 1)) {
        *ret_value = walk_zigzag((uint32_t)v);
        return p + 1;
    }
    uint32_t next = p[1];
    if (__builtin_expect(next < 0x80, 1)) {
        *ret_value = walk_zigzag((v & 0x7f) | next << 7);
        return p + 2;
    }
    int64_t value = 0;
    p = walk_varlong_checked(p, p + 10, &value);
    *ret_value = value;
    return p;
}

/* The body's size, which is not negative: the one value that the next record's address waits for.
 */
static inline const uint8_t *walk_body_size(const uint8_t *p, uint32_t *ret_size)
{
    uint32_t v = p[0];
    if (v < 0x80) {
        *ret_size = v >> 1;
        return v & 1 ? NULL : p + 1;
    }
    uint32_t next = p[1];
    if (__builtin_expect(next < 0x80, 1)) {
        *ret_size = (v & 0x7f) >> 1 | next << 6;
        return v & 1 ? NULL : p + 2;
    }
    int32_t value = -1;
    p = walk_varint_checked(p, p + 5, &value);
    *ret_size = (uint32_t)value;
    return value < 0 ? NULL : p;
}

/* Every read checked: for the last bytes of a region, long headers and the like. */
const uint8_t *walk_parse_checked(const uint8_t *p, const uint8_t *end, struct walk_record *r);

static inline const uint8_t *walk_parse_apart(const uint8_t *p, const uint8_t *end,
                                              struct walk_record *r)
{
    struct walk_record checked = {0};
    p = walk_parse_checked(p, end, &checked);
    *r = checked;
    return p;
}

/* Parses the record at p, which must lie whole before `end`. Returns what follows it; NULL when it
 * is broken or reaches beyond `end`. */
static inline const uint8_t *walk_parse(const uint8_t *p, const uint8_t *end, struct walk_record *r)
{
    const uint8_t *from = p;
    uint32_t body_size;
    if (__builtin_expect(end - p < WALK_HEAD_MAX, 0))
        return walk_parse_apart(p, end, r);
    p = walk_body_size(p, &body_size);
    if (__builtin_expect(!p || body_size > (size_t)(end - p), 0))
        return NULL;
    const uint8_t *stop = p + body_size;
    r->body_size = (int32_t)body_size;
    r->size = (int32_t)(stop - from);
    r->attributes = (int8_t)*p++;
    p = walk_varlong(p, &r->timestamp_delta);
    if (__builtin_expect(!p, 0))
        return NULL;
    p = walk_varint(p, &r->offset_delta);
    if (__builtin_expect(!p, 0))
        return NULL;
    p = walk_varint(p, &r->key_size);
    if (__builtin_expect(!p, 0))
        return NULL;
    r->key = p;
    if (r->key_size > 0) {
        if (__builtin_expect(r->key_size > stop - p, 0))
            return NULL;
        p += r->key_size;
    }
    if (__builtin_expect(end - p < WALK_LENGTH_MAX, 0))
        return walk_parse_apart(from, end, r);
    p = walk_varint(p, &r->value_size);
    if (__builtin_expect(!p, 0))
        return NULL;
    r->value = p;
    if (__builtin_expect(r->value_size > 0, 1)) {
        if (__builtin_expect(r->value_size > stop - p, 0))
            return NULL;
        p += r->value_size;
    }
    if (__builtin_expect(stop - p != 1 || *p != 0, 0))
        return walk_parse_apart(from, end, r);
    r->header_count = 0;
    r->headers = stop;
    return stop;
}

/* The headers of a record that ends at `stop`: true when they fill [p, stop). */
bool walk_headers_fit(const uint8_t *p, const uint8_t *stop);

/* What validation looks at in each record. */
struct walk_head {
    int64_t timestamp_delta;
    int32_t offset_delta;
    int32_t key_size;
};

/* The innermost step of validation: walk_parse without what it does not need. NULL also for good
 * records near `end`. A loop that calls this must not let h's address escape. */
static inline const uint8_t *walk_skip(const uint8_t *p, const uint8_t *end, struct walk_head *h)
{
    uint32_t body_size;
    int32_t value_size;
    if (__builtin_expect(end - p < WALK_HEAD_MAX, 0))
        return NULL;
    p = walk_body_size(p, &body_size);
    if (__builtin_expect(!p || body_size > (size_t)(end - p), 0))
        return NULL;
    const uint8_t *stop = p + body_size;
    p = walk_varlong(p + 1, &h->timestamp_delta);
    if (__builtin_expect(!p, 0))
        return NULL;
    p = walk_varint(p, &h->offset_delta);
    if (__builtin_expect(!p, 0))
        return NULL;
    p = walk_varint(p, &h->key_size);
    if (__builtin_expect(!p, 0))
        return NULL;
    if (h->key_size > 0) {
        if (__builtin_expect(h->key_size > stop - p, 0))
            return NULL;
        p += h->key_size;
    }
    if (__builtin_expect(end - p < WALK_LENGTH_MAX, 0))
        return NULL;
    p = walk_varint(p, &value_size);
    if (__builtin_expect(!p, 0))
        return NULL;
    if (__builtin_expect(value_size > 0, 1)) {
        if (__builtin_expect(value_size > stop - p, 0))
            return NULL;
        p += value_size;
    }
    if (__builtin_expect(stop - p == 1 && *p == 0, 1))
        return stop;
    return walk_headers_fit(p, stop) ? stop : NULL;
}

/* Records that lie in memory, or come in pieces from a decoder. */
struct walk {
    const uint8_t *at, *end;
    struct decoder *decoder; /* NULL: all bytes are at hand */
    int32_t body_size_max;   /* a larger record is not read: ERR_INVALID_RECORD; 0 = none */
    enum err err;
};

/* For a record that is not whole in the piece at hand: reads it byte by byte, forgetting keys and
 * values. */
bool walk_next_slow(struct walk *w, struct walk_record *r);

/* The next record. False with w->err: ERR_INVALID_RECORD (broken, too large, or the bytes end), or
 * the decoder's error. */
static inline bool walk_next(struct walk *w, struct walk_record *r)
{
    const uint8_t *next = walk_parse(w->at, w->end, r);
    if (__builtin_expect(next == NULL, 0)) {
        struct walk_record slow = {0};
        bool is_read = walk_next_slow(w, &slow);
        *r = slow;
        return is_read;
    }
    if (__builtin_expect(w->body_size_max && r->body_size > w->body_size_max, 0)) {
        w->err = ERR_INVALID_RECORD;
        return false;
    }
    w->at = next;
    return true;
}

/* Takes in the decoder's next piece once the present one is used up. False at the end (err
 * ERR_NONE) or on an error. */
bool walk_more(struct walk *w);

/* True when no byte is left; decodes to the end, and so checks what stands there. */
bool walk_is_at_end(struct walk *w);

#endif
