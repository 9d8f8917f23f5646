/* OffsetCommit, OffsetDelete, deleted topics. (4.4.0) marks answers of a running Apache Kafka
 * 4.4.0. */
#include "group_trace.h"

static void test_simple_group(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset_version(t, "a", "t", 0, 5, "note", 9, -1);
    commit_offset_version(t, "a", "t", 0, -5, NULL, 9, -1); /* negative is taken (4.4.0) */
    expect(t, "a commit NONE\na commit NONE\n");
    fetch_offset(t, "g", "t", 0);
    describe(t, "g");
    expect(t, "t-0 -5 7 '' NONE\ng Empty / [] NONE\n"); /* (4.4.0) */
    trace_client(t, "a")->member_id = SLICE_LIT("someone");
    trace_client(t, "a")->instance = "one"; /* both do not count without a generation */
    commit_offset_version(t, "a", "t", 0, 6, "note", 9, -1);
    fetch_offset(t, "g", "t", 0);
    expect(t, "a commit NONE\nt-0 6 7 'note' NONE\n"); /* (4.4.0) */
    trace_free(t);
}

static void test_generation_and_member(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *x = trace_client(t, "x");
    x->generation = 5;
    x->member_id = SLICE_LIT("someone");
    commit_offset_version(t, "x", "t", 0, 5, "", 8, -1);
    commit_offset_version(t, "x", "t", 0, 5, "", 9, -1);
    expect(t, "x commit ILLEGAL_GENERATION\nx commit GROUP_ID_NOT_FOUND\n"); /* (4.4.0) */
    stable_one(t, "a");
    commit_offset(t, "x", "t", 0, 5);
    x->generation = -1;
    x->member_id = SLICE_LIT("");
    commit_offset(t, "x", "t", 0, 5);
    x->member_id = trace_client(t, "a")->member_id;
    commit_offset(t, "x", "t", 0, 5);
    expect(t, "x commit UNKNOWN_MEMBER_ID\nx commit UNKNOWN_MEMBER_ID\n"
              "x commit ILLEGAL_GENERATION\n"); /* (4.4.0) */
    x->member_id = SLICE_LIT("");
    commit_offset(t, "a", "t", 0, 5);
    join(t, "a");
    commit_offset(t, "a", "t", 0, 6); /* waits for its assignment */
    expect(t, "a commit NONE\na join gen 2 range leader a [a=m-a]\n"
              "a commit REBALANCE_IN_PROGRESS\n");
    trace_free(t);
}

static void test_metadata_size(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    char text[4 * 4098 + 1];
    memset(text, 'x', sizeof text);
    text[4097] = 0;
    commit_offset_version(t, "a", "t", 0, 5, text, 9, -1);
    text[4096] = 0;
    commit_offset_version(t, "a", "t", 0, 5, text, 9, -1);
    expect(t, "a commit OFFSET_METADATA_TOO_LARGE\na commit NONE\n"); /* (4.4.0) */
    for (int i = 0; i < 2048; i++) /* counted as Java does: two units each */
        memcpy(text + 4 * i, "\xf0\x9f\x98\x80", 4);
    text[4 * 2048] = 0;
    commit_offset_version(t, "a", "t", 0, 5, text, 9, -1); /* (4.4.0) */
    text[4 * 2048] = 'x';
    text[4 * 2048 + 1] = 0;
    commit_offset_version(t, "a", "t", 0, 5, text, 9, -1);
    expect(t, "a commit NONE\na commit OFFSET_METADATA_TOO_LARGE\n");
    trace_free(t);
}

static void test_append_fails_and_times_out(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->append_error = ERR_NOT_LEADER_OR_FOLLOWER;
    commit_offset(t, "a", "t", 0, 5);
    expect(t, "a commit NOT_COORDINATOR\n");
    describe(t, "g");
    expect(t, "g Dead / [] NONE\n"); /* nothing is left of it */
    t->append_error = ERR_NONE;
    t->hold = true;
    commit_offset(t, "a", "t", 0, 5);
    wait_ms(t, 5000);
    expect(t, "a commit COORDINATOR_NOT_AVAILABLE\n");
    commit_offset(t, "a", "t", 0, 6);
    trace_unload(t);
    expect(t, "a commit NOT_COORDINATOR\n");
    trace_free(t);
}

