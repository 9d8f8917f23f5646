#include "store/producer_snapshot.h"

#include "store_fixture.h"

static void has_kafkas_bytes(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    struct producer_state s;
    producer_state_init(&s);
    assert_int_equal(producer_snapshot_read(f->io, f->path, 15, 0, INT64_MAX, &s), ERR_NONE);
    assert_int_equal(producer_state_count(&s), 5);
    const struct producer *open = producer_state_get(&s, 3);
    assert_int_equal(open->txn_offset_first, 8);
    assert_int_equal(open->coordinator_epoch, -1);
    assert_int_equal(open->batches[0].offset_last, 9);
    assert_int_equal(open->batches[0].sequence_last, 1);
    assert_int_equal(producer_state_get(&s, 1)->last_timestamp, 1796059751676);
    assert_int_equal(producer_state_first_unstable(&s), 8);
    store_cut_file(f, "00000000000000000015.snapshot", 0);
    assert_int_equal(producer_snapshot_write(f->io, f->path, 15, &s), ERR_NONE);
    assert_true(store_same_as_golden(f, "txn-0", "00000000000000000015.snapshot"));
    producer_state_fini(&s);
}

static void old_producers_are_left_out(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    struct producer_state s;
    producer_state_init(&s);
    assert_int_equal(producer_snapshot_read(f->io, f->path, 15, 1796059752829 + 1000, 1000, &s),
                     ERR_NONE);
    assert_int_equal(producer_state_count(&s), 2); /* the open one and the youngest */
    assert_non_null(producer_state_get(&s, 3));
    assert_non_null(producer_state_get(&s, 5));
    producer_state_fini(&s);
}

static void any_damage_is_found(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    struct buf bytes;
    struct producer_state s;
    buf_init(&bytes);
    producer_state_init(&s);
    store_slurp(f, "00000000000000000015.snapshot", &bytes);
    for (size_t i = 0; i < bytes.size; i++) {
        bytes.data[i] ^= 0x10;
        assert_int_equal(producer_snapshot_decode(buf_slice(&bytes), 0, INT64_MAX, &s),
                         ERR_CORRUPT);
        bytes.data[i] ^= 0x10;
        assert_int_equal(producer_snapshot_decode(slice_of(bytes.data, i), 0, INT64_MAX, &s),
                         ERR_CORRUPT);
        assert_int_equal(producer_state_count(&s), 0);
    }
    buf_fini(&bytes);
    producer_state_fini(&s);
}

static void empty_is_ten_bytes(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "del-0");
    struct producer_state s;
    producer_state_init(&s);
    store_cut_file(f, "00000000000000000005.snapshot", 0);
    assert_int_equal(producer_snapshot_write(f->io, f->path, 5, &s), ERR_NONE);
    assert_true(store_same_as_golden(f, "del-0", "00000000000000000005.snapshot"));
    assert_int_equal(producer_snapshot_delete(f->io, f->path, 5), ERR_NONE);
    assert_int_equal(store_file_size(f, "00000000000000000005.snapshot"), -1);
    producer_state_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(has_kafkas_bytes),
        STORE_TEST(old_producers_are_left_out),
        STORE_TEST(any_damage_is_found),
        STORE_TEST(empty_is_ten_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
