/* Mutexes with a class. Each thread keeps the set of classes it holds as bits; taking a lock of a
 * class that is not above all of them is a bug that could deadlock some other day, so it ends the
 * process at once, on any run, contended or not. The check costs about a nanosecond; NDEBUG builds
 * leave it out. */
#include "os/lock.h"

#include "base/ensure.h"

#ifndef NDEBUG
static _Thread_local unsigned held; /* bit N: a lock of class N */

static void held_add(const struct lock *lock)
{
    ENSURE_CMP(held >> lock->class, ==, 0);
    held |= 1U << lock->class;
}

static void held_remove(const struct lock *lock)
{
    ENSURE(held & 1U << lock->class);
    held &= ~(1U << lock->class);
}

bool lock_held_from(enum lock_class class)
{
    return held >> class != 0;
}
#else
static void held_add(const struct lock *lock)
{
    (void)lock;
}

static void held_remove(const struct lock *lock)
{
    (void)lock;
}

bool lock_held_from(enum lock_class class)
{
    (void)class;
    return false;
}
#endif

void lock_init(struct lock *lock, enum lock_class class)
{
    ENSURE(pthread_mutex_init(&lock->mutex, NULL) == 0);
    lock->class = class;
}

void lock_fini(struct lock *lock)
{
    ENSURE(pthread_mutex_destroy(&lock->mutex) == 0);
}

void lock_take(struct lock *lock)
{
    held_add(lock);
    ENSURE(pthread_mutex_lock(&lock->mutex) == 0);
}

void lock_release(struct lock *lock)
{
    held_remove(lock); /* once it is unlocked, another thread may free what it lies in */
    ENSURE(pthread_mutex_unlock(&lock->mutex) == 0);
}

void lock_signal_init(struct lock_signal *signal)
{
    ENSURE(pthread_cond_init(&signal->cond, NULL) == 0);
}

void lock_signal_fini(struct lock_signal *signal)
{
    ENSURE(pthread_cond_destroy(&signal->cond) == 0);
}

void lock_wait(struct lock *lock, struct lock_signal *signal)
{
    held_remove(lock);
    ENSURE(pthread_cond_wait(&signal->cond, &lock->mutex) == 0);
    held_add(lock);
}

void lock_wake(struct lock_signal *signal)
{
    ENSURE(pthread_cond_broadcast(&signal->cond) == 0);
}
