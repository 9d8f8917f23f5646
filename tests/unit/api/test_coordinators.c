#include "harness_group.h"

/* What was committed is there after a restart: the shards load their partitions. */
static void offsets_survive_a_restart(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    static const char *const groups[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < 6; i++)
        assert_int_equal(harness_commit(&h, groups[i], "t", 100 + i), 0);
    harness_close(&h);
    harness_open(&h, NULL);
    for (int i = 0; i < 6; i++)
        assert_int_equal(harness_committed(&h, groups[i], "t"), 100 + i);
    harness_end(&h);
}

/* With flush.messages=1 the commit's answer waits for the flush, and comes. */
static void a_commit_waits_for_the_flush(void **state)
{
    (void)state;
    HARNESS(h, "log.flush.interval.messages=1\n");
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(harness_commit(&h, "a", "t", i), 0);
    assert_int_equal(harness_committed(&h, "a", "t"), 4);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_survive_a_restart),
        cmocka_unit_test(a_commit_waits_for_the_flush),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
