/* Which neighbouring segments are cleaned into one. Pure. */
#ifndef KLAMM_STORE_CLEANER_GROUP_H
#define KLAMM_STORE_CLEANER_GROUP_H

#include <stdint.h>

/* A group takes at most this many: their files are renamed under the log's lock. The rest is taken
 * in by a later round. */
enum { CLEANER_GROUP_MAX = 64 };

struct cleaner_part {
    int64_t base;
    uint32_t size, index_size, time_index_size;
};

struct cleaner_group_limits {
    int64_t size_max;       /* segment.bytes */
    int64_t index_size_max; /* segment.index.bytes */
    int64_t offset_end;     /* where the last part ends */
};

/* How many of parts[0 .. count) make the next group; at least one. */
uint32_t cleaner_group_next(const struct cleaner_part *parts, uint32_t count,
                            const struct cleaner_group_limits *limits);

#endif
