/* OffsetFetch and the store behind it. */
#include "group_trace.h"

static void test_unknown_group_and_partition(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    fetch_offset(t, "g", "t", 0);
    expect(t, "t-0 -1 -1 '' NONE\n"); /* (4.4.0): no error */
    fetch_offset(t, "g", NULL, 0);
    expect(t, "");
    commit_offset(t, "a", "t", 3, 9);
    fetch_offset(t, "g", "t", 0);
    fetch_offset(t, "g", "t", 3);
    fetch_offset(t, "g", "u", 3);
    expect(t, "a commit NONE\nt-0 -1 -1 '' NONE\nt-3 9 7 '' NONE\nu-3 -1 -1 '' NONE\n");
    trace_free(t);
}

static void test_all_topics(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 3, 9);
    commit_offset(t, "a", "u", 1, 4);
    commit_offset(t, "a", "t", 1, 8);
    buf_clear(&t->lines);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "t-1 8 7 '' NONE\nt-3 9 7 '' NONE\nu-1 4 7 '' NONE\n");
    trace_free(t);
}

/* Readers see committed versions only; a stable fetch is told that more is under way. */
static void test_committed_versions(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 1);
    expect(t, "a commit NONE\n");
    t->hold = true;
    commit_offset(t, "a", "t", 0, 2);
    commit_offset(t, "a", "t", 0, 3);
    fetch_offset(t, "g", "t", 0);
    expect(t, "t-0 1 7 '' NONE\n");
    fetch_lines(t, t->shard, "g", "t", 0, true);
    expect(t, "t-0 -1 -1 '' UNSTABLE_OFFSET_COMMIT\n");
    commit_all(t);
    fetch_offset(t, "g", "t", 0);
    fetch_lines(t, t->shard, "g", "t", 0, true);
    expect(t, "a commit NONE\na commit NONE\nt-0 3 7 '' NONE\nt-0 3 7 '' NONE\n");
    delete_offset(t, "a", "t", 0);
    fetch_offset(t, "g", "t", 0);
    expect(t, "t-0 3 7 '' NONE\n");
    commit_all(t);
    fetch_offset(t, "g", "t", 0);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "a offset-delete NONE NONE\nt-0 -1 -1 '' NONE\n");
    trace_free(t);
}

/* A new group with a commit under way is not there for readers yet. */
static void test_uncommitted_group(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->hold = true;
    commit_offset(t, "a", "t", 0, 2);
    fetch_offset(t, "g", "t", 0);
    describe(t, "g");
    list_lines(t, NULL, NULL);
    expect(t, "t-0 -1 -1 '' NONE\ng Dead / [] NONE\nlist\n");
    commit_all(t);
    describe(t, "g");
    expect(t, "a commit NONE\ng Empty / [] NONE\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_unknown_group_and_partition),
        cmocka_unit_test(test_all_topics),
        cmocka_unit_test(test_committed_versions),
        cmocka_unit_test(test_uncommitted_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
