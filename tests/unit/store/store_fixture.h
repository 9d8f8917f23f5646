/* A temporary folder over the real file system, batches to append, and files to look at. */
#ifndef KLAMM_TESTS_STORE_FIXTURE_H
#define KLAMM_TESTS_STORE_FIXTURE_H

#include "../temp_dir.h"

#include "base/buf.h"
#include "base/mem.h"
#include "os/io.h"
#include "os/io_linux.h"
#include "record/builder.h"
#include "record/control.h"
#include "store/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct store_fixture {
    struct io *io;
    char root[TEMP_DIR_SIZE];
    char path[128]; /* of the log */
    struct log *log;
    struct log_open_options options;
    struct buf batch;
};

static inline int store_setup(void **state)
{
    struct store_fixture *f = mem_zalloc(sizeof *f);
    f->io = io_linux_new();
    /* In memory where there is such a place: these tests make thousands of small files. */
    const char *place = access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm";
    temp_dir_make(f->root, place);
    snprintf(f->path, sizeof f->path, "%s/t-0", f->root);
    f->options = (struct log_open_options){.io = f->io, .path = f->path, .topic = SLICE_LIT("t")};
    log_config_init(&f->options.config);
    f->options.config.producer_expiry_ms = INT64_MAX; /* test timestamps are small */
    f->options.config.verify_transactions = false;    /* most tests are not about it */
    buf_init(&f->batch);
    *state = f;
    return 0;
}

static inline int store_teardown(void **state)
{
    struct store_fixture *f = *state;
    log_free(f->log);
    buf_fini(&f->batch);
    io_linux_free(f->io);
    temp_dir_remove(f->root);
    mem_free(f);
    return 0;
}

#define STORE_TEST(name) cmocka_unit_test_setup_teardown(name, store_setup, store_teardown)

static inline void store_open(struct store_fixture *f)
{
    assert_int_equal(log_open(&f->options, &f->log), ERR_NONE);
}

/* Orderly stop and start. */
static inline void store_reopen(struct store_fixture *f)
{
    assert_int_equal(log_close(f->log, true), ERR_NONE);
    log_free(f->log);
    f->log = NULL;
    f->options.clean = true;
    f->options.recovery_point = 0;
    store_open(f);
    log_set_high_watermark(f->log, log_end(f->log));
}

/* As after kill -9: nothing that is in memory only survives. */
static inline void store_crash(struct store_fixture *f, int64_t recovery_point)
{
    log_free(f->log);
    f->log = NULL;
    f->options.clean = false;
    f->options.recovery_point = recovery_point;
    store_open(f);
    log_set_high_watermark(f->log, log_end(f->log));
}

/* A batch of `count` records whose values have `size` bytes; timestamps rise by one from `time`. */
static inline struct slice store_batch(struct store_fixture *f,
                                       const struct builder_options *options, int count,
                                       size_t size, int64_t time)
{
    uint8_t *value = mem_alloc(size + 1);
    memset(value, 'v', size + 1);
    buf_clear(&f->batch);
    struct builder b;
    builder_begin(&b, &f->batch, options);
    for (int i = 0; i < count; i++)
        builder_append(&b, time + i, SLICE_NULL, slice_of(value, size));
    assert_int_equal(builder_end(&b), ERR_NONE);
    mem_free(value);
    return buf_slice(&f->batch);
}

static inline struct log_appended store_append(struct store_fixture *f, int count, size_t size,
                                               int64_t time)
{
    struct builder_options options = BUILDER_DEFAULTS;
    struct log_appended appended;
    assert_int_equal(
        log_append(f->log, LOG_CLIENT, 0, store_batch(f, &options, count, size, time), &appended),
        ERR_NONE);
    log_set_high_watermark(f->log, log_end(f->log));
    return appended;
}

static inline enum err store_produce(struct store_fixture *f, int64_t producer_id, int16_t epoch,
                                     int32_t sequence, int count, bool transactional, int64_t time,
                                     struct log_appended *ret_appended)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = producer_id;
    options.producer_epoch = epoch;
    options.base_sequence = sequence;
    options.transactional = transactional;
    return log_append(f->log, LOG_CLIENT, 0, store_batch(f, &options, count, 10, time),
                      ret_appended);
}

