/* LeaveGroup. (4.4.0) marks answers of a running Apache Kafka 4.4.0. */
#include "group_trace.h"

static void test_leave_rebalances(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    leave(t, "b");
    heartbeat(t, "a");
    heartbeat(t, "b");
    expect(t, "b leave NONE NONE\na heartbeat REBALANCE_IN_PROGRESS\n"
              "b heartbeat UNKNOWN_MEMBER_ID\n");
    leave(t, "a");
    describe(t, "g");
    expect(t, "a leave NONE NONE\ng Empty consumer/ [] NONE\n"); /* (4.4.0) */
    trace_free(t);
}

static void test_old_versions(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    leave_version(t, "x", 2);
    leave_version(t, "x", 3);
    expect(t, "x leave UNKNOWN_MEMBER_ID\nx leave NONE UNKNOWN_MEMBER_ID\n"); /* (4.4.0) */
    stable_one(t, "a");
    leave_version(t, "a", 0);
    expect(t, "a leave NONE\n");
    trace_client(t, "x")->group = "";
    leave_version(t, "x", 5);
    expect(t, "x leave INVALID_GROUP_ID\n"); /* (4.4.0) */
    trace_free(t);
}

static void test_several_at_once(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "b")->instance = "one";
    join(t, "a");
    join(t, "a");
    join(t, "b");
    wait_ms(t, 0);
    join(t, "p");
    buf_clear(&t->lines);
    struct leave_group_request r;
    wire_init(&wire_leave_group_request, &r);
    r.group_id = SLICE_LIT("g");
    struct leave_group_request_member_identity *m =
        leave_group_request_members_new(&t->arena, &r, 6);
    m[0].group_instance_id = SLICE_LIT("one");        /* by instance id alone */
    m[1].group_instance_id = SLICE_LIT("one");        /* gone by now */
    m[2].member_id = trace_client(t, "p")->member_id; /* pending */
    m[3].member_id = trace_client(t, "a")->member_id;
    m[3].group_instance_id = SLICE_LIT("two");
    m[4].member_id = SLICE_LIT("");
    m[5].member_id = trace_client(t, "a")->member_id;
    struct trace_call *call = trace_call(t, trace_client(t, "x"), TRACE_LEAVE);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 5;
    coord_groups_leave(t->shard, &t->event, &r, &call->reply, &update);
    trace_deliver(t, &update);
    expect(t, "x leave NONE NONE UNKNOWN_MEMBER_ID NONE UNKNOWN_MEMBER_ID UNKNOWN_MEMBER_ID "
              "NONE\n");
    describe(t, "g");
    expect(t, "g Empty consumer/ [] NONE\n");
    trace_free(t);
}

/* A member that leaves by another connection: what it has parked is answered. */
static void test_leave_while_parked(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    join(t, "a");
    leave(t, "a");
    expect(t, "a join UNKNOWN_MEMBER_ID\na leave NONE NONE\n");
    join(t, "b");
    expect(t, "b join gen 2 range leader b [b=m-b]\n");
    join(t, "c");
    join(t, "c");
    join(t, "b");
    buf_clear(&t->lines);
    sync_members(t, "c", NULL);
    leave(t, "c");
    expect(t, "c sync UNKNOWN_MEMBER_ID\nc leave NONE NONE\n");
    trace_free(t);
}

/* The last one missing leaves: the others go on at once. */
static void test_leave_completes_the_join(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    join(t, "a");
    leave(t, "b");
    expect(t, "a join gen 2 range leader a [a=m-a]\nb leave NONE NONE\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_leave_rebalances),         cmocka_unit_test(test_old_versions),
        cmocka_unit_test(test_several_at_once),          cmocka_unit_test(test_leave_while_parked),
        cmocka_unit_test(test_leave_completes_the_join),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
