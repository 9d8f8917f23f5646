#include "store/cleaner_internal.h"

#include "cleaner_fixture.h"
#include "faulty_io.h"

enum { NOW = 1000000 };

static void fill(struct log *log)
{
    keyed(log, "a=1 b=1 c=1", 1000);
    keyed(log, "d=1", 1001);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "a=2 b", 2000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "c=3", 3000);
}

static void a_log_is_cleaned_and_lives_on(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    assert_log(log, "0:a=1 1:b=1 2:c=1 3:d=1 | 4:a=2 5:b | 6:c=3");
    int64_t size = log_size(log);
    assert_int_equal(clean(&x, NOW), 1);
    /* One segment of two; the active one is not looked at. */
    assert_log(log, "2:c=1 3:d=1 4:a=2 5:b! | 6:c=3");
    assert_int_equal(log_segment_count(log), 2);
    assert_true(log_size(log) < size);
    assert_int_equal(log_end(log), 7);
    assert_int_equal(log->first_dirty, 6);
    assert_int_equal(clean(&x, NOW), 0); /* nothing new */
    assert_string_equal(dirs_text(&x, "cleaner-offset-checkpoint"), "0\n1\nt 0 6\n");
    keyed(log, "c=4", 4000);
    assert_int_equal(log_roll(log), ERR_NONE);
    assert_int_equal(clean(&x, NOW + 999), 1);
    assert_log(log, "3:d=1 4:a=2 5:b! 7:c=4");
    keyed(log, "e=1", 4000);
    assert_int_equal(log_roll(log), ERR_NONE);
    assert_int_equal(clean(&x, NOW + 1000), 1);
    assert_log(log, "3:d=1 4:a=2! 7:c=4 8:e=1");
    /* Look-ups by time use the new indexes. */
    struct log_time_offset found;
    assert_int_equal(log_offset_by_time(log, 2000, &found), ERR_NONE);
    assert_int_equal(found.offset, 4);
    dirs_stop(&x);
    dirs_open(&x);
    log = log_dirs_get(x.dirs, SLICE_LIT("t"), 0);
    assert_log(log, "3:d=1 4:a=2! 7:c=4 8:e=1");
    assert_int_equal(log->first_dirty, 9);
    dirs_end(&x);
}

/* The old segment's files wait for file.delete.delay.ms; nothing else is left over. */
static void old_files_go_later(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    /* A read under way keeps its bytes. */
    struct log_read read;
    assert_int_equal(log_read(log, 0, 1 << 20, true, INT64_MAX, &read), ERR_NONE);
    struct buf before, after;
    buf_init(&before);
    buf_init(&after);
    assert_int_equal(log_range_copy(f->io, &read.range, buf_extend(&before, read.range.size)),
                     ERR_NONE);
    assert_int_equal(clean(&x, NOW), 1);
    log_dirs_run_now(x.dirs, NOW);
    assert_int_equal(log_range_copy(f->io, &read.range, buf_extend(&after, read.range.size)),
                     ERR_NONE);
    assert_true(slice_eq(buf_slice(&before), buf_slice(&after)));
    log_range_release(&read.range);
    char path[200];
    snprintf(path, sizeof path, "%s/t-0", x.paths[0]);
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(f->io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++) {
        assert_null(strstr(names[i], ".deleted"));
        assert_null(strstr(names[i], ".cleaned"));
        assert_null(strstr(names[i], ".swap"));
        assert_null(strstr(names[i], "00000000000000000004")); /* its snapshot, too */
    }
    io_free_names(names, count);
    buf_fini(&before);
    buf_fini(&after);
    dirs_end(&x);
}

