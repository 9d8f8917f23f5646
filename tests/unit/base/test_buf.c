#include "base/buf.h"

#include "base/cursor.h"

#include "../unit.h"

static void limit_is_sticky(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    b.size_max = 4;
    buf_put_i32(&b, 1);
    assert_false(b.failed);
    buf_put_i8(&b, 1);
    assert_true(b.failed);
    assert_int_equal(b.size, 4);
    buf_fini(&b);
}

static void varints_read_back_and_size_agrees(void **state)
{
    (void)state;
    const int64_t values[] = {0,   -1,   1,         63,        64,        -64,
                              -65, 8191, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        struct buf b;
        buf_init(&b);
        buf_put_varint(&b, values[i]);
        assert_int_equal(b.size, varint_size(values[i]));
        uint64_t read = 0; /* zigzag, seven bits a byte, the low ones first */
        for (size_t n = 0; n < b.size; n++) {
            assert_int_equal(b.data[n] >> 7, n + 1 < b.size);
            read |= (uint64_t)(b.data[n] & 0x7f) << (7 * n);
        }
        assert_int_equal((int64_t)(read >> 1 ^ (0 - (read & 1))), values[i]);
        buf_fini(&b);
    }
}

static void printf_grows(void **state)
{
    (void)state;
    struct buf b;
    buf_init(&b);
    for (int i = 0; i < 100; i++)
        buf_printf(&b, "%03d", i);
    assert_int_equal(b.size, 300);
    assert_memory_equal(b.data + 297, "099", 3);
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limit_is_sticky),
        cmocka_unit_test(varints_read_back_and_size_agrees),
        cmocka_unit_test(printf_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
