#include "store/cleaner_keys.h"

#include "record/control.h"
#include "store/cleaner_records.h"

#include "../record/record_golden.h"

static const struct siphash_key secret = {1, 2};

struct keys {
    struct cleaner_map map;
    struct cleaner_txns txns;
    struct cleaner_keys pass;
};

static void begin(struct keys *k, int64_t offset_first, int64_t slots)
{
    assert_int_equal(cleaner_map_init(&k->map, slots * CLEANER_SLOT_SIZE, 0.9, INT64_MAX, &secret),
                     ERR_NONE);
    cleaner_txns_init(&k->txns);
    k->pass = (struct cleaner_keys){.map = &k->map, .txns = &k->txns, .offset_first = offset_first};
}

static void end(struct keys *k)
{
    cleaner_map_fini(&k->map);
    cleaner_txns_fini(&k->txns);
}

static enum err take(struct keys *k, struct slice set)
{
    struct batch_iter iter = batch_iter_of(set);
    struct batch_info info;
    enum err err = ERR_NONE;
    while (!err && !k->pass.full && batch_iter_next(&iter, &info))
        err = cleaner_keys_batch(&k->pass, &info, slice_of(info.data, info.size));
    return err;
}

static int64_t offset_of(const struct keys *k, const char *key)
{
    return cleaner_map_get(&k->map, cleaner_map_hash(&k->map, slice_str(key)));
}

/* Five records, the third without a key, of every magic and codec. */
static void keys_of_all_formats_are_taken(void **state)
{
    (void)state;
    static const char *const names[] = {"v0-none", "v0-lz4",    "v1-gzip", "v1-snappy", "v2-none",
                                        "v2-gzip", "v2-snappy", "v2-lz4",  "v2-zstd"};
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct keys k;
        int64_t base = names[i][1] == '2' ? 7 : 100;
        begin(&k, base + 1, 100);
        assert_int_equal(take(&k, golden_row("record/java-batches.tsv", names[i], &a)), ERR_NONE);
        assert_int_equal(offset_of(&k, "key0"), -1); /* before the dirty section */
        assert_int_equal(offset_of(&k, "key1"), base + 1);
        assert_int_equal(offset_of(&k, "key3"), base + 3); /* a tombstone */
        assert_int_equal(offset_of(&k, "key4"), base + 4);
        assert_int_equal(k.map.count, 3);
        assert_int_equal(k.map.offset_last, base + 4);
        end(&k);
    }
    arena_fini(&a);
}

static void a_full_map_ends_the_pass_within_a_batch(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct keys k;
    begin(&k, 0, 3); /* two keys */
    assert_int_equal(take(&k, golden_row("record/java-batches.tsv", "v2-lz4", &a)), ERR_NONE);
    assert_true(k.pass.full);
    assert_int_equal(k.map.offset_last, 8);
    assert_int_equal(offset_of(&k, "key1"), 8);
    assert_int_equal(offset_of(&k, "key3"), -1);
    end(&k);
    arena_fini(&a);
}

static void put_txn(struct buf *out, int64_t offset, const char *key)
{
    struct builder_options o = BUILDER_DEFAULTS;
    o.base_offset = offset;
    o.transactional = true;
    o.producer_id = 5;
    o.producer_epoch = 0;
    o.base_sequence = 0;
    struct builder b;
    builder_begin(&b, out, &o);
    builder_append(&b, 1000, slice_str(key), SLICE_LIT("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
}

static void aborted_records_do_not_count(void **state)
{
    (void)state;
    struct keys k;
    struct buf set;
    buf_init(&set);
    put_txn(&set, 0, "k");
    struct control_end_txn marker = {.is_commit = true};
    control_build_end_txn(&set, 1, 0, 1000, 5, 0, &marker);
    put_txn(&set, 2, "k");
    marker.is_commit = false;
    control_build_end_txn(&set, 3, 0, 1000, 5, 0, &marker);
    put_txn(&set, 4, "other");
    begin(&k, 0, 100);
    struct txn_index_entry aborted = {5, 2, 3, 4};
    cleaner_txns_add(&k.txns, &aborted);
    assert_int_equal(take(&k, buf_slice(&set)), ERR_NONE);
    assert_int_equal(offset_of(&k, "k"), 0);
    assert_int_equal(offset_of(&k, "other"), 4);
    assert_int_equal(k.map.offset_last, 4);
    end(&k);
    buf_fini(&set);
}

static void what_is_broken_is_an_error(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct slice row = golden_row("record/java-batches.tsv", "v2-none", &a);
    uint8_t *batch = arena_alloc(&a, row.size);
    memcpy(batch, row.data, row.size);
    be_put_i32(batch + 57, 6); /* one record more than there are */
    struct keys k;
    begin(&k, 0, 100);
    assert_int_equal(take(&k, slice_of(batch, row.size)), ERR_INVALID_RECORD);
    k.pass.record_size_max = 20;
    assert_int_equal(take(&k, golden_row("record/java-batches.tsv", "v1-gzip", &a)), ERR_TOO_LARGE);
    end(&k);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_all_formats_are_taken),
        cmocka_unit_test(a_full_map_ends_the_pass_within_a_batch),
        cmocka_unit_test(aborted_records_do_not_count),
        cmocka_unit_test(what_is_broken_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
