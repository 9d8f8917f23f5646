/* What recovery takes off a log stays off: power cuts right after a recovery. */
#include "../unit/unit.h"

#include "base/buf.h"
#include "record/builder.h"
#include "sim_io.h"
#include "store/log.h"

static void append(struct log *log, int count)
{
    struct buf bytes;
    buf_init(&bytes);
    struct builder_options options = BUILDER_DEFAULTS;
    struct builder builder;
    builder_begin(&builder, &bytes, &options);
    for (int i = 0; i < count; i++)
        builder_append(&builder, 1 + i, SLICE_LIT("key"), SLICE_LIT("value"));
    assert_int_equal(builder_end(&builder), ERR_NONE);
    struct log_appended appended;
    assert_int_equal(log_append(log, LOG_CLIENT, 0, buf_slice(&bytes), &appended), ERR_NONE);
    buf_fini(&bytes);
}

static void flush(struct log *log)
{
    struct log_flush flush;
    if (log_flush_prepare(log, &flush)) {
        log_flush_run(&flush);
        assert_int_equal(log_flush_finish(log, &flush), ERR_NONE);
    }
}

static struct log *open_log(struct io *io, bool compacted)
{
    struct log_open_options options = {.io = io, .path = "/t-0", .topic = SLICE_LIT("t")};
    log_config_init(&options.config);
    options.config.cleanup_compact = compacted;
    struct log *log;
    assert_int_equal(log_open(&options, &log), ERR_NONE);
    assert_int_equal(io_sync_dir(io, "/"), ERR_NONE);
    return log;
}

/* The first of two segments is damaged, so the second one goes. Its offsets are given again before
 * a power cut: then it must not be there again, neither behind a gap (compacted logs may have them)
 * nor where the new end happens to touch it. */
static void dropped_segments_stay_away(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 80; seed++) {
        bool compacted = seed % 2;
        int again = compacted ? 3 : 5;
        struct sim *sim = sim_new(seed);
        struct sim_machine *m = sim_machine_new(sim, "a");
        struct log *log = open_log(sim_machine_start(m), compacted);
        append(log, 5);
        assert_int_equal(log_roll(log), ERR_NONE);
        append(log, 5);
        flush(log);
        log_free(log);
        sim_machine_kill(m);
        assert_true(sim_disk_corrupt(m, "/t-0/00000000000000000000.log", 70, 1));

        log = open_log(sim_machine_start(m), compacted);
        assert_int_equal(log_end(log), 0);
        append(log, again);
        log_free(log);
        sim_machine_power_cut(m);

        log = open_log(sim_machine_start(m), compacted);
        assert_in_range(log_end(log), 0, again);
        log_free(log);
        sim_free(sim);
    }
}

/* With flush.messages=1 recovery flushes what it found. Without room for the checkpoint that goes
 * with it the log opens all the same: its folder would go offline, for good. */
static void a_full_disk_lets_a_flushing_log_open(void **state)
{
    (void)state;
    for (int64_t room = 0; room <= 3 * 4096; room += 4096) {
        struct sim *sim = sim_new(7);
        struct sim_machine *m = sim_machine_new(sim, "a");
        struct log_open_options options = {
            .io = sim_machine_start(m), .path = "/t-0", .topic = SLICE_LIT("t")};
        log_config_init(&options.config);
        struct log *log;
        assert_int_equal(log_open(&options, &log), ERR_NONE);
        append(log, 5);
        log_free(log);
        sim_machine_kill(m);
        options.io = sim_machine_start(m);
        options.config.flush_messages = 1;
        struct io_space space;
        assert_int_equal(io_space(options.io, "/", &space), ERR_NONE);
        sim_disk_set_space(m, space.total - space.free + room);
        assert_int_equal(log_open(&options, &log), ERR_NONE);
        assert_int_equal(log_end(log), 5);
        assert_int_equal(log_durable_end(log), 5); /* what may be shown */
        log_free(log);
        assert_int_equal(io_sync_dir(options.io, "/"), ERR_NONE); /* as log_dirs_load does */
        sim_machine_power_cut(m);
        options.io = sim_machine_start(m);
        assert_int_equal(log_open(&options, &log), ERR_NONE);
        assert_int_equal(log_end(log), 5);
        log_free(log);
        sim_free(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropped_segments_stay_away),
        cmocka_unit_test(a_full_disk_lets_a_flushing_log_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
