/* The cleaner on a disk that loses what was not synced: the power goes at any step of a cleaning,
 * and after the next start the last value of every key is there, in order, and can be cleaned. */
#include "sim_io.h"

#include "base/mem.h"
#include "record/builder.h"
#include "record/records.h"
#include "store/cleaner_internal.h"

#include "../unit/unit.h"

#include <stdio.h>

enum { SEEDS = 500, KEYS = 12, BATCHES = 60, NOW = 100000000 };

struct world {
    struct sim *sim;
    struct sim_machine *machine;
    struct io *io;
    struct loop *loop;
    struct log_dirs *dirs;
    struct log *log;
    struct log_dirs_load load;
    bool loaded;
    int64_t last[KEYS]; /* offset of the last record of each key */
    int64_t end;
};

static void loaded(struct log_dirs_load *load)
{
    ((struct world *)load->context)->loaded = true;
}

static bool is_loaded(void *context)
{
    return ((struct world *)context)->loaded;
}

static struct log_config config_of(void)
{
    struct log_config config;
    log_config_init(&config);
    config.segment_size_max = 1000;
    config.index_interval = 100;
    config.cleanup_compact = true;
    config.dirty_ratio_min = 0;
    config.file_delete_delay_ms = 0;
    return config;
}

static void start(struct world *w)
{
    static const char *const paths[] = {"/d"};
    w->io = sim_machine_start(w->machine);
    w->loop = loop_start(w->io, "l");
    if (io_mkdir(w->io, "/d") == ERR_NONE) {
        struct log_meta meta = {.version = 1, .cluster_id = "c", .node_id = 1};
        meta.directory_id.bytes[15] = 200;
        assert_int_equal(log_meta_write(w->io, "/d", &meta), ERR_NONE);
        assert_int_equal(io_sync_dir(w->io, "/"), ERR_NONE);
    }
    struct log_dirs_options options;
    log_dirs_options_init(&options);
    options.io = w->io;
    options.paths = paths;
    options.path_count = 1;
    char *text = NULL;
    assert_int_equal(log_dirs_open(&options, &w->dirs, &text), ERR_NONE);
    w->loaded = false;
    w->load = (struct log_dirs_load){.default_config = config_of(), .done = loaded, .context = w};
    log_dirs_load(w->dirs, w->loop, &w->load);
    assert_true(sim_run_until(w->sim, is_loaded, w, 60000));
    assert_int_equal(w->load.err, ERR_NONE);
    w->log = log_dirs_get(w->dirs, SLICE_LIT("t"), 0);
}

static void append(struct world *w)
{
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    builder_begin(&b, &batch, &options);
    int count = 1 + (int)sim_random_below(w->sim, 4);
    for (int i = 0; i < count; i++) {
        uint8_t key = (uint8_t)sim_random_below(w->sim, KEYS), value[40] = {0};
        be_put_i64(value, w->end + i);
        builder_append(&b, 1000 + w->end, slice_of(&key, 1), slice_of(value, sizeof value));
        w->last[key] = w->end + i;
    }
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct log_appended appended;
    assert_int_equal(log_append(w->log, LOG_COORDINATOR, 0, buf_slice(&batch), &appended),
                     ERR_NONE);
    w->end = log_end(w->log);
    log_set_high_watermark(w->log, w->end);
    buf_fini(&batch);
}

static void flush(struct world *w)
{
    struct log_flush flush;
    while (log_flush_prepare(w->log, &flush)) {
        log_flush_run(&flush);
        assert_int_equal(log_flush_finish(w->log, &flush), ERR_NONE);
    }
}

/* Every value says its offset, offsets rise, the last one of each key is there. */
static void check(struct world *w)
{
    int64_t found[KEYS], last = -1;
    memset(found, -1, sizeof found);
    assert_non_null(w->log);
    assert_int_equal(log_end(w->log), w->end);
    struct buf bytes;
    buf_init(&bytes);
    for (int64_t offset = log_start(w->log), next; offset < w->end; offset = next) {
        buf_clear(&bytes);
        assert_int_equal(log_read_copy(w->log, offset, 1 << 20, INT64_MAX, &bytes, &next),
                         ERR_NONE);
        if (!bytes.size)
            break;
        struct batch_iter iter = batch_iter_of(buf_slice(&bytes));
        struct batch_info info;
        while (batch_iter_next(&iter, &info)) {
            struct records_iter records;
            struct record record;
            assert_int_equal(batch_check(slice_of(info.data, info.size)), ERR_NONE);
            assert_int_equal(records_iter_init(&records, slice_of(info.data, info.size), 0), 0);
            while (records_iter_next(&records, &record)) {
                assert_true(record.offset > last);
                last = record.offset;
                assert_int_equal(be_i64(record.value.data), record.offset);
                found[record.key.data[0]] = record.offset;
            }
            records_iter_fini(&records);
        }
    }
    buf_fini(&bytes);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(found[i], w->last[i]);
}

/* A killed node's memory is lost on purpose. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

/* Cleans, for `steps` calls that change the disk; < 0: to the end. */
static bool clean(struct world *w, int64_t steps)
{
    static const enum sim_op ops[] = {SIM_WRITE,  SIM_FSYNC,  SIM_TRUNCATE,
                                      SIM_RENAME, SIM_UNLINK, SIM_SYNC_DIR};
    if (steps >= 0) {
        struct sim_fault fault = {
            .op = ops[sim_random_below(w->sim, 6)], .skip = steps, .count = -1, .error = ERR_IO};
        sim_fault_add(w->machine, &fault);
    }
    bool cleaned = cleaner_run_now(w->dirs->cleaner, NOW) > 0;
    sim_fault_clear(w->machine);
    return cleaned;
}

static void life(uint64_t seed)
{
    struct world w = {.sim = sim_new(seed)};
    memset(w.last, -1, sizeof w.last);
    w.machine = sim_machine_new(w.sim, "a");
    start(&w);
    struct log_config config = config_of();
    struct uuid id = {{1}};
    assert_int_equal(log_dirs_create(w.dirs, NULL, SLICE_LIT("t"), 0, &id, &config, &w.log),
                     ERR_NONE);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < BATCHES / 4; i++)
            append(&w);
        flush(&w);
        clean(&w, (int64_t)sim_random_below(w.sim, 40));
        sim_machine_power_cut(w.machine);
        start(&w);
        check(&w);
        log_set_high_watermark(w.log, w.end);
    }
    /* A cleaning that was acknowledged by nobody may be repeated; one that ended may be cut off
     * from its power, too. */
    int64_t size = log_size(w.log);
    w.log->first_dirty = 0;
    clean(&w, -1);
    check(&w);
    assert_true(log_size(w.log) <= size);
    sim_machine_power_cut(w.machine);
    start(&w);
    check(&w);
    sim_free(w.sim);
}

static void the_power_goes_at_any_step(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        life(seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_power_goes_at_any_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
