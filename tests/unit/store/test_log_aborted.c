#include "store/log.h"

#include "store_fixture.h"

#include "os/io_ops.h"
#include "store/txn_index.h"

#define FIRST_INDEX "00000000000000000000.txnindex"

static void aborted_transactions_are_listed(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    f->options.clean = true;
    store_open(f);
    log_set_high_watermark(f->log, log_end(f->log));
    assert_int_equal(log_last_stable(f->log), 8);
    struct arena arena;
    struct log_aborted *list;
    int32_t count;
    struct log_read r;
    arena_init(&arena);
    /* Kafka reads one segment at a time: the first has no abort, but shares the search. */
    assert_int_equal(log_read(f->log, 0, 1 << 20, true, 8, &r), ERR_NONE);
    assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    assert_int_equal(count, 0);
    log_range_release(&r.range);
    /* In the middle of the aborted one: its first offset lies before the fetch. */
    assert_int_equal(log_read(f->log, 5, 1 << 20, true, 8, &r), ERR_NONE);
    assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    assert_int_equal(count, 1);
    assert_int_equal(list[0].producer_id, 2);
    assert_int_equal(list[0].offset_first, 4);
    log_range_release(&r.range);
    assert_int_equal(log_read(f->log, 3, 1 << 20, true, INT64_MAX, &r), ERR_NONE);
    assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    assert_int_equal(count, 2);
    assert_int_equal(list[1].producer_id, 4);
    log_range_release(&r.range);
    assert_int_equal(log_read(f->log, 7, 1 << 20, true, 8, &r), ERR_NONE);
    assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    assert_int_equal(count, 0);
    log_range_release(&r.range);
    arena_fini(&arena);
}

/* With a wrong bound a reader would be told of no aborted transaction. */
static void damaged_index_hides_no_abort(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    f->options.config.index_interval = 10;
    store_open(f);
    for (int i = 0; i < 20; i++)
        assert_int_equal(store_produce(f, 1, 0, 3 * i, 3, true, 1000 + i, &a), ERR_NONE);
    assert_int_equal(store_mark(f, 1, 0, false, 0, 2000, &a), ERR_NONE);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    store_append(f, 1, 50, 5000);
    uint8_t zeros[4] = {0};
    for (int64_t at = 0; at < store_file_size(f, "00000000000000000000.index");
         at += INDEX_ENTRY_SIZE)
        store_poke(f, "00000000000000000000.index", at, zeros,
                   sizeof zeros); /* offset 0 for each position */
    store_poke(f, "00000000000000000000.index",
               store_file_size(f, "00000000000000000000.index") - INDEX_ENTRY_SIZE, "\0\0\0\77", 4);
    store_crash(f, log_end(f->log) - 1);
    struct log_read r;
    struct arena arena;
    struct log_aborted *list;
    int32_t count;
    arena_init(&arena);
    assert_int_equal(log_read(f->log, 0, 200, true, INT64_MAX, &r), ERR_NONE);
    assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    assert_int_equal(count, 1);
    log_range_release(&r.range);
    arena_fini(&arena);
}

/* What a read_committed fetch of [offset, end of its segment) is told, as "id@first id@first". */
static const char *told(struct store_fixture *f, int64_t offset, size_t size_max)
{
    static char text[512];
    struct arena arena;
    struct log_aborted *list;
    int32_t count;
    struct log_read r;
    arena_init(&arena);
    assert_int_equal(log_read(f->log, offset, size_max, true, INT64_MAX, &r), ERR_NONE);
    assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    text[0] = 0;
    for (int32_t i = 0; i < count; i++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%lld@%lld", i ? " " : "",
                 (long long)list[i].producer_id, (long long)list[i].offset_first);
    }
    log_range_release(&r.range);
    arena_fini(&arena);
    return text;
}

static void produce(struct store_fixture *f, int64_t producer_id, int32_t sequence)
{
    struct log_appended a;
    assert_int_equal(store_produce(f, producer_id, 0, sequence, 1, true, 1000, &a), ERR_NONE);
    log_set_high_watermark(f->log, log_end(f->log));
}

