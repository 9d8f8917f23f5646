#include "api/append_waits.h"
#include "harness.h"
#include "repl/partition_table.h"

struct waiting {
    struct append_waits waits;
    struct append_wait items[2];
    struct loop_task task;
    struct loop *loop;
    int64_t deadline_ns;
    struct latch done;
};

static void done(struct append_waits *waits)
{
    latch_open(&LIST_ITEM(waits, struct waiting, waits)->done);
}

static void start(struct loop_task *task)
{
    struct waiting *w = LIST_ITEM(task, struct waiting, task);
    append_waits_start(&w->waits, w->loop, w->deadline_ns);
}

/* What is below the high watermark is done at once; what is not is told so at the deadline. */
static void each_append_is_judged(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_produce(&h, "t", 0, 3);
    struct partition *partition =
        partition_table_get(node_context(h.node)->partitions, slice_str("t"), 0);
    struct waiting w = {.loop = h.loop, .deadline_ns = io_mono_ns(h.io) + 20000000};
    latch_init(&w.done);
    w.waits = (struct append_waits){.items = w.items, .done = done};
    struct partition_ends ends;
    assert_int_equal(partition_ends(partition, -1, &ends), ERR_NONE);
    struct partition_append append = {.offset_next = 3, .leader_epoch = ends.leader_epoch};
    append_waits_add(&w.waits, partition, &append, NULL);
    append.offset_next = 4;
    append_waits_add(&w.waits, partition, &append, NULL);
    w.task.run = start;
    list_init(&w.task.link);
    loop_post(h.loop, &w.task);
    latch_wait(&w.done);
    assert_int_equal(w.items[0].err, ERR_NONE);
    assert_int_equal(w.items[1].err, ERR_REQUEST_TIMED_OUT);
    latch_fini(&w.done);
    partition_unref(partition);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_append_is_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
