/* SyncGroup and Heartbeat. (4.4.0) marks answers of a running Apache Kafka 4.4.0. */
#include "group_trace.h"

static void joined_two(struct trace *t)
{
    join(t, "a");
    join(t, "b");
    join(t, "a");
    join(t, "b");
    wait_ms(t, 0);
    buf_clear(&t->lines);
}

static void test_followers_wait_for_the_leader(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    joined_two(t);
    sync_members(t, "b", NULL);
    expect(t, "");
    SYNC(t, "a", "a", "b");
    expect(t, "a sync 'p-a'\nb sync 'p-b'\n");
    sync_members(t, "b", NULL); /* again */
    expect(t, "b sync 'p-b'\n");
    describe(t, "g");
    expect(t, "g Stable consumer/range [a=m-a/p-a b=m-b/p-b] NONE\n");
    trace_free(t);
}

static void test_left_out_members_get_nothing(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    joined_two(t);
    SYNC(t, "a", "a");
    sync_members(t, "b", NULL);
    expect(t, "a sync 'p-a'\nb sync ''\n");
    trace_free(t);
}

static void test_answers_wait_for_the_commit(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    joined_two(t);
    t->hold = true;
    SYNC(t, "a", "a", "b");
    sync_members(t, "b", NULL);
    describe(t, "g");
    expect(t, "g CompletingRebalance consumer/ [a=/ b=/] NONE\n");
    commit_all(t);
    expect(t, "a sync 'p-a'\nb sync 'p-b'\n");
    trace_free(t);
}

static void test_append_fails(void **state)
{
    (void)state;
    static const struct {
        enum err append;
        const char *answer;
    } cases[] = {{ERR_NOT_ENOUGH_REPLICAS, "COORDINATOR_NOT_AVAILABLE"},
                 {ERR_UNKNOWN_TOPIC_OR_PARTITION, "COORDINATOR_NOT_AVAILABLE"},
                 {ERR_NOT_LEADER_OR_FOLLOWER, "NOT_COORDINATOR"},
                 {ERR_IO, "NOT_COORDINATOR"},
                 {ERR_MESSAGE_TOO_LARGE, "UNKNOWN_SERVER_ERROR"},
                 {ERR_INVALID_REQUIRED_ACKS, "INVALID_REQUIRED_ACKS"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace *t = trace_new();
        char lines[160];
        joined_two(t);
        sync_members(t, "b", NULL);
        t->append_error = cases[i].append;
        SYNC(t, "a", "a", "b");
        snprintf(lines, sizeof lines, "a sync %s\nb sync %s\n", cases[i].answer, cases[i].answer);
        expect(t, lines);
        t->append_error = ERR_NONE;
        heartbeat(t, "b"); /* the group rebalances */
        expect(t, "b heartbeat REBALANCE_IN_PROGRESS\n");
        trace_free(t);
    }
}

static void test_commit_times_out(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    joined_two(t);
    t->hold = true;
    SYNC(t, "a", "a", "b");
    wait_ms(t, 4999);
    expect(t, "");
    wait_ms(t, 1); /* offsets.commit.timeout.ms */
    expect(t, "a sync COORDINATOR_NOT_AVAILABLE\n");
    commit_all(t); /* too late */
    heartbeat(t, "a");
    expect(t, "a heartbeat REBALANCE_IN_PROGRESS\n");
    trace_free(t);
}

static void test_rebalance_while_waiting(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    joined_two(t);
    sync_members(t, "b", NULL);
    trace_client(t, "a")->metadata = "new";
    join(t, "a");
    expect(t, "b sync REBALANCE_IN_PROGRESS\n");
    sync_members(t, "b", NULL);
    expect(t, "b sync REBALANCE_IN_PROGRESS\n");
    trace_free(t);
}

static void test_refusals(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *x = trace_client(t, "x");
    sync_members(t, "x", NULL);
    heartbeat(t, "x");
    expect(t, "x sync UNKNOWN_MEMBER_ID\nx heartbeat UNKNOWN_MEMBER_ID\n"); /* (4.4.0) */
    stable_one(t, "a");
    sync_members(t, "x", NULL);
    heartbeat(t, "x");
    expect(t, "x sync UNKNOWN_MEMBER_ID\nx heartbeat UNKNOWN_MEMBER_ID\n");
    trace_client(t, "a")->generation = 2;
    sync_members(t, "a", NULL);
    heartbeat(t, "a");
    expect(t, "a sync ILLEGAL_GENERATION\na heartbeat ILLEGAL_GENERATION\n");
    x->group = "";
    sync_members(t, "x", NULL);
    heartbeat(t, "x");
    expect(t, "x sync INVALID_GROUP_ID\nx heartbeat INVALID_GROUP_ID\n");
    trace_free(t);
}

/* From version 5 (KIP-559) protocol type and name are wanted, and compared. */
static void test_protocol_of_version_5(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_one(t, "a");
    static const struct {
        const char *type, *name;
        enum err error;
    } cases[] = {{NULL, NULL, ERR_INCONSISTENT_GROUP_PROTOCOL}, /* (4.4.0) */
                 {"consumer", "sticky", ERR_INCONSISTENT_GROUP_PROTOCOL},
                 {"connect", "range", ERR_INCONSISTENT_GROUP_PROTOCOL},
                 {"consumer", "range", ERR_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sync_group_request r;
        wire_init(&wire_sync_group_request, &r);
        r.group_id = SLICE_LIT("g");
        r.generation_id = 1;
        r.member_id = trace_client(t, "a")->member_id;
        r.protocol_type = text_or_null(cases[i].type);
        r.protocol_name = text_or_null(cases[i].name);
        struct trace_call *call = trace_call(t, trace_client(t, "a"), TRACE_SYNC);
        struct coord_update update;
        coord_update_init(&update);
        t->event.version = 5;
        coord_groups_sync(t->shard, &t->event, &r, &call->reply, &update);
        assert_int_equal(call->response.sync.error_code, cases[i].error);
        trace_deliver(t, &update);
    }
    trace_free(t);
}

/* A heartbeat to a coordinator that loads is answered with success. */
static void test_heartbeat_while_loading(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    heartbeat(t, "a");
    sync_members(t, "a", NULL);
    expect(t, "a heartbeat NONE\na sync COORDINATOR_LOAD_IN_PROGRESS\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_followers_wait_for_the_leader),
        cmocka_unit_test(test_left_out_members_get_nothing),
        cmocka_unit_test(test_answers_wait_for_the_commit),
        cmocka_unit_test(test_append_fails),
        cmocka_unit_test(test_commit_times_out),
        cmocka_unit_test(test_rebalance_while_waiting),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_protocol_of_version_5),
        cmocka_unit_test(test_heartbeat_while_loading),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