static void mark(struct store_fixture *f, int64_t producer_id, bool commit)
{
    struct log_appended a;
    assert_int_equal(store_mark(f, producer_id, 0, commit, 0, 1000, &a), ERR_NONE);
    log_set_high_watermark(f->log, log_end(f->log));
}

/* Three segments: 1 opens in the first, goes on in the second, ends in the third; 2 lies within the
 * second; 3 commits across all of them. */
static void three_segments(struct store_fixture *f)
{
    produce(f, 1, 0); /* 0 */
    produce(f, 3, 0);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    produce(f, 1, 1); /* 2 */
    produce(f, 2, 0);
    mark(f, 2, false); /* 4 */
    assert_int_equal(log_roll(f->log), ERR_NONE);
    produce(f, 3, 1);  /* 5 */
    mark(f, 1, false); /* 6 */
    mark(f, 3, true);
}

static void transactions_span_segments(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    three_segments(f);
    for (int round = 0; round < 3; round++) {
        assert_string_equal(told(f, 0, 1 << 20), "1@0");
        assert_string_equal(told(f, 1, 1 << 20), "1@0");
        assert_string_equal(told(f, 2, 1 << 20), "2@3 1@0");
        assert_string_equal(told(f, 4, 1 << 20), "2@3 1@0");
        assert_string_equal(told(f, 5, 1 << 20), "1@0");
        assert_string_equal(told(f, 7, 1 << 20), "");
        if (round)
            store_crash(f, 0);
        else
            store_reopen(f);
    }
}

/* Zeros, another segment's entries, a broken size, entries out of order: made again from the
 * batches when a reader comes, and when the next abort is indexed. */
static void damaged_entries_are_made_again(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    three_segments(f);
    const char *name = "00000000000000000002.txnindex";
    struct buf whole, now;
    buf_init(&whole);
    buf_init(&now);
    store_slurp(f, name, &whole);
    assert_int_equal(whole.size, TXN_INDEX_ENTRY_SIZE);
    uint8_t zeros[TXN_INDEX_ENTRY_SIZE] = {0};
    for (int kind = 0; kind < 4; kind++) {
        assert_int_equal(log_close(f->log, true), ERR_NONE);
        log_free(f->log);
        if (kind == 0)
            store_poke(f, name, 0, zeros, sizeof zeros);
        else if (kind == 1)
            store_poke(f, name, 18, "\0\0\0\0\0\0\0\1", 8); /* a marker below the segment */
        else if (kind == 2)
            store_cut_file(f, name, 20);
        else
            store_poke(f, name, TXN_INDEX_ENTRY_SIZE, whole.data, TXN_INDEX_ENTRY_SIZE);
        f->options.clean = true;
        store_open(f);
        log_set_high_watermark(f->log, log_end(f->log));
        assert_string_equal(told(f, 2, 1 << 20), "2@3 1@0");
        buf_clear(&now);
        store_slurp(f, name, &now);
        assert_true(slice_eq(buf_slice(&now), buf_slice(&whole)));
    }
    assert_int_equal(log_close(f->log, true), ERR_NONE);
    log_free(f->log);
    store_poke(f, "00000000000000000005.txnindex", 30, zeros, 2);
    store_cut_file(f, "00000000000000000005.txnindex", 32);
    store_open(f);
    produce(f, 9, 0);
    mark(f, 9, false);
    assert_int_equal(store_file_size(f, "00000000000000000005.txnindex"), 2 * TXN_INDEX_ENTRY_SIZE);
    assert_string_equal(told(f, 5, 1 << 20), "1@0 9@8");
    buf_fini(&whole);
    buf_fini(&now);
}

/* After a power cut the active segment's index holds what was synced, and maybe zeros behind it.
 * Recovery must not take these for aborts that were. */
