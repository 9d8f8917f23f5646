#include "store/txn_index.h"

#include "store_fixture.h"

static void has_kafkas_bytes(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    struct file_cache *cache = file_cache_new(f->io, 10);
    struct log_path *path = log_path_new(f->path);
    struct segment *segment = segment_new(cache, path, 3, 0);
    assert_int_equal(txn_index_load(segment), ERR_NONE);
    assert_int_equal(segment->txn_count, 2);
    struct txn_index_entry e[2];
    assert_int_equal(txn_index_read(segment, 0, 2, e), ERR_NONE);
    assert_int_equal(e[0].producer_id, 2);
    assert_int_equal(e[0].offset_first, 4);
    assert_int_equal(e[0].offset_last, 6);
    assert_int_equal(e[0].last_stable, 7);
    assert_int_equal(e[1].producer_id, 4);
    assert_int_equal(e[1].last_stable, 8);
    assert_int_equal(txn_index_truncate(segment, 12), ERR_NONE);
    assert_int_equal(segment->txn_count, 1);
    assert_int_equal(txn_index_truncate(segment, 6), ERR_NONE);
    assert_int_equal(segment->txn_count, 0);
    assert_int_equal(txn_index_append(segment, &e[0]), ERR_NONE);
    assert_int_equal(txn_index_append(segment, &e[1]), ERR_NONE);
    assert_true(store_same_as_golden(f, "txn-0", "00000000000000000003.txnindex"));
    segment_unref(segment);
    /* Absent: no entries. Of a broken size: damaged. */
    segment = segment_new(cache, path, 0, 0);
    assert_int_equal(txn_index_load(segment), ERR_NONE);
    assert_int_equal(segment->txn_count, 0);
    segment_unref(segment);
    store_cut_file(f, "00000000000000000003.txnindex", 40);
    segment = segment_new(cache, path, 3, 0);
    assert_int_equal(txn_index_load(segment), ERR_CORRUPT);
    assert_int_equal(txn_index_truncate(segment, 100), ERR_NONE);
    assert_int_equal(segment->txn_count, 0);
    assert_int_equal(store_file_size(f, "00000000000000000003.txnindex"), 0);
    segment_unref(segment);
    log_path_unref(path);
    file_cache_unref(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(has_kafkas_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
