#include "store/cleaner_throttle.h"

#include "../unit.h"

#define SECOND INT64_C(1000000000)

static void the_rate_holds_over_time(void **state)
{
    (void)state;
    struct cleaner_throttle t;
    cleaner_throttle_init(&t, 1000);
    int64_t now = 77;
    uint64_t bytes = 0;
    for (int i = 0; i < 100; i++) {
        now += cleaner_throttle_add(&t, 300, now);
        bytes += 300;
    }
    assert_int_equal(now - 77, (int64_t)bytes * SECOND / 1000);
    /* Two that share it wait for each other. */
    assert_int_equal(cleaner_throttle_add(&t, 500, now), SECOND / 2);
    assert_int_equal(cleaner_throttle_add(&t, 500, now), SECOND);
    /* Idle time is not saved up. */
    assert_int_equal(cleaner_throttle_add(&t, 500, now + 100 * SECOND), SECOND / 2);
    cleaner_throttle_set_rate(&t, 2000);
    assert_int_equal(cleaner_throttle_add(&t, 500, now + 200 * SECOND), SECOND / 4);
}

static void without_a_limit_nobody_waits(void **state)
{
    (void)state;
    struct cleaner_throttle t;
    cleaner_throttle_init(&t, 1.7976931348623157e308);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(cleaner_throttle_add(&t, UINT64_C(1) << 40, i), 0);
    assert_int_equal(cleaner_throttle_slice(&t, 4096), 4096);
}

static void slices_are_short(void **state)
{
    (void)state;
    struct cleaner_throttle t;
    cleaner_throttle_init(&t, 1000);
    assert_int_equal(cleaner_throttle_slice(&t, 4096), 300);
    cleaner_throttle_set_rate(&t, 0);
    assert_int_equal(cleaner_throttle_slice(&t, 4096), 1);
    assert_true(cleaner_throttle_add(&t, UINT64_MAX, 0) <= 3600 * SECOND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rate_holds_over_time),
        cmocka_unit_test(without_a_limit_nobody_waits),
        cmocka_unit_test(slices_are_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
