/* Timeouts of transactions, and expiry of transactional ids. */
#include "txn_trace.h"

static void test_timeout(void **state)
{
    (void)state;
    struct trace *t = trace_new(); /* looks every 10 s */
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    wait_ms(t, 30000);
    add(t, "x", 1000, 0, "t", 1); /* does not prolong it */
    buf_clear(&t->lines);
    wait_ms(t, 30000); /* at its timeout, not above */
    expect(t, "");
    wait_ms(t, 9999);
    expect(t, "");
    wait_ms(t, 1);
    expect(t, "markers x abort 1000/1 epoch 5 v2 t-0 t-1\n");
    markers_done(t);
    end(t, "x", 1000, 0, true);
    add(t, "x", 1000, 0, "t", 0);
    init_as(t, "x", 999, 0);
    expect(t, "end INVALID_TXN_STATE\nadd PRODUCER_FENCED\ninit PRODUCER_FENCED\n");
    end(t, "x", 1000, 0, false); /* an abort is what it got */
    expect(t, "end NONE 1000/1\n");
    wait_ms(t, 100000);
    expect(t, ""); /* once */
    trace_free(t);
}

static void test_timeout_in_version_1(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.transaction_version = 1;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    init(t, "x");
    add_version(t, "x", 1000, 0, "t", 0, 3, false);
    wait_ms(t, 70000);
    markers_done(t);
    end_v1(t, "x", 1000, 0, false);
    expect(t, "init 1000/0\nadd NONE\nmarkers x abort 1000/1 epoch 5 v0 t-0\n"
              "end PRODUCER_FENCED\n");
    trace_free(t);
}

/* At the last epoch an abort by time spends the producer id. */
static void test_timeout_at_the_last_epoch(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    exhaust(t, "x");
    add(t, "x", 1000, 32766, "t", 0);
    buf_clear(&t->lines);
    wait_ms(t, 70000);
    markers_done(t);
    describe(t, "x");
    end(t, "x", 1000, 32766, false);
    end(t, "x", 1000, 32767, false);
    end_v1(t, "x", 1000, 32766, false);
    add(t, "x", 1000, 32766, "t", 0);
    init_as(t, "x", 1000, 32766);
    init(t, "x");
    expect(t, "markers x abort 1000/32767 epoch 5 v2 t-0\n"
              "x CompleteAbort 1000/32767 timeout 60000 start 0\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\nend PRODUCER_FENCED\n"
              "add PRODUCER_FENCED\ninit 1001/0\ninit 1001/1\n");
    trace_free(t);
}

/* After a power cut the next epoch may have been somebody's: the abort is above all of them, and
 * its client goes on when it says who it is. */
static void test_timeout_after_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    trace_power_cut(t, t->log.size);
    buf_clear(&t->lines);
    wait_ms(t, 70000);
    markers_done(t);
    end(t, "x", 1000, 0, false);
    end(t, "x", 1000, 1, false);
    init_as(t, "x", 1000, 1);
    init_as(t, "x", 1000, 0);
    init(t, "x");
    expect(t, "markers x abort 1000/32767 epoch 6 v2 t-0\n"
              "end PRODUCER_FENCED\nend PRODUCER_FENCED\ninit PRODUCER_FENCED\n"
              "init 1001/0\ninit 1001/1\n");
    trace_free(t);
}

static void test_who_is_not_timed_out(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.two_phase_commit_enable = true;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    struct init_producer_id_request r;
    wire_init(&wire_init_producer_id_request, &r);
    r.transactional_id = SLICE_LIT("two-phase");
    r.enable2_pc = true;
    init_request(t, 6, &r);
    add(t, "two-phase", 1000, 0, "t", 0);
    init(t, "empty");
    init(t, "prepared");
    add(t, "prepared", 1002, 0, "t", 0);
    end(t, "prepared", 1002, 0, true);
    buf_clear(&t->lines);
    wait_ms(t, 10000000);
    expect(t, "");
    trace_free(t);
}

/* The append fails: the next look comes back to it, with the same epoch. */
static void test_timeout_not_written(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    buf_clear(&t->lines);
    t->append_error = ERR_NOT_ENOUGH_REPLICAS;
    wait_ms(t, 95000);
    describe(t, "x");
    expect(t, "x Ongoing 1000/0 timeout 60000 start 0 t-0\n");
    t->append_error = ERR_NONE;
    wait_ms(t, 10000);
    expect(t, "markers x abort 1000/1 epoch 5 v2 t-0\n");
    trace_free(t);
}

