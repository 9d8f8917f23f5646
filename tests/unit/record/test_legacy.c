#include "record/legacy.h"

#include "base/mem.h"
#include "base/thread_exit.h"
#include "record/compress.h"
#include "record_golden.h"

static const char *const codecs[] = {"none", "gzip", "snappy", "lz4"};

/* All messages of a set that starts at offset 100. */
static void check_set(struct slice set, int magic, int64_t timestamp_of_all)
{
    struct batch_iter entries = batch_iter_of(set);
    struct batch_info info;
    int i = 0;
    while (batch_iter_next(&entries, &info)) {
        struct slice entry = slice_of(info.data, info.size);
        struct legacy_iter iter;
        struct record r;
        assert_int_equal(batch_check(entry), ERR_NONE);
        assert_int_equal(info.magic, magic);
        assert_int_equal(legacy_iter_init(&iter, entry, 0), ERR_NONE);
        for (; legacy_iter_next(&iter, &r); i++) {
            assert_int_equal(r.offset, 100 + i);
            int64_t timestamp = timestamp_of_all ? timestamp_of_all : GOLDEN_TS + i * 10;
            assert_int_equal(r.timestamp, magic ? timestamp : -1);
            golden_check(&r, i, false);
        }
        assert_int_equal(iter.err, ERR_NONE);
        assert_int_equal(info.offset_last, 99 + i);
        legacy_iter_fini(&iter);
    }
    assert_int_equal(entries.err, ERR_NONE);
    assert_int_equal(i, 5);
}

static void sets_of_the_java_client(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    for (int magic = 0; magic < 2; magic++) {
        for (size_t i = 0; i < sizeof codecs / sizeof *codecs; i++) {
            char name[16];
            snprintf(name, sizeof name, "v%d-%s", magic, codecs[i]);
            check_set(golden_row("record/java-batches.tsv", name, &a), magic, 0);
        }
    }
    check_set(golden_row("record/java-batches.tsv", "v1-lz4-append-time", &a), 1, GOLDEN_TS + 99);
    arena_fini(&a);
}

static void wrapper_offsets(void **state)
{
    (void)state;
    struct arena a;
    struct legacy_iter iter;
    struct record r;
    arena_init(&a);
    struct slice row = golden_row("record/java-batches.tsv", "v1-gzip", &a);
    uint8_t *bytes = (uint8_t *)(uintptr_t)row.data;
    be_put_i64(bytes, 0); /* as some old clients sent them: the relative offsets stand */
    assert_int_equal(legacy_iter_init(&iter, row, 0), ERR_NONE);
    assert_true(legacy_iter_next(&iter, &r));
    assert_int_equal(r.offset, 0);
    legacy_iter_fini(&iter);
    be_put_i64(bytes, 3); /* less than the last relative one */
    assert_int_equal(legacy_iter_init(&iter, row, 0), ERR_INVALID_RECORD);
    legacy_iter_fini(&iter);
    be_put_i64(bytes, 104);
    assert_int_equal(legacy_iter_init(&iter, row, 20), ERR_TOO_LARGE);
    legacy_iter_fini(&iter);
    row = golden_row("record/java-batches.tsv", "v2-none", &a);
    assert_int_equal(legacy_iter_init(&iter, row, 0), ERR_CORRUPT_MESSAGE);
    assert_false(legacy_iter_next(&iter, &r));
    legacy_iter_fini(&iter);
    arena_fini(&a);
}

static void broken_sets_do_no_harm(void **state)
{
    (void)state;
    struct arena a;
    uint64_t seed = 3;
    arena_init(&a);
    for (int round = 0; round < 4000; round++) {
        char name[16];
        struct arena scratch;
        arena_init(&scratch);
        snprintf(name, sizeof name, "v%d-%s", round & 1, codecs[round / 2 % 4]);
        struct slice row = golden_row("record/java-batches.tsv", name, &scratch);
        size_t size = round % 3 ? row.size : noise(&seed) % row.size;
        uint8_t *copy = mem_alloc(size + 1);
        memcpy(copy, row.data, size);
        for (int n = 0; n < round % 4 && size; n++)
            copy[noise(&seed) % size] = (uint8_t)noise(&seed);
        struct batch_iter entries = batch_iter_of(slice_of(copy, size));
        struct batch_info info;
        while (batch_iter_next(&entries, &info)) {
            struct legacy_iter iter;
            struct record r;
            int64_t sum = 0;
            if (legacy_iter_init(&iter, slice_of(info.data, info.size), 0) == ERR_NONE) {
                while (legacy_iter_next(&iter, &r))
                    sum += (int64_t)r.value.size;
            }
            assert_true(sum >= 0);
            legacy_iter_fini(&iter);
        }
        mem_free(copy);
        arena_fini(&scratch);
    }
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sets_of_the_java_client),
        cmocka_unit_test(wrapper_offsets),
        cmocka_unit_test(broken_sets_do_no_harm),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    thread_exit_run();
    return failed;
}
