/* Each byte moves the time when the next one is due; idle time is not saved up. Kafka's Throttler
 * measures over 300 ms and sleeps; the rate that comes out is the same. Under the cleaner's lock.
 */
#include "store/cleaner_throttle.h"

#define PIECE_SECONDS 0.3 /* of the rate, taken at once */

void cleaner_throttle_init(struct cleaner_throttle *throttle, double rate)
{
    *throttle = (struct cleaner_throttle){.rate = rate > 1 ? rate : 1, .due_ns = INT64_MIN};
}

void cleaner_throttle_set_rate(struct cleaner_throttle *throttle, double rate)
{
    throttle->rate = rate > 1 ? rate : 1;
}

int64_t cleaner_throttle_add(struct cleaner_throttle *throttle, uint64_t bytes, int64_t now_ns)
{
    const double most_ns = 3600e9;
    double takes_ns = (double)bytes / throttle->rate * 1e9;
    if (throttle->due_ns < now_ns)
        throttle->due_ns = now_ns;
    throttle->due_ns += (int64_t)(takes_ns < most_ns ? takes_ns : most_ns);
    return throttle->due_ns - now_ns;
}

uint32_t cleaner_throttle_slice(const struct cleaner_throttle *throttle, uint32_t most)
{
    double piece = throttle->rate * PIECE_SECONDS;
    if (piece >= (double)most)
        return most;
    return piece < 1 ? 1 : (uint32_t)piece;
}