/* Versions 2 to 4 carry a retention: the record tells when the offset expires. */
static void test_explicit_retention(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset_version(t, "a", "t", 0, 5, "", 4, 1000000);
    expect(t, "a commit NONE\n");
    trace_restart(t);
    wait_ms(t, 600000);
    fetch_offset(t, "g", "t", 0);
    expect(t, "t-0 5 -1 '' NONE\n"); /* that record version has no leader epoch */
    wait_ms(t, 600000);
    fetch_offset(t, "g", "t", 0);
    expect(t, "t-0 -1 -1 '' NONE\n");
    trace_free(t);
}

/* Any retention is taken, as Kafka takes it: negative ones are past, the longest never ends. */
static void test_odd_retentions(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset_version(t, "a", "t", 0, 5, "", 4, INT64_MAX);
    commit_offset_version(t, "a", "t", 1, 5, "", 4, INT64_MIN);
    commit_offset_version(t, "a", "t", 2, 5, "", 4, -2);
    commit_offset_version(t, "a", "t", 3, 5, "", 4, 0);
    expect(t, "a commit NONE\na commit NONE\na commit NONE\na commit NONE\n");
    wait_ms(t, INT64_C(30) * 24 * 3600 * 1000);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "t-0 5 -1 '' NONE\n");
    trace_free(t);
}

static void test_delete_offsets(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    delete_offset(t, "a", "t", 0);
    expect(t, "a offset-delete GROUP_ID_NOT_FOUND\n"); /* (4.4.0) */
    commit_offset(t, "a", "u", 0, 5);
    delete_offset(t, "a", "u", 0);
    delete_offset(t, "a", "u", 1);
    fetch_offset(t, "g", "u", 0);
    expect(t, "a commit NONE\na offset-delete NONE NONE\na offset-delete NONE NONE\n"
              "u-0 -1 -1 '' NONE\n"); /* (4.4.0) */
    stable_one(t, "b");               /* its metadata is no subscription: any topic may be in use */
    delete_offset(t, "b", "u", 0);
    expect(t, "b offset-delete NONE GROUP_SUBSCRIBED_TO_TOPIC\n");
    struct client *c = trace_client(t, "c");
    c->group = "h";
    c->protocol_type = "connect";
    stable_one(t, "c");
    delete_offset(t, "c", "u", 0);
    expect(t, "c offset-delete NON_EMPTY_GROUP\n");
    trace_free(t);
}

static void test_deleted_topics(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 5);
    commit_offset(t, "a", "u", 0, 5);
    trace_client(t, "b")->group = "h";
    commit_offset(t, "b", "t", 1, 5);
    buf_clear(&t->lines);
    struct slice name = SLICE_LIT("t");
    struct coord_update update;
    coord_update_init(&update);
    coord_offsets_topics_deleted(t->shard, &t->event, &name, 1, &update);
    trace_deliver(t, &update);
    fetch_offset(t, "g", NULL, 0);
    fetch_offset(t, "h", NULL, 0);
    expect(t, "u-0 5 7 '' NONE\n");
    trace_restart(t);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "u-0 5 7 '' NONE\n");
    trace_free(t);
}

/* Committed many at a time, deleted in batches below max.message.bytes. */
static void test_split_batches(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.batch_size_max = 1000;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    for (int i = 0; i < 100; i++)
        commit_offset(t, "a", "t", i, 5);
    buf_clear(&t->lines);
    int before = t->batch_count;
    struct slice name = SLICE_LIT("t");
    struct coord_update update;
    coord_update_init(&update);
    coord_offsets_topics_deleted(t->shard, &t->event, &name, 1, &update);
    trace_deliver(t, &update);
    assert_true(t->batch_count - before > 1);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "");
    trace_free(t);
}

static void test_batch_too_large(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.batch_size_max = 200;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    char text[300];
    memset(text, 'x', sizeof text);
    text[299] = 0;
    commit_offset_version(t, "a", "t", 0, 5, text, 9, -1);
    expect(t, "a commit UNKNOWN_SERVER_ERROR\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_simple_group),
        cmocka_unit_test(test_generation_and_member),
        cmocka_unit_test(test_metadata_size),
        cmocka_unit_test(test_append_fails_and_times_out),
        cmocka_unit_test(test_explicit_retention),
        cmocka_unit_test(test_odd_retentions),
        cmocka_unit_test(test_delete_offsets),
        cmocka_unit_test(test_deleted_topics),
        cmocka_unit_test(test_split_batches),
        cmocka_unit_test(test_batch_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
