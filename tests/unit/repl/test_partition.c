#include "../temp_dir.h"

#include "base/mem.h"
#include "os/diag.h"
#include "os/io_linux.h"
#include "record/builder.h"
#include "repl/partition_table.h"
#include "store/log_dirs.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A partition over a log that stands alone. */
struct fixture {
    struct io *io;
    char dir[TEMP_DIR_SIZE];
    struct log *log;
    struct partition *partition;
    struct topic_config config;
};

static const struct uuid topic_id = {{1, 2, 3}};

static void start(struct fixture *f)
{
    *f = (struct fixture){0};
    temp_dir_make(f->dir, "/tmp");
    f->io = io_linux_new();
    diag_init(f->io, NULL, NULL);
    char path[96];
    snprintf(path, sizeof path, "%s/t-0", f->dir);
    struct log_open_options options = {.io = f->io, .path = path, .topic = slice_str("t")};
    log_config_init(&options.config);
    assert_int_equal(log_open(&options, &f->log), ERR_NONE);
    f->config.flush_messages = f->config.flush_ms = INT64_MAX;
    f->config.min_insync_replicas = 1;
    f->config.cleanup_delete = true;
    f->partition = partition_new(f->io, slice_str("t"), &topic_id, 0, f->log, &f->config);
    struct partition_state state = {
        .leader_id = 1, .leading = true, .leader_epoch = 3, .isr_count = 1, .replica_count = 1};
    assert_int_equal(partition_set_state(f->partition, &state), ERR_NONE);
}

