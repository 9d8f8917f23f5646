/* The shared memory budget of frames: a few atomics, no lock, for it is touched twice a request by
 * every loop. Counting is exact, waking is generous: each release tells its caller whether anybody
 * waits, and a connection that was refused registers as a waiter and asks once more before it
 * sleeps, so no wake-up is lost. */
#include "net/budget.h"

#include "base/ensure.h"

void budget_init(struct budget *budget, int64_t limit)
{
    *budget = (struct budget){0};
    atomic_store(&budget->limit, limit);
}

static bool take_below(struct budget *budget, int64_t size, int64_t limit)
{
    int64_t used = atomic_load(&budget->used);
    do
        if (used > limit - size)
            return false;
    while (!atomic_compare_exchange_weak(&budget->used, &used, used + size));
    return true;
}

static int64_t limit_of_small(const struct budget *budget, int64_t limit)
{
    if (limit > INT64_MAX / 4) /* the sums would wrap */
        return limit;
    int64_t small = limit + limit / 8 + atomic_load(&budget->extra);
    return small < 2 * limit ? small : 2 * limit;
}

static bool take_exemption(struct budget *budget, int64_t limit, const void *who)
{
    const void *nobody = NULL;
    return atomic_load(&budget->exempt) == who ||
           (atomic_load(&budget->held) == 0 && atomic_load(&budget->extra) <= limit / 2 &&
            atomic_compare_exchange_strong(&budget->exempt, &nobody, who));
}

bool budget_take(struct budget *budget, size_t size, bool small, const void *who)
{
    int64_t limit = atomic_load(&budget->limit);
    if (limit > 0 &&
        !take_below(budget, (int64_t)size, small ? limit_of_small(budget, limit) : limit)) {
        if (!take_exemption(budget, limit, who))
            return false;
        atomic_fetch_add(&budget->used, (int64_t)size);
    } else if (limit <= 0) {
        atomic_fetch_add(&budget->used, (int64_t)size);
    }
    return true;
}

bool budget_is_tight(const struct budget *budget)
{
    int64_t limit = atomic_load_explicit(&budget->limit, memory_order_relaxed);
    return limit > 0 &&
           atomic_load_explicit(&budget->used, memory_order_relaxed) > limit - limit / 4;
}

bool budget_release(struct budget *budget, size_t size)
{
    int64_t before = atomic_fetch_sub(&budget->used, (int64_t)size);
    ENSURE_CMP(before, >=, (int64_t)size);
    return atomic_load(&budget->waiters) > 0;
}

void budget_extra_take(struct budget *budget, size_t size)
{
    atomic_fetch_add(&budget->used, (int64_t)size);
    atomic_fetch_add(&budget->extra, (int64_t)size);
}

bool budget_extra_release(struct budget *budget, size_t size)
{
    atomic_fetch_sub(&budget->extra, (int64_t)size);
    return budget_release(budget, size);
}

bool budget_end_exemption(struct budget *budget, const void *who)
{
    if (atomic_load_explicit(&budget->exempt, memory_order_relaxed) != who)
        return false;
    atomic_store(&budget->exempt, NULL);
    return atomic_load(&budget->waiters) > 0;
}

void budget_frame_held(struct budget *budget)
{
    atomic_fetch_add(&budget->held, 1);
}

void budget_frame_freed(struct budget *budget)
{
    atomic_fetch_sub(&budget->held, 1);
}
