/* One walk through a log's life over an io that fails its Nth file call, for each N: first counted,
 * then repeated. After the failure the log must say so and go on or stay offline; whatever it had
 * acknowledged must be there when it is loaded again over a sound io. */
#include "store_fixture.h"

#include "os/io_ops.h"

struct faulty {
    struct io io; /* first: the ops get a pointer to it */
    struct io *inner;
    long calls, fail_at;
    enum err err;
};

static struct faulty *of(struct io *io)
{
    return (struct faulty *)(void *)io;
}

static bool fails(struct io *io)
{
    return of(io)->calls++ == of(io)->fail_at;
}

static int64_t f_wall_ms(struct io *io)
{
    return io_wall_ms(of(io)->inner);
}

static int64_t f_mono_ns(struct io *io)
{
    return io_mono_ns(of(io)->inner);
}

static void f_random(struct io *io, void *bytes, size_t size)
{
    io_random(of(io)->inner, bytes, size);
}

static enum err f_open(struct io *io, const char *path, unsigned flags, int *fd)
{
    return fails(io) ? of(io)->err : io_open(of(io)->inner, path, flags, fd);
}

static void f_close(struct io *io, int fd)
{
    io_close(of(io)->inner, fd);
}

static enum err f_pread(struct io *io, int fd, void *data, size_t size, int64_t offset, size_t *got)
{
    /* Reading never fails for want of space. */
    if (of(io)->err == ERR_DISK_FULL)
        return io_pread(of(io)->inner, fd, data, size, offset, got);
    return fails(io) ? of(io)->err : io_pread(of(io)->inner, fd, data, size, offset, got);
}

static enum err f_pwritev(struct io *io, int fd, const struct iovec *parts, int count,
                          int64_t offset)
{
    if (!fails(io))
        return io_pwritev(of(io)->inner, fd, parts, count, offset);
    io_pwrite(of(io)->inner, fd, parts[0].iov_base, parts[0].iov_len / 2, offset);
    return of(io)->err;
}

static enum err f_sync(struct io *io, int fd)
{
    (void)fd; /* nothing here survives a power cut: do not wait for the disk */
    return fails(io) ? ERR_IO : ERR_NONE;
}

static enum err f_truncate(struct io *io, int fd, int64_t size)
{
    if (of(io)->err == ERR_DISK_FULL)
        return io_truncate(of(io)->inner, fd, size);
    return fails(io) ? of(io)->err : io_truncate(of(io)->inner, fd, size);
}

static enum err f_fstat(struct io *io, int fd, struct io_stat *stat_buf)
{
    return io_fstat(of(io)->inner, fd, stat_buf);
}

static enum err f_stat(struct io *io, const char *path, struct io_stat *stat_buf)
{
    return io_stat(of(io)->inner, path, stat_buf);
}

static enum err f_rename(struct io *io, const char *from, const char *to)
{
    return fails(io) ? of(io)->err : io_rename(of(io)->inner, from, to);
}

static enum err f_unlink(struct io *io, const char *path)
{
    return io_unlink(of(io)->inner, path);
}

static enum err f_mkdir(struct io *io, const char *path)
{
    return fails(io) ? of(io)->err : io_mkdir(of(io)->inner, path);
}

static enum err f_sync_dir(struct io *io, const char *path)
{
    (void)path;
    return fails(io) ? ERR_IO : ERR_NONE;
}

static enum err f_list_dir(struct io *io, const char *path, char ***names, size_t *count)
{
    return io_list_dir(of(io)->inner, path, names, count);
}

static const char *f_error_text(struct io *io, enum err err)
{
    (void)io;
    (void)err;
    return "made to fail";
}

static const struct io_ops ops = {
    .wall_ms = f_wall_ms,
    .mono_ns = f_mono_ns,
    .random = f_random,
    .open = f_open,
    .close = f_close,
    .pread = f_pread,
    .pwritev = f_pwritev,
    .fsync = f_sync,
    .fdatasync = f_sync,
    .truncate = f_truncate,
    .fstat = f_fstat,
    .stat = f_stat,
    .rename = f_rename,
    .unlink = f_unlink,
    .mkdir = f_mkdir,
    .sync_dir = f_sync_dir,
    .list_dir = f_list_dir,
    .error_text = f_error_text,
};

