/* JoinGroup. Answers marked (4.4.0) were taken from a running Apache Kafka 4.4.0 by raw requests.
 */
#include "group_trace.h"

static void test_member_id_required(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    join(t, "a");
    expect(t, "a join MEMBER_ID_REQUIRED\n"); /* (4.4.0) */
    assert_int_equal(trace_client(t, "a")->member_id.size, strlen("client-") + 36);
    describe(t, "g");
    expect(t, "g Empty / [] NONE\n"); /* the group is there at once (4.4.0) */
    join(t, "a");
    wait_ms(t, 0);
    expect(t, "a join gen 1 range leader a [a=m-a]\n");
    trace_free(t);
}

static void test_before_version_4(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    join_version(t, "a", 3);
    wait_ms(t, 0);
    expect(t, "a join gen 1 range leader a [a=m-a]\n");
    trace_free(t);
}

static void test_version_0_rebalance_timeout(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *a = trace_client(t, "a");
    a->rebalance_timeout_ms = -1; /* version 0 has none: the session timeout counts */
    join_version(t, "a", 0);
    wait_ms(t, 0);
    SYNC(t, "a", "a");
    expect(t, "a join gen 1 range leader a [a=m-a]\na sync 'p-a'\n");
    join_version(t, "b", 0);
    wait_ms(t, 9999);
    heartbeat(t, "a");
    expect(t, "a heartbeat REBALANCE_IN_PROGRESS\n");
    wait_ms(t, 1);
    expect(t, "b join gen 2 range leader b [b=m-b]\n"); /* a did not rejoin within 10 s */
    trace_free(t);
}

static void test_refusals(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *a = trace_client(t, "a");
    a->group = "";
    join(t, "a");
    a->group = "g";
    a->session_timeout_ms = 5999;
    join(t, "a");
    a->session_timeout_ms = 1800001;
    join(t, "a");
    a->session_timeout_ms = 10000;
    a->member_id = SLICE_LIT("nobody");
    join(t, "a");
    expect(t, "a join INVALID_GROUP_ID\na join INVALID_SESSION_TIMEOUT\n"
              "a join INVALID_SESSION_TIMEOUT\na join UNKNOWN_MEMBER_ID\n"); /* (4.4.0) */
    a->member_id = SLICE_LIT("");
    a->protocols[0] = NULL;
    join(t, "a");
    a->protocols[0] = "range";
    a->protocol_type = "";
    join(t, "a");
    expect(t, "a join INCONSISTENT_GROUP_PROTOCOL\na join INCONSISTENT_GROUP_PROTOCOL\n");
    trace_free(t);
}

/* With an unknown member id no group is made. */
static void test_unknown_member_makes_no_group(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->member_id = SLICE_LIT("nobody");
    join(t, "a");
    expect(t, "a join UNKNOWN_MEMBER_ID\n");
    describe(t, "g");
    expect(t, "g Dead / [] NONE\n");
    assert_int_equal(t->batch_count, 0);
    trace_free(t);
}

static void test_error_protocol_name_by_version(void **state)
{
    (void)state;
    struct join_group_response r;
    coord_answer_join(6, ERR_UNKNOWN_MEMBER_ID, SLICE_LIT("m"), &r);
    assert_false(slice_is_null(r.protocol_name)); /* (4.4.0) "" */
    coord_answer_join(7, ERR_UNKNOWN_MEMBER_ID, SLICE_LIT("m"), &r);
    assert_true(slice_is_null(r.protocol_name)); /* (4.4.0) null */
    assert_int_equal(r.generation_id, -1);
}

static void test_protocol_selection(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->protocols[0] = "sticky";
    trace_client(t, "a")->protocols[1] = "range";
    trace_client(t, "b")->protocols[0] = "range";
    trace_client(t, "b")->protocols[1] = "other";
    stable_two(t, "a", "b");
    describe(t, "g");
    expect(t, "g Stable consumer/range [a=m-a/p-a b=m-b/p-b] NONE\n");
    struct client *c = trace_client(t, "c");
    c->protocols[0] = "other";
    join(t, "c");
    expect(t, "c join INCONSISTENT_GROUP_PROTOCOL\n");
    c->protocols[0] = "range";
    c->protocol_type = "connect";
    join(t, "c");
    expect(t, "c join INCONSISTENT_GROUP_PROTOCOL\n");
    trace_free(t);
}

