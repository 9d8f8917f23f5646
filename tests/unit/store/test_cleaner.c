/* The tasks with their timers, on a loop and workers. */
#include "store/cleaner.h"

#include "cleaner_fixture.h"

static void fill(struct log *log, int rounds)
{
    for (int i = 0; i < rounds; i++) {
        keyed(log, "a=1 b=1 c=1", 1000);
        assert_int_equal(log_roll(log), ERR_NONE);
    }
}

/* The tasks run: after the test has set x->options.cleaner. */
static void start(struct dirs_fixture *x)
{
    dirs_open(x);
    log_dirs_start(x->dirs, x->loop);
}

static int64_t first_dirty(struct log *log, struct lock *lock)
{
    lock_take(lock);
    int64_t offset = log->first_dirty;
    lock_release(lock);
    return offset;
}

static void wait_cleaned(struct log *log, struct lock *lock, int64_t offset)
{
    for (int i = 0; i < 5000 && first_dirty(log, lock) < offset; i++)
        usleep(1000);
    assert_int_equal(first_dirty(log, lock), offset);
}

/* Several tasks clean several logs that are appended to meanwhile. */
static void logs_are_cleaned_in_the_background(void **state)
{
    enum { LOGS = 5, ROUNDS = 20 };
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.threads = 3;
    x.options.cleaner.backoff_ms = 10;
    start(&x);
    struct log *logs[LOGS];
    struct lock locks[LOGS];
    for (int i = 0; i < LOGS; i++) {
        lock_init(&locks[i], LOCK_PARTITION);
        logs[i] = dirs_create(&x, "t", i);
        log_attach(logs[i], &locks[i]);
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LOGS; i++) {
            lock_take(&locks[i]);
            fill(logs[i], 1);
            lock_release(&locks[i]);
        }
        usleep(2000);
    }
    for (int i = 0; i < LOGS; i++) {
        wait_cleaned(logs[i], &locks[i], 3 * ROUNDS);
        lock_take(&locks[i]);
        assert_log(logs[i], "57:a=1 58:b=1 59:c=1");
        lock_release(&locks[i]);
        log_detach(logs[i]);
    }
    dirs_stop(&x);
    assert_non_null(strstr(dirs_text(&x, "cleaner-offset-checkpoint"), "t 4 60\n"));
    for (int i = 0; i < LOGS; i++)
        lock_fini(&locks[i]);
    dirs_end(&x);
}

/* A stop does not wait for a round that the throttle makes last for hours. */
static void a_stop_ends_rounds_under_way(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.threads = 2;
    x.options.cleaner.io_rate_max = 1;
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    fill(log, 10);
    log_attach(log, &lock);
    log_dirs_start(x.dirs, x.loop);
    bool cleaning = false;
    for (int i = 0; i < 5000 && !cleaning; i++) {
        usleep(1000);
        lock_take(&lock);
        cleaning = log->cleaning;
        lock_release(&lock);
    }
    assert_true(cleaning);
    log_detach(log);
    dirs_stop(&x);
    dirs_open(&x);
    log = log_dirs_get(x.dirs, SLICE_LIT("t"), 0);
    assert_int_equal(log_segment_count(log), 11);
    assert_int_equal(log->first_dirty, -1);
    lock_fini(&lock);
    dirs_end(&x);
}

static int count_cleaning(struct log **logs, struct lock *locks, int count)
{
    int cleaning = 0;
    for (int i = 0; i < count; i++) {
        lock_take(&locks[i]);
        cleaning += logs[i]->cleaning;
        lock_release(&locks[i]);
    }
    return cleaning;
}

/* A round has its share of the memory until it ends. */
static void more_threads_take_no_more_memory(void **state)
{
    enum { LOGS = 4 };
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.threads = 2;
    x.options.cleaner.io_rate_max = 1; /* no round ends */
    x.options.cleaner.backoff_ms = 1;
    dirs_open(&x);
    struct log *logs[LOGS];
    struct lock locks[LOGS];
    for (int i = 0; i < LOGS; i++) {
        lock_init(&locks[i], LOCK_PARTITION);
        logs[i] = dirs_create(&x, "t", i);
        fill(logs[i], 10);
        log_attach(logs[i], &locks[i]);
    }
    log_dirs_start(x.dirs, x.loop);
    for (int i = 0; i < 5000 && count_cleaning(logs, locks, LOGS) < 2; i++)
        usleep(1000);
    assert_int_equal(count_cleaning(logs, locks, LOGS), 2);
    x.options.cleaner.threads = 4;
    log_dirs_configure_cleaner(x.dirs, &x.options.cleaner);
    usleep(100000);
    assert_int_equal(count_cleaning(logs, locks, LOGS), 2);
    x.options.cleaner.dedupe_size *= 2; /* one quarter of that is a half of what it was */
    log_dirs_configure_cleaner(x.dirs, &x.options.cleaner);
    for (int i = 0; i < 5000 && count_cleaning(logs, locks, LOGS) < 4; i++)
        usleep(1000);
    assert_int_equal(count_cleaning(logs, locks, LOGS), 4);
    for (int i = 0; i < LOGS; i++)
        log_detach(logs[i]);
    dirs_stop(&x);
    for (int i = 0; i < LOGS; i++)
        lock_fini(&locks[i]);
    dirs_end(&x);
}

