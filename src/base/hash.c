/* See hash.h. Pure. */
#include "base/hash.h"

/* Code point at *at; malformed bytes count as U+FFFD, one each. */
static uint32_t next_code_point(struct slice s, size_t *at)
{
    uint8_t first = s.data[(*at)++];
    if (first < 0x80)
        return first;
    size_t more = first >= 0xf0 && first < 0xf8   ? 3
                  : first >= 0xe0 && first < 0xf0 ? 2
                  : first >= 0xc2 && first < 0xe0 ? 1
                                                  : 0;
    if (!more || more > s.size - *at)
        return 0xfffd;
    uint32_t code = first & (0x3fu >> more);
    for (size_t i = 0; i < more; i++) {
        if ((s.data[*at + i] & 0xc0) != 0x80)
            return 0xfffd;
        code = code << 6 | (s.data[*at + i] & 0x3f);
    }
    *at += more;
    return code;
}

int32_t java_hash(struct slice utf8)
{
    uint32_t h = 0;
    for (size_t at = 0; at < utf8.size;) {
        uint32_t code = next_code_point(utf8, &at);
        if (code >= 0x10000) {
            code -= 0x10000;
            h = 31 * h + (0xd800 + (code >> 10));
            h = 31 * h + (0xdc00 + (code & 0x3ff));
        } else {
            h = 31 * h + code;
        }
    }
    return (int32_t)h;
}

int32_t coordinator_partition(struct slice key, int32_t count)
{
    int32_t h = java_hash(key);
    uint32_t magnitude = h == INT32_MIN ? 0u : (uint32_t)(h < 0 ? -h : h);
    return (int32_t)(magnitude % (uint32_t)count);
}
