#include "record/batch.h"

#include "../unit.h"

/* One record (offset 5, timestamp 1700000000000, key "k", value "v"), made with the record builder
 * of the kafka-clients 4.4.0 jar. */
static const uint8_t vector[] = {
    0,    0,    0,    0,    0,    0,    0,    5,    0,    0,    0,    0x3a, 0xff, 0xff,
    0xff, 0xff, 2,    0xe9, 0x9b, 0x8d, 0xd8, 0,    0,    0,    0,    0,    0,    0,
    0,    1,    0x8b, 0xcf, 0xe5, 0x68, 0,    0,    0,    1,    0x8b, 0xcf, 0xe5, 0x68,
    0,    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0,    0,    0,    1,    0x10, 0,    0,    0,    2,    0x6b, 2,    0x76, 0,
};

static void fields_of_a_real_batch(void **state)
{
    (void)state;
    struct batch_info info;
    assert_int_equal(batch_peek(slice_of(vector, sizeof vector), &info), ERR_NONE);
    assert_int_equal(info.size, sizeof vector);
    assert_int_equal(info.offset_base, 5);
    assert_int_equal(info.offset_last, 5);
    assert_int_equal(info.max_timestamp, 1700000000000);
    assert_int_equal(info.leader_epoch, -1);
    assert_int_equal(batch_base_timestamp(vector), 1700000000000);
    assert_int_equal(batch_producer_id(vector), -1);
    assert_int_equal(batch_producer_epoch(vector), -1);
    assert_int_equal(batch_last_sequence(vector), -1);
    assert_int_equal(batch_record_count(vector), 1);
    assert_int_equal(batch_payload(vector).size, 9);
    assert_false(batch_has_producer_id(vector));
    assert_int_equal(batch_check(slice_of(vector, sizeof vector)), ERR_NONE);
}

static void every_flipped_bit_under_the_crc_is_found(void **state)
{
    (void)state;
    for (size_t at = 16; at < sizeof vector; at++) {
        uint8_t copy[sizeof vector];
        memcpy(copy, vector, sizeof copy);
        copy[at] ^= 4;
        assert_int_equal(batch_check(slice_of(copy, sizeof copy)), ERR_CORRUPT_MESSAGE);
    }
}

static void setters_keep_the_crc_true(void **state)
{
    (void)state;
    uint8_t copy[sizeof vector];
    memcpy(copy, vector, sizeof copy);
    batch_set_base_offset(copy, 77);
    batch_set_leader_epoch(copy, 3);
    assert_int_equal(batch_crc(copy), 0xe99b8dd8u);
    assert_true(batch_crc_ok(copy));
    batch_set_max_timestamp(copy, true, 1700000000999);
    assert_true(batch_is_log_append_time(copy));
    assert_int_equal(batch_max_timestamp(copy), 1700000000999);
    assert_true(batch_crc_ok(copy));
    assert_int_not_equal(batch_crc(copy), 0xe99b8dd8u);
    batch_set_max_timestamp(copy, false, 1700000000000);
    assert_int_equal(batch_crc(copy), 0xe99b8dd8u);
    be_put_i32(copy + 53, INT32_MAX); /* the base sequence */
    assert_int_equal(batch_last_sequence(copy), INT32_MAX);
    assert_int_equal(batch_sequence_add(INT32_MAX, 1), 0);
    assert_int_equal(batch_sequence_add(INT32_MAX - 1, 3), 1);
}

static void iteration_stops_at_a_torn_tail(void **state)
{
    (void)state;
    uint8_t two[2 * sizeof vector];
    memcpy(two, vector, sizeof vector);
    memcpy(two + sizeof vector, vector, sizeof vector);
    for (size_t size = 0; size <= sizeof two; size++) {
        struct batch_iter iter = batch_iter_of(slice_of(two, size));
        struct batch_info info;
        size_t count = 0;
        while (batch_iter_next(&iter, &info))
            count++;
        assert_int_equal(count, size / sizeof vector);
        assert_int_equal(iter.err, ERR_NONE);
        assert_int_equal(iter.rest.size, size % sizeof vector);
    }
}

static void bad_lengths_and_magics_are_corrupt(void **state)
{
    (void)state;
    static const int32_t lengths[] = {-1, 0, 13, 48, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        uint8_t copy[sizeof vector];
        memcpy(copy, vector, sizeof copy);
        be_put_i32(copy + 8, lengths[i]);
        struct batch_iter iter = batch_iter_of(slice_of(copy, sizeof copy));
        struct batch_info info;
        assert_false(batch_iter_next(&iter, &info));
        assert_int_equal(iter.err, ERR_CORRUPT_MESSAGE);
    }
    uint8_t copy[sizeof vector];
    memcpy(copy, vector, sizeof copy);
    copy[16] = 3;
    struct batch_info info;
    assert_int_equal(batch_peek(slice_of(copy, sizeof copy), &info), ERR_CORRUPT_MESSAGE);
}

static void header_checks(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        uint32_t value;
    } cases[] = {{57, 0xffffffff}, {23, 0xfffffffe}, {0, 0x7fffffff}, {21, 0x00050000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t copy[sizeof vector];
        memcpy(copy, vector, sizeof copy);
        if (cases[i].at == 0)
            be_put_i64(copy, INT64_MAX);
        else
            be_put_u32(copy + cases[i].at, cases[i].value);
        batch_seal(copy);
        assert_int_equal(batch_check(slice_of(copy, sizeof copy)), ERR_CORRUPT_MESSAGE);
    }
    assert_int_equal(batch_check(slice_of(vector, sizeof vector - 1)), ERR_CORRUPT_MESSAGE);
}

/* Magic 0 message, key null, value "v": CRC-32 by Python's zlib.crc32. */
static void legacy_entries_are_iterated(void **state)
{
    (void)state;
    uint8_t v0[] = {0, 0, 0, 0, 0,    0,    0,    9,    0, 0, 0, 15, 0,  0,
                    0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1,  'v'};
    be_put_u32(v0 + 12, 0xd20cbff5);
    struct batch_iter iter = batch_iter_of(slice_of(v0, sizeof v0));
    struct batch_info info;
    assert_true(batch_iter_next(&iter, &info));
    assert_int_equal(info.magic, 0);
    assert_int_equal(info.offset_base, 9);
    assert_int_equal(info.max_timestamp, -1);
    assert_int_equal(batch_check(slice_of(v0, sizeof v0)), ERR_NONE);
    v0[26] ^= 1;
    assert_int_equal(batch_check(slice_of(v0, sizeof v0)), ERR_CORRUPT_MESSAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_of_a_real_batch),
        cmocka_unit_test(every_flipped_bit_under_the_crc_is_found),
        cmocka_unit_test(setters_keep_the_crc_true),
        cmocka_unit_test(iteration_stops_at_a_torn_tail),
        cmocka_unit_test(bad_lengths_and_magics_are_corrupt),
        cmocka_unit_test(header_checks),
        cmocka_unit_test(legacy_entries_are_iterated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
