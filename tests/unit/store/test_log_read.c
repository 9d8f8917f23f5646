#include "store/log.h"

#include "store_fixture.h"

static void reads_from_any_offset(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.segment_size_max = 4000;
    f->options.config.index_interval = 300;
    store_open(f);
    for (int i = 0; i < 200; i++)
        store_append(f, 3, 30, 1000);
    assert_true(log_segment_count(f->log) > 5);
    for (int round = 0; round < 2; round++) {
        for (int64_t offset = 0; offset < 600; offset++) {
            struct log_read r;
            assert_int_equal(log_read(f->log, offset, 100, true, INT64_MAX, &r), ERR_NONE);
            /* The whole batch that holds it, even beyond size_max. */
            assert_int_equal(r.offset_base, offset / 3 * 3);
            uint8_t head[BATCH_HEADER_SIZE];
            size_t got;
            assert_int_equal(io_pread(f->io, r.range.fd, head, sizeof head, r.range.position, &got),
                             ERR_NONE);
            assert_int_equal(batch_base_offset(head), r.offset_base);
            assert_int_equal(r.range.size, batch_size(head));
            log_range_release(&r.range);
            assert_int_equal(log_read(f->log, offset, 100, false, INT64_MAX, &r), ERR_NONE);
            assert_int_equal(r.range.size, 100); /* may be cut */
            log_range_release(&r.range);
        }
        int64_t next = 0;
        while (next < 600) {
            int64_t before = next;
            next = store_read(f, next, 1500);
            assert_true(next > before);
        }
        store_reopen(f);
    }
}

static void keeps_within_bounds(void **state)
{
    struct store_fixture *f = *state;
    struct log_read r;
    f->options.config.index_interval = 100;
    store_open(f);
    assert_int_equal(log_read(f->log, 0, 100, true, INT64_MAX, &r), ERR_NONE);
    assert_int_equal(r.range.size, 0);
    log_range_release(&r.range);
    assert_int_equal(log_read(f->log, 1, 100, true, INT64_MAX, &r), ERR_OFFSET_OUT_OF_RANGE);
    for (int i = 0; i < 50; i++)
        store_append(f, 2, 30, 1000);
    assert_int_equal(log_read(f->log, 100, 100, true, INT64_MAX, &r), ERR_NONE);
    assert_int_equal(r.range.size, 0);
    assert_int_equal(log_read(f->log, 101, 100, true, INT64_MAX, &r), ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(log_read(f->log, -1, 100, true, INT64_MAX, &r), ERR_OFFSET_OUT_OF_RANGE);
    int64_t batch = log_size(f->log) / 50;
    /* Up to a bound: nothing that starts at or after it. */
    for (int64_t end = 0; end <= 100; end += 2) {
        assert_int_equal(log_read(f->log, 0, 1 << 20, true, end, &r), ERR_NONE);
        assert_int_equal(r.range.size, end / 2 * batch);
        log_range_release(&r.range);
        assert_int_equal(log_bytes_between(f->log, 10, end), end > 10 ? (end - 10) / 2 * batch : 0);
    }
    assert_int_equal(log_read(f->log, 60, 1 << 20, true, 50, &r), ERR_NONE);
    assert_int_equal(r.range.size, 0);
    assert_int_equal(log_set_start(f->log, 10), ERR_NONE);
    assert_int_equal(log_read(f->log, 9, 100, true, INT64_MAX, &r), ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(log_read(f->log, 10, 100, true, INT64_MAX, &r), ERR_NONE);
    log_range_release(&r.range);
}

/* A range stays readable when its segment is deleted and the log is gone. */
static void ranges_outlive_the_log(void **state)
{
    struct store_fixture *f = *state;
    struct log_read r;
    store_open(f);
    store_append(f, 2, 30, 1000);
    assert_int_equal(log_read(f->log, 0, 1 << 20, true, INT64_MAX, &r), ERR_NONE);
    assert_int_equal(log_truncate_fully(f->log, 50), ERR_NONE);
    log_free(f->log);
    f->log = NULL;
    uint8_t *bytes = mem_alloc(r.range.size);
    assert_int_equal(log_range_copy(f->io, &r.range, bytes), ERR_NONE);
    assert_true(batch_crc_ok(bytes));
    mem_free(bytes);
    log_range_release(&r.range);
    log_range_release(&r.range); /* empty by now */
}

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(reads_from_any_offset),
        STORE_TEST(keeps_within_bounds),
        STORE_TEST(ranges_outlive_the_log),
        STORE_TEST(aborted_transactions_are_listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
