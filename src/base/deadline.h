/* Times to come. Settings of Kafka's type long take INT64_MAX for "never", so sums and units must
 * not wrap: what lies beyond the end of the clock is INT64_MAX. */
#ifndef KLAMM_BASE_DEADLINE_H
#define KLAMM_BASE_DEADLINE_H

#include <stdint.h>

/* `delay` after `now`, both in the same unit. */
static inline int64_t deadline_after(int64_t now, int64_t delay)
{
    int64_t sum;
    if (__builtin_add_overflow(now, delay, &sum))
        return delay < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* Milliseconds (>= 0) in nanoseconds. */
static inline int64_t deadline_ns_of_ms(int64_t ms)
{
    return ms < INT64_MAX / 1000000 ? ms * 1000000 : INT64_MAX;
}

#endif
