/* DescribeTransactions and ListTransactions: committed state, filters, shards together. */
#include "txn_trace.h"

static void list_shard(struct coord_txn_list *list, struct trace *t)
{
    coord_txn_list_take(list, t->shard, &t->event);
    while (coord_txn_list_match(list)) {
    }
}

/* "list [error] <id>:<producer id>:<state> ... [unknown <state> ...]", sorted as they come. */
static void list(struct trace *t, const struct list_transactions_request *request)
{
    struct list_transactions_response r;
    struct coord_txn_list *l = coord_txn_list_begin(request, &t->arena, &r);
    if (!r.error_code)
        list_shard(l, t);
    coord_txn_list_end(l);
    buf_printf(&t->lines, "list");
    if (r.error_code)
        buf_printf(&t->lines, " %s", code_name(r.error_code));
    for (int32_t i = 0; i < r.transaction_states_count; i++)
        buf_printf(&t->lines, " %.*s:%lld:%.*s",
                   SLICE_FMT(r.transaction_states[i].transactional_id),
                   (long long)r.transaction_states[i].producer_id,
                   SLICE_FMT(r.transaction_states[i].transaction_state));
    for (int32_t i = 0; i < r.unknown_state_filters_count; i++)
        buf_printf(&t->lines, "%s '%.*s'", i ? "" : " unknown",
                   SLICE_FMT(r.unknown_state_filters[i]));
    buf_printf(&t->lines, "\n");
}

static struct list_transactions_request all(void)
{
    struct list_transactions_request request;
    wire_init(&wire_list_transactions_request, &request);
    return request;
}

/* a: Empty, b: Ongoing, c: PrepareAbort, d: CompleteCommit. */
static struct trace *four(void)
{
    struct trace *t = trace_new();
    init(t, "a");
    init(t, "b");
    add(t, "b", 1001, 0, "t", 0);
    t->event.wall_ms += 1000;
    init(t, "c");
    add(t, "c", 1002, 0, "t", 0);
    end(t, "c", 1002, 0, false);
    drop_markers(t);
    init(t, "d");
    add(t, "d", 1003, 0, "t", 0);
    end(t, "d", 1003, 0, true);
    markers_done(t);
    buf_clear(&t->lines);
    return t;
}

static void test_filters(void **state)
{
    (void)state;
    struct trace *t = four();
    struct list_transactions_request r = all();
    list(t, &r);
    expect(t, "list a:1000:Empty b:1001:Ongoing c:1002:PrepareAbort d:1003:CompleteCommit\n");

    struct slice *states = list_transactions_request_state_filters_new(&t->arena, &r, 2);
    states[0] = slice_str("Ongoing");
    states[1] = slice_str("CompleteCommit");
    list(t, &r);
    states[0] = slice_str("ongoing"); /* case counts */
    list(t, &r);
    states[1] = slice_str("");
    list(t, &r);
    states[0] = slice_str("Dead"); /* known, never seen */
    states[1] = slice_str("PrepareEpochFence");
    list(t, &r);
    expect(t, "list b:1001:Ongoing d:1003:CompleteCommit\n"
              "list d:1003:CompleteCommit unknown 'ongoing'\n"
              "list unknown 'ongoing' ''\n"
              "list\n");

    r = all();
    int64_t *ids = list_transactions_request_producer_id_filters_new(&t->arena, &r, 2);
    ids[0] = 1002;
    ids[1] = -1;
    list(t, &r);
    *list_transactions_request_state_filters_new(&t->arena, &r, 1) = slice_str("Empty");
    list(t, &r);
    expect(t, "list c:1002:PrepareAbort\nlist\n");

    r = all();
    t->event.wall_ms += 500;
    r.duration_filter = 500;
    list(t, &r);
    r.duration_filter = 499;
    list(t, &r);
    r.duration_filter = 1500;
    list(t, &r);
    r.duration_filter = -7;
    list(t, &r);
    r.duration_filter = INT64_MAX;
    list(t, &r);
    expect(t, "list a:1000:Empty b:1001:Ongoing\n"
              "list a:1000:Empty b:1001:Ongoing c:1002:PrepareAbort d:1003:CompleteCommit\n"
              "list a:1000:Empty\n"
              "list a:1000:Empty b:1001:Ongoing c:1002:PrepareAbort d:1003:CompleteCommit\n"
              "list\n");
    trace_free(t);
}

