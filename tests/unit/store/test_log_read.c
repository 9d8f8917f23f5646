#include "store/log.h"

#include "store_fixture.h"

#include "store/segment.h"

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

enum { INDEXED = 400, INDEX_PAGE = 512 };
#define INDEX_NAME      "00000000000000000000.index"
#define TIME_INDEX_NAME "00000000000000000000.timeindex"

/* A closed segment of offsets [0, INDEXED), an index entry before each batch but the first two. */
static void open_indexed(struct store_fixture *f)
{
    f->options.config.index_interval = 10;
    store_open(f);
    for (int i = 0; i < INDEXED; i++)
        store_append(f, 1, 50, 1000 + i);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    store_append(f, 1, 50, 5000);
    assert_true(store_file_size(f, INDEX_NAME) > 2 * INDEX_PAGE);
}

static void expect_whole(struct store_fixture *f, const struct buf *index)
{
    for (int64_t offset = 0; offset < INDEXED; offset += 7) {
        struct log_read r;
        assert_int_equal(log_read(f->log, offset, 1, true, INT64_MAX, &r), ERR_NONE);
        assert_int_equal(r.offset_base, offset);
        log_range_release(&r.range);
        struct log_time_offset found;
        assert_int_equal(log_offset_by_time(f->log, 1000 + offset, &found), ERR_NONE);
        assert_int_equal(found.offset, offset);
    }
    struct buf now;
    buf_init(&now);
    store_slurp(f, INDEX_NAME, &now);
    assert_true(slice_eq(buf_slice(index), buf_slice(&now)));
    buf_fini(&now);
}

/* What a power cut leaves of index pages that were never synced, below the recovery point. */
static void damaged_indexes_are_made_again(void **state)
{
    struct store_fixture *f = *state;
    open_indexed(f);
    struct buf index;
    buf_init(&index);
    store_slurp(f, INDEX_NAME, &index);
    uint8_t page[INDEX_PAGE];
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < sizeof page; i++)
            page[i] = round == 0 ? 0 : (uint8_t)(round == 1 ? 0xff : i * 37 + 11);
        if (round == 3) {
            /* Entries that name a later batch than they should: records would be skipped. */
            memcpy(page, index.data, sizeof page);
            for (size_t i = 4; i < sizeof page; i += INDEX_ENTRY_SIZE)
                memcpy(page + i, index.data + index.size - 4, 4);
        }
        if (round == 4) {
            /* The same of the time index: offsets of much later batches. */
            struct buf times;
            buf_init(&times);
            store_slurp(f, TIME_INDEX_NAME, &times);
            for (size_t i = 8; i < times.size - TIME_INDEX_ENTRY_SIZE; i += TIME_INDEX_ENTRY_SIZE)
                memcpy(times.data + i, times.data + times.size - 4, 4);
            store_poke(f, TIME_INDEX_NAME, 0, times.data, times.size);
            buf_fini(&times);
        } else {
            store_poke(f, INDEX_NAME, INDEX_PAGE, page, sizeof page);
        }
        store_crash(f, INDEXED);
        expect_whole(f, &index);
    }
    /* Cut off under the open log. */
    store_cut_file(f, INDEX_NAME, 3);
    expect_whole(f, &index);
    buf_fini(&index);
}

/* A batch that is damaged itself hides nothing before it, and the index is made again only once. */
static void damaged_batch_is_told(void **state)
{
    struct store_fixture *f = *state;
    open_indexed(f);
    struct log_read r;
    assert_int_equal(log_read(f->log, 200, 1, true, INT64_MAX, &r), ERR_NONE);
    int64_t position = r.range.position;
    log_range_release(&r.range);
    uint8_t zeros[64] = {0};
    store_poke(f, "00000000000000000000.log", position, zeros, sizeof zeros);
    store_crash(f, INDEXED);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(log_read(f->log, 200, 1, true, INT64_MAX, &r), ERR_CORRUPT);
        assert_int_equal(log_read(f->log, 300, 1, true, INT64_MAX, &r), ERR_CORRUPT);
        assert_int_equal(log_read(f->log, 199, 1, true, INT64_MAX, &r), ERR_NONE);
        assert_int_equal(r.offset_base, 199);
        log_range_release(&r.range);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(reads_from_any_offset),  STORE_TEST(keeps_within_bounds),
        STORE_TEST(ranges_outlive_the_log), STORE_TEST(damaged_indexes_are_made_again),
        STORE_TEST(damaged_batch_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