/* A map that holds two keys: the round ends there and the next one goes on. */
static void a_full_map_takes_several_rounds(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_prepare(&x, f, 1);
    x.options.cleaner.dedupe_size = 3 * CLEANER_SLOT_SIZE;
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    keyed(log, "a=1 b=1 c=1 a=2 d=1 b=2", 1000);
    keyed(log, "a=3 b=3 c=3 d=3", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    int rounds = clean(&x, NOW);
    assert_true(rounds > 2);
    assert_log(log, "6:a=3 7:b=3 8:c=3 9:d=3");
    assert_int_equal(log->first_dirty, 10);
    dirs_end(&x);
}

static void undecided_transactions_are_left(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    keyed(log, "a=1 a=2", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed_txn(log, "a=3", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "b=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    assert_int_equal(clean(&x, NOW), 1);
    assert_log(log, "1:a=2 | 2:a=3 | 3:b=1");
    assert_int_equal(log->first_dirty, 2);
    abort_txn(log);
    /* The marker lies in the active segment, its index tells of the aborted data all the same. The
     * batch stays for its sequence. */
    assert_int_equal(clean(&x, NOW), 1);
    assert_log(log, "1:a=2 [2] 3:b=1 | 4:marker");
    struct log_read read;
    struct log_aborted *aborted;
    int32_t count;
    struct arena arena;
    arena_init(&arena);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "c=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    assert_int_equal(clean(&x, NOW), 1);
    assert_log(log, "1:a=2 [2] 3:b=1 4:marker 5:c=1");
    /* The empty batch counts: consumers still hear of the abort. */
    assert_int_equal(log_read(log, 0, 1 << 20, true, 6, &read), ERR_NONE);
    assert_int_equal(log_aborted_for(log, &read, &arena, &aborted, &count), ERR_NONE);
    assert_int_equal(count, 1);
    assert_int_equal(aborted[0].producer_id, 7);
    log_range_release(&read.range);
    arena_fini(&arena);
    dirs_end(&x);
}

/* After a start the sizes of indexes are those of files: not all are asked for under one lock. */
static void few_files_are_looked_at_under_the_lock(void **state)
{
    enum { SEGMENTS = 4 * CLEANER_GROUP_MAX };
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    for (int i = 0; i < SEGMENTS; i++) {
        keyed(log, "a=1", 1000 + i);
        assert_int_equal(log_roll(log), ERR_NONE);
    }
    dirs_stop(&x);
    struct faulty counting;
    faulty_init(&counting, f->io, FAULT_STAT, ERR_IO);
    x.options.io = &counting.io;
    dirs_open(&x);
    struct cleaner_config config;
    cleaner_config_init(&config);
    log = log_dirs_get(x.dirs, SLICE_LIT("t"), 0);
    log_set_high_watermark(log, log_end(log));
    counting.calls = 0;
    struct cleaner_round *round = cleaner_pick(x.dirs, &config, NOW);
    assert_non_null(round);
    assert_true(counting.calls < 8);
    uint64_t bytes;
    while (round->stage != CLEANER_GROUP)
        assert_true(cleaner_round_step(round, UINT32_MAX, &bytes));
    counting.calls = 0;
    assert_true(cleaner_round_step(round, UINT32_MAX, &bytes));
    assert_int_equal(round->group_count, CLEANER_GROUP_MAX);
    assert_true(counting.calls <= 2 * CLEANER_GROUP_MAX + 8);
    while (cleaner_round_step(round, UINT32_MAX, &bytes))
        ;
    assert_true(cleaner_round_free(round));
    assert_true(log_segment_count(log) < 8);
    dirs_stop(&x);
    dirs_end(&x);
}

/* Runs a round up to a stage, lets `change` happen to the log, and goes on. */
static void interrupted(struct dirs_fixture *x, struct log *log, enum cleaner_stage stage,
                        void (*change)(struct dirs_fixture *x, struct log *log), bool want_cleaned)
{
    struct cleaner_config config;
    cleaner_config_init(&config);
    struct cleaner_round *round = cleaner_pick(x->dirs, &config, NOW);
    assert_non_null(round);
    assert_int_equal(log_apply_retention(log, NOW), 0); /* it waits */
    uint64_t bytes;
    while (round->stage != stage)
        assert_true(cleaner_round_step(round, 1, &bytes));
    change(x, log);
    while (cleaner_round_step(round, 1, &bytes))
        ;
    assert_int_equal(cleaner_round_free(round), want_cleaned);
}

static void truncate_to_2(struct dirs_fixture *x, struct log *log)
{
    (void)x;
    assert_int_equal(log_truncate_to(log, 2), ERR_NONE);
}

static void delete_it(struct dirs_fixture *x, struct log *log)
{
    assert_int_equal(log_dirs_delete(x->dirs, log, false), ERR_NONE);
}

static void uncompact(struct dirs_fixture *x, struct log *log)
{
    (void)x;
    struct log_config config = *log_config_of(log);
    config.cleanup_compact = false;
    log_set_config(log, &config);
}

static void append_more(struct dirs_fixture *x, struct log *log)
{
    (void)x;
    keyed(log, "a=9", 9000);
    assert_int_equal(log_roll(log), ERR_NONE);
}

static void a_log_that_changes_meanwhile(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    enum cleaner_stage stages[] = {CLEANER_KEYS, CLEANER_GROUP, CLEANER_FILTER, CLEANER_SWAP};
    for (int i = 0; i < 4; i++) {
        struct log *log = dirs_create(&x, "t", 2 * i);
        fill(log);
        interrupted(&x, log, stages[i], truncate_to_2, false);
        assert_log(log, ""); /* the batch that held offset 2 went as well */
        assert_int_equal(log_end(log), 2);
        assert_false(log->cleaning || log->uncleanable);
        log = dirs_create(&x, "t", 2 * i + 1);
        fill(log);
        interrupted(&x, log, stages[i], uncompact, false);
        assert_log(log, "0:a=1 1:b=1 2:c=1 3:d=1 | 4:a=2 5:b | 6:c=3");
        log = dirs_create(&x, "v", i);
        fill(log);
        interrupted(&x, log, stages[i], append_more, true);
        assert_log(log, "2:c=1 3:d=1 4:a=2 5:b! | 6:c=3 7:a=9");
        clean(&x, NOW);
        assert_log(log, "3:d=1 5:b! 6:c=3 7:a=9");
        log = dirs_create(&x, "w", i);
        fill(log);
        interrupted(&x, log, stages[i], delete_it, false);
        assert_null(log_dirs_get(x.dirs, SLICE_LIT("w"), i));
    }
    dirs_end(&x);
}

/* Damage is named and keeps nobody else from being cleaned; it is not repaired by a new CRC. */
static void a_damaged_log_is_left_alone(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *bad = dirs_create(&x, "bad", 0), *good = dirs_create(&x, "good", 0);
    fill(bad);
    fill(good);
    char path[200];
    snprintf(path, sizeof path, "%s/bad-0/00000000000000000000.log", x.paths[0]);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_WRITE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, "X", 1, 70), ERR_NONE);
    io_close(f->io, fd);
    for (int i = 0; i < 3; i++)
        clean(&x, NOW);
    assert_true(bad->uncleanable);
    assert_int_equal(log_segment_count(bad), 3);
    assert_log(good, "2:c=1 3:d=1 4:a=2 5:b! | 6:c=3");
    assert_true(log_dir_online(log_dirs_at(x.dirs, 0)));
    dirs_end(&x);
}

/* The batches tell what its transaction index told: no reason to give a log up. */
static void a_damaged_transaction_index_is_made_again(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    keyed(log, "a=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed_txn(log, "a=2", 1000);
    abort_txn(log);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "b=1", 1000);
    char path[200];
    const char zeros[34] = {0};
    snprintf(path, sizeof path, "%s/t-0/00000000000000000001.txnindex", x.paths[0]);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_WRITE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, zeros, sizeof zeros, 0), ERR_NONE);
    io_close(f->io, fd);
    assert_int_equal(clean(&x, NOW), 1);
    assert_false(log->uncleanable);
    assert_log(log, "0:a=1 [1] 2:marker | 3:b=1");
    dirs_end(&x);
}

