/* Log folders over the real file system, with a loop; waiting for what is done on it. */
#ifndef KLAMM_TESTS_DIRS_FIXTURE_H
#define KLAMM_TESTS_DIRS_FIXTURE_H

#include "store_fixture.h"

#include "os/lock.h"
#include "store/log_dirs.h"

struct dirs_fixture {
    struct store_fixture *f;
    struct log_dirs *dirs;
    struct loop *loop;
    struct log_dirs_options options;
    char paths[2][128];
    const char *path_list[2];
    int64_t producer_id_next;
    struct log_dirs_load load;
    struct log_dirs_stop stop;
    int done; /* atomic */
};

static inline void dirs_begin(struct dirs_fixture *x, struct store_fixture *f, int count)
{
    memset(x, 0, sizeof *x);
    x->f = f;
    x->loop = loop_start(f->io, "test");
    log_dirs_options_init(&x->options);
    x->options.io = f->io;
    x->options.paths = x->path_list;
    x->options.path_count = count;
    x->options.node_id = 1;
    x->options.reserve_client = x->options.reserve_coordinator = x->options.reserve_part = 0;
    for (int i = 0; i < count; i++) {
        snprintf(x->paths[i], sizeof x->paths[i], "%s/d%d", f->root, i);
        x->path_list[i] = x->paths[i];
        assert_int_equal(io_mkdir(f->io, x->paths[i]), ERR_NONE);
        struct log_meta meta = {.version = 1, .cluster_id = "cluster", .node_id = 1};
        meta.directory_id.bytes[15] = (uint8_t)(200 + i);
        assert_int_equal(log_meta_write(f->io, x->paths[i], &meta), ERR_NONE);
    }
}

static inline void dirs_wait(struct dirs_fixture *x)
{
    for (int i = 0; i < 10000 && !__atomic_load_n(&x->done, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    assert_int_equal(x->done, 1);
    x->done = 0;
}

static inline void dirs_loaded(struct log_dirs_load *load)
{
    struct dirs_fixture *x = load->context;
    __atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
}

static inline void dirs_stopped(struct log_dirs_stop *stop)
{
    struct dirs_fixture *x = stop->context;
    __atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
}

static inline void dirs_open_as(struct dirs_fixture *x, enum err expected)
{
    char *text = NULL;
    enum err err = log_dirs_open(&x->options, &x->dirs, &text);
    if (err)
        print_message("%s\n", text);
    assert_int_equal(err, ERR_NONE);
    x->load = (struct log_dirs_load){.default_config = x->f->options.config,
                                     .producer_id_next = x->producer_id_next,
                                     .done = dirs_loaded,
                                     .context = x};
    x->load.default_config.file_delete_delay_ms = 0;
    log_dirs_load(x->dirs, x->loop, &x->load);
    dirs_wait(x);
    assert_int_equal(x->load.err, expected);
}

static inline void dirs_open(struct dirs_fixture *x)
{
    dirs_open_as(x, ERR_NONE);
}

static inline struct log *dirs_create(struct dirs_fixture *x, const char *topic, int32_t partition)
{
    struct uuid id = {{1, 2, 3, (uint8_t)topic[0]}};
    struct log *log;
    assert_int_equal(log_dirs_create(x->dirs, NULL, slice_str(topic), partition, &id,
                                     &x->load.default_config, &log),
                     ERR_NONE);
    return log;
}

static inline void dirs_append(struct dirs_fixture *x, struct log *log, int count)
{
    struct builder_options options = BUILDER_DEFAULTS;
    struct log_appended a;
    assert_int_equal(
        log_append(log, LOG_CLIENT, 0, store_batch(x->f, &options, count, 20, 1000), &a), ERR_NONE);
    log_set_high_watermark(log, log_end(log));
}

static inline void dirs_stop(struct dirs_fixture *x)
{
    x->stop = (struct log_dirs_stop){.broker_epoch = 42, .done = dirs_stopped, .context = x};
    log_dirs_stop(x->dirs, x->loop, &x->stop);
    dirs_wait(x);
    log_dirs_free(x->dirs);
    x->dirs = NULL;
}

static inline void dirs_end(struct dirs_fixture *x)
{
    log_dirs_free(x->dirs);
    loop_stop(x->loop);
}

/* Text of a file in folder 0; "" when it is not there. Valid until the next call. */
static inline const char *dirs_text(struct dirs_fixture *x, const char *name)
{
    static char text[4096];
    char path[300];
    snprintf(path, sizeof path, "%s/%s", x->paths[0], name);
    FILE *file = fopen(path, "r");
    size_t size = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    return text;
}

#endif
