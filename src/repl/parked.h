/* Waiting for a partition to move, without a thread.
 *
 * A `parked` is one waiting operation of a loop (a fetch that misses bytes, a produce that waits
 * for the high watermark). It has a `watch` on each partition it waits for. Moves of LEO, HW and
 * LSO are told to the partition's `watch_set` under the partition lock; operations whose wait is
 * over are collected there and posted to their loops with parked_post after unlock: no callback
 * runs with a partition lock held.
 *
 * An operation ends once, by the first of: nothing is missing, an event that every watcher must see
 * (leadership, deletion, truncation, log start), its deadline, its cancellation. Then `resume` runs
 * on its loop; it must remove its watches (each under its partition's lock) before the operation's
 * memory goes. Until then any number of partitions may hold pointers to it. */
#ifndef KLAMM_REPL_PARKED_H
#define KLAMM_REPL_PARKED_H

#include "base/list.h"
#include "os/io.h"

#include <stdatomic.h>

enum watch_class {
    WATCH_LEO, /* followers */
    WATCH_HW,  /* consumers, and producers with acks=all */
    WATCH_LSO, /* consumers with read_committed */
    WATCH_CLASS_COUNT,
};

struct parked {
    struct loop *loop;
    void (*resume)(struct parked *parked); /* loop thread, once */
    bool timed_out;                        /* for resume: the deadline ended it */

    /* private */
    _Atomic int64_t missing;
    atomic_int state;
    struct loop_task task;
    struct loop_timer timer;
    struct list wake_link;
};

/* The offset of a watch that counts bytes. */
#define WATCH_BYTES INT64_MAX

/* One partition watched; embedded in the operation. */
struct watch {
    struct list link;
    struct parked *parked;
    /* WATCH_BYTES: each move takes the bytes that became visible off `missing`. Otherwise the watch
     * takes 1 off when the class's offset reaches this value, and is removed. */
    int64_t offset;
};

struct watch_set {
    struct list lists[WATCH_CLASS_COUNT];
};

/* Starts an operation that misses `missing` (bytes, or partitions). Then add its watches, then call
 * parked_arm. Loop thread. */
void parked_init(struct parked *parked, struct loop *loop, int64_t missing,
                 void (*resume)(struct parked *parked));
/* Takes off `missing` what was there already when the watches were added. Loop thread. */
void parked_found(struct parked *parked, int64_t found);
/* From here on the deadline runs. The operation may have been woken already: then resume follows.
 */
void parked_arm(struct parked *parked, int64_t deadline_ns);
/* Ends it now from its loop and calls resume, unless it ended already (then resume is on its way).
 */
void parked_cancel(struct parked *parked);
/* Ends it from any thread: what a watcher that sees its condition met on registration does. The
 * caller holds nothing; resume comes by post. */
void parked_wake(struct parked *parked);

void watch_set_init(struct watch_set *set);
/* Partition lock held, as for all below. */
void watch_add(struct watch_set *set, enum watch_class class, struct watch *watch);
void watch_remove(struct watch *watch);
/* The class's offset moved up to `offset`, making `bytes` more visible. Adds operations that end to
 * `woken`. */
void watch_moved(struct watch_set *set, enum watch_class class, int64_t offset, int64_t bytes,
                 struct list *woken);
/* True when somebody waits for the class's offset. */
bool watch_any(const struct watch_set *set, enum watch_class class);
/* An event that ends every wait on this partition. */
void watch_all(struct watch_set *set, struct list *woken);

/* Posts the collected operations to their loops. No lock held. */
void parked_post(struct list *woken);

#endif