static void test_group_max_size(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.initial_rebalance_delay_ms = 0;
    config.group_size_max = 1;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    stable_one(t, "a");
    join(t, "b");
    expect(t, "b join GROUP_MAX_SIZE_REACHED\n");
    heartbeat(t, "a");
    expect(t, "a heartbeat NONE\n");
    trace_free(t);
}

static void test_static_member_keeps_the_group_stable(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    join(t, "a"); /* no MEMBER_ID_REQUIRED for static members */
    wait_ms(t, 0);
    expect(t, "a join gen 1 range leader a [a=m-a]\n");
    SYNC(t, "a", "a");
    expect(t, "a sync 'p-a'\n");
    struct client *b = trace_client(t, "b");
    b->instance = "one";
    b->metadata = "m-a";
    join(t, "b"); /* the same instance from another process */
    expect(t, "b join gen 1 range leader b [b=m-a] skip\n"); /* (4.4.0) */
    heartbeat(t, "a");
    expect(t, "a heartbeat FENCED_INSTANCE_ID\n");
    join(t, "a");
    expect(t, "a join FENCED_INSTANCE_ID\n");
    commit_offset(t, "a", "t", 0, 5);
    expect(t, "a commit FENCED_INSTANCE_ID\n");
    sync_members(t, "b", NULL);
    expect(t, "b sync 'p-a'\n"); /* the assignment is the instance's */
    trace_restart(t);
    heartbeat(t, "b");
    expect(t, "b heartbeat NONE\n"); /* the new id was written */
    trace_free(t);
}

/* Before version 9 the leader is told the id before, so that it does not assign. (4.4.0) */
static void test_static_leader_before_skip(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    join(t, "a");
    wait_ms(t, 0);
    SYNC(t, "a", "a");
    expect(t, "a join gen 1 range leader a [a=m-a]\na sync 'p-a'\n");
    trace_client(t, "b")->instance = "one";
    join_version(t, "b", 8);
    expect(t, "b join gen 1 range leader a\n");
    trace_free(t);
}

static void test_static_rejoin_while_parked_fences(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config); /* initial delay of 3 s */
    trace_activate(t);
    trace_client(t, "a")->instance = "one";
    trace_client(t, "b")->instance = "one";
    join(t, "a");
    join(t, "b");
    expect(t, "a join FENCED_INSTANCE_ID\n");
    wait_ms(t, 6000);
    expect(t, "b join gen 1 range leader b [b=m-b]\n");
    trace_free(t);
}

static void test_static_rejoin_while_completing_rebalances(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    join(t, "a");
    wait_ms(t, 0);
    expect(t, "a join gen 1 range leader a [a=m-a]\n");
    trace_client(t, "b")->instance = "one";
    join(t, "b");
    expect(t, "b join gen 2 range leader b [b=m-b]\n");
    trace_free(t);
}

static void test_static_protocol_change_rebalances(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *a = trace_client(t, "a"), *b = trace_client(t, "b");
    a->instance = b->instance = "one";
    a->protocols[1] = b->protocols[0] = "sticky";
    b->protocols[1] = "range";
    join(t, "a");
    wait_ms(t, 0);
    SYNC(t, "a", "a");
    expect(t, "a join gen 1 range leader a [a=m-a]\na sync 'p-a'\n");
    join(t, "b");
    expect(t, "b join gen 2 sticky leader b [b=m-b]\n");
    trace_free(t);
}