static void a_full_disk_postpones(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    x.dirs->options.reserve_client = x.dirs->options.reserve_coordinator = INT64_MAX / 2;
    assert_int_equal(clean(&x, NOW), 0);
    assert_int_equal(log->clean_err, ERR_DISK_FULL);
    assert_false(log->uncleanable || log->cleaning);
    assert_log(log, "0:a=1 1:b=1 2:c=1 3:d=1 | 4:a=2 5:b | 6:c=3");
    x.dirs->options.reserve_client = x.dirs->options.reserve_coordinator = 0;
    assert_int_equal(clean(&x, NOW), 1);
    assert_log(log, "2:c=1 3:d=1 4:a=2 5:b! | 6:c=3");
    dirs_end(&x);
}

/* Each piece of memory that a round asks for is refused once. */
static void no_memory_postpones(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    int refused = 0, cleaned = 0;
    for (; !cleaned; refused++) {
        mem_fail_after(refused);
        cleaned = clean(&x, NOW);
        mem_fail_after(-1);
        if (!cleaned) {
            assert_int_equal(log->clean_err, ERR_NO_MEMORY);
            assert_false(log->uncleanable || log->cleaning);
            assert_log(log, "0:a=1 1:b=1 2:c=1 3:d=1 | 4:a=2 5:b | 6:c=3");
        }
    }
    assert_int_equal(refused, 3); /* the map, the window, and none */
    assert_log(log, "2:c=1 3:d=1 4:a=2 5:b! | 6:c=3");
    dirs_end(&x);
}

