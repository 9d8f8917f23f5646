/* Markers: when they come out, what completes a transaction, and what does not. */
#include "txn_trace.h"

static struct coord_txn_markers *first(struct trace *t)
{
    assert_false(list_empty(&t->markers));
    return LIST_ITEM(t->markers.next, struct coord_txn_markers, link);
}

static void one_done(struct trace *t, const struct coord_txn_markers *markers, size_t index)
{
    struct coord_update update;
    coord_update_init(&update);
    coord_txn_markers_done(t->shard, &t->event, markers, index, &update);
    trace_deliver(t, &update);
}

/* A producer "x" at 1000/0 with two partitions in an open transaction. */
static struct trace *open_one(void)
{
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    add(t, "x", 1000, 0, "u", 7);
    buf_clear(&t->lines);
    return t;
}

static void test_one_by_one(void **state)
{
    (void)state;
    struct trace *t = open_one();
    end(t, "x", 1000, 0, true);
    expect(t, "markers x commit 1000/1 epoch 5 v2 t-0 u-7\nend NONE 1000/1\n");
    int64_t log_end = t->log_end;
    one_done(t, first(t), 1);
    one_done(t, first(t), 1); /* told twice */
    describe(t, "x");
    expect(t, "x PrepareCommit 1000/1 timeout 60000 start 0 t-0\n");
    assert_int_equal(t->log_end, log_end);
    one_done(t, first(t), 0);
    one_done(t, first(t), 0);
    describe(t, "x");
    expect(t, "x CompleteCommit 1000/1 timeout 60000 start 0\n");
    assert_int_equal(t->log_end, log_end + 1);
    trace_free(t);
}

/* Only a committed decision is carried out. */
static void test_after_the_commit(void **state)
{
    (void)state;
    struct trace *t = open_one();
    t->hold = true;
    end(t, "x", 1000, 0, false);
    expect(t, "");
    describe(t, "x");
    end(t, "x", 1000, 0, false);
    expect(t, "x Ongoing 1000/0 timeout 60000 start 0 t-0 u-7\nend CONCURRENT_TRANSACTIONS\n");
    commit_all(t);
    expect(t, "markers x abort 1000/1 epoch 5 v2 t-0 u-7\nend NONE 1000/1\n");
    markers_done(t);
    describe(t, "x"); /* Complete is written, not committed */
    expect(t, "x PrepareAbort 1000/1 timeout 60000 start 0\n");
    init(t, "x");
    expect(t, "init CONCURRENT_TRANSACTIONS\n");
    commit_all(t);
    describe(t, "x");
    expect(t, "x CompleteAbort 1000/1 timeout 60000 start 0\n");
    trace_free(t);
}

/* The client is told that it took too long; the decision stands when it is committed after all. */
static void test_late_commit(void **state)
{
    (void)state;
    struct trace *t = open_one();
    t->hold = true;
    end(t, "x", 1000, 0, true);
    wait_ms(t, 59999);
    expect(t, "");
    wait_ms(t, 1);
    expect(t, "end COORDINATOR_NOT_AVAILABLE\n");
    end(t, "x", 1000, 0, true);
    expect(t, "end CONCURRENT_TRANSACTIONS\n");
    commit_all(t);
    expect(t, "markers x commit 1000/1 epoch 5 v2 t-0 u-7\n");
    t->hold = false;
    markers_done(t);
    end(t, "x", 1000, 0, true);
    expect(t, "end NONE 1000/1\n");
    trace_free(t);
}

