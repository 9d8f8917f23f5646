#include "store/segment.h"

#include "segment_fixture.h"

static void rebuilt_equals_written(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    for (int i = 0; i < 300; i++)
        segment_add(&x, 1 + i % 3, 20, 1000 + (i % 10 ? i : -i));
    assert_int_equal(segment_write_indexes(x.segment, true), ERR_NONE);
    struct buf files[4];
    static const char *const names[] = {"00000000000000000100.index",
                                        "00000000000000000100.timeindex"};
    for (int i = 0; i < 4; i++)
        buf_init(&files[i]);
    store_slurp(x.f, names[0], &files[0]);
    store_slurp(x.f, names[1], &files[1]);
    assert_true(files[0].size > 100);
    segment_reload(&x);
    assert_int_equal(segment_rebuild_indexes(x.segment, 500), ERR_NONE);
    store_slurp(x.f, names[0], &files[2]);
    store_slurp(x.f, names[1], &files[3]);
    assert_true(slice_eq(buf_slice(&files[0]), buf_slice(&files[2])));
    assert_true(slice_eq(buf_slice(&files[1]), buf_slice(&files[3])));
    for (int i = 0; i < 4; i++)
        buf_fini(&files[i]);
    segment_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(rebuilt_equals_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