static inline enum err store_mark(struct store_fixture *f, int64_t producer_id, int16_t epoch,
                                  bool commit, int32_t coordinator_epoch, int64_t time,
                                  struct log_appended *ret_appended)
{
    struct control_end_txn marker = {.is_commit = commit, .coordinator_epoch = coordinator_epoch};
    buf_clear(&f->batch);
    assert_int_equal(control_build_end_txn(&f->batch, 0, 0, time, producer_id, epoch, &marker),
                     ERR_NONE);
    return log_append(f->log, LOG_COORDINATOR, 0, buf_slice(&f->batch), ret_appended);
}

static inline char *store_file(struct store_fixture *f, const char *name)
{
    return mem_printf("%s/%s", f->path, name);
}

/* -1: not there. */
static inline int64_t store_file_size(struct store_fixture *f, const char *name)
{
    char *path = store_file(f, name);
    struct stat stat_buf;
    int64_t size = stat(path, &stat_buf) ? -1 : stat_buf.st_size;
    mem_free(path);
    return size;
}

static inline void store_cut_file(struct store_fixture *f, const char *name, int64_t size)
{
    char *path = store_file(f, name);
    assert_int_equal(truncate(path, size), 0);
    mem_free(path);
}

/* Overwrites a part of a file. */
static inline void store_poke(struct store_fixture *f, const char *name, int64_t offset,
                              const void *data, size_t size)
{
    char *path = store_file(f, name);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_WRITE | IO_CREATE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, data, size, offset), ERR_NONE);
    io_close(f->io, fd);
    mem_free(path);
}

/* Copies a folder of tests/golden/store to f->path. */
static inline void store_golden(struct store_fixture *f, const char *name)
{
    const char *tests = getenv("KLAMM_TESTS_DIR");
    char *command =
        mem_printf("cp -r '%s/golden/store/%s' '%s'", tests ? tests : "tests", name, f->path);
    assert_int_equal(system(command), 0);
    mem_free(command);
}

/* The bytes of a file of the log. */
static inline void store_slurp(struct store_fixture *f, const char *name, struct buf *out)
{
    char *path = store_file(f, name);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_READ, &fd), ERR_NONE);
    struct io_stat info;
    assert_int_equal(io_fstat(f->io, fd, &info), ERR_NONE);
    size_t got = 0;
    if (info.size)
        assert_int_equal(
            io_pread(f->io, fd, buf_extend(out, (size_t)info.size), (size_t)info.size, 0, &got),
            ERR_NONE);
    assert_int_equal(got, info.size);
    io_close(f->io, fd);
    mem_free(path);
}

/* True when a file of the log has the bytes of one in the golden folder `name`. */
static inline bool store_same_as_golden(struct store_fixture *f, const char *folder,
                                        const char *name)
{
    const char *tests = getenv("KLAMM_TESTS_DIR");
    char *command = mem_printf("cmp '%s/golden/store/%s/%s' '%s/%s'", tests ? tests : "tests",
                               folder, name, f->path, name);
    bool same = system(command) == 0;
    mem_free(command);
    return same;
}

/* Reads at `offset` and returns the offset to go on from; checks that the batches are in order. */
static inline int64_t store_read(struct store_fixture *f, int64_t offset, size_t size_max)
{
    struct buf bytes;
    buf_init(&bytes);
    int64_t next;
    assert_int_equal(log_read_copy(f->log, offset, size_max, INT64_MAX, &bytes, &next), ERR_NONE);
    struct batch_iter iter = batch_iter_of(buf_slice(&bytes));
    struct batch_info info;
    while (batch_iter_next(&iter, &info)) {
        assert_true(info.offset_last >= offset);
        assert_true(batch_crc_ok(info.data));
    }
    buf_fini(&bytes);
    return next;
}

#endif