/* A batch larger than the window, and a tombstone in it. */
static void large_batches(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    x.dirs->options.cleaner.io_buffer_size = 1;
    struct cleaner_config config = x.dirs->options.cleaner;
    cleaner_configure(x.dirs->cleaner, &config);
    struct log *log = dirs_create(&x, "t", 0);
    enum { SIZE = 50000 };
    char *words = mem_alloc(2 * SIZE);
    memcpy(words, "a=1 b=", 6);
    memset(words + 6, 'v', SIZE);
    memcpy(words + 6 + SIZE, " a c=1", 7);
    keyed(log, words, 1000);
    keyed(log, "c=2", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    assert_int_equal(clean(&x, NOW), 1);
    words[6 + SIZE] = 0;
    char *wanted = mem_printf("1:b=%s 2:a! 4:c=2", words + 6);
    assert_log(log, wanted);
    mem_free(wanted);
    mem_free(words);
    dirs_end(&x);
}

/* An unused segment of a log where all is gone: the last batch of the round holds its end. */
static void the_end_of_a_log_is_kept(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    keyed(log, "a=1", 1000);
    keyed(log, "a", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    assert_int_equal(clean(&x, NOW), 1);
    assert_log(log, "1:a!");
    log->first_dirty = 0;
    assert_int_equal(clean(&x, NOW + 1000), 1);
    assert_log(log, " [1]");
    dirs_stop(&x);
    dirs_open(&x);
    log = log_dirs_get(x.dirs, SLICE_LIT("t"), 0);
    assert_int_equal(log_end(log), 2);
    assert_log(log, " [1]");
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_log_is_cleaned_and_lives_on),
        STORE_TEST(old_files_go_later),
        STORE_TEST(a_full_map_takes_several_rounds),
        STORE_TEST(undecided_transactions_are_left),
        STORE_TEST(a_log_that_changes_meanwhile),
        STORE_TEST(a_damaged_log_is_left_alone),
        STORE_TEST(a_damaged_transaction_index_is_made_again),
        STORE_TEST(a_full_disk_postpones),
        STORE_TEST(no_memory_postpones),
        STORE_TEST(few_files_are_looked_at_under_the_lock),
        STORE_TEST(large_batches),
        STORE_TEST(the_end_of_a_log_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
