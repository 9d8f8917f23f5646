/* AddPartitionsToTxn, AddOffsetsToTxn, and verification. */
#include "txn_trace.h"

static void test_refused(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    add(t, "x", 1000, 0, "t", 0);
    add_offsets(t, "x", 1000, 0, 0);
    add(t, "", 1000, 0, "t", 0);
    add_offsets(t, "", 1000, 0, 0);
    expect(t, "add INVALID_PRODUCER_ID_MAPPING\noffsets INVALID_PRODUCER_ID_MAPPING\n"
              "add INVALID_REQUEST\noffsets INVALID_REQUEST\n");
    init(t, "x");
    add(t, "x", 1001, 0, "t", 0);
    add(t, "x", 1000, 1, "t", 0);
    add(t, "x", 1000, -1, "t", 0);
    add_version(t, "x", 1000, 1, "t", 0, 2, false);
    add_version(t, "x", 1000, 1, "t", 0, 1, false);
    add_offsets(t, "x", 1000, 1, 0);
    expect(t, "init 1000/0\nadd INVALID_PRODUCER_ID_MAPPING\n"
              "add PRODUCER_FENCED\nadd PRODUCER_FENCED\nadd PRODUCER_FENCED\n"
              "add INVALID_PRODUCER_EPOCH\noffsets PRODUCER_FENCED\n");
    assert_int_equal(t->log_end, 1);
    trace_free(t);
}

static void test_added_once(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic topics[] = {
        {SLICE_LIT("u"), (int32_t[]){3, 1, 3}, 3}, {SLICE_LIT("t"), (int32_t[]){2}, 1}};
    t->event.wall_ms += 10;
    add_topics(t, "x", 1000, 0, topics, 2, 5);
    expect(t, "init 1000/0\nadd NONE NONE NONE NONE\n");
    t->event.wall_ms += 10;
    add_topics(t, "x", 1000, 0, topics, 2, 5);
    add(t, "x", 1000, 0, "u", 1);
    assert_int_equal(t->log_end, 2); /* they are there already */
    add(t, "x", 1000, 0, "t", 1);
    add_offsets(t, "x", 1000, 0, 4);
    add_offsets(t, "x", 1000, 0, 4);
    expect(t, "add NONE NONE NONE NONE\nadd NONE\nadd NONE\noffsets NONE\noffsets NONE\n");
    show_log(t, 1);
    expect(t, "x Ongoing 1000<1000>-1/0 timeout 60000 start 10 update 10 v2 t-2 u-1 u-3\n"
              "x Ongoing 1000<1000>-1/0 timeout 60000 start 10 update 20 v2 t-1 t-2 u-1 u-3\n"
              "x Ongoing 1000<1000>-1/0 timeout 60000 start 10 update 20 v0 "
              "__consumer_offsets-4 t-1 t-2 u-1 u-3\n");
    trace_free(t);
}

/* A transaction without any partition is begun all the same. */
static void test_nothing_added(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add_topics(t, "x", 1000, 0, NULL, 0, 3);
    add_topics(t, "x", 1000, 0, NULL, 0, 3);
    describe(t, "x");
    expect(t, "init 1000/0\nadd\nadd\nx Ongoing 1000/0 timeout 60000 start 0\n");
    assert_int_equal(t->log_end, 2);
    trace_free(t);
}

static void test_while_it_ends(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    end(t, "x", 1000, 0, true);
    buf_clear(&t->lines);
    add(t, "x", 1000, 1, "t", 0);
    add(t, "x", 1000, 0, "t", 0);
    add_offsets(t, "x", 1000, 1, 0);
    add(t, "x", 1001, 9, "t", 0);
    expect(t, "add CONCURRENT_TRANSACTIONS\nadd CONCURRENT_TRANSACTIONS\n"
              "offsets CONCURRENT_TRANSACTIONS\nadd CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    t->event.wall_ms += 5;
    add(t, "x", 1000, 1, "u", 0);
    describe(t, "x");
    expect(t, "add NONE\nx Ongoing 1000/1 timeout 60000 start 5 u-0\n");
    trace_free(t);
}

static void test_verification(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    verify(t, "x", 1000, 0, "t", 0);
    verify(t, "", 1000, 0, "t", 0);
    expect(t, "add INVALID_PRODUCER_ID_MAPPING\nadd INVALID_REQUEST\n");
    init(t, "x");
    verify(t, "x", 1000, 0, "t", 0);
    add(t, "x", 1000, 0, "t", 0);
    verify(t, "x", 1000, 0, "t", 0);
    verify(t, "x", 1000, 0, "t", 1);
    verify(t, "x", 1000, 1, "t", 0);
    verify(t, "x", 1001, 0, "t", 0);
    expect(t, "init 1000/0\nadd TRANSACTION_ABORTABLE\nadd NONE\nadd NONE\n"
              "add TRANSACTION_ABORTABLE\nadd PRODUCER_FENCED\nadd INVALID_PRODUCER_ID_MAPPING\n");
    assert_int_equal(t->log_end, 2); /* nothing is added by it */
    end(t, "x", 1000, 0, false);
    buf_clear(&t->lines);
    verify(t, "x", 1000, 1, "t", 0);
    markers_done(t);
    verify(t, "x", 1000, 1, "t", 0);
    expect(t, "add CONCURRENT_TRANSACTIONS\nadd TRANSACTION_ABORTABLE\n");
    trace_free(t);
}

/* What is under way does not count, and does not stop it either. */
static void test_verification_of_what_is_not_committed(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 0);
    t->hold = true;
    add(t, "x", 1000, 0, "t", 1);
    buf_clear(&t->lines);
    verify(t, "x", 1000, 0, "t", 0);
    verify(t, "x", 1000, 0, "t", 1);
    add(t, "x", 1000, 0, "t", 0);
    expect(t, "add NONE\nadd TRANSACTION_ABORTABLE\nadd CONCURRENT_TRANSACTIONS\n");
    commit_all(t);
    verify(t, "x", 1000, 0, "t", 1);
    expect(t, "add NONE\nadd NONE\n");
    init(t, "y");
    verify(t, "y", 1000, 0, "t", 1);
    expect(t, "add INVALID_PRODUCER_ID_MAPPING\n");
    commit_all(t);
    buf_clear(&t->lines);
    trace_free(t);
}

static void test_failed_append(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    t->append_error = ERR_NOT_ENOUGH_REPLICAS;
    add(t, "x", 1000, 0, "t", 1);
    add_offsets(t, "x", 1000, 0, 1);
    describe(t, "x");
    expect(t, "init 1000/0\nadd COORDINATOR_NOT_AVAILABLE\noffsets COORDINATOR_NOT_AVAILABLE\n"
              "x Empty 1000/0 timeout 60000 start -1\n");
    t->append_error = ERR_NONE;
    add(t, "x", 1000, 0, "t", 1);
    expect(t, "add NONE\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_added_once),
        cmocka_unit_test(test_nothing_added),
        cmocka_unit_test(test_while_it_ends),
        cmocka_unit_test(test_verification),
        cmocka_unit_test(test_verification_of_what_is_not_committed),
        cmocka_unit_test(test_failed_append),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
