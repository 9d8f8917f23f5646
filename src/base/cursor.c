/* Varints of a cursor. Pure. */
#include "base/cursor.h"

static uint64_t read_leb128(struct cursor *c, unsigned bytes_max)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < bytes_max; i++) {
        const uint8_t *p = cursor_take(c, 1);
        if (!p)
            return 0;
        v |= (uint64_t)(*p & 0x7f) << (7 * i);
        if (!(*p & 0x80))
            return v;
    }
    c->failed = true;
    return 0;
}

uint32_t cursor_uvarint(struct cursor *c)
{
    uint64_t v = read_leb128(c, 5);
    if (v > UINT32_MAX) {
        c->failed = true;
        return 0;
    }
    return (uint32_t)v;
}

uint64_t cursor_uvarlong(struct cursor *c)
{
    return read_leb128(c, 10);
}

int32_t cursor_varint(struct cursor *c)
{
    uint32_t v = cursor_uvarint(c);
    return (int32_t)((v >> 1) ^ (0u - (v & 1)));
}

int64_t cursor_varlong(struct cursor *c)
{
    uint64_t v = cursor_uvarlong(c);
    return (int64_t)((v >> 1) ^ (0ull - (v & 1)));
}
