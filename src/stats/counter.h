/* Counters that cost a plain add. Each loop or worker owns its counters and is their only writer;
 * anybody may read one at any time and sum over the owners. counter_add_shared is for the few that
 * several threads write. No reader sees a torn value; sums over several counters are not a moment's
 * picture. */
#ifndef KLAMM_STATS_COUNTER_H
#define KLAMM_STATS_COUNTER_H

#include <stdatomic.h>
#include <stdint.h>

struct counter {
    _Atomic uint64_t value; /* zeroed memory is a counter at 0 */
};

/* By the owner only. */
static inline void counter_add(struct counter *c, uint64_t amount)
{
    uint64_t value = atomic_load_explicit(&c->value, memory_order_relaxed);
    atomic_store_explicit(&c->value, value + amount, memory_order_relaxed);
}

/* By any thread; never mixed with counter_add on the same counter. */
static inline void counter_add_shared(struct counter *c, uint64_t amount)
{
    atomic_fetch_add_explicit(&c->value, amount, memory_order_relaxed);
}

/* By the owner only: a value that goes up and down (connections, bytes held). */
static inline void counter_set(struct counter *c, uint64_t value)
{
    atomic_store_explicit(&c->value, value, memory_order_relaxed);
}

static inline uint64_t counter_read(const struct counter *c)
{
    return atomic_load_explicit(&c->value, memory_order_relaxed);
}

#endif
