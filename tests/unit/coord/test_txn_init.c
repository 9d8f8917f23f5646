/* InitProducerId: identities, fencing, exhausted epochs, and what is refused. */
#include "txn_trace.h"

static void test_requests_refused(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct init_producer_id_request r;
    wire_init(&wire_init_producer_id_request, &r);
    r.transaction_timeout_ms = 60000;
    r.transactional_id = SLICE_LIT("");
    init_request(t, 5, &r);
    r.transactional_id = SLICE_LIT("x");
    r.producer_id = 5;
    init_request(t, 5, &r);
    r.producer_id = -1;
    r.producer_epoch = 5;
    init_request(t, 5, &r);
    expect(t, "init INVALID_REQUEST\ninit INVALID_REQUEST\ninit INVALID_REQUEST\n");
    r.producer_epoch = -1;
    r.transaction_timeout_ms = 0;
    init_request(t, 5, &r);
    r.transaction_timeout_ms = -1;
    init_request(t, 5, &r);
    r.transaction_timeout_ms = 900001;
    init_request(t, 5, &r);
    expect(t, "init INVALID_TRANSACTION_TIMEOUT\ninit INVALID_TRANSACTION_TIMEOUT\n"
              "init INVALID_TRANSACTION_TIMEOUT\n");
    r.transaction_timeout_ms = 900000;
    init_request(t, 5, &r);
    expect(t, "init 1000/0\n");
    assert_int_equal(t->log_end, 1); /* what is refused is not written */
    trace_free(t);
}

static void test_two_phase(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct init_producer_id_request r;
    wire_init(&wire_init_producer_id_request, &r);
    r.transactional_id = SLICE_LIT("x");
    r.transaction_timeout_ms = 60000;
    r.enable2_pc = true;
    init_request(t, 6, &r);
    expect(t, "init TRANSACTIONAL_ID_AUTHORIZATION_FAILED\n");
    t->config.two_phase_commit_enable = true;
    coord_shard_configure(t->shard, &t->config);
    init_request(t, 6, &r);
    describe(t, "x");
    expect(t, "init 1000/0\nx Empty 1000/0 timeout 2147483647 start -1\n");
    r.keep_prepared_txn = true;
    init_request(t, 6, &r);
    expect(t, "init UNSUPPORTED_VERSION\n");
    trace_free(t);
}

/* An id comes from outside, and only when it is needed. */
static void test_wants_an_id(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->no_producer_ids = true;
    init(t, "x");
    describe(t, "x");
    expect(t, "init wants an id\nx TRANSACTIONAL_ID_NOT_FOUND\n");
    assert_int_equal(t->log_end, 0);
    t->no_producer_ids = false;
    init(t, "x");
    t->no_producer_ids = true;
    init(t, "x");
    init(t, "y");
    expect(t, "init 1000/0\ninit 1000/1\ninit wants an id\n");
    trace_free(t);
}

/* KIP-360: the current identity gets the next epoch, the last one its answer again. */
static void test_identity(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init_as(t, "x", 777, 3); /* nobody knows it: a new one */
    init_as(t, "x", 1000, 0);
    init_as(t, "x", 1000, 0); /* the answer was lost */
    init_as(t, "x", 1000, 1);
    init_as(t, "x", 1000, 0);
    init_as(t, "x", 1000, 3);
    init_as(t, "x", 1001, 2);
    expect(t, "init 1000/0\ninit 1000/1\ninit 1000/1\ninit 1000/2\n"
              "init PRODUCER_FENCED\ninit PRODUCER_FENCED\ninit PRODUCER_FENCED\n");
    assert_int_equal(t->log_end, 4); /* a repetition is written, too */
    init(t, "x");                    /* takes its place: the last epoch counts no more */
    init_as(t, "x", 1000, 2);
    init_as(t, "x", 1000, 3);
    expect(t, "init 1000/3\ninit PRODUCER_FENCED\ninit 1000/4\n");
    trace_restart(t); /* records do not have the last epoch */
    init_as(t, "x", 1000, 3);
    init_as(t, "x", 1000, 4);
    expect(t, "init PRODUCER_FENCED\ninit 1000/5\n");
    trace_free(t);
}