static void end(struct fixture *f)
{
    assert_true(partition_has_log(f->partition));
    struct log *log = partition_take_log(f->partition, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_false(partition_has_log(f->partition));
    partition_unref(f->partition);
    assert_int_equal(log_close(log, false), ERR_NONE);
    log_free(log);
    io_linux_free(f->io);
    temp_dir_remove(f->dir);
}

/* producer_id < 0: not idempotent. */
static enum err append_as(struct fixture *f, int64_t producer_id, int count,
                          struct partition_append *ret_append)
{
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    if (producer_id >= 0) {
        options.producer_id = producer_id;
        options.producer_epoch = 0;
        options.base_sequence = 0;
    }
    builder_begin(&b, &batch, &options);
    for (int i = 0; i < count; i++)
        builder_append(&b, 1000 + i, slice_str("k"), slice_str("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    *ret_append = (struct partition_append){
        .origin = LOG_CLIENT, .all_in_sync = true, .batches = buf_slice(&batch)};
    enum err err = partition_append(f->partition, ret_append);
    buf_fini(&batch);
    return err;
}

static enum err append(struct fixture *f, int count, struct partition_append *ret_append)
{
    return append_as(f, -1, count, ret_append);
}

static void the_only_replica_commits_at_once(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct partition_append a;
    assert_int_equal(append(&f, 3, &a), ERR_NONE);
    assert_int_equal(a.appended.offset_first, 0);
    assert_int_equal(a.offset_next, 3);
    assert_int_equal(a.high_watermark, 3);
    struct partition_read read = {.offset = 1,
                                  .current_epoch = -1,
                                  .last_fetched_epoch = -1,
                                  .size_max = 1 << 20,
                                  .whole_first = true};
    assert_int_equal(partition_read(f.partition, &read), ERR_NONE);
    assert_int_equal(read.read.offset_base, 0);
    assert_int_equal(read.high_watermark, 3);
    log_range_release(&read.read.range);
    end(&f);
}

/* The client's epoch is looked at before leadership. */
static void epochs_fence(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct partition_ends ends;
    assert_int_equal(partition_ends(f.partition, 2, &ends), ERR_FENCED_LEADER_EPOCH);
    assert_int_equal(partition_ends(f.partition, 4, &ends), ERR_UNKNOWN_LEADER_EPOCH);
    assert_int_equal(partition_ends(f.partition, 3, &ends), ERR_NONE);
    struct partition_state other = {.leader_id = 2, .leader_epoch = 4, .isr_count = 2};
    assert_int_equal(partition_set_state(f.partition, &other), ERR_NONE);
    assert_int_equal(partition_ends(f.partition, 3, &ends), ERR_FENCED_LEADER_EPOCH);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NOT_LEADER_OR_FOLLOWER);
    struct partition_append a;
    assert_int_equal(append(&f, 1, &a), ERR_NOT_LEADER_OR_FOLLOWER);
    assert_int_equal(a.leader_id, 2);
    assert_int_equal(a.leader_epoch, 4);
    end(&f);
}

static void too_few_in_sync(void **none)
{
    (void)none;
    struct fixture f;
    start(&f);
    f.config.min_insync_replicas = 2;
    struct log_config log_config;
    log_config_init(&log_config);
    partition_set_config(f.partition, &f.config, &log_config);
    struct partition_append a;
    /* One replica: more than it is not asked for. */
    assert_int_equal(append(&f, 1, &a), ERR_NONE);
    struct partition_state state = {
        .leader_id = 1, .leading = true, .leader_epoch = 3, .isr_count = 1, .replica_count = 2};
    assert_int_equal(partition_set_state(f.partition, &state), ERR_NONE);
    assert_int_equal(append(&f, 1, &a), ERR_NOT_ENOUGH_REPLICAS);
    state.replica_count = 5;
    state.isr_count = 2;
    assert_int_equal(partition_set_state(f.partition, &state), ERR_NONE);
    assert_int_equal(append(&f, 1, &a), ERR_NONE);
    end(&f);
}

/* flush.messages=1: after a flush that failed on a full disk the folder's background job makes the
 * records durable, and the producer, still without an answer, sends them again. */
static void a_repeat_moves_the_watermark(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    f.config.flush_messages = 1;
    struct log_config log_config;
    log_config_init(&log_config); /* so that the append itself does not flush */
    partition_set_config(f.partition, &f.config, &log_config);
    struct partition_append a;
    assert_int_equal(append_as(&f, 5, 2, &a), ERR_NONE);
    assert_int_equal(a.high_watermark, 0);
    assert_true(a.flush_waits);
    struct log_flush flush;
    assert_true(log_flush_prepare(f.log, &flush));
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f.log, &flush), ERR_NONE);
    assert_int_equal(append_as(&f, 5, 2, &a), ERR_NONE);
    assert_true(a.appended.duplicate);
    assert_int_equal(a.high_watermark, 2);
    assert_false(a.flush_waits);
    end(&f);
}

/* flush.messages=1: the high watermark waits for the disk, then follows by itself. */
static void flushing_holds_the_watermark(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct log_config log_config;
    log_config_init(&log_config);
    log_config.flush_messages = f.config.flush_messages = 1;
    partition_set_config(f.partition, &f.config, &log_config);
    struct partition_append a;
    assert_int_equal(append(&f, 1, &a), ERR_NONE);
    struct partition_ends ends = {0};
    for (int i = 0; i < 5000 && ends.high_watermark < 1; i++) {
        usleep(1000);
        assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    }
    assert_int_equal(ends.high_watermark, 1);
    end(&f);
}

/* The same on a disk that has no room for the leader epochs: the records are as durable, so that
 * who waits for them is answered. */
static void a_full_disk_moves_the_watermark(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct log_config log_config;
    log_config_init(&log_config);
    log_config.flush_messages = f.config.flush_messages = 1;
    partition_set_config(f.partition, &f.config, &log_config);
    char *path = mem_printf("%s/leader-epoch-checkpoint.tmp", log_path(f.log));
    assert_int_equal(symlink("/dev/full", path), 0);
    struct partition_append a;
    assert_int_equal(append(&f, 1, &a), ERR_NONE);
    struct partition_ends ends = {0};
    for (int i = 0; i < 5000 && ends.high_watermark < 1; i++) {
        usleep(1000);
        assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    }
    assert_int_equal(ends.high_watermark, 1);
    lock_take(&f.partition->lock);
    assert_int_equal(log_recovery_point(f.log), 0);
    lock_release(&f.partition->lock);
    unlink(path);
    mem_free(path);
    end(&f);
}

