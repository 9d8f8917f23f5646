#include "store/cleaner_internal.h"

#include "cleaner_fixture.h"

enum { NOW = 1000000 };

/* Segments that begin at 0, 2, 4 and 6, timestamps 1000, 2000, 3000 and 4000 on. */
static void fill(struct log *log)
{
    for (int i = 0; i < 4; i++) {
        if (i)
            assert_int_equal(log_roll(log), ERR_NONE);
        keyed(log, "a=1 b=1", 1000 * (i + 1));
    }
}

static struct log_config config_of(const struct log *log)
{
    return *log_config_of(log);
}

static void what_may_be_cleaned(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    struct cleaner_dirt dirt;
    keyed(log, "a=1", 1000);
    assert_false(cleaner_dirt_of(log, NOW, &dirt)); /* only an active segment */
    log = dirs_create(&x, "t", 1);
    fill(log);
    int64_t segment = log->segments[0]->size;
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.first_dirty, 0);
    assert_int_equal(dirt.offset_end, 6);
    assert_int_equal(dirt.dirty_size, 3 * segment);
    assert_true(dirt.ratio == 1.0);
    log->first_dirty = 2;
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.clean_size, segment);
    assert_int_equal(dirt.dirty_size, 2 * segment);
    log->first_dirty = 6;
    assert_false(cleaner_dirt_of(log, NOW, &dirt));
    /* Segments are cleaned whole, and not beyond the high watermark. */
    log->first_dirty = -1;
    log_set_high_watermark(log, 5);
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.offset_end, 4);
    log_set_high_watermark(log, 1);
    assert_false(cleaner_dirt_of(log, NOW, &dirt));
    dirs_end(&x);
}

/* Recovery must not read what was cleaned: the recovery point on the disk is the limit. */
static void only_below_the_saved_recovery_point(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    struct cleaner_dirt dirt;
    log->recovery_saved = log->recovery_noted = log->segments[1]->base;
    x.dirs->dirs[0]->recovery_wanted = false;
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.offset_end, log->segments[1]->base);
    assert_true(x.dirs->dirs[0]->recovery_wanted); /* the folder's next job writes it */
    log->recovery_point = log->segments[1]->base - 1;
    assert_false(cleaner_dirt_of(log, NOW, &dirt));
    log->recovery_point = log_end(log);
    assert_int_equal(log_dir_write_checkpoints(x.dirs->dirs[0], true, false, false, false), 0);
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.offset_end, log_active(log)->base);
    dirs_end(&x);
}

static void flush(struct log *log)
{
    struct log_flush flush;
    assert_true(log_flush_prepare(log, &flush));
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(log, &flush), ERR_NONE);
    log->recovery_saved = log->recovery_noted = log->recovery_point;
}

/* A marker that a power cut may take is not believed: with it the newest value of a key may go, and
 * cleaning would have taken the one before. */
static void a_transaction_waits_for_its_marker_on_the_disk(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    keyed(log, "a=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed_txn(log, "a=2", 2000);
    assert_int_equal(log_roll(log), ERR_NONE);
    /* Flushed while it was open. */
    log->recovery_point = log->recovery_saved = log->decided_end = 0;
    flush(log);
    assert_int_equal(log->decided_end, 1);
    end_txn(log, true);
    struct cleaner_dirt dirt;
    assert_int_equal(log_last_stable(log), 3);
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.offset_end, 1);
    flush(log);
    assert_int_equal(log->decided_end, 3);
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.offset_end, 2);
    dirs_end(&x);
}

static void min_lag_spares_young_records(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    struct log_config config = config_of(log);
    config.compact_lag_min_ms = 100;
    log_set_config(log, &config);
    struct cleaner_dirt dirt;
    assert_true(cleaner_dirt_of(log, 3100, &dirt));
    assert_int_equal(dirt.offset_end, 4); /* 3001 is above 3000 */
    assert_true(cleaner_dirt_of(log, 3101, &dirt));
    assert_int_equal(dirt.offset_end, 6);
    assert_false(cleaner_dirt_of(log, 1100, &dirt));
    dirs_end(&x);
}

