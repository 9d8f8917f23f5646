#include "record/compress.h"

#include "base/mem.h"
#include "base/thread_exit.h"
#include "record_golden.h"

static uint8_t bytes[400000];

/* Runs of noise and of repeats, so that both kinds of blocks occur. */
static enum err decode_all(enum codec codec, struct slice in, struct buf *out)
{
    struct decoder *d;
    enum err err = decoder_open(codec, in, 0, &d);
    if (err)
        return err;
    struct slice piece;
    while (!(err = decoder_next(d, &piece)) && piece.size) {
        buf_put_slice(out, piece);
        if (out->failed) {
            err = ERR_TOO_LARGE;
            break;
        }
    }
    decoder_close(d);
    return err;
}

static void fill(uint64_t seed)
{
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i / 5000 % 2 ? noise(&seed) : i / 64);
}

static void encode(enum codec codec, int level, struct slice in, uint64_t *seed, struct buf *out)
{
    struct encoder *e;
    assert_int_equal(encoder_open(codec, level, out, &e), ERR_NONE);
    while (in.size) {
        size_t part = noise(seed) % 3 ? noise(seed) % 300 : noise(seed) % 200000;
        part = part < in.size ? part : in.size;
        assert_int_equal(encoder_write(e, slice_sub(in, 0, part)), ERR_NONE);
        in = slice_sub(in, part, in.size - part);
    }
    assert_int_equal(encoder_finish(e), ERR_NONE);
}

static void round_trips_of_all_codecs_and_levels(void **state)
{
    (void)state;
    static const struct {
        enum codec codec;
        int level;
    } cases[] = {{CODEC_NONE, 0},   {CODEC_GZIP, -1}, {CODEC_GZIP, 1},  {CODEC_GZIP, 9},
                 {CODEC_SNAPPY, 0}, {CODEC_LZ4, 9},   {CODEC_LZ4, 1},   {CODEC_LZ4, 17},
                 {CODEC_ZSTD, 3},   {CODEC_ZSTD, 1},  {CODEC_ZSTD, -5}, {CODEC_ZSTD, 12}};
    static const size_t sizes[] = {0, 1, 9, 1000, 32768, 65536, 65537, 131072, 399999};
    uint64_t seed = 42;
    fill(1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            struct buf packed, plain;
            buf_init(&packed);
            buf_init(&plain);
            struct slice in = slice_of(bytes, sizes[s]);
            encode(cases[c].codec, cases[c].level, in, &seed, &packed);
            assert_int_equal(decode_all(cases[c].codec, buf_slice(&packed), &plain), ERR_NONE);
            assert_true(slice_eq(buf_slice(&plain), in));
            buf_fini(&packed);
            buf_fini(&plain);
        }
    }
}

static void every_truncation_is_noticed(void **state)
{
    (void)state;
    uint64_t seed = 8;
    fill(2);
    for (int codec = CODEC_GZIP; codec < CODEC_COUNT; codec++) {
        struct buf packed;
        buf_init(&packed);
        encode((enum codec)codec, codec_level_default((enum codec)codec), slice_of(bytes, 6000),
               &seed, &packed);
        for (size_t size = 0; size < packed.size; size += size < 40 ? 1 : 37) {
            struct buf plain;
            buf_init(&plain);
            uint8_t *copy = mem_alloc(size + 1);
            memcpy(copy, packed.data, size);
            enum err err = decode_all((enum codec)codec, slice_of(copy, size), &plain);
            /* Two formats have lengths at which they may end: no frame, no block. */
            if (!err)
                assert_true(plain.size == 0 && (size == 0 || size <= 19));
            mem_free(copy);
            buf_fini(&plain);
        }
        buf_fini(&packed);
    }
}

