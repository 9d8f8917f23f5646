/* A cleaning over an io that fails its Nth change of the disk, for each N: once, or from then on,
 * as if the node had been killed there. Whatever was done by then, the next start must find the
 * same last value of every key, and go on to clean. */
#include "store/cleaner_output.h"

#include "cleaner_fixture.h"
#include "os/io_ops.h"

enum { NOW = 1000000 };

struct faulty {
    struct io io; /* first: the ops get a pointer to it */
    struct io *inner;
    long calls, fail_at;
    bool stays; /* every later call fails, too */
    enum err err;
};

static struct faulty *of(struct io *io)
{
    return (struct faulty *)(void *)io;
}

static bool fails(struct io *io)
{
    long call = of(io)->calls++;
    return of(io)->fail_at >= 0 &&
           (of(io)->stays ? call >= of(io)->fail_at : call == of(io)->fail_at);
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
    if (flags & IO_CREATE && fails(io))
        return of(io)->err;
    return io_open(of(io)->inner, path, flags, fd);
}

static void f_close(struct io *io, int fd)
{
    io_close(of(io)->inner, fd);
}

static enum err f_pread(struct io *io, int fd, void *data, size_t size, int64_t offset, size_t *got)
{
    return io_pread(of(io)->inner, fd, data, size, offset, got);
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
    (void)fd;
    return fails(io) ? of(io)->err : ERR_NONE;
}

static enum err f_truncate(struct io *io, int fd, int64_t size)
{
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
    return fails(io) ? of(io)->err : io_unlink(of(io)->inner, path);
}

static enum err f_mkdir(struct io *io, const char *path)
{
    return fails(io) ? of(io)->err : io_mkdir(of(io)->inner, path);
}

static enum err f_rmdir(struct io *io, const char *path)
{
    return fails(io) ? of(io)->err : io_rmdir(of(io)->inner, path);
}

static enum err f_sync_dir(struct io *io, const char *path)
{
    (void)path;
    return fails(io) ? of(io)->err : ERR_NONE;
}

static enum err f_set_mtime(struct io *io, const char *path, int64_t mtime_ms)
{
    return fails(io) ? of(io)->err : io_set_mtime(of(io)->inner, path, mtime_ms);
}

static enum err f_list_dir(struct io *io, const char *path, char ***names, size_t *count)
{
    return io_list_dir(of(io)->inner, path, names, count);
}

static enum err f_space(struct io *io, const char *path, struct io_space *space)
{
    return io_space(of(io)->inner, path, space);
}

static enum err f_lock_file(struct io *io, const char *path, int *fd)
{
    return io_lock_file(of(io)->inner, path, fd);
}

static const char *f_error_text(struct io *io, enum err err)
{
    (void)io;
    (void)err;
    return "made to fail";
}

static void f_submit(struct io *io, struct io_job *job)
{
    io_submit(of(io)->inner, job);
}

static int f_processors(struct io *io)
{
    return io_processors(of(io)->inner);
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
    .rmdir = f_rmdir,
    .sync_dir = f_sync_dir,
    .set_mtime = f_set_mtime,
    .list_dir = f_list_dir,
    .space = f_space,
    .lock_file = f_lock_file,
    .error_text = f_error_text,
    .submit = f_submit,
    .processors = f_processors,
};

static void mark(struct log *log, int64_t producer_id)
{
    struct control_end_txn marker = {.is_commit = false};
    struct buf batch;
    buf_init(&batch);
    control_build_end_txn(&batch, 0, 0, 1000, producer_id, 0, &marker);
    struct log_appended appended;
    assert_int_equal(log_append(log, LOG_COORDINATOR, 0, buf_slice(&batch), &appended), ERR_NONE);
    log_set_high_watermark(log, log_end(log));
    buf_fini(&batch);
}

