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

static void parts_between_marks(void **state)
{
    (void)state;
    struct slice before = SLICE_LIT("x"), after = SLICE_LIT("y");
    assert_true(slice_cut(SLICE_LIT("a:b:c"), ':', &before, &after));
    assert_slice_eq(before, "a");
    assert_slice_eq(after, "b:c");
    assert_true(slice_cut_last(SLICE_LIT("a:b:c"), ':', &before, &after));
    assert_slice_eq(before, "a:b");
    assert_slice_eq(after, "c");
    assert_true(slice_cut(SLICE_LIT(":"), ':', &before, &after));
    assert_true(before.data && before.size == 0 && after.data && after.size == 0);
    assert_false(slice_cut(SLICE_LIT("abc"), ':', &before, &after));
    assert_false(slice_cut_last(SLICE_NULL, ':', &before, &after));
    assert_true(before.data && after.data); /* untouched */
}

static void parts_one_by_one(void **state)
{
    (void)state;
    struct slice rest = SLICE_LIT("a,,b"), part;
    assert_true(slice_next_part(&rest, ',', &part));
    assert_slice_eq(part, "a");
    assert_true(slice_next_part(&rest, ',', &part));
    assert_true(part.data && part.size == 0);
    assert_true(slice_next_part(&rest, ',', &part));
    assert_slice_eq(part, "b");
    assert_false(slice_next_part(&rest, ',', &part));
    rest = SLICE_LIT(",");
    assert_true(slice_next_part(&rest, ',', &part) && slice_next_part(&rest, ',', &part));
    assert_false(slice_next_part(&rest, ',', &part));
    rest = SLICE_LIT("");
    assert_true(slice_next_part(&rest, ',', &part));
    assert_false(slice_next_part(&rest, ',', &part));
    rest = SLICE_NULL;
    assert_false(slice_next_part(&rest, ',', &part));
}

static void beginnings(void **state)
{
    (void)state;
    assert_true(slice_starts_with(SLICE_LIT("ssl.key"), "ssl."));
    assert_true(slice_starts_with(SLICE_LIT("ssl."), "ssl.") &&
                slice_starts_with(SLICE_LIT(""), ""));
    assert_false(slice_starts_with(SLICE_LIT("ssl"), "ssl."));
    assert_false(slice_starts_with(SLICE_LIT("sasl.x"), "ssl."));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(null_is_not_empty),
        cmocka_unit_test(integers_are_parsed_whole_and_in_range),
        cmocka_unit_test(blanks_and_case),
        cmocka_unit_test(parts_between_marks),
        cmocka_unit_test(parts_one_by_one),
        cmocka_unit_test(beginnings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
