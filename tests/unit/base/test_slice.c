#include "base/slice.h"

#include "../unit.h"

static void null_is_not_empty(void **state)
{
    (void)state;
    assert_false(slice_eq(SLICE_NULL, slice_of("", 0)));
    assert_true(slice_eq(SLICE_NULL, SLICE_NULL));
    assert_true(slice_cmp(SLICE_NULL, slice_of("", 0)) < 0);
    assert_true(slice_cmp(SLICE_LIT("ab"), SLICE_LIT("abc")) < 0);
    assert_true(slice_cmp(SLICE_LIT("b"), SLICE_LIT("abc")) > 0);
}

static void integers_are_parsed_whole_and_in_range(void **state)
{
    (void)state;
    int64_t v = 42;
    assert_true(slice_to_i64(SLICE_LIT("-9223372036854775808"), INT64_MIN, INT64_MAX, &v));
    assert_true(v == INT64_MIN);
    assert_false(slice_to_i64(SLICE_LIT("9223372036854775808"), INT64_MIN, INT64_MAX, &v));
    assert_false(slice_to_i64(SLICE_LIT("12x"), 0, 100, &v));
    assert_false(slice_to_i64(SLICE_LIT(""), 0, 100, &v));
    assert_false(slice_to_i64(SLICE_LIT("-"), 0, 100, &v));
    assert_false(slice_to_i64(SLICE_LIT("101"), 0, 100, &v));
    assert_true(v == INT64_MIN);
}

static void blanks_and_case(void **state)
{
    (void)state;
    assert_slice_eq(slice_trim(SLICE_LIT(" \t a b\r\n")), "a b");
    assert_true(slice_eq_nocase(SLICE_LIT("Empty"), SLICE_LIT("eMPTY")));
    assert_false(slice_eq_nocase(SLICE_LIT("a"), SLICE_LIT("ab")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_not_empty),
        cmocka_unit_test(integers_are_parsed_whole_and_in_range),
        cmocka_unit_test(blanks_and_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