static void max_lag_forces_a_round(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    struct log_config config = config_of(log);
    config.compact_lag_max_ms = 500;
    config.dirty_ratio_min = 0.9;
    log_set_config(log, &config);
    log->first_dirty = 2;
    struct cleaner_dirt dirt;
    assert_true(cleaner_dirt_of(log, 2501, &dirt)); /* first batch of that segment: up to 2001 */
    assert_false(dirt.due);
    assert_int_equal(clean(&x, 2501), 0);
    assert_true(cleaner_dirt_of(log, 2502, &dirt));
    assert_true(dirt.due);
    assert_int_equal(clean(&x, 2502), 1);
    dirs_end(&x);
}

/* Times of segments that nobody asked before are read from files, a few under one lock. */
static void a_look_opens_few_files(void **state)
{
    enum { SEGMENTS = 3 * CLEANER_LOOKS_MAX };
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    for (int i = 0; i < SEGMENTS; i++) {
        keyed(log, "a=1", 1000 + i);
        assert_int_equal(log_roll(log), ERR_NONE);
    }
    struct log_config config = config_of(log);
    config.compact_lag_min_ms = 1;
    config.compact_lag_max_ms = 500;
    config.dirty_ratio_min = 1;
    log_set_config(log, &config);
    int unknown = 0;
    for (uint32_t i = 0; i < log->segment_count; i++)
        log->segments[i]->first_timestamp = SEGMENT_UNKNOWN; /* as after a start */
    struct cleaner_dirt dirt;
    assert_true(cleaner_dirt_of(log, 1400, &dirt));
    assert_true(dirt.unknown);
    for (uint32_t i = 0; i < log->segment_count; i++)
        unknown += log->segments[i]->first_timestamp == SEGMENT_UNKNOWN;
    assert_int_equal(unknown, (int)log->segment_count - CLEANER_LOOKS_MAX);
    /* Only the newest segment is so old: a pick looks at all of them. */
    log->segments[SEGMENTS - 1]->first_timestamp = 1;
    struct cleaner_config options;
    cleaner_config_init(&options);
    struct cleaner_round *round = cleaner_pick(x.dirs, &options, 1400);
    assert_non_null(round);
    cleaner_round_free(round);
    dirs_end(&x);
}

static void the_checkpoint_is_corrected(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    struct cleaner_dirt dirt;
    log->first_dirty = 9; /* beyond the end */
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.first_dirty, 0);
    assert_int_equal(log->first_dirty, 0);
    assert_int_equal(log_set_start(log, 3), ERR_NONE);
    assert_true(cleaner_dirt_of(log, NOW, &dirt));
    assert_int_equal(dirt.first_dirty, 3);
    assert_int_equal(log->first_dirty, 3);
    dirs_end(&x);
}

static void the_filthiest_is_taken(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct cleaner_config config;
    cleaner_config_init(&config);
    struct log *clean_one = dirs_create(&x, "clean", 0), *half = dirs_create(&x, "half", 0),
               *dirty = dirs_create(&x, "dirty", 0), *plain = dirs_create(&x, "plain", 0);
    fill(clean_one);
    fill(half);
    fill(dirty);
    fill(plain);
    struct log_config settings = config_of(plain);
    settings.cleanup_compact = false;
    log_set_config(plain, &settings);
    settings = config_of(half);
    settings.dirty_ratio_min = 0.33;
    log_set_config(half, &settings);
    clean_one->first_dirty = 6;
    half->first_dirty = 4;
    struct cleaner_round *first = cleaner_pick(x.dirs, &config, NOW);
    assert_string_equal(first->name, "dirty-0");
    /* What one task cleans no other one takes. */
    struct cleaner_round *second = cleaner_pick(x.dirs, &config, NOW);
    assert_string_equal(second->name, "half-0");
    assert_null(cleaner_pick(x.dirs, &config, NOW));
    cleaner_round_free(first);
    cleaner_round_free(second);
    settings.dirty_ratio_min = 0.34; /* a third is dirty */
    log_set_config(half, &settings);
    dirty->uncleanable = true;
    assert_null(cleaner_pick(x.dirs, &config, NOW));
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(what_may_be_cleaned),
        STORE_TEST(only_below_the_saved_recovery_point),
        STORE_TEST(a_transaction_waits_for_its_marker_on_the_disk),
        STORE_TEST(min_lag_spares_young_records),
        STORE_TEST(max_lag_forces_a_round),
        STORE_TEST(a_look_opens_few_files),
        STORE_TEST(the_checkpoint_is_corrected),
        STORE_TEST(the_filthiest_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
