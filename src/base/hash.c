/* See hash.h. Pure. */
#include "base/hash.h"

int32_t murmur2(const void *data, size_t size)
{
    const uint8_t *p = data;
    const uint32_t m = 0x5bd1e995u;
    uint32_t h = 0x9747b28cu ^ (uint32_t)size;
    for (; size >= 4; size -= 4, p += 4) {
        uint32_t k =
            (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
        k *= m;
        k ^= k >> 24;
        k *= m;
        h = h * m ^ k;
    }
    if (size) {
        if (size == 3)
            h ^= (uint32_t)p[2] << 16;
        if (size >= 2)
            h ^= (uint32_t)p[1] << 8;
        h = (h ^ p[0]) * m;
    }
    h ^= h >> 13;
    h *= m;
    h ^= h >> 15;
    return (int32_t)h;
}

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
