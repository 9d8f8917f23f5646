/* Logarithmic histograms.
 *
 * Values below eight have a bucket each; above, the three bits after the leading one choose among
 * eight buckets of its power of two. That makes 496 buckets for all of 64 bits, found with one
 * count-leading-zeros. Written by the loop or worker that owns it, read by whoever reports. */
#include "stats/histogram.h"

enum { STEPS = 1 << HISTOGRAM_STEPS_LOG2 };

int histogram_bucket_of(uint64_t value)
{
    if (value < STEPS)
        return (int)value;
    int exponent = 63 - __builtin_clzll(value); /* at least HISTOGRAM_STEPS_LOG2 */
    int shift = exponent - HISTOGRAM_STEPS_LOG2;
    int step = (int)(value >> shift) - STEPS;
    return ((shift + 1) << HISTOGRAM_STEPS_LOG2) + step;
}

uint64_t histogram_bucket_end(int bucket)
{
    if (bucket < STEPS)
        return (uint64_t)bucket;
    int shift = (bucket >> HISTOGRAM_STEPS_LOG2) - 1;
    uint64_t from = (uint64_t)((bucket & (STEPS - 1)) + STEPS) << shift;
    return from + (((uint64_t)1 << shift) - 1);
}

void histogram_record(struct histogram *h, int64_t value)
{
    uint64_t v = value < 0 ? 0 : (uint64_t)value;
    counter_add(&h->buckets[histogram_bucket_of(v)], 1);
    counter_add(&h->sum, v);
    if (v > counter_read(&h->max))
        counter_set(&h->max, v);
}

void histogram_collect(const struct histogram *h, struct histogram_view *view)
{
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        uint64_t count = counter_read(&h->buckets[i]);
        view->buckets[i] += count;
        view->count += count;
    }
    view->sum += counter_read(&h->sum);
    uint64_t max = counter_read(&h->max);
    if (max > view->max)
        view->max = max;
}

uint64_t histogram_view_quantile(const struct histogram_view *view, double q)
{
    if (view->count == 0)
        return 0;
    double share = q * (double)view->count;
    uint64_t seen = 0;
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += view->buckets[i];
        if (seen == 0 || (double)seen < share)
            continue;
        uint64_t end = histogram_bucket_end(i);
        return end < view->max ? end : view->max;
    }
    return view->max;
}