static void test_fenced_in_old_versions(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct init_producer_id_request r;
    wire_init(&wire_init_producer_id_request, &r);
    init(t, "x");
    r.transactional_id = SLICE_LIT("x");
    r.transaction_timeout_ms = 60000;
    r.producer_id = 1000;
    r.producer_epoch = 9;
    init_request(t, 3, &r);
    init_request(t, 4, &r);
    expect(t, "init 1000/0\ninit INVALID_PRODUCER_EPOCH\ninit PRODUCER_FENCED\n");
    trace_free(t);
}

/* An open transaction is aborted under an epoch of its own; then the producer gets the next. */
static void test_aborts_the_open_one(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 1);
    expect(t, "init 1000/0\nadd NONE\n");
    init(t, "x");
    expect(t, "markers x abort 1000/1 epoch 5 v2 t-1\ninit CONCURRENT_TRANSACTIONS\n");
    init(t, "x");
    init_as(t, "x", 1000, 0);
    init_as(t, "x", 999, 0);
    expect(t, "init CONCURRENT_TRANSACTIONS\ninit CONCURRENT_TRANSACTIONS\n"
              "init CONCURRENT_TRANSACTIONS\n");
    markers_done(t);
    init(t, "x");
    expect(t, "init 1000/2\n");
    show_log(t, 2);
    expect(t, "x PrepareAbort 1000<1000>-1/1 timeout 60000 start 0 update 0 v2 t-1\n"
              "x CompleteAbort 1000<1000>-1/1 timeout 60000 start 0 update 0 v2\n"
              "x Empty 1000<1000>-1/2 timeout 60000 start -1 update 0 v2\n");
    add(t, "x", 1000, 0, "t", 1); /* the first producer wakes up */
    end(t, "x", 1000, 0, true);
    expect(t, "add PRODUCER_FENCED\nend PRODUCER_FENCED\n");
    trace_free(t);
}

/* Before transaction.version 2 the record of a fence is one of an old client. */
static void test_aborts_in_version_1(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.transaction_version = 1;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    init(t, "x");
    add_version(t, "x", 1000, 0, "t", 1, 3, false);
    init_as(t, "x", 1000, 0);
    markers_done(t);
    init_as(t, "x", 1000, 0); /* it fenced itself: the abort's epoch is not its own */
    init(t, "x");
    expect(t, "init 1000/0\nadd NONE\n"
              "markers x abort 1000/1 epoch 5 v0 t-1\ninit CONCURRENT_TRANSACTIONS\n"
              "init PRODUCER_FENCED\ninit 1000/2\n");
    trace_free(t);
}

/* The same with transaction.version 2: the abort counts as a bump, and so the producer that asked
 * for it goes on. */
static void test_own_abort_is_a_bump(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 1);
    init_as(t, "x", 1000, 0);
    markers_done(t);
    init_as(t, "x", 1000, 0);
    expect(t, "init 1000/0\nadd NONE\n"
              "markers x abort 1000/1 epoch 5 v2 t-1\ninit CONCURRENT_TRANSACTIONS\n"
              "init 1000/1\n");
    trace_free(t);
}

static void test_exhausted(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    exhaust(t, "x");
    describe(t, "x");
    expect(t, "x Empty 1000/32766 timeout 60000 start -1\n");
    t->no_producer_ids = true;
    init(t, "x");
    expect(t, "init wants an id\n");
    t->no_producer_ids = false;
    init_as(t, "x", 1000, 32765); /* Kafka fails on it, too */
    init_as(t, "x", 1000, 32766);
    init_as(t, "x", 1000, 32766); /* the answer was lost */
    expect(t, "init UNKNOWN_SERVER_ERROR\ninit 1001/0\ninit 1001/0\n");
    init_as(t, "x", 1001, 0);
    init_as(t, "x", 1000, 32766);
    init_as(t, "x", 1000, 5);
    expect(t, "init 1001/1\ninit PRODUCER_FENCED\ninit PRODUCER_FENCED\n");
    trace_free(t);
}

/* The last epoch of all is for the abort; then comes a new producer id. */
static void test_exhausted_while_open(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    exhaust(t, "x");
    add(t, "x", 1000, 32766, "t", 1);
    t->no_producer_ids = true;
    init(t, "x");
    t->no_producer_ids = false;
    init(t, "x");
    markers_done(t);
    describe(t, "x");
    init_as(t, "x", 1000, 32766); /* the one that it was taken from, if nobody else came */
    init_as(t, "x", 1000, 32767);
    init(t, "x");
    init_as(t, "x", 1000, 32766);
    expect(t, "add NONE\ninit wants an id\nmarkers x abort 1000/32767 epoch 5 v2 t-1\n"
              "init CONCURRENT_TRANSACTIONS\n"
              "x CompleteAbort 1001/0 timeout 60000 start 0\n"
              "init 1001/0\ninit PRODUCER_FENCED\ninit 1001/1\ninit PRODUCER_FENCED\n");
    trace_free(t);
}

