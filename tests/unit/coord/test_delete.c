/* DeleteGroups. (4.4.0) marks answers of a running Apache Kafka 4.4.0. */
#include "group_trace.h"

static void test_delete(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    delete_group(t, "g");
    expect(t, "delete g GROUP_ID_NOT_FOUND\n"); /* (4.4.0) */
    stable_one(t, "a");
    commit_offset(t, "a", "t", 0, 5);
    delete_group(t, "g");
    expect(t, "a commit NONE\ndelete g NON_EMPTY_GROUP\n"); /* (4.4.0) */
    leave(t, "a");
    delete_group(t, "g");
    expect(t, "a leave NONE NONE\ndelete g NONE\n");
    fetch_offset(t, "g", "t", 0);
    describe(t, "g");
    expect(t, "t-0 -1 -1 '' NONE\ng Dead / [] NONE\n");
    trace_restart(t);
    fetch_offset(t, "g", "t", 0);
    list_lines(t, NULL, NULL);
    expect(t, "t-0 -1 -1 '' NONE\nlist\n");
    trace_free(t);
}

/* The answer waits for the commit; until then readers see the group as it was. */
static void test_uncommitted(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 5);
    t->hold = true;
    delete_group(t, "g");
    describe(t, "g");
    list_lines(t, NULL, NULL);
    fetch_offset(t, "g", "t", 0);
    expect(t, "a commit NONE\ng Empty / [] NONE\nlist g::Empty:classic\n"
              "t-0 5 7 '' NONE\n");
    commit_all(t);
    fetch_offset(t, "g", "t", 0);
    list_lines(t, NULL, NULL);
    expect(t, "delete g NONE\nt-0 -1 -1 '' NONE\nlist\n");
    trace_free(t);
}

static void test_append_fails(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 5);
    t->append_error = ERR_NOT_ENOUGH_REPLICAS;
    delete_group(t, "g");
    fetch_offset(t, "g", "t", 0);
    expect(t, "a commit NONE\ndelete g COORDINATOR_NOT_AVAILABLE\nt-0 5 7 '' NONE\n");
    trace_free(t);
}

static void test_named_twice(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 5);
    buf_clear(&t->lines);
    static const struct slice ids[] = {{(const uint8_t *)"g", 1}, {(const uint8_t *)"g", 1}};
    struct trace_call *call = trace_call(t, trace_client(t, "admin"), TRACE_DELETE);
    struct coord_update update;
    coord_update_init(&update);
    coord_groups_delete(t->shard, &t->event, ids, 2, &call->reply, &update);
    trace_deliver(t, &update);
    expect(t, "delete g NONE\n"); /* (4.4.0): one answer */
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_delete),
        cmocka_unit_test(test_uncommitted),
        cmocka_unit_test(test_append_fails),
        cmocka_unit_test(test_named_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
