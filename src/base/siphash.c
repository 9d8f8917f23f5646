/* SipHash as its authors (Aumasson, Bernstein) define it: two rounds for each 8 bytes, four at the
 * end, the 128-bit variant. Pure; any thread. The cleaner of compacted logs calls it once for each
 * record. */
#include "base/siphash.h"

#include <string.h>

struct state {
    uint64_t v0, v1, v2, v3;
};

static inline uint64_t rotate(uint64_t v, int by)
{
    return v << by | v >> (64 - by);
}

static inline void rounds(struct state *s, int count)
{
    for (int i = 0; i < count; i++) {
        s->v0 += s->v1;
        s->v1 = rotate(s->v1, 13) ^ s->v0;
        s->v0 = rotate(s->v0, 32);
        s->v2 += s->v3;
        s->v3 = rotate(s->v3, 16) ^ s->v2;
        s->v0 += s->v3;
        s->v3 = rotate(s->v3, 21) ^ s->v0;
        s->v2 += s->v1;
        s->v1 = rotate(s->v1, 17) ^ s->v2;
        s->v2 = rotate(s->v2, 32);
    }
}

/* Little-endian, as the definition has it. */
static inline uint64_t load(const uint8_t *p, size_t size)
{
    uint64_t word = 0;
    memcpy(&word, p, size);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline void take(struct state *s, uint64_t word)
{
    s->v3 ^= word;
    rounds(s, 2);
    s->v0 ^= word;
}

struct siphash siphash(const struct siphash_key *key, struct slice bytes)
{
    struct state s = {
        .v0 = key->k0 ^ UINT64_C(0x736f6d6570736575),
        .v1 = key->k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
        .v2 = key->k0 ^ UINT64_C(0x6c7967656e657261),
        .v3 = key->k1 ^ UINT64_C(0x7465646279746573),
    };
    size_t at = 0;
    for (; bytes.size - at >= 8; at += 8)
        take(&s, load(bytes.data + at, 8));
    uint64_t last = (uint64_t)bytes.size << 56;
    if (at < bytes.size)
        last |= load(bytes.data + at, bytes.size - at);
    take(&s, last);
    struct siphash hash;
    s.v2 ^= 0xee;
    rounds(&s, 4);
    hash.low = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    s.v1 ^= 0xdd;
    rounds(&s, 4);
    hash.high = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
    return hash;
}