struct promise { /* what was acknowledged */
    int64_t start, end;
};

static void append(struct store_fixture *f, struct promise *p, int64_t producer_id, bool marker)
{
    struct log_appended a;
    enum err err = marker ? store_mark(f, producer_id, 0, false, 0, 1000, &a)
                          : store_produce(f, producer_id, 0, 0, 3, true, 1000, &a);
    if (err)
        return;
    assert_int_equal(a.offset_first, p->end);
    p->end = a.offset_last + 1;
    log_set_high_watermark(f->log, p->end);
}

/* Rolls, transactions, flushes, deletion of records and segments, close and load. */
static void live(struct store_fixture *f, struct promise *p)
{
    if (log_open(&f->options, &f->log))
        return;
    for (int i = 0; i < 12; i++) {
        append(f, p, i, false);
        if (i % 3 == 1)
            append(f, p, i, true);
        struct log_flush flush;
        if (i % 5 == 4 && log_flush_prepare(f->log, &flush)) {
            log_flush_run(&flush);
            log_flush_finish(f->log, &flush);
        }
        struct log_read r;
        if (i % 4 == 0 && !log_read(f->log, p->end / 2, 200, true, p->end, &r))
            log_range_release(&r.range);
        if (i == 9 && !log_set_start(f->log, 12))
            p->start = 12;
        if (i == 10)
            log_apply_retention(f->log, 0);
        assert_true(log_failed(f->log) || log_end(f->log) == p->end);
    }
    bool closed = log_close(f->log, true) == ERR_NONE;
    int64_t start = log_start(f->log);
    log_free(f->log);
    f->log = NULL;
    f->options.clean = closed;
    f->options.log_start = start;
    if (log_open(&f->options, &f->log))
        return;
    append(f, p, 100, false);
}

static void check_promise(struct store_fixture *f, const struct promise *p)
{
    f->options.clean = false;
    f->options.log_start = p->start;
    f->options.recovery_point = 0;
    store_open(f);
    assert_true(log_start(f->log) >= p->start);
    assert_true(log_end(f->log) >= p->end);
    for (int64_t next = log_start(f->log); next < log_end(f->log);) {
        int64_t before = next;
        next = store_read(f, next, 1 << 20);
        assert_true(next > before);
    }
    struct log_appended a;
    assert_int_equal(store_produce(f, 500, 0, 0, 1, false, 1000, &a), ERR_NONE);
}

static void torture(struct store_fixture *f, enum err err)
{
    struct io *sound = f->io;
    struct faulty faulty = {.io = {&ops}, .inner = sound, .fail_at = -1, .err = err};
    f->options.config.segment_size_max = 400;
    f->options.config.index_interval = 50;
    f->options.config.retention_ms = -1;
    long count = 1;
    for (long at = -1; at < count; at++) {
        snprintf(f->path, sizeof f->path, "%s/run%ld", f->root, at);
        struct promise p = {0};
        faulty.calls = 0;
        faulty.fail_at = at;
        f->options.io = &faulty.io;
        f->options.clean = false;
        f->options.log_start = 0;
        live(f, &p);
        if (at < 0) {
            assert_non_null(f->log);
            count = faulty.calls;
            assert_true(count > 80);
            assert_int_equal(p.end, 12 * 3 + 4 + 3);
        }
        /* What the log still closes goes through the io it was opened with. */
        log_free(f->log);
        f->log = NULL;
        f->options.io = sound;
        check_promise(f, &p);
        log_free(f->log);
        f->log = NULL;
    }
}

static void each_call_fails_for_want_of_space(void **state)
{
    torture(*state, ERR_DISK_FULL);
}

static void each_call_fails(void **state)
{
    torture(*state, ERR_IO);
}

static void each_call_fails_for_want_of_files(void **state)
{
    torture(*state, ERR_TOO_MANY_FILES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(each_call_fails_for_want_of_space),
        STORE_TEST(each_call_fails),
        STORE_TEST(each_call_fails_for_want_of_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