static void test_static_write_fails(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    join(t, "a");
    wait_ms(t, 0);
    SYNC(t, "a", "a");
    buf_clear(&t->lines);
    t->append_error = ERR_NOT_ENOUGH_REPLICAS;
    trace_client(t, "b")->instance = "one";
    join(t, "b");
    expect(t, "b join COORDINATOR_NOT_AVAILABLE\n");
    t->append_error = ERR_NONE;
    heartbeat(t, "a"); /* the id before is valid again */
    expect(t, "a heartbeat NONE\n");
    trace_free(t);
}

static void test_new_group_write_fails(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->append_error = ERR_IO;
    join_version(t, "a", 3);
    expect(t, "a join NOT_COORDINATOR\n");
    t->append_error = ERR_NONE;
    describe(t, "g");
    expect(t, "g Dead / [] NONE\n");
    wait_ms(t, 600000); /* no timer of it is left */
    expect(t, "");
    join_version(t, "b", 3);
    wait_ms(t, 0);
    expect(t, "b join gen 1 range leader b [b=m-b]\n");
    trace_free(t);
}

static void test_instance_of_pending_member(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    join(t, "a");
    trace_client(t, "a")->instance = "one";
    join(t, "a");
    expect(t, "a join MEMBER_ID_REQUIRED\na join UNKNOWN_SERVER_ERROR\n"); /* (4.4.0) */
    trace_free(t);
}

static void test_rejoin_of_a_stable_group(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    join(t, "b"); /* nothing new: the generation again */
    expect(t, "b join gen 1 range leader a\n");
    trace_client(t, "b")->metadata = "new";
    join(t, "b"); /* parks: a must rejoin */
    expect(t, "");
    heartbeat(t, "a");
    expect(t, "a heartbeat REBALANCE_IN_PROGRESS\n");
    join(t, "a");
    expect(t, "a join gen 2 range leader a [a=m-a b=new]\nb join gen 2 range leader a\n");
    join(t, "a"); /* lost the answer */
    expect(t, "a join gen 2 range leader a [a=m-a b=new]\n");
    trace_free(t);
}

static void test_leader_rejoin_rebalances(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_one(t, "a");
    join(t, "a");
    expect(t, "a join gen 2 range leader a [a=m-a]\n");
    trace_free(t);
}

/* A retry takes the place of the parked request. */
static void test_retry_while_parked(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    join(t, "a");
    join(t, "a");
    expect(t, "a join REBALANCE_IN_PROGRESS\n");
    join(t, "b");
    expect(t, "a join gen 2 range leader a [a=m-a b=m-b]\nb join gen 2 range leader a\n");
    trace_free(t);
}

static void test_loading_and_unloaded(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    join(t, "a");
    expect(t, "a join COORDINATOR_LOAD_IN_PROGRESS\n");
    trace_activate(t);
    join_version(t, "a", 3);
    trace_unload(t);
    expect(t, "a join NOT_COORDINATOR\n");
    join(t, "a");
    expect(t, "a join NOT_COORDINATOR\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_member_id_required),
        cmocka_unit_test(test_before_version_4),
        cmocka_unit_test(test_version_0_rebalance_timeout),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_unknown_member_makes_no_group),
        cmocka_unit_test(test_error_protocol_name_by_version),
        cmocka_unit_test(test_protocol_selection),
        cmocka_unit_test(test_group_max_size),
        cmocka_unit_test(test_static_member_keeps_the_group_stable),
        cmocka_unit_test(test_static_leader_before_skip),
        cmocka_unit_test(test_static_rejoin_while_parked_fences),
        cmocka_unit_test(test_static_rejoin_while_completing_rebalances),
        cmocka_unit_test(test_static_protocol_change_rebalances),
        cmocka_unit_test(test_static_write_fails),
        cmocka_unit_test(test_new_group_write_fails),
        cmocka_unit_test(test_instance_of_pending_member),
        cmocka_unit_test(test_rejoin_of_a_stable_group),
        cmocka_unit_test(test_leader_rejoin_rebalances),
        cmocka_unit_test(test_retry_while_parked),
        cmocka_unit_test(test_loading_and_unloaded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
