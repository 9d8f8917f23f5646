#include "../api/harness.h"

/* A log whose topic is gone is set aside at the start, not deleted. */
static void strays(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_close(&h);
    char command[256];
    snprintf(command, sizeof command, "mv %s/t-0 %s/s-0", h.dir, h.dir);
    assert_int_equal(system(command), 0);
    harness_open(&h, NULL);
    snprintf(command, sizeof command, "ls -d %s/s-0.*-stray >/dev/null", h.dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 1)->base_offset, 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
