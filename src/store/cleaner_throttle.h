/* The cleaner's share of the disk: log.cleaner.io.max.bytes.per.second, of all its tasks together.
 * Pure: the caller says how late it is and waits. */
#ifndef KLAMM_STORE_CLEANER_THROTTLE_H
#define KLAMM_STORE_CLEANER_THROTTLE_H

#include <stdint.h>

struct cleaner_throttle {
    double rate;    /* bytes a second */
    int64_t due_ns; /* when the bytes so far are within the rate */
};

void cleaner_throttle_init(struct cleaner_throttle *throttle, double rate);
/* Another rate from now on. */
void cleaner_throttle_set_rate(struct cleaner_throttle *throttle, double rate);
/* Counts bytes read or written; how long to wait before the next ones. */
int64_t cleaner_throttle_add(struct cleaner_throttle *throttle, uint64_t bytes, int64_t now_ns);
/* How many bytes may be taken at once, so that pauses stay short; at least one. */
uint32_t cleaner_throttle_slice(const struct cleaner_throttle *throttle, uint32_t most);

#endif
