#include "record/xerial.h"

#include "../unit.h"

/* Raw snappy of "abc": its length, then one literal. */
#define RAW_ABC \
    "\x03\x08"  \
    "abc"
#define HEADER "\x82SNAPPY\0\0\0\0\1\0\0\0\1"

static void check(struct slice in, enum err expected, const char *text)
{
    struct xerial_reader r;
    struct buf scratch, all;
    struct slice piece;
    buf_init(&scratch);
    buf_init(&all);
    enum err err = xerial_reader_init(&r, in);
    while (!err && !(err = xerial_reader_next(&r, &scratch, &piece)) && piece.size)
        buf_put_slice(&all, piece);
    assert_int_equal(err, expected);
    assert_slice_eq(buf_slice(&all), text);
    buf_fini(&scratch);
    buf_fini(&all);
}

static void both_framings(void **state)
{
    (void)state;
    check(SLICE_LIT(RAW_ABC), ERR_NONE, "abc");
    check(SLICE_LIT(HEADER "\0\0\0\5" RAW_ABC), ERR_NONE, "abc");
    check(SLICE_LIT(HEADER "\0\0\0\5" RAW_ABC "\0\0\0\5" RAW_ABC), ERR_NONE, "abcabc");
    check(SLICE_LIT(HEADER "\0\0\0\5" RAW_ABC HEADER "\0\0\0\5" RAW_ABC), ERR_NONE, "abcabc");
    check(SLICE_LIT(HEADER), ERR_NONE, "");
    check(SLICE_LIT(HEADER "\0\0\0\5" RAW_ABC "\0\0"), ERR_NONE, "abc");
}

static void lies_about_lengths(void **state)
{
    (void)state;
    check(SLICE_NULL, ERR_MALFORMED, "");
    check(SLICE_LIT(HEADER "\0\0\0\6" RAW_ABC), ERR_MALFORMED, "");
    check(SLICE_LIT(HEADER "\xff\xff\xff\xff" RAW_ABC), ERR_MALFORMED, "");
    check(SLICE_LIT("\xff\xff\xff\xff\x0f\x08"
                    "abc"),
          ERR_MALFORMED, ""); /* four gigabytes out of nine bytes */
    check(SLICE_LIT("\x04\x08"
                    "abc"),
          ERR_MALFORMED, "");
}

static void blocks_are_written(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    xerial_write_header(&out);
    assert_int_equal(xerial_write_block(&out, SLICE_LIT("abc")), ERR_NONE);
    struct slice expected = SLICE_LIT(HEADER "\0\0\0\5" RAW_ABC);
    assert_true(slice_eq(buf_slice(&out), expected));
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_framings),
        cmocka_unit_test(lies_about_lengths),
        cmocka_unit_test(blocks_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
