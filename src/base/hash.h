/* The two hashes that Kafka's placement rules are made of. */
#ifndef KLAMM_BASE_HASH_H
#define KLAMM_BASE_HASH_H

#include "base/slice.h"

/* Java's String.hashCode of UTF-8 text (over its UTF-16 units). */
int32_t java_hash(struct slice utf8);

/* abs(java_hash(key)) % count, with abs(-2^31) = 0: the partition of a coordinator topic. */
int32_t coordinator_partition(struct slice key, int32_t count);

#endif
