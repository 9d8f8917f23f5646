/* EndTxn: plain, with an epoch for each transaction, repeated, and with an exhausted epoch. */
#include "txn_trace.h"

/* All that EndTxn answers to an id in its present state, without changing it: for each of `epochs`
 * an abort and a commit; "-" where it would be changed. */
static void ask(struct trace *t, const char *id, int64_t producer_id, const int *epochs,
                size_t count, int16_t version)
{
    for (size_t i = 0; i < 2 * count; i++) {
        int64_t log_end = t->log_end;
        t->append_error = ERR_INVALID_RECORD; /* tells that something was to be written */
        size_t size = t->lines.size;
        end_version(t, id, producer_id, epochs[i / 2], i % 2, version);
        assert_int_equal(t->log_end, log_end);
        if (memmem(t->lines.data + size, t->lines.size - size, "INVALID_RECORD", 14)) {
            t->lines.size = size;
            buf_printf(&t->lines, "-\n");
        }
    }
    t->append_error = ERR_NONE;
}

static void test_refused(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    end(t, "x", 1000, 0, true);
    end_v1(t, "x", 1000, 0, true);
    end(t, "", 1000, 0, true);
    end_v1(t, "", 1000, 0, true);
    expect(t, "end INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n"
              "end INVALID_REQUEST\nend INVALID_REQUEST\n");
    init(t, "x");
    end(t, "x", 1001, 0, false);
    end_v1(t, "x", 1001, 0, false);
    end(t, "x", 1000, 1, false);
    end_v1(t, "x", 1000, 1, false);
    end_version(t, "x", 1000, 1, false, 2);
    end_version(t, "x", 1000, 1, false, 1);
    expect(t, "init 1000/0\nend INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\nend PRODUCER_FENCED\n"
              "end INVALID_PRODUCER_EPOCH\n");
    trace_free(t);
}

