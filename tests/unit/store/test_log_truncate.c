#include "store/log.h"

#include "store_fixture.h"

static void cuts_to_any_offset(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.segment_size_max = 700;
    f->options.config.index_interval = 100;
    for (int64_t offset = 0; offset <= 60; offset += 3) {
        char path[128];
        snprintf(path, sizeof path, "%s/p%d", f->root, (int)offset);
        snprintf(f->path, sizeof f->path, "%s", path);
        f->options.clean = false;
        store_open(f);
        for (int i = 0; i < 20; i++)
            store_append(f, 3, 20, 1000);
        assert_int_equal(log_truncate_to(f->log, offset), ERR_NONE);
        assert_int_equal(log_end(f->log), offset);
        assert_int_equal(log_high_watermark(f->log), offset);
        assert_int_equal(store_append(f, 3, 20, 1000).offset_first, offset);
        int64_t next = 0;
        while (next < offset + 3)
            next = store_read(f, next, 500);
        store_reopen(f);
        assert_int_equal(log_end(f->log), offset + 3);
        log_free(f->log);
        f->log = NULL;
    }
}

static void takes_producers_and_transactions_back(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    struct log_appended a;
    assert_int_equal(store_produce(f, 5, 0, 0, 2, true, 10, &a), ERR_NONE);
    assert_int_equal(store_mark(f, 5, 0, false, 0, 11, &a), ERR_NONE);
    log_set_high_watermark(f->log, 3);
    assert_int_equal(log_last_stable(f->log), 3);
    assert_int_equal(log_truncate_to(f->log, 2), ERR_NONE);
    log_set_high_watermark(f->log, 2);
    assert_int_equal(log_last_stable(f->log), 0);
    assert_int_equal(store_file_size(f, "00000000000000000000.txnindex"), 0);
    assert_int_equal(log_truncate_to(f->log, 0), ERR_NONE);
    struct arena arena;
    int32_t count;
    arena_init(&arena);
    log_producers(f->log, &arena, &count);
    assert_int_equal(count, 0);
    arena_fini(&arena);
}

static void starts_anew(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    store_append(f, 3, 20, 1000);
    assert_int_equal(log_truncate_fully(f->log, 1000), ERR_NONE);
    assert_int_equal(log_start(f->log), 1000);
    assert_int_equal(log_end(f->log), 1000);
    assert_int_equal(log_size(f->log), 0);
    assert_int_equal(log_epoch_latest(f->log), -1);
    assert_int_equal(store_append(f, 1, 20, 1000).offset_first, 1000);
    store_reopen(f);
    assert_int_equal(log_start(f->log), 1000);
    assert_int_equal(log_end(f->log), 1001);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(cuts_to_any_offset),
        STORE_TEST(takes_producers_and_transactions_back),
        STORE_TEST(starts_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
