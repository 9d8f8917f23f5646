#include "base/double.h"

#include "../unit.h"

#include <math.h>

/* As Double.toString of Java 19 and later prints them. */
static const struct {
    double value;
    const char *text;
} cases[] = {
    {0, "0.0"},
    {-0.0, "-0.0"},
    {1, "1.0"},
    {-2.5, "-2.5"},
    {100, "100.0"},
    {0.001, "0.001"},
    {0.0125, "0.0125"},
    {0.00099, "9.9E-4"},
    {1234567, "1234567.0"},
    {9999999.5, "9999999.5"},
    {1e7, "1.0E7"},
    {-1.5e300, "-1.5E300"},
    {0.1, "0.1"},
    {1.0 / 3, "0.3333333333333333"},
    {12345.678, "12345.678"},
    {2e23, "2.0E23"},
    {5e-324, "4.9E-324"},
    {1.7976931348623157e308, "1.7976931348623157E308"},
};

static void as_java_prints_them(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        buf_clear(&out);
        double_put(&out, cases[i].value);
        assert_slice_eq(buf_slice(&out), cases[i].text);
    }
    buf_clear(&out);
    double_put(&out, (double)NAN);
    double_put(&out, (double)INFINITY);
    double_put(&out, -(double)INFINITY);
    assert_slice_eq(buf_slice(&out), "NaNInfinity-Infinity");
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(as_java_prints_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