/* Three segments that become one with all four files, and an active one. */
static void fill(struct log *log)
{
    struct builder_options txn = BUILDER_DEFAULTS;
    txn.producer_id = 7;
    txn.producer_epoch = 0;
    txn.base_sequence = 0;
    txn.transactional = true;
    keyed(log, "a=1 b=1 c=1", 1000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed_as(log, txn, "a=x b=x", 1000);
    mark(log, 7);
    keyed(log, "a=2 d=1", 2000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "b c=2", 3000);
    assert_int_equal(log_roll(log), ERR_NONE);
    keyed(log, "e=1", 4000);
}

#define BEFORE "0:a=1 1:b=1 2:c=1 | 3:a=x 4:b=x 5:marker 6:a=2 7:d=1 | 8:b 9:c=2 | 10:e=1"
/* The aborted batch stays as the last one of its producer. */
#define AFTER "[4] 5:marker 6:a=2 7:d=1 8:b 9:c=2! | 10:e=1"

static bool has_text(struct log *log, const char *expected)
{
    char *text = log_text(log);
    bool same = strcmp(text[0] == ' ' ? text + 1 : text, expected) == 0;
    if (!same)
        print_message("%s\n", text);
    mem_free(text);
    return same;
}

static void check_aborted(struct log *log)
{
    struct arena arena;
    arena_init(&arena);
    struct log_read read;
    struct log_aborted *aborted;
    int32_t count;
    assert_int_equal(log_read(log, 3, 1 << 20, true, log_end(log), &read), ERR_NONE);
    assert_int_equal(log_aborted_for(log, &read, &arena, &aborted, &count), ERR_NONE);
    assert_int_equal(count, 1);
    log_range_release(&read.range);
    arena_fini(&arena);
}

static void begin(struct dirs_fixture *x, struct store_fixture *f, struct io *io, long run)
{
    char *root = mem_printf("%s/run%ld", f->root, run);
    assert_int_equal(io_mkdir(f->io, root), ERR_NONE);
    struct store_fixture inner = *f;
    snprintf(inner.root, sizeof inner.root, "%s", root);
    mem_free(root);
    dirs_begin(x, &inner, 1);
    x->f = f;
    x->options.io = io;
    dirs_open(x);
}

/* Ends as if killed, and starts over a sound disk. */
static struct log *restart(struct dirs_fixture *x, struct store_fixture *f)
{
    log_dirs_free(x->dirs);
    x->options.io = f->io;
    dirs_open(x);
    struct log *log = log_dirs_get(x->dirs, SLICE_LIT("t"), 0);
    assert_non_null(log);
    log_set_high_watermark(log, log_end(log));
    log->recovery_point = log->recovery_saved = log_end(log); /* as a while later */
    return log;
}

static void no_leftovers(struct dirs_fixture *x)
{
    char path[200];
    snprintf(path, sizeof path, "%s/t-0", x->paths[0]);
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(x->f->io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++) {
        assert_null(strstr(names[i], ".cleaned"));
        assert_null(strstr(names[i], ".swap"));
    }
    io_free_names(names, count);
}

static void torture(struct store_fixture *f, bool stays, enum err err)
{
    struct faulty faulty = {.io = {&ops}, .inner = f->io, .fail_at = -1, .err = err};
    f->options.config.cleanup_compact = true;
    f->options.config.dirty_ratio_min = 0;
    f->options.config.index_interval = 1;
    long count = 1;
    int done = 0;
    for (long at = -1; at < count; at++) {
        struct dirs_fixture x;
        faulty.fail_at = -1;
        begin(&x, f, &faulty.io, at);
        struct log *log = dirs_create(&x, "t", 0);
        fill(log);
        assert_true(has_text(log, BEFORE));
        faulty.calls = 0;
        faulty.fail_at = at;
        faulty.stays = stays;
        bool cleaned = clean(&x, NOW) == 1;
        done += cleaned;
        if (at < 0) {
            assert_true(cleaned);
            count = faulty.calls;
            assert_true(count > 25);
        }
        if (log_dir_online(log_dirs_at(x.dirs, 0))) {
            /* Whatever failed, this run goes on, too. */
            assert_true(has_text(log, cleaned ? AFTER : BEFORE));
            assert_int_equal(log->swapping, NULL);
        }
        faulty.stays = false;
        if (!stays) {
            faulty.fail_at = -1;
            if (!cleaned && log_dir_online(log_dirs_at(x.dirs, 0)))
                assert_int_equal(clean(&x, NOW), 1);
        } else {
            faulty.stays = true;
        }
        log = restart(&x, f);
        assert_true(has_text(log, AFTER) || (!cleaned && has_text(log, BEFORE)));
        no_leftovers(&x);
        log->first_dirty = 0;
        assert_int_equal(clean(&x, NOW + 1), 1);
        assert_true(has_text(log, AFTER));
        check_aborted(log);
        keyed(log, "z=1", 5000);
        log = restart(&x, f);
        assert_true(has_text(log, AFTER " 11:z=1"));
        check_aborted(log);
        dirs_end(&x);
    }
    assert_true(done > 0 && done < count);
}

static void the_node_dies_at_each_step(void **state)
{
    torture(*state, true, ERR_IO);
}

static void each_step_fails(void **state)
{
    torture(*state, false, ERR_IO);
}

static void each_step_fails_for_want_of_space(void **state)
{
    torture(*state, false, ERR_DISK_FULL);
}

static void each_step_fails_for_want_of_files(void **state)
{
    torture(*state, false, ERR_TOO_MANY_FILES);
}

/* Truncated between the two halves of the swap: the .swap files must not count at a start. */
static void truncation_revokes_a_swap(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 1);
    struct log *log = dirs_create(&x, "t", 0);
    fill(log);
    struct cleaner_output output;
    assert_int_equal(cleaner_output_open(&output, log, 0), ERR_NONE);
    struct log_range all = {0};
    struct log_read read;
    assert_int_equal(log_read(log, 0, 1 << 20, true, 3, &read), ERR_NONE);
    all = read.range;
    assert_int_equal(log_range_copy(f->io, &all, buf_extend(&output.batches, all.size)), ERR_NONE);
    log_range_release(&read.range);
    assert_int_equal(cleaner_output_write(&output, 1), ERR_NONE);
    assert_int_equal(cleaner_output_sync(&output), ERR_NONE);
    assert_int_equal(cleaner_output_prepare(&output, log, 1000, NULL, 0), ERR_NONE);
    assert_ptr_equal(log->swapping, &output);
    assert_int_equal(log_truncate_to(log, 0), ERR_NONE);
    assert_true(output.revoked);
    assert_null(log->swapping);
    cleaner_output_fini(&output); /* killed */
    log = restart(&x, f);
    assert_true(has_text(log, ""));
    no_leftovers(&x);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_node_dies_at_each_step),
        STORE_TEST(each_step_fails),
        STORE_TEST(each_step_fails_for_want_of_space),
        STORE_TEST(each_step_fails_for_want_of_files),
        STORE_TEST(truncation_revokes_a_swap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
