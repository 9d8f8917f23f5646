#include "store/log.h"

#include "faulty_io.h"
#include "store_fixture.h"

#define LAST "00000000000000000023"

static void takes_over_what_kafka_left(void **state)
{
    struct store_fixture *f = *state;
    for (int clean = 0; clean < 2; clean++) {
        store_golden(f, "small-0");
        f->options.clean = clean;
        store_open(f);
        assert_int_equal(log_start(f->log), 0);
        assert_int_equal(log_end(f->log), 30);
        assert_int_equal(log_segment_count(f->log), 3);
        assert_int_equal(log_epoch_latest(f->log), 0);
        for (int64_t next = 0; next < 30;)
            next = store_read(f, next, 1 << 20);
        assert_int_equal(log_close(f->log, true), ERR_NONE);
        log_free(f->log);
        f->log = NULL;
        if (clean) { /* nothing changed, so nothing is written */
            assert_true(store_same_as_golden(f, "small-0", LAST ".index"));
            assert_true(store_same_as_golden(f, "small-0", LAST ".timeindex"));
            assert_true(store_same_as_golden(f, "small-0", "00000000000000000030.snapshot"));
        }
        char command[256];
        snprintf(command, sizeof command, "rm -rf '%s'", f->path);
        assert_int_equal(system(command), 0);
    }
}

/* From any recovery point the indexes come out as Kafka wrote them. */
static void rebuilds_kafkas_indexes(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.index_interval = 200;
    store_golden(f, "small-0");
    static const char *const names[] = {"00000000000000000000.index",
                                        "00000000000000000000.timeindex",
                                        "00000000000000000012.index",
                                        "00000000000000000012.timeindex",
                                        LAST ".index",
                                        LAST ".timeindex"};
    for (int64_t point = 0; point <= 30; point += 5) {
        f->options.clean = false;
        f->options.recovery_point = point;
        store_open(f);
        assert_int_equal(log_end(f->log), 30);
        assert_int_equal(log_recovery_point(f->log), point);
        log_free(f->log);
        f->log = NULL;
        for (size_t i = 0; i < 6; i++)
            assert_true(store_same_as_golden(f, "small-0", names[i]));
    }
}

/* A killed Kafka leaves its active indexes preallocated and full of zeros. */
static void preallocated_indexes_are_cut(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.index_interval = 200;
    store_golden(f, "small-0");
    store_cut_file(f, LAST ".index", 10485760);
    store_cut_file(f, LAST ".timeindex", 10485756);
    f->options.recovery_point = 28;
    store_open(f);
    assert_int_equal(log_end(f->log), 30);
    assert_true(store_same_as_golden(f, "small-0", LAST ".index"));
    assert_true(store_same_as_golden(f, "small-0", LAST ".timeindex"));
}

static void any_torn_tail_is_cut(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.index_interval = 150;
    store_open(f);
    int64_t ends[11] = {0};
    for (int i = 1; i <= 10; i++) {
        store_append(f, 2, 30, 1000);
        ends[i] = log_size(f->log);
    }
    assert_int_equal(log_close(f->log, true), ERR_NONE);
    struct buf whole;
    buf_init(&whole);
    store_slurp(f, "00000000000000000000.log", &whole);
    for (int64_t size = ends[10] - 1; size >= 0; size -= 7) {
        int batches = 0;
        while (ends[batches + 1] <= size)
            batches++;
        /* Once cut off, once with zeros in its place (a batch may end in zeros itself). */
        bool same = true;
        for (int64_t i = size; i < ends[batches + 1]; i++)
            same = same && !whole.data[i];
        for (int zeros = 0; zeros < 2; zeros++) {
            store_poke(f, "00000000000000000000.log", 0, whole.data, whole.size);
            store_cut_file(f, "00000000000000000000.log", size);
            if (zeros)
                store_cut_file(f, "00000000000000000000.log", size + 500);
            store_crash(f, 0);
            int found = batches + (zeros && same);
            assert_int_equal(log_end(f->log), 2 * found);
            assert_int_equal(log_size(f->log), ends[found]);
            assert_int_equal(store_file_size(f, "00000000000000000000.log"), ends[found]);
        }
    }
    buf_fini(&whole);
}

