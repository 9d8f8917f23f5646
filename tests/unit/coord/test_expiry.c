/* Retention of offsets and groups (KIP-211). offsets.retention.minutes is 7 days by default. */
#include "group_trace.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)

static void test_simple_group_by_commit(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 5);
    wait_ms(t, 3 * DAY_MS);
    commit_offset(t, "a", "t", 1, 6);
    wait_ms(t, 4 * DAY_MS - 1200000);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "a commit NONE\na commit NONE\nt-0 5 7 '' NONE\nt-1 6 7 '' NONE\n");
    wait_ms(t, 1800000);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "t-1 6 7 '' NONE\n");
    wait_ms(t, 3 * DAY_MS);
    fetch_offset(t, "g", NULL, 0);
    describe(t, "g");
    expect(t, "g Dead / [] NONE\n"); /* the group went with its last offset */
    trace_restart(t);
    list_lines(t, NULL, NULL);
    expect(t, "list\n");
    trace_free(t);
}

static void test_group_by_its_end(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->session_timeout_ms = 1800000;
    stable_one(t, "a");
    commit_offset(t, "a", "t", 0, 5);
    for (int i = 0; i < 10 * 24 * 3; i++) { /* ten days of life: nothing expires */
        wait_ms(t, 1200000);
        heartbeat(t, "a");
    }
    buf_clear(&t->lines);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "t-0 5 7 '' NONE\n");
    leave(t, "a");
    wait_ms(t, 7 * DAY_MS - 1200000);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "a leave NONE NONE\nt-0 5 7 '' NONE\n");
    wait_ms(t, 1800000);
    fetch_offset(t, "g", NULL, 0);
    describe(t, "g");
    expect(t, "g Dead / [] NONE\n");
    trace_free(t);
}

/* A group that nobody ever joined has no reason to stay. */
static void test_empty_group_without_offsets(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    join(t, "a");
    expect(t, "a join MEMBER_ID_REQUIRED\n");
    wait_ms(t, 600000);
    describe(t, "g");
    expect(t, "g Dead / [] NONE\n");
    trace_free(t);
}

/* Ten days with a live member; fetches all offsets of the group. */
static void live_on(struct trace *t, const char *name)
{
    for (int i = 0; i < 10 * 24 * 3; i++) {
        wait_ms(t, 1200000);
        heartbeat(t, name);
    }
    buf_clear(&t->lines);
    fetch_offset(t, "g", NULL, 0);
}

/* What members of the consumer protocol read stays; what they do not read any more goes. */
static void test_subscribed_topics(void **state)
{
    (void)state;
    static const char reads_t[] = "\0\1\0\0\0\1\0\1t\377\377\377\377\0\0\0\0";
    struct trace *t = trace_new();
    struct client *a = trace_client(t, "a");
    a->session_timeout_ms = 1800000;
    a->metadata = reads_t;
    a->metadata_size = sizeof reads_t - 1;
    stable_one(t, "a");
    commit_offset(t, "a", "t", 0, 5);
    commit_offset(t, "a", "u", 0, 6);
    live_on(t, "a");
    expect(t, "t-0 5 7 '' NONE\n"); /* (4.4.0) */
    trace_restart(t);               /* the subscription comes back with the member */
    commit_offset(t, "a", "u", 0, 6);
    live_on(t, "a");
    expect(t, "t-0 5 7 '' NONE\n");
    trace_free(t);
}

/* Nobody can tell what members of other protocols read, so all stays (4.4.0). */
static void test_other_protocols(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->session_timeout_ms = 1800000;
    trace_client(t, "a")->protocol_type = "connect";
    stable_one(t, "a");
    commit_offset(t, "a", "t", 0, 5);
    live_on(t, "a");
    expect(t, "t-0 5 7 '' NONE\n");
    leave(t, "a");
    wait_ms(t, 7 * DAY_MS + 1200000);
    describe(t, "g");
    expect(t, "a leave NONE NONE\ng Dead / [] NONE\n");
    trace_free(t);
}

static void test_pause(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.retention_check_ms = 1000;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    assert_int_equal(t->deadline_ms, t->event.now_ms + 1000);
    int before = t->batch_count;
    wait_ms(t, 10000);
    assert_int_equal(t->batch_count, before); /* nothing to do, nothing written */
    trace_free(t);
    config.retention_check_ms = INT64_MAX; /* Kafka's largest: never */
    t = trace_new_with(&config);
    trace_activate(t);
    assert_int_equal(t->deadline_ms, INT64_MAX);
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple_group_by_commit),
        cmocka_unit_test(test_group_by_its_end),
        cmocka_unit_test(test_empty_group_without_offsets),
        cmocka_unit_test(test_subscribed_topics),
        cmocka_unit_test(test_other_protocols),
        cmocka_unit_test(test_pause),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
