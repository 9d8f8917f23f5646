/* Rebalances by time and by members that come, go and fall silent. */
#include "group_trace.h"

static struct trace *with_delay(void)
{
    struct coord_config config;
    coord_config_init(&config); /* group.initial.rebalance.delay.ms = 3000 */
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    return t;
}

static void test_initial_delay_is_extended(void **state)
{
    (void)state;
    struct trace *t = with_delay();
    join(t, "b");
    expect(t, "b join MEMBER_ID_REQUIRED\n");
    join_version(t, "a", 3);
    wait_ms(t, 2999);
    expect(t, "");
    join(t, "b"); /* arrives within the delay: 3 s more */
    wait_ms(t, 1);
    expect(t, "");
    wait_ms(t, 2999);
    expect(t, "");
    wait_ms(t, 1);
    expect(t, "a join gen 1 range leader a [a=m-a b=m-b]\nb join gen 1 range leader a\n");
    trace_free(t);
}

static void test_initial_delay_ends_at_rebalance_timeout(void **state)
{
    (void)state;
    struct trace *t = with_delay();
    trace_client(t, "a")->rebalance_timeout_ms = 4000;
    trace_client(t, "b")->rebalance_timeout_ms = 4000;
    join(t, "b");
    expect(t, "b join MEMBER_ID_REQUIRED\n");
    join_version(t, "a", 3);
    wait_ms(t, 100);
    join(t, "b");
    wait_ms(t, 3899);
    expect(t, "");
    wait_ms(t, 1); /* 3 s, then the 1 s that remains */
    expect(t, "a join gen 1 range leader a [a=m-a b=m-b]\nb join gen 1 range leader a\n");
    trace_free(t);
}

static void test_member_that_does_not_rejoin(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    trace_client(t, "b")->metadata = "new";
    join(t, "b");
    for (int i = 0; i < 12; i++) { /* a is alive, but does not rejoin within 60 s */
        wait_ms(t, 5000);
        if (i < 11)
            heartbeat(t, "a");
    }
    expect(t, "a heartbeat REBALANCE_IN_PROGRESS\na heartbeat REBALANCE_IN_PROGRESS\n"
              "a heartbeat REBALANCE_IN_PROGRESS\na heartbeat REBALANCE_IN_PROGRESS\n"
              "a heartbeat REBALANCE_IN_PROGRESS\na heartbeat REBALANCE_IN_PROGRESS\n"
              "a heartbeat REBALANCE_IN_PROGRESS\na heartbeat REBALANCE_IN_PROGRESS\n"
              "a heartbeat REBALANCE_IN_PROGRESS\na heartbeat REBALANCE_IN_PROGRESS\n"
              "a heartbeat REBALANCE_IN_PROGRESS\nb join gen 2 range leader b [b=new]\n");
    heartbeat(t, "a");
    expect(t, "a heartbeat UNKNOWN_MEMBER_ID\n");
    trace_free(t);
}

static void test_session_expiry(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    wait_ms(t, 9999);
    heartbeat(t, "a");
    expect(t, "a heartbeat NONE\n");
    wait_ms(t, 1); /* b has been silent for 10 s */
    heartbeat(t, "a");
    expect(t, "a heartbeat REBALANCE_IN_PROGRESS\n");
    join(t, "a");
    expect(t, "a join gen 2 range leader a [a=m-a]\n");
    wait_ms(t, 60000); /* a never syncs and is silent: nobody is left */
    describe(t, "g");
    expect(t, "g Empty consumer/ [] NONE\n");
    trace_restart(t);
    describe(t, "g");
    expect(t, "g Empty consumer/ [] NONE\n");
    trace_free(t);
}

static void test_offset_commit_keeps_session(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_one(t, "a");
    for (int i = 0; i < 3; i++) {
        wait_ms(t, 9000);
        commit_offset(t, "a", "t", 0, i);
    }
    heartbeat(t, "a");
    expect(t, "a commit NONE\na commit NONE\na commit NONE\na heartbeat NONE\n");
    trace_free(t);
}

static void test_members_that_never_sync(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->rebalance_timeout_ms = 20000;
    trace_client(t, "b")->rebalance_timeout_ms = 20000;
    join(t, "a");
    join(t, "b");
    join(t, "a");
    join(t, "b");
    wait_ms(t, 0);
    buf_clear(&t->lines);
    SYNC(t, "a", "a", "b");
    expect(t, "a sync 'p-a'\n");
    for (int i = 0; i < 4; i++) { /* b beats, but does not sync */
        wait_ms(t, 5000);
        heartbeat(t, "a");
        heartbeat(t, "b");
    }
    expect(t, "a heartbeat NONE\nb heartbeat NONE\na heartbeat NONE\nb heartbeat NONE\n"
              "a heartbeat NONE\nb heartbeat NONE\n"
              "a heartbeat REBALANCE_IN_PROGRESS\nb heartbeat UNKNOWN_MEMBER_ID\n");
    join(t, "a");
    expect(t, "a join gen 2 range leader a [a=m-a]\n");
    trace_free(t);
}