/* More threads, fewer, another rate: while it runs. */
static void settings_change_at_run_time(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.threads = 1;
    x.options.cleaner.backoff_ms = 1000000;
    start(&x);
    usleep(20000); /* the one task rests for long now */
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    fill(log, 3);
    log_attach(log, &lock);
    struct cleaner_config config = x.options.cleaner;
    config.threads = 2;
    config.backoff_ms = 5;
    log_dirs_configure_cleaner(x.dirs, &config);
    wait_cleaned(log, &lock, 9);
    config.threads = 1;
    log_dirs_configure_cleaner(x.dirs, &config);
    usleep(20000);
    config.threads = 2;
    log_dirs_configure_cleaner(x.dirs, &config);
    lock_take(&lock);
    fill(log, 1);
    lock_release(&lock);
    wait_cleaned(log, &lock, 12);
    log_detach(log);
    dirs_stop(&x);
    lock_fini(&lock);
    dirs_end(&x);
}

/* Kafka's largest log.cleaner.backoff.ms: one look, and no second one. */
static void the_longest_backoff_is_never(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.threads = 1;
    x.options.cleaner.backoff_ms = INT64_MAX;
    start(&x);
    usleep(50000); /* it has looked */
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    fill(log, 3);
    log_attach(log, &lock);
    usleep(100000);
    assert_int_equal(first_dirty(log, &lock), -1);
    log_detach(log);
    dirs_stop(&x);
    lock_fini(&lock);
    dirs_end(&x);
}

/* A task that waited for its next look when it became one too many does not look. */
static void a_task_too_many_begins_no_round(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.threads = 1;
    x.options.cleaner.backoff_ms = 100;
    start(&x);
    usleep(50000); /* it has looked, and waits */
    struct cleaner_config config = x.options.cleaner;
    config.threads = 0;
    log_dirs_configure_cleaner(x.dirs, &config);
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    fill(log, 3);
    log_attach(log, &lock);
    usleep(200000);
    lock_take(&lock);
    assert_int_equal(log->first_dirty, -1);
    lock_release(&lock);
    config.threads = 1;
    log_dirs_configure_cleaner(x.dirs, &config);
    wait_cleaned(log, &lock, 9);
    log_detach(log);
    dirs_stop(&x);
    lock_fini(&lock);
    dirs_end(&x);
}

/* compact,delete: what is old goes between rounds; what lies below the log start goes with compact
 * alone, too. */
static void compacted_logs_have_a_retention(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *both = dirs_create(&x, "both", 0), *compact = dirs_create(&x, "compact", 0);
    struct log_config config = *log_config_of(both);
    config.cleanup_delete = true;
    config.retention_ms = 500;
    config.dirty_ratio_min = 1;
    log_set_config(both, &config);
    config.cleanup_delete = false;
    log_set_config(compact, &config);
    fill(both, 2);
    fill(compact, 2);
    assert_int_equal(log_set_start(compact, 3), ERR_NONE);
    assert_int_equal(clean(&x, 1503), 0);
    assert_int_equal(log_start(both), 6);
    assert_int_equal(log_segment_count(both), 1);
    assert_int_equal(log_segment_count(compact), 2);
    dirs_end(&x);
}

static void it_can_be_switched_off(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.enabled = false;
    x.options.cleaner.backoff_ms = 1;
    start(&x);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log, 3);
    usleep(30000);
    assert_int_equal(log_segment_count(log), 4);
    assert_false(cleaner_retains(x.dirs->cleaner));
    dirs_stop(&x);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(logs_are_cleaned_in_the_background), STORE_TEST(a_stop_ends_rounds_under_way),
        STORE_TEST(more_threads_take_no_more_memory),   STORE_TEST(settings_change_at_run_time),
        STORE_TEST(the_longest_backoff_is_never),       STORE_TEST(a_task_too_many_begins_no_round),
        STORE_TEST(compacted_logs_have_a_retention),    STORE_TEST(it_can_be_switched_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
