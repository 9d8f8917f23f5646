#include "store/segment.h"

#include "segment_fixture.h"

static void finds_every_offset(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    for (int i = 0; i < 200; i++)
        segment_add(&x, 3, 20, 1000 + i);
    for (int round = 0; round < 2; round++) {
        for (int64_t offset = 100; offset < 700; offset++) {
            uint32_t position;
            struct batch_info info;
            assert_int_equal(segment_locate(x.segment, 500, offset, &position, &info), ERR_NONE);
            assert_int_equal(info.offset_base, 100 + (offset - 100) / 3 * 3);
            assert_int_equal(position, (offset - 100) / 3 * info.size);
        }
        uint32_t position;
        struct batch_info info;
        int64_t next;
        assert_int_equal(segment_locate(x.segment, 500, 700, &position, &info), ERR_NOT_FOUND);
        assert_int_equal(segment_offset_next(x.segment, 500, &next), ERR_NONE);
        assert_int_equal(next, 700);
        assert_int_equal(segment_write_indexes(x.segment, true), ERR_NONE);
        segment_reload(&x);
    }
    assert_int_equal(segment_load_times(x.segment, 500), ERR_NONE);
    assert_int_equal(x.segment->max_timestamp, 1201);
    assert_int_equal(x.segment->max_timestamp_offset, 699);
    assert_int_equal(segment_load_first_timestamp(x.segment), ERR_NONE);
    assert_int_equal(x.segment->first_timestamp, 1002);
    segment_end(&x);
}

static void is_cut(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    for (int i = 0; i < 200; i++)
        segment_add(&x, 1, 20, i == 50 ? 5000 : 1000 + i);
    uint32_t position;
    struct batch_info info;
    assert_int_equal(segment_locate(x.segment, 500, 180, &position, &info), ERR_NONE);
    assert_int_equal(segment_truncate(x.segment, 500, position, 180), ERR_NONE);
    x.next = 180;
    assert_int_equal(x.segment->max_timestamp, 5000);
    assert_int_equal(segment_locate(x.segment, 500, 179, &position, &info), ERR_NONE);
    assert_int_equal(segment_locate(x.segment, 500, 180, &position, &info), ERR_NOT_FOUND);
    assert_true(offset_index_last(&x.segment->offsets, 100).offset < 180);
    assert_int_equal(segment_locate(x.segment, 500, 130, &position, &info), ERR_NONE);
    assert_int_equal(segment_truncate(x.segment, 500, position, 130), ERR_NONE);
    assert_int_equal(x.segment->max_timestamp, 1029);
    assert_int_equal(x.segment->max_timestamp_offset, 129);
    assert_int_equal(segment_truncate(x.segment, 500, 0, 100), ERR_NONE);
    assert_int_equal(x.segment->size, 0);
    assert_int_equal(x.segment->max_timestamp, -1);
    segment_end(&x);
}

static void names_are_parsed(void **state)
{
    (void)state;
    int64_t base;
    assert_true(segment_parse_name("00000000000000000012.log", ".log", &base));
    assert_int_equal(base, 12);
    assert_false(segment_parse_name("0000000000000000012.log", ".log", &base));
    assert_false(segment_parse_name("00000000000000000012.logs", ".log", &base));
    assert_false(segment_parse_name("0000000000000000001x.log", ".log", &base));
    assert_false(segment_parse_name("99999999999999999999.log", ".log", &base));
    assert_false(segment_parse_name("00000000000000000012.log.deleted", ".log", &base));
}

static void damaged_index_is_made_again(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    for (int i = 0; i < 200; i++)
        segment_add(&x, 1, 20, 1000 + i);
    assert_int_equal(segment_write_indexes(x.segment, true), ERR_NONE);
    struct buf before, after;
    buf_init(&before);
    buf_init(&after);
    store_slurp(x.f, "00000000000000000100.index", &before);
    store_cut_file(x.f, "00000000000000000100.index", (int64_t)before.size - 4);
    segment_reload(&x);
    uint32_t position;
    struct batch_info info;
    assert_int_equal(segment_locate(x.segment, 500, 250, &position, &info), ERR_NONE);
    assert_int_equal(info.offset_base, 250);
    store_slurp(x.f, "00000000000000000100.index", &after);
    assert_true(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_fini(&before);
    buf_fini(&after);
    segment_end(&x);
}

/* Apache Kafka was killed when it had cut one index file to its entries, and not yet the other. */
static void a_time_index_that_was_not_cut_is_made_again(void **state)
{
    struct segment_fixture x;
    segment_begin(&x, *state);
    for (int i = 0; i < 200; i++)
        segment_add(&x, 1, 20, 1000 + i);
    assert_int_equal(segment_write_indexes(x.segment, true), ERR_NONE);
    struct buf before, after;
    buf_init(&before);
    buf_init(&after);
    store_slurp(x.f, "00000000000000000100.timeindex", &before);
    store_cut_file(x.f, "00000000000000000100.timeindex", 10485756);
    segment_reload(&x);
    assert_int_equal(segment_load_times(x.segment, 500), ERR_NONE);
    assert_int_equal(x.segment->max_timestamp, 1199);
    store_slurp(x.f, "00000000000000000100.timeindex", &after);
    assert_true(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_fini(&before);
    buf_fini(&after);
    segment_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(finds_every_offset),
        STORE_TEST(is_cut),
        STORE_TEST(names_are_parsed),
        STORE_TEST(damaged_index_is_made_again),
        STORE_TEST(a_time_index_that_was_not_cut_is_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
