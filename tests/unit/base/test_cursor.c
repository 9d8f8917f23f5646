#include "base/cursor.h"

#include "../unit.h"

static void past_the_end_is_sticky(void **state)
{
    (void)state;
    struct cursor c = cursor_of(slice_of("\x01\x02\x03", 3));
    assert_int_equal(cursor_i16(&c), 0x0102);
    assert_int_equal(cursor_i32(&c), 0);
    assert_true(c.failed);
    assert_int_equal(cursor_i8(&c), 0);
    struct cursor wrap = cursor_of(slice_of("ab", 2));
    assert_null(cursor_take(&wrap, SIZE_MAX));
    assert_true(wrap.failed);
}

static void overlong_varints_fail(void **state)
{
    (void)state;
    struct cursor c = cursor_of(slice_of("\xff\xff\xff\xff\x7f", 5));
    assert_int_equal(cursor_uvarint(&c), 0);
    assert_true(c.failed);
    c = cursor_of(slice_of("\xff\xff\xff\xff\x0f", 5));
    assert_int_equal(cursor_uvarint(&c), UINT32_MAX);
    assert_false(c.failed);
    c = cursor_of(slice_of("\x80", 1));
    cursor_uvarint(&c);
    assert_true(c.failed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(past_the_end_is_sticky),
        cmocka_unit_test(overlong_varints_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
