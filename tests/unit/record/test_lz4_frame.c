#include "record/lz4_frame.h"

#include "../unit.h"

/* Values that other implementations of XXH32 publish. */
static void checksum_values(void **state)
{
    (void)state;
    assert_int_equal(lz4_xxh32((const uint8_t *)"", 0), 0x02cc5d05u);
    assert_int_equal(lz4_xxh32((const uint8_t *)"abc", 3), 0x32d153ffu);
    assert_int_equal(lz4_xxh32((const uint8_t *)"Nobody inspects the spammish repetition", 39),
                     0xe2293b2fu);
}

/* FLG, BD and the third byte are those of real frames: Kafka's own, liblz4 with content size. */
static void headers(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[15];
        size_t size;
        enum err err;
    } cases[] = {
        {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}, 7, ERR_NONE},
        {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x1a}, 7, ERR_MALFORMED}, /* old clients */
        {{0x04, 0x22, 0x4d, 0x18, 0x60, 0x40}, 6, ERR_MALFORMED},
        {{0x04, 0x22, 0x4d, 0x19, 0x60, 0x40, 0x82}, 7, ERR_MALFORMED},
        {{0x04, 0x22, 0x4d, 0x18, 0x40, 0x40, 0xc0}, 7, ERR_MALFORMED}, /* linked blocks */
        {{0x04, 0x22, 0x4d, 0x18, 0x68, 0x40, 0x82}, 7, ERR_MALFORMED}, /* content size cut */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct lz4_reader r;
        assert_int_equal(lz4_reader_init(&r, slice_of(cases[i].bytes, cases[i].size), false),
                         cases[i].err);
    }
    struct lz4_reader r;
    assert_int_equal(lz4_reader_init(&r, slice_of(cases[1].bytes, 7), true), ERR_NONE);
    assert_int_equal(r.block_size_max, 65536);
}

static void block_checksums_and_limits(void **state)
{
    (void)state;
    uint8_t frame[] = {0x04, 0x22, 0x4d, 0x18, 0x70, 0x40, 0,    3, 0, 0, 0x80,
                       'a',  'b',  'c',  0xff, 0x53, 0xd1, 0x32, 0, 0, 0, 0};
    frame[6] = (uint8_t)(lz4_xxh32(frame + 4, 2) >> 8);
    struct lz4_reader r;
    struct buf scratch;
    struct slice piece;
    buf_init(&scratch);
    assert_int_equal(lz4_reader_init(&r, slice_of(frame, sizeof frame), false), ERR_NONE);
    assert_int_equal(lz4_reader_next(&r, &scratch, &piece), ERR_NONE);
    assert_slice_eq(piece, "abc");
    assert_int_equal(lz4_reader_next(&r, &scratch, &piece), ERR_NONE);
    assert_int_equal(piece.size, 0);
    frame[12] = 'x';
    assert_int_equal(lz4_reader_init(&r, slice_of(frame, sizeof frame), false), ERR_NONE);
    assert_int_equal(lz4_reader_next(&r, &scratch, &piece), ERR_MALFORMED);
    frame[9] = 2; /* a block of 131075 bytes */
    assert_int_equal(lz4_reader_init(&r, slice_of(frame, sizeof frame), false), ERR_NONE);
    assert_int_equal(lz4_reader_next(&r, &scratch, &piece), ERR_MALFORMED);
    buf_fini(&scratch);
}

static void blocks_that_do_not_shrink_are_stored(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    lz4_write_header(&out);
    assert_int_equal(lz4_write_block(&out, SLICE_LIT("abc"), 9), ERR_NONE);
    lz4_write_end(&out);
    static const uint8_t expected[] = {0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82, 3, 0,
                                       0,    0x80, 'a',  'b',  'c',  0,    0,    0, 0};
    assert_int_equal(out.size, sizeof expected);
    assert_memory_equal(out.data, expected, sizeof expected);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum_values),
        cmocka_unit_test(headers),
        cmocka_unit_test(block_checksums_and_limits),
        cmocka_unit_test(blocks_that_do_not_shrink_are_stored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
