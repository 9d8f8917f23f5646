/* Reads big-endian values off a slice. Sticky: a read past the end (or a bad varint) gives 0 or an
 * empty slice and sets `failed`, which the caller checks once. Lengths are compared with what
 * remains, so no read and no sum can wrap. */
#ifndef KLAMM_BASE_CURSOR_H
#define KLAMM_BASE_CURSOR_H

#include "base/be.h"
#include "base/slice.h"

struct cursor {
    const uint8_t *at, *end;
    bool failed;
};

static inline struct cursor cursor_of(struct slice s)
{
    return (struct cursor){s.data, s.data ? s.data + s.size : s.data, false};
}

static inline size_t cursor_left(const struct cursor *c)
{
    return (size_t)(c->end - c->at);
}

/* The next `size` bytes as a view; NULL and failed when fewer remain. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t size)
{
    if (c->failed || size > cursor_left(c)) {
        c->failed = true;
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += size;
    return p;
}

static inline struct slice cursor_slice(struct cursor *c, size_t size)
{
    const uint8_t *p = cursor_take(c, size);
    return p ? (struct slice){p, size} : SLICE_NULL;
}

static inline int8_t cursor_i8(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 1);
    return p ? (int8_t)*p : 0;
}

static inline int16_t cursor_i16(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 2);
    return p ? be_i16(p) : (int16_t)0;
}

static inline int32_t cursor_i32(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 4);
    return p ? be_i32(p) : 0;
}

static inline int64_t cursor_i64(struct cursor *c)
{
    const uint8_t *p = cursor_take(c, 8);
    return p ? be_i64(p) : 0;
}

uint32_t cursor_uvarint(struct cursor *c); /* at most 5 bytes, 32 bits */

#endif
