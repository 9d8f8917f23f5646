#include "store/cleaner_records.h"

#include "../record/record_golden.h"

static void all_formats_give_the_same_records(void **state)
{
    (void)state;
    static const char *const names[] = {"v0-none", "v0-snappy", "v1-lz4",
                                        "v1-none", "v2-none",   "v2-zstd"};
    struct arena a;
    arena_init(&a);
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        struct batch_iter iter = batch_iter_of(golden_row("record/java-batches.tsv", names[n], &a));
        struct batch_info info;
        int i = 0;
        while (batch_iter_next(&iter, &info)) {
            struct cleaner_records records;
            struct record record;
            assert_int_equal(
                cleaner_records_begin(&records, &info, slice_of(info.data, info.size), 0),
                ERR_NONE);
            for (; cleaner_records_next(&records, &record); i++)
                golden_check(&record, i, names[n][1] == '2');
            assert_int_equal(cleaner_records_end(&records), ERR_NONE);
        }
        assert_int_equal(i, 5);
    }
    arena_fini(&a);
}

static void errors_come_at_the_end(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct slice row = golden_row("record/java-batches.tsv", "v2-none", &a);
    uint8_t *batch = arena_alloc(&a, row.size);
    memcpy(batch, row.data, row.size);
    be_put_i32(batch + 57, 4);
    struct batch_info info;
    assert_int_equal(batch_peek(slice_of(batch, row.size), &info), ERR_NONE);
    struct cleaner_records records;
    struct record record;
    assert_int_equal(cleaner_records_begin(&records, &info, slice_of(batch, row.size), 0),
                     ERR_NONE);
    int count = 0;
    while (cleaner_records_next(&records, &record))
        count++;
    assert_int_equal(count, 3);
    assert_int_equal(cleaner_records_end(&records), ERR_INVALID_RECORD);
    be_put_i32(batch + 57, -4);
    assert_int_equal(cleaner_records_begin(&records, &info, slice_of(batch, row.size), 0),
                     ERR_CORRUPT_MESSAGE);
    assert_int_equal(cleaner_records_end(&records), ERR_CORRUPT_MESSAGE);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_formats_give_the_same_records),
        cmocka_unit_test(errors_come_at_the_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
