#include "record/records.h"

#include "base/mem.h"
#include "base/thread_exit.h"

#include "record/compress.h"
#include "record_golden.h"

static const char *const codecs[] = {"none", "gzip", "snappy", "lz4", "zstd"};

static void check_batch(struct slice batch, int64_t base, int32_t sequence)
{
    struct records_iter iter;
    struct record r;
    assert_int_equal(batch_check(batch), ERR_NONE);
    assert_int_equal(records_iter_init(&iter, batch, 0), ERR_NONE);
    for (int i = 0; i < 5; i++) {
        assert_true(records_iter_next(&iter, &r));
        assert_int_equal(r.offset, base + i);
        assert_int_equal(r.timestamp, GOLDEN_TS + i * 10);
        assert_int_equal(r.sequence, sequence < 0 ? -1 : sequence + i);
        golden_check(&r, i, true);
    }
    assert_false(records_iter_next(&iter, &r));
    assert_int_equal(iter.err, ERR_NONE);
    records_iter_fini(&iter);
}

static void batches_of_real_producers(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    for (int i = 0; i < CODEC_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "v2-%s", codecs[i]);
        struct slice batch = golden_row("record/java-batches.tsv", name, &a);
        check_batch(batch, 7, 11);
        assert_int_equal(batch_codec(batch.data), i);
        assert_int_equal(batch_leader_epoch(batch.data), 9);
        assert_int_equal(batch_producer_id(batch.data), 4000);
        assert_true(batch_is_transactional(batch.data));
        batch = golden_row("record/librdkafka-batches.tsv", codecs[i], &a);
        check_batch(batch, 0, batch_base_sequence(batch.data));
    }
    arena_fini(&a);
}

static void log_append_time_is_the_timestamp_of_all(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct slice batch = golden_row("record/java-batches.tsv", "v2-append-time", &a);
    struct records_iter iter;
    struct record r;
    int count = 0;
    records_iter_init(&iter, batch, 0);
    for (; records_iter_next(&iter, &r); count++)
        assert_int_equal(r.timestamp, GOLDEN_TS + 99);
    assert_int_equal(count, 5);
    records_iter_fini(&iter);
    int64_t offset;
    assert_int_equal(records_find_max_timestamp(batch, &offset), ERR_NONE);
    assert_int_equal(offset, 7);
    arena_fini(&a);
}

static void look_ups_by_timestamp(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    for (int i = 0; i < CODEC_COUNT; i++) {
        char name[16];
        int64_t offset = -5, timestamp = -5;
        snprintf(name, sizeof name, "v2-%s", codecs[i]);
        struct slice batch = golden_row("record/java-batches.tsv", name, &a);
        assert_int_equal(records_find_timestamp(batch, GOLDEN_TS + 11, 0, &offset, &timestamp),
                         ERR_NONE);
        assert_int_equal(offset, 9);
        assert_int_equal(timestamp, GOLDEN_TS + 20);
        assert_int_equal(records_find_timestamp(batch, 0, 10, &offset, &timestamp), ERR_NONE);
        assert_int_equal(offset, 10);
        assert_int_equal(records_find_timestamp(batch, GOLDEN_TS + 41, 0, &offset, &timestamp),
                         ERR_NOT_FOUND);
        assert_int_equal(records_find_timestamp(batch, 0, 12, &offset, &timestamp), ERR_NOT_FOUND);
        assert_int_equal(offset, 10);
        assert_int_equal(records_find_max_timestamp(batch, &offset), ERR_NONE);
        assert_int_equal(offset, 11);
    }
    arena_fini(&a);
}

