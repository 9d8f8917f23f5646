#include "../unit.h"

#include "os/io_linux.h"
#include "os/latch.h"
#include "os/lock.h"
#include "repl/parked.h"

/* A waiting operation over one or two watch sets, all driven from one loop. */
struct wait {
    struct io *io;
    struct loop *loop;
    struct watch_set sets[2];
    struct watch watches[2];
    struct parked parked;
    struct latch ended;
    struct loop_task task;
    void (*act)(struct wait *wait);
    int64_t missing, offset, deadline_ms;
    int resumed;
};

static void resumed(struct parked *parked)
{
    struct wait *wait = LIST_ITEM(parked, struct wait, parked);
    wait->resumed++;
    for (int i = 0; i < 2; i++)
        watch_remove(&wait->watches[i]);
    latch_open(&wait->ended);
}

static void run(struct loop_task *task)
{
    struct wait *wait = LIST_ITEM(task, struct wait, task);
    parked_init(&wait->parked, wait->loop, wait->missing, resumed);
    for (int i = 0; i < 2; i++) {
        watch_set_init(&wait->sets[i]);
        wait->watches[i] = (struct watch){.parked = &wait->parked, .offset = wait->offset};
        watch_add(&wait->sets[i], WATCH_HW, &wait->watches[i]);
    }
    parked_arm(&wait->parked, io_mono_ns(wait->io) + wait->deadline_ms * 1000000);
    wait->act(wait);
}

static void go(struct wait *wait)
{
    wait->io = io_linux_new();
    wait->loop = loop_start(wait->io, "test");
    latch_init(&wait->ended);
    wait->task.run = run;
    list_init(&wait->task.link);
    loop_post(wait->loop, &wait->task);
    latch_wait(&wait->ended);
    loop_stop(wait->loop);
    latch_fini(&wait->ended);
    io_linux_free(wait->io);
    assert_int_equal(wait->resumed, 1);
}

static void move(struct wait *wait, int set, enum watch_class class, int64_t offset, int64_t bytes)
{
    struct list woken;
    list_init(&woken);
    watch_moved(&wait->sets[set], class, offset, bytes, &woken);
    parked_post(&woken);
}

static void move_60_and_60(struct wait *wait)
{
    move(wait, 0, WATCH_HW, 1, 60);
    move(wait, 0, WATCH_LSO, 1, 1000); /* another class: not ours */
    assert_int_equal(atomic_load(&wait->parked.missing), 40);
    move(wait, 1, WATCH_HW, 1, 60);
    move(wait, 1, WATCH_HW, 2, 60); /* over already: nothing happens twice */
}

static void bytes_of_all_partitions_count(void **state)
{
    (void)state;
    struct wait wait = {
        .missing = 100, .offset = WATCH_BYTES, .deadline_ms = 60000, .act = move_60_and_60};
    go(&wait);
    assert_false(wait.parked.timed_out);
}

static void move_both_past_10(struct wait *wait)
{
    move(wait, 0, WATCH_HW, 9, 1);
    assert_int_equal(atomic_load(&wait->parked.missing), 2);
    move(wait, 0, WATCH_HW, 10, 1);
    move(wait, 0, WATCH_HW, 11, 1); /* counted once */
    assert_int_equal(atomic_load(&wait->parked.missing), 1);
    move(wait, 1, WATCH_HW, 12, 1);
}

static void offsets_of_all_partitions_count(void **state)
{
    (void)state;
    struct wait wait = {.missing = 2, .offset = 10, .deadline_ms = 60000, .act = move_both_past_10};
    go(&wait);
}

static void nothing(struct wait *wait)
{
    (void)wait;
}

static void deadlines_end_it(void **state)
{
    (void)state;
    struct wait wait = {.missing = 1, .offset = WATCH_BYTES, .deadline_ms = 5, .act = nothing};
    go(&wait);
    assert_true(wait.parked.timed_out);
}

static void wake_all_twice(struct wait *wait)
{
    struct list woken;
    list_init(&woken);
    watch_all(&wait->sets[0], &woken);
    watch_all(&wait->sets[1], &woken);
    parked_post(&woken);
    parked_wake(&wait->parked);
    parked_cancel(&wait->parked);
}

static void events_end_it_once(void **state)
{
    (void)state;
    struct wait wait = {
        .missing = 1, .offset = WATCH_BYTES, .deadline_ms = 60000, .act = wake_all_twice};
    go(&wait);
}

static void cancel(struct wait *wait)
{
    parked_cancel(&wait->parked);
    parked_wake(&wait->parked);
}

static void cancelling_ends_it_at_once(void **state)
{
    (void)state;
    struct wait wait = {.missing = 1, .offset = WATCH_BYTES, .deadline_ms = 60000, .act = cancel};
    go(&wait);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_all_partitions_count),
        cmocka_unit_test(offsets_of_all_partitions_count),
        cmocka_unit_test(deadlines_end_it),
        cmocka_unit_test(events_end_it_once),
        cmocka_unit_test(cancelling_ends_it_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