static void mutations_do_no_harm(void **state)
{
    (void)state;
    uint64_t seed = 77;
    fill(3);
    for (int codec = CODEC_GZIP; codec < CODEC_COUNT; codec++) {
        struct buf packed;
        buf_init(&packed);
        encode((enum codec)codec, codec_level_default((enum codec)codec), slice_of(bytes, 9000),
               &seed, &packed);
        for (int round = 0; round < 2000; round++) {
            struct buf plain;
            buf_init(&plain);
            plain.size_max = 1 << 20;
            uint8_t *copy = mem_alloc(packed.size);
            memcpy(copy, packed.data, packed.size);
            size_t range = round % 2 ? packed.size : 40;
            for (int n = 0; n <= round % 3; n++)
                copy[noise(&seed) % range] = (uint8_t)noise(&seed);
            decode_all((enum codec)codec, slice_of(copy, packed.size), &plain);
            mem_free(copy);
            buf_fini(&plain);
        }
        buf_fini(&packed);
    }
}

static void output_is_bounded(void **state)
{
    (void)state;
    uint64_t seed = 4;
    memset(bytes, 0, sizeof bytes);
    for (int codec = CODEC_NONE; codec < CODEC_COUNT; codec++) {
        struct buf packed, plain;
        buf_init(&packed);
        buf_init(&plain);
        encode((enum codec)codec, codec_level_default((enum codec)codec),
               slice_of(bytes, sizeof bytes), &seed, &packed);
        plain.size_max = 1000;
        assert_int_equal(decode_all((enum codec)codec, buf_slice(&packed), &plain), ERR_TOO_LARGE);
        assert_true(plain.capacity <= 1000);
        struct decoder *d;
        struct slice piece;
        size_t size = 0;
        assert_int_equal(decoder_open((enum codec)codec, buf_slice(&packed), 0, &d), ERR_NONE);
        do {
            assert_int_equal(decoder_next(d, &piece), ERR_NONE);
            assert_true(codec == CODEC_NONE || piece.size <= 65536);
            size += piece.size;
        } while (piece.size);
        assert_int_equal(size, sizeof bytes);
        assert_int_equal(decoder_next(d, &piece), ERR_NONE);
        assert_int_equal(piece.size, 0);
        decoder_close(d);
        buf_fini(&packed);
        buf_fini(&plain);
    }
}

/* Several at once on one thread, and given up half way. */
static void contexts_are_not_shared(void **state)
{
    (void)state;
    uint64_t seed = 6;
    fill(5);
    for (int codec = CODEC_NONE; codec < CODEC_COUNT; codec++) {
        struct buf packed;
        struct decoder *first, *second;
        struct encoder *e;
        struct slice a, b;
        buf_init(&packed);
        encode((enum codec)codec, codec_level_default((enum codec)codec), slice_of(bytes, 300),
               &seed, &packed);
        assert_int_equal(decoder_open((enum codec)codec, buf_slice(&packed), 0, &first), ERR_NONE);
        assert_int_equal(decoder_open((enum codec)codec, buf_slice(&packed), 0, &second), ERR_NONE);
        assert_ptr_not_equal(first, second);
        assert_int_equal(decoder_next(first, &a), ERR_NONE);
        assert_int_equal(decoder_next(second, &b), ERR_NONE);
        assert_true(slice_eq(a, slice_of(bytes, 300)) && slice_eq(a, b));
        decoder_close(first);
        decoder_close(second);
        assert_int_equal(encoder_open((enum codec)codec, 1, &packed, &e), ERR_NONE);
        encoder_write(e, slice_of(bytes, 1000));
        encoder_close(e);
        buf_fini(&packed);
    }
    struct decoder *d;
    assert_int_equal(decoder_open((enum codec)5, SLICE_NULL, 0, &d), ERR_ARGUMENT);
    thread_exit_run();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(round_trips_of_all_codecs_and_levels),
        cmocka_unit_test(every_truncation_is_noticed),
        cmocka_unit_test(mutations_do_no_harm),
        cmocka_unit_test(output_is_bounded),
        cmocka_unit_test(contexts_are_not_shared),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_exit_run();
    return failed;
}