static void recovery_believes_no_zeros(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.index_interval = 10;
    store_open(f);
    for (int i = 0; i < 5; i++) {
        produce(f, 7, i);
        mark(f, 7, false);
    }
    assert_string_equal(told(f, 0, 1 << 20), "7@0 7@2 7@4 7@6 7@8");
    uint8_t zeros[TXN_INDEX_ENTRY_SIZE] = {0};
    store_poke(f, FIRST_INDEX, 5 * TXN_INDEX_ENTRY_SIZE, zeros, sizeof zeros);
    store_crash(f, 8);
    assert_string_equal(told(f, 0, 1 << 20), "7@0 7@2 7@4 7@6 7@8");
    store_poke(f, FIRST_INDEX, 3 * TXN_INDEX_ENTRY_SIZE, zeros, sizeof zeros);
    store_crash(f, 8);
    assert_string_equal(told(f, 0, 1 << 20), "7@0 7@2 7@4 7@6 7@8");
}

/* Many aborts in one segment: found by halves. */
static void readers_find_their_place(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    for (int i = 0; i < 300; i++) {
        produce(f, 7, i);
        mark(f, 7, false);
    }
    char expected[32];
    for (int i = 0; i < 300; i += 23) {
        snprintf(expected, sizeof expected, "7@%d", 2 * i);
        /* One batch: bounded by size, but the index has no tighter bound than the end. */
        assert_true(!strncmp(told(f, 2 * i, 1), expected, strlen(expected)));
        assert_true(!strncmp(told(f, 2 * i + 1, 1), expected, strlen(expected)));
    }
}

static struct io_ops counting;
static const struct io_ops *sound;
static int opened, read_calls;

static enum err count_open(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    opened++;
    return sound->open(io, path, flags, ret_fd);
}

static enum err count_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                            size_t *ret_size)
{
    read_calls++;
    return sound->pread(io, fd, data, size, offset, ret_size);
}

static void without_aborts_no_file_is_touched(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    for (int i = 0; i < 20; i++) {
        produce(f, 7, i);
        mark(f, 7, true);
        assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    store_reopen(f);
    struct arena arena;
    struct log_aborted *list;
    int32_t count;
    struct log_read r;
    arena_init(&arena);
    assert_int_equal(log_read(f->log, 0, 1 << 20, true, INT64_MAX, &r), ERR_NONE);
    counting = *f->io->ops;
    counting.open = count_open;
    counting.pread = count_pread;
    sound = f->io->ops;
    f->io->ops = &counting;
    opened = read_calls = 0;
    for (int i = 0; i < 3; i++)
        assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
    f->io->ops = sound;
    assert_int_equal(count, 0);
    assert_int_equal(opened, 0);
    assert_int_equal(read_calls, 0);
    log_range_release(&r.range);
    arena_fini(&arena);
    /* The next abort is found all the same. */
    produce(f, 7, 20);
    mark(f, 7, false);
    assert_string_equal(told(f, 40, 1 << 20), "7@40");
    produce(f, 8, 0);
    assert_string_equal(told(f, 0, 1 << 20), "");
}

/* Kafka never tells a last stable offset below the log start. */
static void the_last_stable_offset_keeps_to_the_log(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    produce(f, 7, 0);
    produce(f, 8, 0);
    produce(f, 7, 1);
    assert_int_equal(log_last_stable(f->log), 0);
    assert_int_equal(log_set_start(f->log, 2), ERR_NONE);
    assert_int_equal(log_last_stable(f->log), 2);
    mark(f, 7, true);
    assert_int_equal(log_last_stable(f->log), 2);
    mark(f, 8, true);
    assert_int_equal(log_last_stable(f->log), 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(aborted_transactions_are_listed),
        STORE_TEST(damaged_index_hides_no_abort),
        STORE_TEST(transactions_span_segments),
        STORE_TEST(damaged_entries_are_made_again),
        STORE_TEST(recovery_believes_no_zeros),
        STORE_TEST(readers_find_their_place),
        STORE_TEST(without_aborts_no_file_is_touched),
        STORE_TEST(the_last_stable_offset_keeps_to_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
