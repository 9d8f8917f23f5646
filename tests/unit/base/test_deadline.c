#include "base/deadline.h"

#include "../unit.h"

static void sums_end_at_the_end_of_the_clock(void **state)
{
    (void)state;
    assert_int_equal(deadline_after(5, 7), 12);
    assert_int_equal(deadline_after(5, -7), -2);
    assert_int_equal(deadline_after(5, INT64_MAX - 5), INT64_MAX);
    assert_int_equal(deadline_after(5, INT64_MAX), INT64_MAX);
    assert_int_equal(deadline_after(-5, INT64_MIN), INT64_MIN);
}

static void units(void **state)
{
    (void)state;
    assert_int_equal(deadline_ns_of_ms(0), 0);
    assert_int_equal(deadline_ns_of_ms(15000), 15000000000);
    assert_int_equal(deadline_ns_of_ms(INT64_MAX / 1000000 - 1),
                     (INT64_MAX / 1000000 - 1) * 1000000);
    assert_int_equal(deadline_ns_of_ms(INT64_MAX), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_end_at_the_end_of_the_clock),
        cmocka_unit_test(units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