static void a_flipped_bit_ends_the_log(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    f->options.recovery_point = 12;
    /* In the second segment: the third goes. */
    store_poke(f, "00000000000000000012.log", 700, "#", 1);
    store_open(f);
    assert_true(log_end(f->log) > 12 && log_end(f->log) < 23);
    assert_int_equal(log_segment_count(f->log), 2);
    assert_int_equal(store_file_size(f, LAST ".log"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000030.snapshot"), -1);
    log_set_high_watermark(f->log, log_end(f->log));
    int64_t end = log_end(f->log);
    assert_int_equal(store_append(f, 1, 10, 1).offset_first, end);
}

/* Below the recovery point nothing is read: damage there stays for readers to find. */
static void trusts_what_was_flushed(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    store_poke(f, "00000000000000000000.log", 700, "#", 1);
    f->options.recovery_point = 23;
    store_open(f);
    assert_int_equal(log_end(f->log), 30);
}

static void transactions_are_found_again(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    f->options.config.index_interval = 512;
    static const char *const gone[] = {"00000000000000000015.snapshot",
                                       "00000000000000000003.snapshot"};
    for (int64_t point = 0; point <= 15; point += 3) {
        if (point == 6)
            for (int i = 0; i < 2; i++) {
                char *path = store_file(f, gone[i]);
                io_unlink(f->io, path);
                mem_free(path);
            }
        f->options.recovery_point = point;
        store_open(f);
        log_set_high_watermark(f->log, log_end(f->log));
        assert_int_equal(log_end(f->log), 15);
        assert_int_equal(log_last_stable(f->log), 8);
        assert_true(store_same_as_golden(f, "txn-0", "00000000000000000003.txnindex"));
        assert_int_equal(log_close(f->log, true), ERR_NONE);
        assert_true(store_same_as_golden(f, "txn-0", "00000000000000000015.snapshot"));
        log_free(f->log);
        f->log = NULL;
    }
}

/* A start that fails leaves the next one enough to find them: one that cannot open the log does not
 * know where to begin, and begins with what the log holds anew. */
static void a_start_cut_short_loses_no_aborted_transaction(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.index_interval = 1;
    store_golden(f, "txn-0");
    store_open(f); /* all indexes */
    struct faulty faulty;
    faulty_init(&faulty, f->io, FAULT_OPEN, ERR_TOO_MANY_FILES);
    faulty.stays = true;
    faulty.opened = ".log";
    bool failed = true;
    for (faulty.fail_at = 0; failed; faulty.fail_at++) {
        log_free(f->log);
        f->log = NULL;
        faulty.calls = 0;
        f->options.io = &faulty.io;
        f->options.recovery_point = 15;
        if (log_open(&f->options, &f->log))
            f->log = NULL;
        log_free(f->log);
        f->log = NULL;
        f->options.io = f->io;
        store_crash(f, 15);
        assert_int_equal(log_end(f->log), 15);
        assert_true(store_same_as_golden(f, "txn-0", "00000000000000000003.txnindex"));
        failed = faulty.calls > faulty.fail_at;
    }
    assert_true(faulty.fail_at > 2);
}

static void damaged_indexes_alone_are_made_again(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    f->options.config.index_interval = 200;
    f->options.clean = true;
    store_cut_file(f, "00000000000000000000.index", 36);
    char *path = store_file(f, LAST ".timeindex");
    assert_int_equal(io_unlink(f->io, path), ERR_NONE);
    mem_free(path);
    store_open(f);
    assert_int_equal(store_read(f, 5, 1 << 20), 12);
    assert_true(store_same_as_golden(f, "small-0", "00000000000000000000.index"));
    assert_true(store_same_as_golden(f, "small-0", LAST ".timeindex"));
}

static void log_start_is_kept(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "del-0");
    f->options.log_start = 3;
    f->options.clean = true;
    store_open(f);
    assert_int_equal(log_start(f->log), 3);
    assert_int_equal(log_end(f->log), 5);
    log_free(f->log);
    /* Beyond the end: the log begins there, empty. */
    f->options.log_start = 9;
    store_open(f);
    assert_int_equal(log_start(f->log), 9);
    assert_int_equal(log_end(f->log), 9);
    assert_int_equal(log_segment_count(f->log), 1);
    assert_int_equal(store_file_size(f, "00000000000000000009.log"), 0);
}

static void epochs_come_back_from_batches(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    struct builder_options options = BUILDER_DEFAULTS;
    store_open(f);
    for (int i = 0; i < 6; i++)
        log_append(f->log, LOG_CLIENT, i / 2, store_batch(f, &options, 2, 10, 1), &a);
    store_crash(f, 0);
    assert_int_equal(log_epoch_latest(f->log), 2);
    assert_int_equal(log_epoch_at(f->log, 5), 1);
    store_reopen(f);
    store_cut_file(f, "leader-epoch-checkpoint", 5); /* damaged: taken from the batches */
    store_crash(f, 12);
    assert_int_equal(log_epoch_at(f->log, 3), 0);
    assert_int_equal(log_epoch_at(f->log, 4), 1);
    assert_int_equal(log_epoch_latest(f->log), 2);
}

/* Whole segments of magic 0 and 1: read from each entry on as they lie in the file, recovered, cut
 * where an entry is torn, and followed by batches of today. */
static void legacy_segments_are_recovered(void **state)
{
    struct store_fixture *f = *state;
    static const struct {
        int64_t offset, base, position;
    } entries[] = {{0, 0, 0},    {2, 0, 61},   {3, 0, 88},   {4, 0, 88},   {5, 0, 88},
                   {8, 0, 258},  {10, 0, 296}, {12, 0, 296}, {13, 0, 427}, {15, 15, 0},
                   {16, 15, 38}, {18, 15, 38}, {19, 15, 76}};
    store_golden(f, "legacy-0");
    f->options.clean = true;
    store_open(f);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(log_end(f->log), 20);
        struct buf whole;
        buf_init(&whole);
        for (size_t i = 0; i < sizeof entries / sizeof *entries; i++) {
            buf_clear(&whole);
            store_slurp(f,
                        entries[i].base ? "00000000000000000015.log" : "00000000000000000000.log",
                        &whole);
            struct log_read r;
            assert_int_equal(log_read(f->log, entries[i].offset, 1 << 20, true, INT64_MAX, &r),
                             ERR_NONE);
            assert_int_equal(r.range.position, entries[i].position);
            assert_int_equal(r.range.size, whole.size - (size_t)entries[i].position);
            log_range_release(&r.range);
        }
        buf_fini(&whole);
        /* Half an entry behind them, then a flipped bit in the last one. */
        if (round == 0)
            store_poke(f, "00000000000000000015.log", 114, "\0\0\0\0\0\0\0\24\0\0\0\32abc", 15);
        store_crash(f, 0);
    }
    assert_int_equal(store_file_size(f, "00000000000000000015.log"), 114);
    assert_int_equal(store_append(f, 2, 10, 1400000009500).offset_first, 20);
    store_crash(f, 0);
    assert_int_equal(log_end(f->log), 22);
    assert_int_equal(store_read(f, 20, 1 << 20), 22);
    store_poke(f, "00000000000000000015.log", 100, "X", 1);
    store_crash(f, 0);
    assert_int_equal(log_end(f->log), 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(legacy_segments_are_recovered),
        STORE_TEST(takes_over_what_kafka_left),
        STORE_TEST(rebuilds_kafkas_indexes),
        STORE_TEST(preallocated_indexes_are_cut),
        STORE_TEST(any_torn_tail_is_cut),
        STORE_TEST(a_flipped_bit_ends_the_log),
        STORE_TEST(trusts_what_was_flushed),
        STORE_TEST(transactions_are_found_again),
        STORE_TEST(a_start_cut_short_loses_no_aborted_transaction),
        STORE_TEST(damaged_indexes_alone_are_made_again),
        STORE_TEST(log_start_is_kept),
        STORE_TEST(epochs_come_back_from_batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