/* Records larger than the pieces of any decoder, and small ones across the pieces' borders. */
static void records_across_pieces(void **state)
{
    (void)state;
    uint64_t seed = 7;
    static uint8_t bytes[300000];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(noise(&seed) % 23);
    for (int codec = 0; codec < CODEC_COUNT; codec++) {
        struct buf out;
        struct builder b;
        struct builder_options options = BUILDER_DEFAULTS;
        buf_init(&out);
        options.codec = (enum codec)codec;
        options.level = codec_level_default(options.codec);
        builder_begin(&b, &out, &options);
        for (int i = 0; i < 3000; i++) {
            size_t size = i % 500 == 17 ? sizeof bytes : (size_t)i % 311;
            builder_append(&b, GOLDEN_TS + i, slice_of(bytes, (size_t)i % 7),
                           slice_of(bytes, size));
        }
        assert_int_equal(builder_end(&b), ERR_NONE);
        struct records_iter iter;
        struct record r;
        int i = 0;
        assert_int_equal(records_iter_init(&iter, buf_slice(&out), 0), ERR_NONE);
        for (; records_iter_next(&iter, &r); i++) {
            size_t size = i % 500 == 17 ? sizeof bytes : (size_t)i % 311;
            assert_int_equal(r.offset, i);
            assert_true(slice_eq(r.key, slice_of(bytes, (size_t)i % 7)));
            assert_true(slice_eq(r.value, slice_of(bytes, size)));
        }
        assert_int_equal(i, 3000);
        assert_int_equal(iter.err, ERR_NONE);
        records_iter_fini(&iter);
        int64_t offset, timestamp;
        assert_int_equal(
            records_find_timestamp(buf_slice(&out), GOLDEN_TS + 2999, 0, &offset, &timestamp),
            ERR_NONE);
        assert_int_equal(offset, 2999);
        records_iter_init(&iter, buf_slice(&out), 1000);
        while (records_iter_next(&iter, &r))
            ;
        assert_int_equal(iter.err, codec ? ERR_TOO_LARGE : ERR_NONE);
        records_iter_fini(&iter);
        buf_fini(&out);
    }
}

/* Whatever the bytes are, the iterator ends and stays inside them (ASan watches). */
static void walk_anything(struct slice batch)
{
    struct records_iter iter;
    struct record r;
    int64_t offset, timestamp, sum = 0;
    struct record_header header;
    if (records_iter_init(&iter, batch, 1 << 20) == ERR_NONE) {
        while (records_iter_next(&iter, &r)) {
            for (size_t i = 0; i < r.key.size; i++)
                sum += r.key.data[i];
            for (size_t i = 0; i < r.value.size; i++)
                sum += r.value.data[i];
            while (record_header_next(&r.headers, &header))
                sum += (int64_t)header.key.size;
        }
    }
    records_iter_fini(&iter);
    if (records_find_timestamp(batch, sum, 0, &offset, &timestamp) == ERR_NONE)
        assert_true(timestamp >= sum);
}

static void broken_batches_do_no_harm(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    uint64_t seed = 99;
    for (int i = 0; i < CODEC_COUNT; i++) {
        struct slice batch = golden_row("record/librdkafka-batches.tsv", codecs[i], &a);
        for (size_t size = BATCH_HEADER_SIZE; size < batch.size; size++) {
            uint8_t *copy = mem_alloc(size);
            memcpy(copy, batch.data, size);
            be_put_i32(copy + 8, (int32_t)size - BATCH_PREFIX_SIZE);
            struct records_iter iter;
            struct record r;
            int count = 0;
            if (records_iter_init(&iter, slice_of(copy, size), 0) == ERR_NONE) {
                while (records_iter_next(&iter, &r))
                    count++;
            }
            assert_int_not_equal(iter.err, ERR_NONE);
            assert_true(count < 5);
            records_iter_fini(&iter);
            mem_free(copy);
        }
        for (int round = 0; round < 3000; round++) {
            uint8_t *copy = mem_alloc(batch.size);
            memcpy(copy, batch.data, batch.size);
            for (int n = 0; n < 1 + round % 3; n++)
                copy[57 + noise(&seed) % (batch.size - 57)] = (uint8_t)noise(&seed);
            walk_anything(slice_of(copy, batch.size));
            mem_free(copy);
        }
    }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_of_real_producers),
        cmocka_unit_test(log_append_time_is_the_timestamp_of_all),
        cmocka_unit_test(look_ups_by_timestamp),
        cmocka_unit_test(records_across_pieces),
        cmocka_unit_test(broken_batches_do_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_exit_run();
    return failed;
}