/* DeleteRecords and ListOffsets over a log whose start moved. */
static void the_start_moves(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct partition_append a;
    assert_int_equal(append(&f, 5, &a), ERR_NONE);
    int64_t low = -1;
    assert_int_equal(partition_delete_records(f.partition, 6, &low), ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(partition_delete_records(f.partition, 2, &low), ERR_NONE);
    assert_int_equal(low, 2);
    struct log_time_offset found;
    assert_int_equal(partition_list_offset(f.partition, -1, LIST_EARLIEST, PARTITION_TO_HW, &found),
                     ERR_NONE);
    assert_int_equal(found.offset, 2);
    assert_int_equal(partition_list_offset(f.partition, -1, 1000, PARTITION_TO_HW, &found),
                     ERR_NONE);
    assert_int_equal(found.offset, 2);
    assert_int_equal(partition_delete_records(f.partition, -1, &low), ERR_NONE);
    assert_int_equal(low, 5);
    end(&f);
}

static void watches_look_before_they_wait(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct partition_append a;
    assert_int_equal(append(&f, 5, &a), ERR_NONE);
    struct watch watch = {.offset = WATCH_BYTES};
    list_init(&watch.link);
    assert_false(partition_watch(f.partition, WATCH_HW, &watch, 4, 3));
    assert_false(partition_watch(f.partition, WATCH_HW, &watch, 5, 2));
    assert_true(partition_watch(f.partition, WATCH_HW, &watch, 5, 3));
    partition_unwatch(f.partition, &watch);
    watch.offset = 5;
    assert_false(partition_watch(f.partition, WATCH_HW, &watch, 0, 3));
    watch.offset = 6;
    assert_true(partition_watch(f.partition, WATCH_HW, &watch, 0, 3));
    partition_unwatch(f.partition, &watch);
    end(&f);
}

static void found_by_name_and_id(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct partition_table *table = partition_table_new();
    partition_table_add(table, partition_ref(f.partition));
    struct partition *found = partition_table_get(table, slice_str("t"), 0);
    assert_ptr_equal(found, f.partition);
    partition_unref(found);
    found = partition_table_get_id(table, &topic_id, 0);
    assert_ptr_equal(found, f.partition);
    partition_unref(found);
    assert_null(partition_table_get(table, slice_str("t"), 1));
    assert_null(partition_table_get(table, slice_str(""), 0));
    partition_unref(partition_table_remove(table, slice_str("t"), 0));
    assert_null(partition_table_get_id(table, &topic_id, 0));
    assert_null(partition_table_get(table, slice_str("t"), 0));
    partition_table_free(table);
    end(&f);
}

/* Kafka's walk of a transactional produce: verify, append, mark. */
static void transactions_are_verified_and_ended(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = 7;
    options.producer_epoch = 0;
    options.base_sequence = 0;
    options.transactional = true;
    builder_begin(&b, &batch, &options);
    builder_append(&b, 1000, slice_str("k"), slice_str("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct partition_append append = {.origin = LOG_CLIENT, .batches = buf_slice(&batch)};
    assert_int_equal(partition_append(f.partition, &append), ERR_INVALID_TXN_STATE);
    assert_int_equal(partition_verify_begin(f.partition, 7, 0, 0, true, &append.guard), ERR_NONE);
    assert_int_equal(partition_append(f.partition, &append), ERR_NONE);
    struct partition_ends ends;
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 1);
    assert_int_equal(ends.last_stable, 0);
    struct partition_marker marker = {.producer_id = 7,
                                      .producer_epoch = 0,
                                      .coordinator_epoch = 5,
                                      .commit = true,
                                      .transaction_version = 2};
    struct partition_append marked;
    assert_int_equal(partition_append_marker(f.partition, &marker, &marked),
                     ERR_INVALID_PRODUCER_EPOCH);
    marker.producer_epoch = 1;
    assert_int_equal(partition_append_marker(f.partition, &marker, &marked), ERR_NONE);
    assert_int_equal(marked.offset_next, 2);
    assert_int_equal(marked.high_watermark, 2);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.last_stable, 2);
    assert_int_equal(partition_verify_begin(f.partition, 7, 0, 1, true, &append.guard),
                     ERR_INVALID_PRODUCER_EPOCH);
    /* A marker has the timestamp type of its topic. */
    assert_int_equal(marked.appended.append_time_ms, -1);
    f.config.timestamp_type = TOPIC_TIMESTAMP_APPEND;
    struct log_config log_config;
    log_config_init(&log_config);
    partition_set_config(f.partition, &f.config, &log_config);
    marker.producer_epoch = 2;
    assert_int_equal(partition_append_marker(f.partition, &marker, &marked), ERR_NONE);
    assert_true(marked.appended.append_time_ms > 0);
    buf_fini(&batch);
    end(&f);
}

static void resumed(struct parked *parked)
{
    (void)parked;
}

/* A marker makes the whole transaction visible to read_committed fetches at once: they count all of
 * it towards fetch.min.bytes, and nothing while it is open. */
static void a_marker_shows_the_whole_transaction(void **state)
{
    (void)state;
    struct fixture f;
    start(&f);
    struct loop *loop = loop_start(f.io, "test");
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = 7;
    options.producer_epoch = 0;
    options.base_sequence = 0;
    options.transactional = true;
    builder_begin(&b, &batch, &options);
    for (int i = 0; i < 50; i++)
        builder_append(&b, 1000, slice_str("key"), slice_str("value"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct parked committed, uncommitted;
    parked_init(&committed, loop, (int64_t)batch.size, resumed);
    parked_init(&uncommitted, loop, (int64_t)batch.size, resumed);
    struct watch lso = {.parked = &committed, .offset = WATCH_BYTES};
    struct watch hw = {.parked = &uncommitted, .offset = WATCH_BYTES};
    list_init(&lso.link);
    list_init(&hw.link);
    assert_true(partition_watch(f.partition, WATCH_LSO, &lso, 0, 3));
    assert_true(partition_watch(f.partition, WATCH_HW, &hw, 0, 3));
    struct partition_append append = {.origin = LOG_CLIENT, .batches = buf_slice(&batch)};
    assert_int_equal(partition_verify_begin(f.partition, 7, 0, 0, true, &append.guard), ERR_NONE);
    assert_int_equal(partition_append(f.partition, &append), ERR_NONE);
    assert_int_equal(atomic_load(&uncommitted.missing), 0);
    assert_int_equal(atomic_load(&committed.missing), (int64_t)batch.size);
    struct partition_marker marker = {.producer_id = 7, .producer_epoch = 1};
    struct partition_append marked;
    assert_int_equal(partition_append_marker(f.partition, &marker, &marked), ERR_NONE);
    int64_t marker_size = log_size(f.log) - (int64_t)batch.size;
    assert_int_equal(atomic_load(&committed.missing), -marker_size);
    partition_unwatch(f.partition, &lso);
    partition_unwatch(f.partition, &hw);
    loop_stop(loop); /* both were posted */
    buf_fini(&batch);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_marker_shows_the_whole_transaction),
        cmocka_unit_test(transactions_are_verified_and_ended),
        cmocka_unit_test(the_only_replica_commits_at_once),
        cmocka_unit_test(epochs_fence),
        cmocka_unit_test(too_few_in_sync),
        cmocka_unit_test(flushing_holds_the_watermark),
        cmocka_unit_test(a_full_disk_moves_the_watermark),
        cmocka_unit_test(a_repeat_moves_the_watermark),
        cmocka_unit_test(the_start_moves),
        cmocka_unit_test(watches_look_before_they_wait),
        cmocka_unit_test(found_by_name_and_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
