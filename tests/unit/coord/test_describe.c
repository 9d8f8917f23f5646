/* DescribeGroups and ListGroups. (4.4.0) marks answers of a running Apache Kafka 4.4.0. */
#include "group_trace.h"

static void test_absent(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    describe_lines(t, t->shard, "g", 5);
    describe_lines(t, t->shard, "g", 6);
    expect(t, "g Dead / [] NONE\ng Dead / [] GROUP_ID_NOT_FOUND\n"); /* (4.4.0) */
    struct describe_groups_response_described_group g;
    t->event.version = 6;
    coord_groups_describe(t->shard, &t->event, SLICE_LIT("g"), &t->arena, &g);
    assert_slice_eq(g.error_message, "Group g not found."); /* (4.4.0) */
    assert_int_equal(g.authorized_operations, INT32_MIN);
    trace_free(t);
}

static void test_states(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_two(t, "a", "b");
    describe(t, "g");
    leave(t, "b");
    describe(t, "g");
    join(t, "a");
    describe(t, "g");
    expect(t, "g Stable consumer/range [a=m-a/p-a b=m-b/p-b] NONE\nb leave NONE NONE\n"
              "g PreparingRebalance consumer/ [a=/p-a] NONE\n"
              "a join gen 2 range leader a [a=m-a]\n"
              "g CompletingRebalance consumer/ [a=/p-a] NONE\n");
    trace_free(t);
}

static void test_member_details(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->instance = "one";
    stable_one(t, "a");
    struct describe_groups_response_described_group g;
    coord_groups_describe(t->shard, &t->event, SLICE_LIT("g"), &t->arena, &g);
    assert_slice_eq(g.members[0].group_instance_id, "one");
    assert_slice_eq(g.members[0].client_id, "client");
    assert_slice_eq(g.members[0].client_host, "/127.0.0.1"); /* (4.4.0) */
    trace_free(t);
}

static void test_list_filters(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_one(t, "a");
    trace_client(t, "s")->group = "simple";
    commit_offset(t, "s", "t", 0, 1);
    buf_clear(&t->lines);
    list_lines(t, NULL, NULL);
    expect(t, "list g:consumer:Stable:classic simple::Empty:classic\n"); /* (4.4.0) */
    list_lines(t, "empty", NULL);
    list_lines(t, " Empty ", NULL);
    list_lines(t, "nope", NULL);
    expect(t, "list simple::Empty:classic\nlist simple::Empty:classic\nlist\n"); /* (4.4.0) */
    list_lines(t, NULL, "CLASSIC");
    list_lines(t, NULL, " classic ");
    list_lines(t, NULL, "consumer");
    list_lines(t, "stable", "classic");
    expect(t, "list g:consumer:Stable:classic simple::Empty:classic\nlist\nlist\n"
              "list g:consumer:Stable:classic\n"); /* (4.4.0) */
    trace_free(t);
}

static void test_not_serving(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    list_lines(t, NULL, NULL);
    describe(t, "g");
    expect(t, "list COORDINATOR_LOAD_IN_PROGRESS\ng  / [] COORDINATOR_LOAD_IN_PROGRESS\n");
    trace_unload(t);
    list_lines(t, NULL, NULL);
    expect(t, "list\n");
    trace_free(t);
}

/* What one shard after the other adds to; one that loads takes it all back. */
static void test_list_of_several_shards(void **state)
{
    enum { GROUPS = 12 };
    (void)state;
    static char names[GROUPS][8];
    struct trace *t = trace_new();
    for (int i = 0; i < GROUPS; i++) {
        snprintf(names[i], sizeof names[i], "g%d", i);
        trace_client(t, "s")->group = names[i];
        commit_offset(t, "s", "t", 0, 1);
    }
    struct list_groups_request r;
    struct list_groups_response response;
    wire_init(&wire_list_groups_request, &r);
    wire_init(&wire_list_groups_response, &response);
    const struct list_groups_response_listed_group *items[8];
    for (int shard = 0; shard < 8; shard++) {
        coord_groups_list(t->shard, &t->event, &r, &t->arena, &response);
        assert_int_equal(response.groups_count, (shard + 1) * GROUPS);
        items[shard] = response.groups;
    }
    for (int i = 0; i < response.groups_count; i++)
        assert_slice_eq(response.groups[i].group_id, names[i % GROUPS]);
    assert_ptr_equal(items[3], items[4]); /* room was left */
    struct coord_config config;
    coord_config_init(&config);
    struct trace *loading = trace_new_with(&config);
    coord_groups_list(loading->shard, &loading->event, &r, &t->arena, &response);
    assert_int_equal(response.error_code, err_to_wire(ERR_COORDINATOR_LOAD_IN_PROGRESS));
    assert_int_equal(response.groups_count, 0);
    trace_free(loading);
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent),         cmocka_unit_test(test_states),
        cmocka_unit_test(test_member_details), cmocka_unit_test(test_list_filters),
        cmocka_unit_test(test_not_serving),    cmocka_unit_test(test_list_of_several_shards),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
