/* Distributions of sizes and times: logarithmic buckets with eight steps for each power of two, so
 * that a quantile is at most one eighth too high. Recording is one add into an own counter; like
 * counters, a histogram has one writing thread and any number of readers, who collect several of
 * them into one view. Values are non-negative and in whatever unit the user chose. */
#ifndef KLAMM_STATS_HISTOGRAM_H
#define KLAMM_STATS_HISTOGRAM_H

#include "stats/counter.h"

enum {
    HISTOGRAM_STEPS_LOG2 = 3,
    HISTOGRAM_BUCKETS = (64 - HISTOGRAM_STEPS_LOG2 + 1) << HISTOGRAM_STEPS_LOG2,
};

struct histogram {
    struct counter buckets[HISTOGRAM_BUCKETS]; /* zeroed memory is an empty histogram */
    struct counter sum;
    struct counter max;
};

/* What a reader gathered; plain numbers. */
struct histogram_view {
    uint64_t buckets[HISTOGRAM_BUCKETS];
    uint64_t count;
    uint64_t sum; /* may wrap */
    uint64_t max;
};

/* By the owner only. A negative value counts as 0 (clocks may step back). */
void histogram_record(struct histogram *h, int64_t value);

/* Adds what `h` holds now; start from a zeroed view. */
void histogram_collect(const struct histogram *h, struct histogram_view *view);

/* The least value that at least the fraction q (0 to 1) of the values do not exceed, rounded up to
 * the end of its bucket and never above the greatest value seen; 0 when empty. */
uint64_t histogram_view_quantile(const struct histogram_view *view, double q);

/* The bucket of a value, and the greatest value of a bucket. */
int histogram_bucket_of(uint64_t value);
uint64_t histogram_bucket_end(int bucket);

#endif
