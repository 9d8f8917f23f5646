/* The parts of the record walk that are off its fast path: checked parsing near the end of a
 * region, headers, and records that cross the pieces in which a decoder hands them out.
 *
 * Invariant: the position never passes `end`; lengths are compared with what remains. A record
 * must fill exactly the bytes that its length names. Kafka does not ask that of compressed records
 * as long as their fields parse; we do, since a consumer could not read them.
 *
 * Called through walk.h by the validator (loops), iterators and look-ups (any thread). */
#include "record/walk.h"

const uint8_t *walk_varint_checked(const uint8_t *p, const uint8_t *end, int32_t *ret_value)
{
    uint32_t v = 0;
    for (int shift = 0; shift < 35; shift += 7) {
        if (p >= end)
            return NULL;
        uint32_t byte = *p++;
        v |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = walk_zigzag(v);
            return p;
        }
    }
    return NULL;
}

const uint8_t *walk_varlong_checked(const uint8_t *p, const uint8_t *end, int64_t *ret_value)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (p >= end)
            return NULL;
        uint64_t byte = *p++;
        v |= (byte & 0x7f) << shift;
        if (byte < 0x80) {
            *ret_value = walk_zigzag_long(v);
            return p;
        }
    }
    return NULL;
}

static const uint8_t *skip(const uint8_t *p, const uint8_t *end, int32_t size)
{
    if (size <= 0)
        return p;
    return size > end - p ? NULL : p + size;
}

static const uint8_t *skip_headers(const uint8_t *p, const uint8_t *end, int32_t count)
{
    if (count < 0 || count > end - p)
        return NULL;
    for (; count; count--) {
        int32_t size;
        p = walk_varint_checked(p, end, &size);
        if (!p || size < 0)
            return NULL;
        p = skip(p, end, size);
        if (!p)
            return NULL;
        p = walk_varint_checked(p, end, &size);
        if (!p)
            return NULL;
        p = skip(p, end, size);
        if (!p)
            return NULL;
    }
    return p;
}

bool walk_headers_fit(const uint8_t *p, const uint8_t *stop)
{
    int32_t count;
    p = walk_varint_checked(p, stop, &count);
    return p && skip_headers(p, stop, count) == stop;
}

const uint8_t *walk_parse_checked(const uint8_t *p, const uint8_t *end, struct walk_record *r)
{
    const uint8_t *from = p;
    p = walk_varint_checked(p, end, &r->body_size);
    if (!p || r->body_size < 1 || r->body_size > end - p)
        return NULL;
    end = p + r->body_size;
    r->size = (int32_t)(end - from);
    r->attributes = (int8_t)*p++;
    p = walk_varlong_checked(p, end, &r->timestamp_delta);
    if (!p)
        return NULL;
    p = walk_varint_checked(p, end, &r->offset_delta);
    if (!p)
        return NULL;
    p = walk_varint_checked(p, end, &r->key_size);
    if (!p)
        return NULL;
    r->key = p;
    p = skip(p, end, r->key_size);
    if (!p)
        return NULL;
    p = walk_varint_checked(p, end, &r->value_size);
    if (!p)
        return NULL;
    r->value = p;
    p = skip(p, end, r->value_size);
    if (!p)
        return NULL;
    p = walk_varint_checked(p, end, &r->header_count);
    if (!p)
        return NULL;
    r->headers = p;
    p = skip_headers(p, end, r->header_count);
    return p == end ? p : NULL;
}

bool walk_more(struct walk *w)
{
    if (w->err || !w->decoder)
        return false;
    struct slice piece;
    w->err = decoder_next(w->decoder, &piece);
    if (w->err || !piece.size)
        return false;
    w->at = piece.data;
    w->end = piece.data + piece.size;
    return true;
}

bool walk_is_at_end(struct walk *w)
{
    return w->at == w->end && !walk_more(w) && !w->err;
}

/* ---- across pieces ----------------------------------------------------------------------- */

/* A record's body as a stream; left counts down what the length field promised. */
struct stream {
    struct walk *w;
    int64_t left;
};

static bool fail(struct stream *s)
{
    if (!s->w->err)
        s->w->err = ERR_INVALID_RECORD;
    return false;
}

static bool take_byte(struct stream *s, uint8_t *ret_byte)
{
    if (s->left < 1 || (s->w->at == s->w->end && !walk_more(s->w)))
        return fail(s);
    s->left--;
    *ret_byte = *s->w->at++;
    return true;
}

static bool take_varint(struct stream *s, int32_t *ret_value)
{
    uint8_t bytes[5];
    size_t count = 0;
    do {
        if (count == sizeof bytes || !take_byte(s, &bytes[count]))
            return fail(s);
    } while (bytes[count++] >= 0x80);
    walk_varint_checked(bytes, bytes + count, ret_value);
    return true;
}

static bool take_varlong(struct stream *s, int64_t *ret_value)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        if (count == sizeof bytes || !take_byte(s, &bytes[count]))
            return fail(s);
    } while (bytes[count++] >= 0x80);
    walk_varlong_checked(bytes, bytes + count, ret_value);
    return true;
}

static bool take_blob(struct stream *s, int32_t *ret_size)
{
    if (!take_varint(s, ret_size))
        return false;
    int64_t size = *ret_size > 0 ? *ret_size : 0;
    if (size > s->left)
        return fail(s);
    s->left -= size;
    while (size) {
        if (s->w->at == s->w->end && !walk_more(s->w))
            return fail(s);
        int64_t part = s->w->end - s->w->at;
        part = part < size ? part : size;
        s->w->at += part;
        size -= part;
    }
    return true;
}

static bool take_headers(struct stream *s, int32_t count)
{
    if (count < 0 || count > s->left)
        return fail(s);
    for (; count; count--) {
        int32_t size;
        if (!take_blob(s, &size))
            return false;
        if (size < 0)
            return fail(s);
        if (!take_blob(s, &size))
            return false;
    }
    return true;
}

bool walk_next_slow(struct walk *w, struct walk_record *r)
{
    struct stream s = {.w = w, .left = WALK_LENGTH_MAX};
    if (!w->decoder)
        return fail(&s);
    if (!take_varint(&s, &r->body_size))
        return false;
    if (r->body_size < 0 || r->body_size > INT32_MAX - WALK_LENGTH_MAX ||
        (w->body_size_max && r->body_size > w->body_size_max))
        return fail(&s);
    r->size = (int32_t)(WALK_LENGTH_MAX - s.left) + r->body_size;
    s.left = r->body_size;
    uint8_t attributes;
    if (!take_byte(&s, &attributes) || !take_varlong(&s, &r->timestamp_delta) ||
        !take_varint(&s, &r->offset_delta) || !take_blob(&s, &r->key_size) ||
        !take_blob(&s, &r->value_size) || !take_varint(&s, &r->header_count) ||
        !take_headers(&s, r->header_count))
        return false;
    if (s.left)
        return fail(&s);
    r->attributes = (int8_t)attributes;
    r->key = NULL;
    r->value = NULL;
    r->headers = NULL;
    return true;
}
