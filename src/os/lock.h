/* Mutexes with a class. Locks are taken in the order of the classes below (a thread that holds one
 * of class N takes only higher ones); debug builds assert it. Held for memory work and one pwrite
 * as a rule; docs/ARCHITECTURE.md names the exceptions. No callback runs with a partition lock
 * held. In the simulator the same code runs on one thread and never contends. */
#ifndef KLAMM_OS_LOCK_H
#define KLAMM_OS_LOCK_H

#include <pthread.h>
#include <stdbool.h>

enum lock_class {
    LOCK_CONTROLLER = 1, /* controller and metadata log */
    LOCK_COORDINATOR,    /* a coordinator shard */
    LOCK_CHECKPOINT,     /* the checkpoint files of one folder: workers alone, while they write */
    LOCK_TABLE,          /* partition table, connection tables */
    LOCK_PARTITION,      /* one partition and its log */
    LOCK_FUTURE,         /* the log that a partition gets in another folder */
    LOCK_LOGS,           /* the table of logs: who holds it never waits for a partition */
    LOCK_LOG_DIR,        /* one log folder */
    LOCK_LEAF,           /* anything that takes no other lock */
};

struct lock {
    pthread_mutex_t mutex;
    enum lock_class class;
};

void lock_init(struct lock *lock, enum lock_class class);
void lock_fini(struct lock *lock);
void lock_take(struct lock *lock);
void lock_release(struct lock *lock);
/* True when this thread holds a lock of `class` or higher (debug builds; else false). */
bool lock_held_from(enum lock_class class);

/* What is awaited under a lock. */
struct lock_signal {
    pthread_cond_t cond;
};

void lock_signal_init(struct lock_signal *signal);
void lock_signal_fini(struct lock_signal *signal);
/* Lets go of `lock`, the highest that this thread holds, until the signal is given, and takes it
 * again. What is awaited may be so or not: ask again. */
void lock_wait(struct lock *lock, struct lock_signal *signal);
/* Wakes all that wait. The lock is held. */
void lock_wake(struct lock_signal *signal);

#endif
