#include "record/walk.h"

#include "base/mem.h"
#include "base/thread_exit.h"
#include "record_golden.h"

/* A body with every field at random, sometimes wrong. */
static void put_body(struct buf *out, uint64_t *seed)
{
    static uint8_t zeros[300];
    int32_t key = (int32_t)(noise(seed) % 40) - 2, value = (int32_t)(noise(seed) % 200) - 2;
    int32_t headers = noise(seed) % 4 ? 0 : (int32_t)(noise(seed) % 4) - 1;
    buf_put_i8(out, (int8_t)noise(seed));
    buf_put_varint(out, (int64_t)noise(seed) << noise(seed) % 33);
    buf_put_varint(out, (int32_t)noise(seed) >> noise(seed) % 32);
    buf_put_varint(out, key);
    buf_put(out, zeros, key > 0 ? (size_t)key : 0);
    buf_put_varint(out, value);
    buf_put(out, zeros, value > 0 ? (size_t)value : 0);
    buf_put_varint(out, headers);
    for (int32_t i = 0; i < headers; i++) {
        buf_put_varint(out, i % 2 ? 3 : 0);
        buf_put(out, zeros, i % 2 ? 3 : 0);
        buf_put_varint(out, -1);
    }
}

static void put_record(struct buf *out, uint64_t *seed)
{
    struct buf body;
    buf_init(&body);
    put_body(&body, seed);
    int64_t size = (int64_t)body.size + (noise(seed) % 50 ? 0 : (int64_t)(noise(seed) % 5) - 2);
    buf_put_varint(out, size);
    buf_put_slice(out, buf_slice(&body));
    if (noise(seed) % 50 == 0)
        out->data[noise(seed) % out->size] ^= 0x80;
    buf_fini(&body);
}

static bool equal(const struct walk_record *a, const struct walk_record *b)
{
    return a->timestamp_delta == b->timestamp_delta && a->offset_delta == b->offset_delta &&
           a->body_size == b->body_size && a->size == b->size && a->key_size == b->key_size &&
           a->value_size == b->value_size && a->header_count == b->header_count &&
           a->attributes == b->attributes;
}

/* The fast parsers, the checked one and the one over pieces agree on every record, good or bad, at
 * every distance from the end of the bytes. */
static void all_ways_to_read_agree(void **state)
{
    (void)state;
    uint64_t seed = 11;
    int good = 0, bad = 0, skipped_count = 0;
    for (int round = 0; round < 20000; round++) {
        struct buf out;
        struct walk_record fast = {0}, checked = {0}, slow = {0};
        buf_init(&out);
        put_record(&out, &seed);
        size_t size = out.size + (round % 3 ? 0 : noise(&seed) % 40);
        uint8_t *copy = mem_zalloc(size);
        memcpy(copy, out.data, out.size);
        const uint8_t *end = copy + size;
        const uint8_t *next = walk_parse(copy, end, &fast);
        struct walk_head head;
        const uint8_t *skipped = walk_skip(copy, end, &head);
        if (skipped) { /* it may leave good records to the others, never take bad ones */
            assert_ptr_equal(skipped, next);
            assert_int_equal(head.timestamp_delta, fast.timestamp_delta);
            assert_int_equal(head.offset_delta, fast.offset_delta);
            assert_int_equal(head.key_size, fast.key_size);
        }
        skipped_count += skipped != NULL;
        assert_ptr_equal(walk_parse_checked(copy, end, &checked), next);

        struct walk w = {.at = copy, .end = copy};
        assert_int_equal(decoder_open(CODEC_NONE, slice_of(copy, size), 0, &w.decoder), ERR_NONE);
        bool is_read = walk_next_slow(&w, &slow);
        assert_int_equal(is_read, next != NULL);
        if (next) {
            assert_true(equal(&fast, &checked) && equal(&fast, &slow));
            assert_ptr_equal(w.at, next);
            assert_true(walk_is_at_end(&w) == (next == end));
        } else {
            assert_int_equal(w.err, ERR_INVALID_RECORD);
        }
        good += next != NULL;
        bad += next == NULL;
        decoder_close(w.decoder);
        mem_free(copy);
        buf_fini(&out);
    }
    assert_true(good > 10000 && bad > 300 && skipped_count > 10000);
}

static void varints_as_java_reads_them(void **state)
{
    (void)state;
    static const uint8_t wide[] = {0xff, 0xff, 0xff, 0xff, 0x7f};
    static const uint8_t long_one[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
    static const uint8_t padded[] = {0x82, 0x80, 0x00};
    int32_t v;
    int64_t w;
    assert_ptr_equal(walk_varint_checked(wide, wide + 5, &v), wide + 5);
    assert_int_equal(v, INT32_MIN);
    assert_null(walk_varint_checked(wide, wide + 4, &v));
    assert_null(walk_varint_checked(long_one, long_one + 6, &v));
    assert_ptr_equal(walk_varlong_checked(long_one, long_one + 6, &w), long_one + 6);
    assert_int_equal(w, 0);
    assert_ptr_equal(walk_varint_checked(padded, padded + 3, &v), padded + 3);
    assert_int_equal(v, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_to_read_agree),
        cmocka_unit_test(varints_as_java_reads_them),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_exit_run();
    return failed;
}
