/* One walk through a log's life over an io that fails its Nth call of a kind, for each kind and N:
 * first counted, then repeated. After the failure the log must say so and go on or stay offline;
 * whatever it had acknowledged must be there when it is loaded again over a sound io, aborted
 * transactions included. */
#include "store_fixture.h"

#include "faulty_io.h"
#include "os/diag.h"

enum { ROUNDS = 12, ABORTS_MAX = 16 };

struct promise { /* what was acknowledged */
    int64_t start, end, flushed;
    struct {
        int64_t producer_id, offset_first, marker;
    } aborts[ABORTS_MAX];
    int abort_count;
};

static void append(struct store_fixture *f, struct promise *p, int64_t producer_id, bool marker)
{
    struct log_appended a;
    int64_t first = p->end - 3;
    enum err err = marker ? store_mark(f, producer_id, 0, false, 0, 1000, &a)
                          : store_produce(f, producer_id, 0, 0, 3, true, 1000, &a);
    if (err)
        return;
    assert_int_equal(a.offset_first, p->end);
    p->end = a.offset_last + 1;
    if (marker) {
        p->aborts[p->abort_count].producer_id = producer_id;
        p->aborts[p->abort_count].offset_first = first;
        p->aborts[p->abort_count++].marker = a.offset_first;
    }
    log_set_high_watermark(f->log, p->end);
}

static void flush(struct store_fixture *f, struct promise *p)
{
    struct log_flush flush;
    if (!log_flush_prepare(f->log, &flush))
        return;
    log_flush_run(&flush);
    if (!log_flush_finish(f->log, &flush))
        p->flushed = log_recovery_point(f->log);
}

static void look(struct store_fixture *f, struct promise *p)
{
    struct log_read r;
    struct log_time_offset found;
    struct log_aborted *list;
    struct arena arena;
    int32_t count;
    arena_init(&arena);
    if (!log_read(f->log, p->end / 2, 200, true, p->end, &r)) {
        log_aborted_for(f->log, &r, &arena, &list, &count);
        log_range_release(&r.range);
    }
    log_offset_by_time(f->log, 1001, &found);
    arena_fini(&arena);
}

/* The batch that came last was not acknowledged, as it were: it goes. */
static void cut(struct store_fixture *f, struct promise *p)
{
    int64_t before = log_end(f->log);
    if (log_failed(f->log) || before < 3)
        return;
    p->end = before - 3;
    if (p->flushed > p->end)
        p->flushed = p->end;
    if (log_truncate_to(f->log, p->end) && !log_failed(f->log))
        p->end = log_end(f->log);
}

static bool reopen(struct store_fixture *f, struct promise *p, bool stop)
{
    bool failed = log_failed(f->log); /* a truncation, say, that was not done */
    bool closed = stop && !log_close(f->log, true);
    int64_t start = log_start(f->log);
    if (closed)
        p->flushed = log_recovery_point(f->log);
    log_free(f->log);
    f->log = NULL;
    f->options.clean = closed;
    f->options.log_start = start;
    f->options.recovery_point = p->flushed;
    if (log_open(&f->options, &f->log))
        return false;
    assert_true(failed ? log_end(f->log) >= p->end : log_end(f->log) == p->end);
    p->end = log_end(f->log);
    log_set_high_watermark(f->log, p->end);
    return true;
}

/* Rolls, transactions, flushes, look-ups, a truncation, deletion of records and segments, a kill,
 * an orderly stop, and loading after each. */
static void live(struct store_fixture *f, struct promise *p)
{
    if (log_open(&f->options, &f->log))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        int64_t before = p->end;
        append(f, p, i, false);
        if (i % 3 == 1 && p->end > before)
            append(f, p, i, true);
        if (i % 5 == 4)
            flush(f, p);
        if (i % 4 == 0)
            look(f, p);
        if (i == 3 && p->end > before)
            cut(f, p);
        if (i == 6 && !log_failed(f->log) && !reopen(f, p, false))
            return;
        if (i == 9 && !log_set_start(f->log, 12))
            p->start = 12;
        if (i == 10)
            log_apply_retention(f->log, 0);
        assert_true(log_failed(f->log) || log_end(f->log) == p->end);
    }
    if (!reopen(f, p, true))
        return;
    append(f, p, 100, false);
}

static bool is_told(const struct log_aborted *list, int32_t count, int64_t producer_id,
                    int64_t offset_first)
{
    for (int32_t i = 0; i < count; i++)
        if (list[i].producer_id == producer_id && list[i].offset_first == offset_first)
            return true;
    return false;
}

static void check_aborts(struct store_fixture *f, const struct promise *p)
{
    struct arena arena;
    arena_init(&arena);
    for (int i = 0; i < p->abort_count; i++) {
        int64_t first = p->aborts[i].offset_first;
        struct log_read r;
        struct log_aborted *list;
        int32_t count;
        if (first < log_start(f->log))
            continue;
        assert_int_equal(log_read(f->log, first, 1 << 20, true, INT64_MAX, &r), ERR_NONE);
        assert_int_equal(log_aborted_for(f->log, &r, &arena, &list, &count), ERR_NONE);
        assert_true(is_told(list, count, p->aborts[i].producer_id, first));
        log_range_release(&r.range);
    }
    arena_fini(&arena);
}

