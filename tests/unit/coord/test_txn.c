/* The life of a transaction, from its producer's beginning to its complete record. */
#include "txn_trace.h"

static void test_life(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    init(t, "x");
    expect(t, "init 1000/0\n");
    describe(t, "x");
    expect(t, "x Empty 1000/0 timeout 60000 start -1\n");
    add(t, "x", 1000, 0, "t", 1);
    add(t, "x", 1000, 0, "t", 0);
    add_offsets(t, "x", 1000, 0, 7);
    describe(t, "x");
    expect(t, "add NONE\nadd NONE\noffsets NONE\n"
              "x Ongoing 1000/0 timeout 60000 start 0 __consumer_offsets-7 t-0 t-1\n");
    end(t, "x", 1000, 0, true);
    expect(t, "markers x commit 1000/1 epoch 5 v2 __consumer_offsets-7 t-0 t-1\n"
              "end NONE 1000/1\n");
    describe(t, "x");
    expect(t, "x PrepareCommit 1000/1 timeout 60000 start 0 __consumer_offsets-7 t-0 t-1\n");
    markers_done(t);
    describe(t, "x");
    expect(t, "x CompleteCommit 1000/1 timeout 60000 start 0\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