static void test_after_a_restart(void **state)
{
    (void)state;
    struct trace *t = open_one();
    init(t, "y");
    add_version(t, "y", 1001, 0, "t", 3, 3, false);
    end_v1(t, "y", 1001, 0, false);
    end(t, "x", 1000, 0, true);
    one_done(t, LIST_ITEM(t->markers.prev, struct coord_txn_markers, link), 0);
    buf_clear(&t->lines);
    trace_restart(t);
    expect(t, "markers x commit 1000/1 epoch 6 v2 t-0 u-7\n"
              "markers y abort 1001/0 epoch 6 v0 t-3\n");
    end(t, "x", 1000, 0, true);
    end_v1(t, "y", 1001, 0, false);
    expect(t, "end CONCURRENT_TRANSACTIONS\nend CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    describe(t, "x");
    describe(t, "y");
    expect(t, "x CompleteCommit 1000/1 timeout 60000 start 0\n"
              "y CompleteAbort 1001/0 timeout 60000 start 0\n");
    trace_free(t);
}

/* A restart between the decision and its markers, without any partition. */
static void test_nothing_left_after_a_restart(void **state)
{
    (void)state;
    struct trace *t = open_one();
    t->hold = true;
    init(t, "y");
    commit_all(t);
    end(t, "y", 1001, 0, false);
    t->hold = false;
    buf_clear(&t->lines);
    trace_restart(t);
    describe(t, "y");
    expect(t, "end NOT_COORDINATOR\ny CompleteAbort 1001/1 timeout 60000 start 0\n");
    trace_free(t);
}

/* Markers of an earlier leader, of an earlier transaction, of an unloaded shard. */
static void test_stale(void **state)
{
    (void)state;
    struct trace *t = open_one();
    end(t, "x", 1000, 0, true);
    struct coord_txn_markers *old = first(t);
    list_remove(&old->link);
    trace_restart(t);
    one_done(t, old, 0);
    one_done(t, old, 1);
    buf_clear(&t->lines);
    describe(t, "x");
    expect(t, "x PrepareCommit 1000/1 timeout 60000 start 0 t-0 u-7\n");
    coord_txn_markers_free(old);

    old = first(t);
    list_remove(&old->link);
    one_done(t, old, 0);
    one_done(t, old, 1);
    add(t, "x", 1000, 1, "t", 0);
    end(t, "x", 1000, 1, true);
    buf_clear(&t->lines);
    one_done(t, old, 0);
    describe(t, "x");
    expect(t, "x PrepareCommit 1000/2 timeout 60000 start 0 t-0\n");
    coord_txn_markers_free(old);

    old = first(t);
    trace_unload(t);
    one_done(t, old, 0);
    describe(t, "x");
    expect(t, "x NOT_COORDINATOR\n");
    coord_txn_markers_free(NULL);
    trace_free(t);
}

/* A Complete that could not be written comes later. */
static void test_complete_fails(void **state)
{
    (void)state;
    struct trace *t = open_one();
    end(t, "x", 1000, 0, true);
    buf_clear(&t->lines);
    int64_t log_end = t->log_end;
    t->append_error = ERR_KAFKA_STORAGE_ERROR;
    markers_done(t);
    describe(t, "x");
    init(t, "x");
    expect(t, "x PrepareCommit 1000/1 timeout 60000 start 0\ninit CONCURRENT_TRANSACTIONS\n");
    wait_ms(t, 2500);
    assert_int_equal(t->log_end, log_end);
    t->append_error = ERR_NONE;
    wait_ms(t, 400);
    assert_int_equal(t->log_end, log_end);
    wait_ms(t, 200);
    assert_int_equal(t->log_end, log_end + 1);
    describe(t, "x");
    expect(t, "x CompleteCommit 1000/1 timeout 60000 start 0\n");
    wait_ms(t, 5000);
    assert_int_equal(t->log_end, log_end + 1);
    trace_free(t);
}

/* The shard is unloaded with a Complete under way, and with one that waits to be tried again. */
static void test_unloaded_on_the_way(void **state)
{
    (void)state;
    struct trace *t = open_one();
    init(t, "y");
    add(t, "y", 1001, 0, "t", 1);
    end(t, "x", 1000, 0, true);
    end(t, "y", 1001, 0, true);
    t->append_error = ERR_KAFKA_STORAGE_ERROR;
    struct coord_txn_markers *x = first(t);
    one_done(t, x, 0);
    one_done(t, x, 1);
    t->append_error = ERR_NONE;
    t->hold = true;
    one_done(t, LIST_ITEM(t->markers.prev, struct coord_txn_markers, link), 0);
    buf_clear(&t->lines);
    trace_free(t);
}

/* Many decisions in one commit complete one after the other, not one inside the other. */
static void test_many_at_once(void **state)
{
    (void)state;
    enum { COUNT = 20000 };
    struct trace *t = trace_new();
    for (int i = 0; i < COUNT; i++)
        init(t, (const char *)arena_printf(&t->arena, "id%d%c", i, 0).data);
    t->hold = true;
    for (int i = 0; i < COUNT; i++)
        end(t, (const char *)arena_printf(&t->arena, "id%d%c", i, 0).data, 1000 + i, 0, false);
    t->hold = false;
    buf_clear(&t->lines);
    commit_all(t);
    buf_clear(&t->lines);
    describe(t, "id0");
    describe(t, "id19999");
    expect(t, "id0 CompleteAbort 1000/1 timeout 60000 start 0\n"
              "id19999 CompleteAbort 20999/1 timeout 60000 start 0\n");
    assert_true(list_empty(&shard_txns(t->shard)->pending));
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_by_one),
        cmocka_unit_test(test_after_the_commit),
        cmocka_unit_test(test_late_commit),
        cmocka_unit_test(test_after_a_restart),
        cmocka_unit_test(test_nothing_left_after_a_restart),
        cmocka_unit_test(test_stale),
        cmocka_unit_test(test_complete_fails),
        cmocka_unit_test(test_unloaded_on_the_way),
        cmocka_unit_test(test_many_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