static void test_plain(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    ask(t, "x", 1000, (int[]){0}, 1, 4);
    expect(t, "init 1000/0\nend INVALID_TXN_STATE\nend INVALID_TXN_STATE\n");
    add_version(t, "x", 1000, 0, "t", 0, 3, false);
    ask(t, "x", 1000, (int[]){0, 1, -1}, 3, 4);
    expect(t, "add NONE\n-\n-\nend PRODUCER_FENCED\nend PRODUCER_FENCED\nend PRODUCER_FENCED\n"
              "end PRODUCER_FENCED\n");
    end_v1(t, "x", 1000, 0, true);
    ask(t, "x", 1000, (int[]){0, 7}, 2, 4);
    ask(t, "x", 1001, (int[]){0}, 1, 4);
    expect(t, "markers x commit 1000/0 epoch 5 v0 t-0\nend NONE\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\n"
              "end INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n");
    markers_done(t);
    ask(t, "x", 1000, (int[]){0, 1}, 2, 4);
    expect(t, "end INVALID_TXN_STATE\nend NONE\nend PRODUCER_FENCED\nend PRODUCER_FENCED\n");
    add_version(t, "x", 1000, 0, "t", 0, 3, false);
    end_v1(t, "x", 1000, 0, false);
    ask(t, "x", 1000, (int[]){0}, 1, 4);
    expect(t, "add NONE\nmarkers x abort 1000/0 epoch 5 v0 t-0\nend NONE\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    ask(t, "x", 1000, (int[]){0}, 1, 4);
    expect(t, "end NONE\nend INVALID_TXN_STATE\n");
    show_log(t, 1);
    expect(t, "x Ongoing 1000<1000>-1/0 timeout 60000 start 0 update 0 v0 t-0\n"
              "x PrepareCommit 1000<1000>-1/0 timeout 60000 start 0 update 0 v0 t-0\n"
              "x CompleteCommit 1000<1000>-1/0 timeout 60000 start 0 update 0 v0\n"
              "x Ongoing 1000<1000>-1/0 timeout 60000 start 0 update 0 v0 t-0\n"
              "x PrepareAbort 1000<1000>-1/0 timeout 60000 start 0 update 0 v0 t-0\n"
              "x CompleteAbort 1000<1000>-1/0 timeout 60000 start 0 update 0 v0\n");
    trace_free(t);
}

/* The table in txn_end.c, and the states between. */
static void test_bumping(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    init(t, "x");
    ask(t, "x", 1000, (int[]){0, 1, 2}, 3, 5);
    expect(t, "init 1000/0\ninit 1000/1\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\n-\nend INVALID_TXN_STATE\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\n");
    add(t, "x", 1000, 1, "t", 0);
    ask(t, "x", 1000, (int[]){0, 1, 2}, 3, 5);
    expect(t, "add NONE\nend PRODUCER_FENCED\nend PRODUCER_FENCED\n-\n-\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\n");
    end(t, "x", 1000, 1, true);
    ask(t, "x", 1000, (int[]){1, 9}, 2, 5);
    ask(t, "x", 1001, (int[]){0}, 1, 5);
    expect(t, "markers x commit 1000/2 epoch 5 v2 t-0\nend NONE 1000/2\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    ask(t, "x", 1000, (int[]){0, 1, 2, 3}, 4, 5);
    expect(t, "end PRODUCER_FENCED\nend PRODUCER_FENCED\n"
              "end INVALID_TXN_STATE\nend NONE 1000/2\n"
              "-\nend INVALID_TXN_STATE\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\n");
    add(t, "x", 1000, 2, "t", 0);
    end(t, "x", 1000, 2, false);
    expect(t, "add NONE\nmarkers x abort 1000/3 epoch 5 v2 t-0\nend NONE 1000/3\n");
    markers_done(t);
    ask(t, "x", 1000, (int[]){1, 2, 3, 4}, 4, 5);
    expect(t, "end PRODUCER_FENCED\nend PRODUCER_FENCED\n"
              "end NONE 1000/3\nend INVALID_TXN_STATE\n"
              "-\nend INVALID_TXN_STATE\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\n");
    trace_free(t);
}

/* A fenced client of transaction.version 2, whose epoch is one behind, does not pass for one that
 * repeats the end of another client's plain transaction. */
static void test_plain_end_is_nobody_elses(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    init(t, "x");
    add_version(t, "x", 1000, 1, "t", 0, 3, false);
    end_v1(t, "x", 1000, 1, false);
    markers_done(t);
    end(t, "x", 1000, 0, false);
    end_v1(t, "x", 1000, 1, false);
    expect(t, "init 1000/0\ninit 1000/1\nadd NONE\nmarkers x abort 1000/1 epoch 5 v0 t-0\n"
              "end NONE\nend PRODUCER_FENCED\nend NONE\n");
    trace_free(t);
}

/* An abort of nothing: two records and no marker. */
static void test_abort_without_partitions(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    t->event.wall_ms += 7;
    end(t, "x", 1000, 0, false);
    end(t, "x", 1000, 0, false); /* repeated */
    end(t, "x", 1000, 1, false); /* the next */
    expect(t, "init 1000/0\nend NONE 1000/1\nend NONE 1000/1\nend NONE 1000/2\n");
    show_log(t, 1);
    expect(t, "x PrepareAbort 1000<1000>-1/1 timeout 60000 start 7 update 7 v2\n"
              "x CompleteAbort 1000<1000>-1/1 timeout 60000 start 7 update 7 v2\n"
              "x PrepareAbort 1000<1000>-1/2 timeout 60000 start 7 update 7 v2\n"
              "x CompleteAbort 1000<1000>-1/2 timeout 60000 start 7 update 7 v2\n");
    trace_free(t);
}

/* The last epoch of a producer id: the end gives the next id. */
static void test_exhausted(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    exhaust(t, "x");
    int64_t log_end = t->log_end;
    add(t, "x", 1000, 32766, "t", 0);
    end(t, "x", 1000, 32766, true);
    ask(t, "x", 1000, (int[]){32766}, 1, 5);
    expect(t, "add NONE\nmarkers x commit 1000/32767 epoch 5 v2 t-0\nend NONE 1001/0\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n");
    add(t, "x", 1001, 0, "t", 0); /* the producer may be faster than the markers */
    expect(t, "add CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    ask(t, "x", 1000, (int[]){32766, 32765}, 2, 5);
    expect(t, "end INVALID_TXN_STATE\nend NONE 1001/0\n"
              "end INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n");
    init_as(t, "x", 1000, 32766);
    add(t, "x", 1001, 0, "t", 0);
    end(t, "x", 1001, 0, false);
    expect(t, "init 1001/0\nadd NONE\nmarkers x abort 1001/1 epoch 5 v2 t-0\nend NONE 1001/1\n");
    show_log(t, log_end);
    expect(t, "x Ongoing 1000<1000>-1/32766 timeout 60000 start 0 update 0 v2 t-0\n"
              "x PrepareCommit 1000<1000>1001/32767 timeout 60000 start 0 update 0 v2 t-0\n"
              "x CompleteCommit 1001<1000>-1/0 timeout 60000 start 0 update 0 v2\n"
              "x Empty 1001<1001>-1/0 timeout 60000 start -1 update 0 v2\n"
              "x Ongoing 1001<1001>-1/0 timeout 60000 start 0 update 0 v2 t-0\n"
              "x PrepareAbort 1001<1001>-1/1 timeout 60000 start 0 update 0 v2 t-0\n");
    trace_free(t);
}

/* The next id is in the Prepare record: a restart between does not lose it. */
static void test_exhausted_and_restarted(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    exhaust(t, "x");
    end(t, "x", 1000, 32766, false);
    expect(t, "end NONE 1001/0\n");
    end(t, "x", 1000, 32766, false); /* repeated */
    expect(t, "end NONE 1001/0\n");
    exhaust(t, "y");
    add(t, "y", 1002, 32766, "t", 0);
    end(t, "y", 1002, 32766, false);
    buf_clear(&t->lines);
    trace_restart(t);
    markers_done(t);
    describe(t, "y");
    end(t, "y", 1002, 32766, false);
    end(t, "y", 1002, 32766, true);
    expect(t, "markers y abort 1002/32767 epoch 6 v2 t-0\n"
              "y CompleteAbort 1003/0 timeout 60000 start 0\n"
              "end NONE 1003/0\nend INVALID_TXN_STATE\n");
    trace_free(t);
}

/* Records may be lost that gave out the next epoch: the end gives a new producer id. A client that
 * did not hear of it asks with the old one, also after a restart; nobody else passes for it. */
static void test_after_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    init(t, "x");
    add(t, "x", 1000, 1, "t", 0);
    trace_power_cut(t, t->log.size);
    end(t, "x", 1000, 1, true);
    ask(t, "x", 1000, (int[]){1}, 1, 5);
    expect(t, "init 1000/0\ninit 1000/1\nadd NONE\n"
              "markers x commit 1000/2 epoch 6 v2 t-0\nend NONE 1001/0\n"
              "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    end(t, "x", 1000, 1, true);
    trace_restart(t);
    ask(t, "x", 1000, (int[]){1, 0, 2, -1}, 4, 5);
    expect(t, "end NONE 1001/0\n"
              "end INVALID_TXN_STATE\nend NONE 1001/0\n"
              "end INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n"
              "end INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n"
              "end INVALID_PRODUCER_ID_MAPPING\nend INVALID_PRODUCER_ID_MAPPING\n");
    init_as(t, "x", 1000, 1);
    add(t, "x", 1001, 0, "t", 0);
    end(t, "x", 1001, 0, true);
    markers_done(t);
    end(t, "x", 1001, 0, true);
    end(t, "x", 1000, 1, true);
    expect(t, "init 1001/0\nadd NONE\nmarkers x commit 1001/1 epoch 7 v2 t-0\n"
              "end NONE 1001/1\nend NONE 1001/1\nend INVALID_PRODUCER_ID_MAPPING\n");
    trace_free(t);
}

/* A kill between the decision and the markers. */
static void test_restarted_after_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    trace_power_cut(t, t->log.size);
    end(t, "x", 1000, 0, false);
    buf_clear(&t->lines);
    trace_restart(t);
    markers_done(t);
    end(t, "x", 1000, 0, false);
    end(t, "x", 1000, 0, true);
    expect(t, "markers x abort 1000/1 epoch 7 v2 t-0\n"
              "end NONE 1001/0\nend INVALID_TXN_STATE\n");
    trace_free(t);
}

/* Below version 5 the epoch stays: nothing is given out. */
static void test_plain_after_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add_version(t, "x", 1000, 0, "t", 0, 3, false);
    trace_power_cut(t, t->log.size);
    end_v1(t, "x", 1000, 0, true);
    expect(t, "init 1000/0\nadd NONE\nmarkers x commit 1000/0 epoch 6 v0 t-0\nend NONE\n");
    trace_free(t);
}

static void test_failed_append(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    t->append_error = ERR_DISK_FULL;
    end(t, "x", 1000, 0, true);
    end_v1(t, "x", 1000, 0, true);
    describe(t, "x");
    expect(t, "init 1000/0\nadd NONE\nend NOT_COORDINATOR\nend NOT_COORDINATOR\n"
              "x Ongoing 1000/0 timeout 60000 start 0 t-0\n");
    t->append_error = ERR_NONE;
    end(t, "x", 1000, 0, true);
    expect(t, "markers x commit 1000/1 epoch 5 v2 t-0\nend NONE 1000/1\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_bumping),
        cmocka_unit_test(test_abort_without_partitions),
        cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_exhausted_and_restarted),
        cmocka_unit_test(test_after_a_power_cut),
        cmocka_unit_test(test_restarted_after_a_power_cut),
        cmocka_unit_test(test_plain_after_a_power_cut),
        cmocka_unit_test(test_failed_append),
        cmocka_unit_test(test_plain_end_is_nobody_elses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