static void test_pattern(void **state)
{
    (void)state;
    struct trace *t = four();
    struct list_transactions_request r = all();
    r.transactional_id_pattern = slice_str("[bc]|(?i)A");
    list(t, &r);
    r.transactional_id_pattern = slice_str("x?");
    list(t, &r);
    r.transactional_id_pattern = slice_str("");
    *list_transactions_request_state_filters_new(&t->arena, &r, 1) = slice_str("Empty");
    list(t, &r);
    r.transactional_id_pattern = slice_str("[");
    *list_transactions_request_state_filters_new(&t->arena, &r, 1) = slice_str("bogus");
    list(t, &r); /* does not name the unknown state, as Kafka */
    expect(t, "list a:1000:Empty b:1001:Ongoing c:1002:PrepareAbort\nlist\n"
              "list a:1000:Empty\nlist INVALID_REGULAR_EXPRESSION\n");
    trace_free(t);
}

static void test_committed_only(void **state)
{
    (void)state;
    struct trace *t = four();
    struct list_transactions_request r = all();
    t->hold = true;
    init(t, "e");
    add(t, "a", 1000, 0, "t", 0);
    list(t, &r);
    describe(t, "e");
    describe(t, "a");
    expect(t, "list a:1000:Empty b:1001:Ongoing c:1002:PrepareAbort d:1003:CompleteCommit\n"
              "e TRANSACTIONAL_ID_NOT_FOUND\na Empty 1000/0 timeout 60000 start -1\n");
    commit_all(t);
    buf_clear(&t->lines);
    list(t, &r);
    expect(t, "list a:1000:Ongoing b:1001:Ongoing c:1002:PrepareAbort d:1003:CompleteCommit "
              "e:1004:Empty\n");
    trace_free(t);
}

/* One answer from several shards, one of which loads. */
static void test_shards_together(void **state)
{
    (void)state;
    struct trace *t = four();
    struct trace *other = trace_new();
    struct coord_config config;
    coord_config_init(&config);
    struct trace *loading = trace_new_with(&config);
    init(other, "z");
    struct list_transactions_request request = all();
    struct list_transactions_response r;
    struct coord_txn_list *l = coord_txn_list_begin(&request, &t->arena, &r);
    assert_int_equal(r.transaction_states_count, 0);
    list_shard(l, t);
    list_shard(l, other);
    assert_int_equal(r.transaction_states_count, 5);
    assert_slice_eq(r.transaction_states[0].transactional_id, "a");
    assert_slice_eq(r.transaction_states[4].transactional_id, "z");
    trace_unload(other);
    list_shard(l, other);
    assert_int_equal(r.error_code, ERR_NONE);
    assert_int_equal(r.transaction_states_count, 5);
    list_shard(l, loading);
    assert_int_equal(r.error_code, ERR_COORDINATOR_LOAD_IN_PROGRESS);
    assert_int_equal(r.transaction_states_count, 0);
    list_shard(l, t);
    assert_int_equal(r.transaction_states_count, 0);
    coord_txn_list_end(l);
    buf_clear(&other->lines);
    trace_free(loading);
    trace_free(other);
    trace_free(t);
}

/* A pattern is matched after the shard was left: what is listed is what was there when it was
 * taken, copied, and no other shard's. */