static void test_pending_member_expires(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_one(t, "a");
    join(t, "b"); /* is told its id and never comes back */
    expect(t, "b join MEMBER_ID_REQUIRED\n");
    join(t, "a"); /* waits for b */
    wait_ms(t, 9999);
    expect(t, "");
    wait_ms(t, 1);
    expect(t, "a join gen 2 range leader a [a=m-a]\n");
    join(t, "b");
    expect(t, "b join UNKNOWN_MEMBER_ID\n");
    trace_free(t);
}

/* A first JoinGroup that stays parked for 5 minutes is given up: its client may be gone. */
static void test_new_member_times_out(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *a = trace_client(t, "a");
    a->rebalance_timeout_ms = 1000000;
    a->session_timeout_ms = 1000000;
    trace_client(t, "b")->rebalance_timeout_ms = 1000000;
    stable_one(t, "a");
    join_version(t, "b", 3);
    wait_ms(t, 299999);
    expect(t, "");
    wait_ms(t, 1);
    expect(t, "b join UNKNOWN_MEMBER_ID\n");
    trace_free(t);
}

/* Static members are not removed for missing a rebalance, only by their session. */
static void test_static_members_that_do_not_rejoin(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    trace_client(t, "b")->instance = "two";
    trace_client(t, "b")->session_timeout_ms = 100000;
    trace_client(t, "b")->rebalance_timeout_ms = 5000;
    trace_client(t, "a")->rebalance_timeout_ms = 5000;
    join(t, "a");
    join(t, "b");
    wait_ms(t, 0);
    SYNC(t, "a", "a", "b");
    sync_members(t, "b", NULL);
    buf_clear(&t->lines);
    join(t, "a");
    wait_ms(t, 5000);
    expect(t, "a join gen 2 range leader a [a=m-a b=m-b]\n");
    trace_free(t);
}

/* A rebalance timeout of 0 with static members that stay silent: time goes on, and their session
 * ends it. */
static void test_no_rebalance_timeout(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    stable_one(t, "a");
    trace_client(t, "b")->rebalance_timeout_ms = 0;
    join(t, "b");
    trace_client(t, "a")->rebalance_timeout_ms = 0;
    trace_client(t, "a")->member_id = SLICE_LIT("");
    join(t, "a"); /* comes back, with a timeout of 0 now */
    expect(t, "b join MEMBER_ID_REQUIRED\na join gen 1 range leader a [a=m-a] skip\n");
    join(t, "b");
    leave(t, "b");
    wait_ms(t, 20);
    describe(t, "g");
    expect(t, "b join UNKNOWN_MEMBER_ID\nb leave NONE NONE\n"
              "g PreparingRebalance consumer/ [a=/p-a] NONE\n");
    wait_ms(t, 10000);
    describe(t, "g");
    expect(t, "g Empty consumer/ [] NONE\n");
    trace_free(t);
}

static void test_unload_answers_everybody(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    join(t, "a"); /* parked join */
    trace_client(t, "c")->group = "h";
    join_version(t, "c", 3);
    join_version(t, "d", 3);
    trace_unload(t);
    expect(t, "a join NOT_COORDINATOR\nd join NOT_COORDINATOR\nc join NOT_COORDINATOR\n");
    trace_free(t);
}

static void test_loaded_group_over_capacity(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    t->config.group_size_max = 1;
    trace_restart(t);
    heartbeat(t, "a");
    join(t, "a");
    join(t, "b");
    expect(t, "a heartbeat REBALANCE_IN_PROGRESS\nb join GROUP_MAX_SIZE_REACHED\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_initial_delay_is_extended),
        cmocka_unit_test(test_initial_delay_ends_at_rebalance_timeout),
        cmocka_unit_test(test_member_that_does_not_rejoin),
        cmocka_unit_test(test_session_expiry),
        cmocka_unit_test(test_offset_commit_keeps_session),
        cmocka_unit_test(test_members_that_never_sync),
        cmocka_unit_test(test_pending_member_expires),
        cmocka_unit_test(test_new_member_times_out),
        cmocka_unit_test(test_static_members_that_do_not_rejoin),
        cmocka_unit_test(test_no_rebalance_timeout),
        cmocka_unit_test(test_unload_answers_everybody),
        cmocka_unit_test(test_loaded_group_over_capacity),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
