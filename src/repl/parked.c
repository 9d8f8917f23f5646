/* Parked operations and the watches that end them; see the header for the rules.
 *
 * States: WAITING -> WOKEN, once. Whoever makes the step owns the end: a waker posts the task, the
 * deadline and a cancellation (both on the loop) resume directly. A waker touches the operation
 * only under the lock of a partition that still holds its watch, or after having made the step, so
 * resume, which takes every one of these locks to remove the watches, never frees it under a waker.
 */
#include "repl/parked.h"

enum { PARKED_WAITING, PARKED_WOKEN };

static bool parked_claim(struct parked *parked)
{
    int expected = PARKED_WAITING;
    return atomic_compare_exchange_strong(&parked->state, &expected, PARKED_WOKEN);
}

static void parked_run(struct loop_task *task)
{
    struct parked *parked = LIST_ITEM(task, struct parked, task);
    loop_timer_cancel(parked->loop, &parked->timer);
    parked->resume(parked);
}

static void parked_expired(struct loop_timer *timer)
{
    struct parked *parked = LIST_ITEM(timer, struct parked, timer);
    if (!parked_claim(parked))
        return; /* a waker's post is on its way */
    parked->timed_out = true;
    parked->resume(parked);
}

void parked_init(struct parked *parked, struct loop *loop, int64_t missing,
                 void (*resume)(struct parked *parked))
{
    *parked = (struct parked){.loop = loop, .resume = resume};
    atomic_init(&parked->missing, missing);
    atomic_init(&parked->state, PARKED_WAITING);
    list_init(&parked->task.link);
    list_init(&parked->wake_link);
    parked->task.run = parked_run;
    parked->timer.expired = parked_expired;
}

void parked_found(struct parked *parked, int64_t found)
{
    if (found > 0 && atomic_fetch_sub(&parked->missing, found) <= found)
        parked_wake(parked);
}

void parked_arm(struct parked *parked, int64_t deadline_ns)
{
    if (atomic_load(&parked->state) == PARKED_WAITING)
        loop_timer_set(parked->loop, &parked->timer, deadline_ns);
}

void parked_cancel(struct parked *parked)
{
    if (!parked_claim(parked))
        return;
    loop_timer_cancel(parked->loop, &parked->timer);
    parked->resume(parked);
}

void parked_wake(struct parked *parked)
{
    if (parked_claim(parked))
        loop_post(parked->loop, &parked->task);
}

void watch_set_init(struct watch_set *set)
{
    for (int i = 0; i < WATCH_CLASS_COUNT; i++)
        list_init(&set->lists[i]);
}

void watch_add(struct watch_set *set, enum watch_class class, struct watch *watch)
{
    list_push_back(&set->lists[class], &watch->link);
}

void watch_remove(struct watch *watch)
{
    list_remove(&watch->link);
}

static void watch_end(struct watch *watch, struct list *woken)
{
    if (parked_claim(watch->parked))
        list_push_back(woken, &watch->parked->wake_link);
}

void watch_moved(struct watch_set *set, enum watch_class class, int64_t offset, int64_t bytes,
                 struct list *woken)
{
    LIST_FOREACH(node, &set->lists[class])
    {
        struct watch *watch = LIST_ITEM(node, struct watch, link);
        int64_t found = bytes;
        if (watch->offset != WATCH_BYTES) {
            if (offset < watch->offset)
                continue;
            list_remove(&watch->link);
            found = 1;
        }
        if (atomic_fetch_sub(&watch->parked->missing, found) <= found)
            watch_end(watch, woken);
    }
}

bool watch_any(const struct watch_set *set, enum watch_class class)
{
    return !list_empty(&set->lists[class]);
}

void watch_all(struct watch_set *set, struct list *woken)
{
    for (int i = 0; i < WATCH_CLASS_COUNT; i++) {
        LIST_FOREACH(node, &set->lists[i])
        watch_end(LIST_ITEM(node, struct watch, link), woken);
    }
}

void parked_post(struct list *woken)
{
    for (struct list *node = list_pop_front(woken); node; node = list_pop_front(woken)) {
        struct parked *parked = LIST_ITEM(node, struct parked, wake_link);
        loop_post(parked->loop, &parked->task);
    }
}