static void test_pattern_outside(void **state)
{
    (void)state;
    struct trace *t = four(), *other = trace_new();
    init(other, "bb");
    init(other, "x");
    struct list_transactions_request request = all();
    request.transactional_id_pattern = slice_str("b+|d");
    struct list_transactions_response r;
    struct arena arena;
    arena_init(&arena);
    struct coord_txn_list *l = coord_txn_list_begin(&request, &arena, &r);
    coord_txn_list_take(l, t->shard, &t->event);
    assert_int_equal(r.transaction_states_count, 0);
    trace_free(t);
    for (int i = 0; i < 4; i++)
        assert_true(coord_txn_list_match(l));
    assert_false(coord_txn_list_match(l));
    assert_false(coord_txn_list_match(l));
    assert_int_equal(r.transaction_states_count, 2);
    list_shard(l, other);
    buf_clear(&other->lines);
    trace_free(other);
    coord_txn_list_end(l);
    assert_int_equal(r.transaction_states_count, 3);
    assert_slice_eq(r.transaction_states[0].transactional_id, "b");
    assert_slice_eq(r.transaction_states[0].transaction_state, "Ongoing");
    assert_int_equal(r.transaction_states[1].producer_id, 1003);
    assert_slice_eq(r.transaction_states[1].transactional_id, "d");
    assert_slice_eq(r.transaction_states[2].transactional_id, "bb");
    arena_fini(&arena);
}

/* Filters may be as many as a request holds: none is compared with each transaction. */
static void test_many_producer_ids(void **state)
{
    (void)state;
    enum { FILTERS = 500000, LISTS = 20000 };
    struct trace *t = four();
    struct list_transactions_request request = all();
    int64_t *ids = list_transactions_request_producer_id_filters_new(&t->arena, &request, FILTERS);
    for (int i = 0; i < FILTERS; i++)
        ids[i] = 1002 + i / 2;
    struct list_transactions_response r;
    struct coord_txn_list *l = coord_txn_list_begin(&request, &t->arena, &r);
    for (int i = 0; i < LISTS; i++)
        list_shard(l, t);
    assert_int_equal(r.transaction_states_count, 2 * LISTS);
    coord_txn_list_end(l);
    trace_free(t);
}

/* The answer grows over shards without losing or repeating any. */
static void test_many(void **state)
{
    (void)state;
    enum { SHARDS = 5, IDS = 37 };
    struct trace *t[SHARDS];
    struct list_transactions_request request = all();
    struct list_transactions_response r;
    struct arena arena;
    arena_init(&arena);
    struct coord_txn_list *l = coord_txn_list_begin(&request, &arena, &r);
    for (int s = 0; s < SHARDS; s++) {
        t[s] = trace_new();
        t[s]->producer_id_next = s * IDS;
        for (int i = 0; i < IDS; i++)
            init(t[s], (const char *)arena_printf(&arena, "id%d%c", i, 0).data);
        list_shard(l, t[s]);
        assert_int_equal(r.transaction_states_count, (s + 1) * IDS);
    }
    for (int i = 0; i < SHARDS * IDS; i++)
        assert_int_equal(r.transaction_states[i].producer_id, i);
    for (int s = 0; s < SHARDS; s++)
        trace_free(t[s]);
    coord_txn_list_end(l);
    arena_fini(&arena);
}

static void test_describe(void **state)
{
    (void)state;
    struct trace *t = four();
    describe(t, "b");
    describe(t, "");
    describe(t, "nobody");
    expect(t, "b Ongoing 1001/0 timeout 60000 start 0 t-0\n INVALID_REQUEST\n"
              "nobody TRANSACTIONAL_ID_NOT_FOUND\n");
    struct describe_transactions_response_transaction_state s;
    coord_txn_describe(t->shard, &t->event, slice_str("nobody"), &t->arena, &s);
    assert_slice_eq(s.transactional_id, "nobody");
    assert_slice_eq(s.transaction_state, "");
    assert_int_equal(s.producer_id, 0); /* as Kafka leaves them */
    assert_int_equal(s.producer_epoch, 0);
    assert_int_equal(s.topics_count, 0);
    trace_unload(t);
    describe(t, "b");
    expect(t, "b NOT_COORDINATOR\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_pattern),
        cmocka_unit_test(test_committed_only),
        cmocka_unit_test(test_shards_together),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_pattern_outside),
        cmocka_unit_test(test_many_producer_ids),
        cmocka_unit_test(test_describe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