static void check_promise(struct store_fixture *f, const struct promise *p, bool from_flushed)
{
    f->options.clean = false;
    f->options.log_start = p->start;
    f->options.recovery_point = from_flushed ? p->flushed : 0;
    store_open(f);
    assert_true(log_start(f->log) >= p->start);
    assert_true(log_end(f->log) >= p->end);
    for (int64_t next = log_start(f->log); next < log_end(f->log);) {
        int64_t before = next;
        next = store_read(f, next, 1 << 20);
        assert_true(next > before);
    }
    check_aborts(f, p);
    struct log_appended a;
    assert_int_equal(store_produce(f, 500, 0, 0, 1, false, 1000, &a), ERR_NONE);
}

/* One life; returns how many calls of the kind it made. */
static long run(struct store_fixture *f, enum err err, unsigned kind, long at)
{
    struct io *sound = f->io;
    struct faulty faulty;
    faulty_init(&faulty, sound, kind, err);
    faulty.fail_at = at;
    snprintf(f->path, sizeof f->path, "%s/%d-%x-%ld", f->root, (int)err, kind, at);
    struct promise p = {0};
    f->options.io = &faulty.io;
    f->options.clean = false;
    f->options.log_start = f->options.recovery_point = 0;
    live(f, &p);
    if (at < 0) {
        assert_non_null(f->log);
        assert_int_equal(p.end, (ROUNDS - 1) * 3 + 4 + 3);
    }
    /* What the log still closes goes through the io it was opened with. */
    log_free(f->log);
    f->log = NULL;
    f->options.io = sound;
    check_promise(f, &p, at & 1);
    log_free(f->log);
    f->log = NULL;
    return faulty.calls;
}

static void torture(struct store_fixture *f, enum err err, const unsigned *kinds, int kind_count)
{
    f->options.config.segment_size_max = 400;
    f->options.config.index_interval = 50;
    f->options.config.retention_ms = -1;
    for (int i = 0; i < kind_count; i++) {
        long count = run(f, err, kinds[i], -1);
        assert_true(count > 0);
        for (long at = 0; at < count; at++)
            run(f, err, kinds[i], at);
    }
}

static void each_call_fails_for_want_of_space(void **state)
{
    static const unsigned kinds[] = {FAULT_OPEN | FAULT_CREATE, FAULT_WRITE, FAULT_RENAME,
                                     FAULT_MKDIR};
    torture(*state, ERR_DISK_FULL, kinds, sizeof kinds / sizeof *kinds);
}

static void each_call_fails(void **state)
{
    static const unsigned kinds[] = {FAULT_OPEN | FAULT_CREATE,
                                     FAULT_READ,
                                     FAULT_WRITE,
                                     FAULT_SYNC,
                                     FAULT_TRUNCATE,
                                     FAULT_STAT,
                                     FAULT_RENAME,
                                     FAULT_UNLINK,
                                     FAULT_MKDIR,
                                     FAULT_SYNC_DIR,
                                     FAULT_LIST};
    torture(*state, ERR_IO, kinds, sizeof kinds / sizeof *kinds);
}

static void each_call_fails_for_want_of_files(void **state)
{
    static const unsigned kinds[] = {FAULT_OPEN | FAULT_CREATE, FAULT_LIST, FAULT_SYNC_DIR};
    torture(*state, ERR_TOO_MANY_FILES, kinds, sizeof kinds / sizeof *kinds);
}

/* Small pieces of state end the process when there is no memory for them (base/mem.h); what grows
 * with a request is refused and leaves no trace. */
static void memory_of_requests_fails(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    struct buf many;
    buf_init(&many);
    struct builder_options options = BUILDER_DEFAULTS;
    for (int i = 0; i < 9; i++) {
        struct slice batch = store_batch(f, &options, 1, 10, 1000);
        buf_put(&many, batch.data, batch.size);
    }
    struct log_appended a;
    mem_fail_after(0);
    assert_int_equal(log_append(f->log, LOG_COORDINATOR, 0, buf_slice(&many), &a), ERR_NO_MEMORY);
    mem_fail_after(-1);
    assert_int_equal(log_end(f->log), 0);
    assert_int_equal(log_append(f->log, LOG_COORDINATOR, 0, buf_slice(&many), &a), ERR_NONE);
    assert_int_equal(log_end(f->log), 9);
    buf_fini(&many);
    store_crash(f, 0);
    assert_int_equal(log_end(f->log), 9);
}

static void no_line(void *context, struct slice line)
{
    (void)context;
    (void)line;
}

int main(void)
{
    diag_init(NULL, no_line, NULL); /* thousands of folders fail */
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_call_fails_for_want_of_space),
        STORE_TEST(each_call_fails),
        STORE_TEST(each_call_fails_for_want_of_files),
        STORE_TEST(memory_of_requests_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
