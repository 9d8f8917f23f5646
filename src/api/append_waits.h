/* Waiting until the high watermarks of partitions have passed what was appended to them: what
 * acks=all means, for Produce, for WriteTxnMarkers and for the markers that this node's own
 * transaction coordinator writes. */
#ifndef KLAMM_API_APPEND_WAITS_H
#define KLAMM_API_APPEND_WAITS_H

#include "repl/partition.h"

/* One append that is not acknowledged yet. */
struct append_wait {
    struct partition *partition; /* referenced; let go before `done` */
    int64_t offset_next;
    int32_t leader_epoch;
    void *owner;  /* the caller's own */
    enum err err; /* for `done`: NOT_LEADER_OR_FOLLOWER, REQUEST_TIMED_OUT, of the disk */

    /* private */
    struct watch watch;
    bool watched;
};

/* All appends of one operation. */
struct append_waits {
    struct append_wait *items; /* the caller's memory, stable until `done` */
    int32_t count;
    void (*done)(struct append_waits *waits); /* on the loop, once */

    /* private */
    struct parked parked;
};

/* Notes an append; takes a reference. items must have room. */
void append_waits_add(struct append_waits *waits, struct partition *partition,
                      const struct partition_append *append, void *owner);

/* Waits for all that were added, until the deadline at most. On `loop`, with no lock held. */
void append_waits_start(struct append_waits *waits, struct loop *loop, int64_t deadline_ns);

/* Ends it now: `done` follows, unless it is on its way. On the loop. */
void append_waits_cancel(struct append_waits *waits);

#endif