/* A power cut took the record of an epoch. Nobody gets one of that producer id again; the new one
 * is trusted, also after later starts. */
static void test_after_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    size_t size = t->log.size;
    init(t, "x");
    trace_power_cut(t, size);
    describe(t, "x");
    t->no_producer_ids = true;
    init(t, "x");
    t->no_producer_ids = false;
    init(t, "x");
    init(t, "x");
    init_as(t, "x", 1000, 1);
    init_as(t, "x", 1000, 0);
    expect(t, "init 1000/0\ninit 1000/1\nx Empty 1000/0 timeout 60000 start -1\n"
              "init wants an id\ninit 1001/0\ninit 1001/1\n"
              "init PRODUCER_FENCED\ninit PRODUCER_FENCED\n");
    trace_restart(t);
    init(t, "x");
    trace_power_cut(t, t->log.size);
    init(t, "x");
    init(t, "new");
    init(t, "new");
    expect(t, "init 1001/2\ninit 1002/0\ninit 1003/0\ninit 1003/1\n");
    trace_free(t);
}

/* The producer that lived through it says who it is (KIP-360): with the epoch that the records know
 * it goes on, and asks again when it did not hear; with one that they lost it is fenced. */
static void test_identity_after_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    trace_power_cut(t, t->log.size);
    init_as(t, "x", 1000, 1);
    init_as(t, "x", 1000, 0);
    init_as(t, "x", 1000, 0);
    init_as(t, "x", 1001, 0);
    init_as(t, "x", 1000, 0);
    expect(t, "init 1000/0\ninit PRODUCER_FENCED\ninit 1001/0\ninit 1001/0\ninit 1001/1\n"
              "init PRODUCER_FENCED\n");
    trace_free(t);
}

/* An open transaction is aborted above all epochs that there may have been, also for a producer
 * that does not get a new producer id with the abort. */
static void test_open_in_a_power_cut(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    add(t, "x", 1000, 0, "t", 1);
    trace_power_cut(t, t->log.size);
    init(t, "x");
    markers_done(t);
    init_as(t, "x", 1000, 1);
    init_as(t, "x", 1000, 0); /* it was its own, and nobody came since */
    init(t, "x");
    expect(t, "init 1000/0\nadd NONE\nmarkers x abort 1000/32767 epoch 6 v2 t-1\n"
              "init CONCURRENT_TRANSACTIONS\ninit PRODUCER_FENCED\ninit 1001/0\ninit 1001/1\n");
    t->config.transaction_version = 1;
    init(t, "y");
    add_version(t, "y", 1002, 0, "t", 1, 3, false);
    trace_power_cut(t, t->log.size);
    init(t, "y");
    markers_done(t);
    trace_restart(t);
    init_as(t, "y", 1002, 0);
    init(t, "y");
    expect(t, "init 1002/0\nadd NONE\nmarkers y abort 1002/32767 epoch 7 v0 t-1\n"
              "init CONCURRENT_TRANSACTIONS\ninit PRODUCER_FENCED\ninit 1003/0\n");
    trace_free(t);
}

static void test_other_states_of_the_shard(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    init(t, "x");
    trace_activate(t);
    init(t, "x");
    trace_unload(t);
    init(t, "x");
    expect(t, "init COORDINATOR_LOAD_IN_PROGRESS\ninit 1000/0\ninit NOT_COORDINATOR\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_requests_refused),
        cmocka_unit_test(test_two_phase),
        cmocka_unit_test(test_wants_an_id),
        cmocka_unit_test(test_identity),
        cmocka_unit_test(test_fenced_in_old_versions),
        cmocka_unit_test(test_aborts_the_open_one),
        cmocka_unit_test(test_aborts_in_version_1),
        cmocka_unit_test(test_own_abort_is_a_bump),
        cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_exhausted_while_open),
        cmocka_unit_test(test_after_a_power_cut),
        cmocka_unit_test(test_identity_after_a_power_cut),
        cmocka_unit_test(test_open_in_a_power_cut),
        cmocka_unit_test(test_other_states_of_the_shard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
