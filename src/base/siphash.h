/* SipHash-2-4 with 128 bits of output: a hash under a secret key. Whoever chooses the bytes but
 * does not know the key cannot make two inputs collide, and by chance they do not: it stands in for
 * the bytes themselves where keeping those would take too much memory. */
#ifndef KLAMM_BASE_SIPHASH_H
#define KLAMM_BASE_SIPHASH_H

#include "base/slice.h"

struct siphash_key {
    uint64_t k0, k1;
};

struct siphash {
    uint64_t low, high;
};

struct siphash siphash(const struct siphash_key *key, struct slice bytes);

#endif
