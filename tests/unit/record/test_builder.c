#include "record/builder.h"

#include "base/thread_exit.h"

#include "record/compress.h"
#include "record_golden.h"

static struct builder_options java_options(enum codec codec)
{
    struct builder_options o = BUILDER_DEFAULTS;
    o.codec = codec;
    o.level = codec_level_default(codec);
    o.base_offset = 7;
    o.leader_epoch = 9;
    o.transactional = true;
    o.producer_id = 4000;
    o.producer_epoch = 3;
    o.base_sequence = 11;
    return o;
}

/* Uncompressed and gzip batches equal Java's byte by byte; of the others the header's fields do
 * (another version of an encoder may find other matches). */
static void equals_the_java_builder(void **state)
{
    (void)state;
    static const char *const names[] = {"v2-none", "v2-gzip", "v2-snappy", "v2-lz4", "v2-zstd"};
    struct arena a;
    arena_init(&a);
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        struct slice java = golden_row("record/java-batches.tsv", names[codec], &a);
        struct buf out;
        struct builder b;
        struct builder_options options = java_options((enum codec)codec);
        buf_init(&out);
        buf_put_str(&out, "before");
        builder_begin(&b, &out, &options);
        golden_append(&b);
        assert_int_equal(builder_end(&b), ERR_NONE);
        struct slice built = slice_sub(buf_slice(&out), 6, out.size - 6);
        assert_int_equal(batch_check(built), ERR_NONE);
        if (codec == CODEC_NONE || codec == CODEC_GZIP)
            assert_true(slice_eq(built, java));
        assert_memory_equal(built.data + 21, java.data + 21, BATCH_HEADER_SIZE - 21);
        buf_fini(&out);
    }
    arena_fini(&a);
}

static void log_append_time(void **state)
{
    (void)state;
    struct arena a;
    struct buf out;
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    arena_init(&a);
    buf_init(&out);
    options.base_offset = 7;
    options.log_append_time = true;
    options.log_append_time_ms = GOLDEN_TS + 99;
    builder_begin(&b, &out, &options);
    golden_append(&b);
    assert_int_equal(builder_end(&b), ERR_NONE);
    assert_true(
        slice_eq(buf_slice(&out), golden_row("record/java-batches.tsv", "v2-append-time", &a)));
    buf_fini(&out);
    arena_fini(&a);
}

static void records_are_copied_with_their_headers(void **state)
{
    (void)state;
    struct arena a;
    struct buf out;
    struct builder b;
    struct builder_options options = java_options(CODEC_NONE);
    struct records_iter iter;
    struct record r;
    arena_init(&a);
    buf_init(&out);
    struct slice lz4 = golden_row("record/java-batches.tsv", "v2-lz4", &a);
    assert_int_equal(records_iter_init(&iter, lz4, 0), ERR_NONE);
    builder_begin(&b, &out, &options);
    while (records_iter_next(&iter, &r))
        builder_append_record(&b, &r);
    assert_int_equal(builder_end(&b), ERR_NONE);
    assert_true(slice_eq(buf_slice(&out), golden_row("record/java-batches.tsv", "v2-none", &a)));
    records_iter_fini(&iter);
    buf_fini(&out);
    arena_fini(&a);
}

static void a_full_buf_is_cut_back(void **state)
{
    (void)state;
    static uint8_t bytes[200000];
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)noise(&seed);
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        static const size_t limits[] = {10, 70, 100, 5000, 65550, 131200, 199000};
        for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
            struct buf out;
            struct builder b;
            struct builder_options options = java_options((enum codec)codec);
            buf_init(&out);
            out.size_max = limits[i];
            buf_put_str(&out, "before");
            builder_begin(&b, &out, &options);
            for (int n = 0; n < 5; n++)
                builder_append(&b, n, SLICE_NULL, slice_of(bytes + 40000 * n, 40000));
            assert_int_equal(builder_end(&b), ERR_TOO_LARGE);
            assert_slice_eq(buf_slice(&out), "before");
            assert_false(out.failed);
            assert_true(out.capacity <= limits[i]);
            buf_fini(&out);
        }
    }
}

static void an_empty_batch_and_an_abort(void **state)
{
    (void)state;
    struct buf out;
    struct builder b;
    buf_init(&out);
    builder_begin(&b, &out, &BUILDER_DEFAULTS);
    assert_int_equal(builder_end(&b), ERR_NONE);
    assert_int_equal(out.size, BATCH_HEADER_SIZE);
    assert_int_equal(batch_check(buf_slice(&out)), ERR_NONE);
    assert_int_equal(batch_record_count(out.data), 0);
    struct builder_options options = java_options(CODEC_ZSTD);
    builder_begin(&b, &out, &options);
    golden_append(&b);
    builder_abort(&b);
    assert_int_equal(out.size, BATCH_HEADER_SIZE);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_java_builder),
        cmocka_unit_test(log_append_time),
        cmocka_unit_test(records_are_copied_with_their_headers),
        cmocka_unit_test(a_full_buf_is_cut_back),
        cmocka_unit_test(an_empty_batch_and_an_abort),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_exit_run();
    return failed;
}
