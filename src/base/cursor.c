/* Varints of a cursor. Pure. */
#include "base/cursor.h"

uint32_t cursor_uvarint(struct cursor *c)
{
    uint64_t v = 0;
    for (unsigned i = 0; i < 5; i++) {
        const uint8_t *p = cursor_take(c, 1);
        if (!p)
            return 0;
        v |= (uint64_t)(*p & 0x7f) << (7 * i);
        if (*p & 0x80)
            continue;
        if (v > UINT32_MAX)
            break;
        return (uint32_t)v;
    }
    c->failed = true;
    return 0;
}