/* Kept through a restart: the clock of the record counts. */
static void test_timeout_after_a_restart(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    buf_clear(&t->lines);
    t->event.wall_ms += 61000;
    trace_restart(t);
    wait_ms(t, 10000);
    expect(t, "markers x abort 1000/1 epoch 6 v2 t-0\n");
    trace_free(t);
}

static void test_expiry(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.transactional_id_expiration_ms = 7200000; /* looks every hour */
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    init(t, "used");
    init(t, "empty");
    init(t, "complete");
    add(t, "complete", 1002, 0, "t", 0);
    end(t, "complete", 1002, 0, true);
    markers_done(t);
    init(t, "prepared");
    add(t, "prepared", 1003, 0, "t", 0);
    end(t, "prepared", 1003, 0, true);
    wait_ms(t, 3600001);
    init(t, "used");
    buf_clear(&t->lines);
    int64_t log_end = t->log_end;
    wait_ms(t, 3599998);
    assert_int_equal(t->log_end, log_end);
    wait_ms(t, 1);
    show_log(t, log_end);
    expect(t, "empty gone\ncomplete gone\n");
    describe(t, "empty");
    add(t, "empty", 1001, 0, "t", 0);
    end(t, "complete", 1002, 1, false);
    describe(t, "used");
    expect(t, "empty TRANSACTIONAL_ID_NOT_FOUND\nadd INVALID_PRODUCER_ID_MAPPING\n"
              "end INVALID_PRODUCER_ID_MAPPING\nused Empty 1000/1 timeout 60000 start -1\n");
    init(t, "empty"); /* like one that was never seen */
    expect(t, "init 1004/0\n");
    trace_restart(t);
    buf_clear(&t->lines);
    describe(t, "complete");
    describe(t, "empty");
    expect(t, "complete TRANSACTIONAL_ID_NOT_FOUND\nempty Empty 1004/0 timeout 60000 start -1\n");
    trace_free(t);
}

/* A tombstone under way: the id is there for readers, and refuses changes. */
static void test_expiry_on_the_way(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.transactional_id_expiration_ms = 1000;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    init(t, "x");
    buf_clear(&t->lines);
    t->hold = true;
    wait_ms(t, 3600000);
    describe(t, "x");
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    wait_ms(t, 3600000); /* not twice */
    expect(t, "x Empty 1000/0 timeout 60000 start -1\ninit CONCURRENT_TRANSACTIONS\n"
              "add CONCURRENT_TRANSACTIONS\n");
    assert_int_equal(t->log_end, 2);
    commit_all(t);
    describe(t, "x");
    expect(t, "x TRANSACTIONAL_ID_NOT_FOUND\n");
    trace_free(t);
}

/* More tombstones than a batch holds, and an append that fails among them. */
static void test_expiry_of_many(void **state)
{
    (void)state;
    enum { COUNT = 300 };
    struct coord_config config;
    coord_config_init(&config);
    config.transactional_id_expiration_ms = 1000;
    config.batch_size_max = 1000;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    for (int i = 0; i < COUNT; i++)
        init(t, (const char *)arena_printf(&t->arena, "id%d%c", i, 0).data);
    buf_clear(&t->lines);
    t->append_error_after = 3;
    wait_ms(t, 3600000);
    size_t left = map_count(&shard_txns(t->shard)->txns);
    assert_in_range(left, 1, COUNT - 1);
    assert_true(list_empty(&shard_txns(t->shard)->pending)); /* what was written is settled */
    wait_ms(t, 3600000);
    assert_int_equal(map_count(&shard_txns(t->shard)->txns), 0);
    trace_free(t);
}

/* Times that no coordinator writes: neither is old. */
static void test_wild_times(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    init(t, "y");
    shard_txn(t->shard, slice_str("x"))->view->start_ms = INT64_MIN;
    shard_txn(t->shard, slice_str("y"))->view->update_ms = INT64_MIN;
    buf_clear(&t->lines);
    wait_ms(t, 3600000);
    expect(t, "");
    assert_int_equal(map_count(&shard_txns(t->shard)->txns), 2);
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_timeout),
        cmocka_unit_test(test_timeout_in_version_1),
        cmocka_unit_test(test_timeout_at_the_last_epoch),
        cmocka_unit_test(test_timeout_after_a_power_cut),
        cmocka_unit_test(test_who_is_not_timed_out),
        cmocka_unit_test(test_timeout_not_written),
        cmocka_unit_test(test_timeout_after_a_restart),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_expiry_on_the_way),
        cmocka_unit_test(test_expiry_of_many),
        cmocka_unit_test(test_wild_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
