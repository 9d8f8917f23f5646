#include "store/log.h"

#include "store_fixture.h"

static void fill(struct store_fixture *f, int segments)
{
    store_open(f);
    for (int i = 0; i < segments; i++) {
        if (i)
            assert_int_equal(log_roll(f->log), ERR_NONE);
        store_append(f, 10, 100, 1000 * (i + 1));
    }
}

static void old_segments_go(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.retention_ms = 500;
    fill(f, 4);
    assert_int_equal(log_apply_retention(f->log, 1009 + 500), 0);
    assert_int_equal(log_apply_retention(f->log, 1009 + 501), 1);
    assert_int_equal(log_start(f->log), 10);
    assert_int_equal(store_file_size(f, "00000000000000000000.log"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000000.timeindex"), -1);
    /* The active one goes, too; what comes next keeps counting. */
    assert_int_equal(log_apply_retention(f->log, 100000), 3);
    assert_int_equal(log_segment_count(f->log), 1);
    assert_int_equal(log_start(f->log), 40);
    assert_int_equal(log_end(f->log), 40);
    assert_int_equal(log_size(f->log), 0);
    assert_int_equal(log_apply_retention(f->log, 100000), 0);
    assert_int_equal(store_append(f, 1, 10, 1).offset_first, 40);
    store_reopen(f);
    assert_int_equal(log_start(f->log), 40);
}

static void large_logs_shrink(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.retention_ms = -1;
    fill(f, 4);
    struct log_config config = f->options.config;
    int64_t segment = log_size(f->log) / 4;
    config.retention_size = 2 * segment + 1;
    log_set_config(f->log, &config);
    assert_int_equal(log_apply_retention(f->log, 0), 1);
    config.retention_size = segment;
    log_set_config(f->log, &config);
    assert_int_equal(log_apply_retention(f->log, 0), 2);
    assert_int_equal(log_start(f->log), 30);
}

static void nothing_beyond_the_high_watermark_goes(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.retention_ms = 500;
    fill(f, 3);
    log_set_high_watermark(f->log, 19);
    assert_int_equal(log_apply_retention(f->log, 100000), 1);
    log_set_high_watermark(f->log, 20);
    assert_int_equal(log_apply_retention(f->log, 100000), 1);
}

static void compacted_topics_lose_only_what_was_deleted(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.retention_ms = 500;
    f->options.config.retention_size = 0;
    f->options.config.cleanup_delete = false;
    f->options.config.cleanup_compact = true;
    fill(f, 3);
    assert_int_equal(log_apply_retention(f->log, 100000), 0);
    assert_int_equal(log_set_start(f->log, 15), ERR_NONE);
    assert_int_equal(log_apply_retention(f->log, 100000), 1);
    assert_int_equal(log_start(f->log), 15);
    assert_int_equal(log_segment_count(f->log), 2);
}

static void start_moves_forward_only(void **state)
{
    struct store_fixture *f = *state;
    fill(f, 1);
    log_set_high_watermark(f->log, 8);
    assert_int_equal(log_set_start(f->log, 9), ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(log_set_start(f->log, 8), ERR_NONE);
    assert_int_equal(log_set_start(f->log, 3), ERR_NONE);
    assert_int_equal(log_set_start(f->log, 8), ERR_NONE);
    assert_int_equal(log_start(f->log), 8);
    assert_int_equal(log_epoch_at(f->log, 8), 0);
    assert_int_equal(log_epoch_at(f->log, 7), -1);
}

/* Without timestamps the age is the file's. */
static void files_have_an_age(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.retention_ms = 500;
    store_open(f);
    store_append(f, 1, 100, -1);
    assert_int_equal(log_apply_retention(f->log, io_wall_ms(f->io) - 10000), 0);
    assert_int_equal(log_apply_retention(f->log, io_wall_ms(f->io) + 10000), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(old_segments_go),
        STORE_TEST(large_logs_shrink),
        STORE_TEST(nothing_beyond_the_high_watermark_goes),
        STORE_TEST(compacted_topics_lose_only_what_was_deleted),
        STORE_TEST(start_moves_forward_only),
        STORE_TEST(files_have_an_age),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
