#include "store/log.h"

#include "store_fixture.h"

/* The batches of Kafka's segments, appended again with the same settings, must give the same files:
 * same rolls, same indexes, same snapshots. */
static void gives_kafkas_files(void **state)
{
    static const char *const names[] = {"00000000000000000000", "00000000000000000012",
                                        "00000000000000000023"};
    static const char *const suffixes[] = {".log", ".index", ".timeindex", ".snapshot"};
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    f->options.clean = true;
    store_open(f);
    struct buf bytes;
    buf_init(&bytes);
    int64_t next = 0;
    while (next < log_end(f->log))
        assert_int_equal(log_read_copy(f->log, next, 1 << 20, INT64_MAX, &bytes, &next), ERR_NONE);
    log_free(f->log);
    f->log = NULL;
    snprintf(f->path, sizeof f->path, "%s/again-0", f->root);
    f->options.config.segment_size_max = 1500;
    f->options.config.index_interval = 200;
    f->options.clean = false;
    store_open(f);
    struct batch_iter iter = batch_iter_of(buf_slice(&bytes));
    struct batch_info info;
    while (batch_iter_next(&iter, &info)) {
        struct log_appended a;
        assert_int_equal(log_append(f->log, LOG_CLIENT, 0, slice_of(info.data, info.size), &a),
                         ERR_NONE);
        assert_int_equal(a.offset_first, info.offset_base);
    }
    assert_int_equal(log_close(f->log, true), ERR_NONE);
    for (size_t i = 0; i < 3; i++) {
        for (size_t j = 0; j < (i ? 4u : 3u); j++) {
            char name[64];
            snprintf(name, sizeof name, "%s%s", names[i], suffixes[j]);
            assert_true(store_same_as_golden(f, "small-0", name));
        }
    }
    assert_true(store_same_as_golden(f, "small-0", "00000000000000000030.snapshot"));
    assert_true(store_same_as_golden(f, "small-0", "leader-epoch-checkpoint"));
    buf_fini(&bytes);
}

static void transactions_give_kafkas_files(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "txn-0");
    f->options.clean = true;
    store_open(f);
    struct buf bytes;
    buf_init(&bytes);
    int64_t next = 0;
    while (next < log_end(f->log))
        assert_int_equal(log_read_copy(f->log, next, 1 << 20, INT64_MAX, &bytes, &next), ERR_NONE);
    log_free(f->log);
    f->log = NULL;
    snprintf(f->path, sizeof f->path, "%s/again-0", f->root);
    f->options.clean = false;
    f->options.config.index_interval = 512;
    store_open(f);
    struct batch_iter iter = batch_iter_of(buf_slice(&bytes));
    struct batch_info info;
    while (batch_iter_next(&iter, &info)) {
        struct log_appended a;
        enum log_origin origin = batch_is_control(info.data) ? LOG_COORDINATOR : LOG_CLIENT;
        assert_int_equal(log_append(f->log, origin, 0, slice_of(info.data, info.size), &a),
                         ERR_NONE);
        log_set_high_watermark(f->log, log_end(f->log));
    }
    assert_int_equal(log_last_stable(f->log), 8);
    assert_int_equal(log_close(f->log, true), ERR_NONE);
    static const char *const files[] = {
        "00000000000000000000.log",       "00000000000000000000.timeindex",
        "00000000000000000003.log",       "00000000000000000003.index",
        "00000000000000000003.timeindex", "00000000000000000003.txnindex",
        "00000000000000000003.snapshot",  "00000000000000000015.snapshot"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_true(store_same_as_golden(f, "txn-0", files[i]));
    }
    buf_fini(&bytes);
}

static void repeats_get_their_first_answer(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    for (int i = 0; i < 6; i++)
        assert_int_equal(store_produce(f, 9, 0, i * 2, 2, false, 100, &a), ERR_NONE);
    int64_t size = log_size(f->log);
    assert_int_equal(store_produce(f, 9, 0, 4, 2, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(a.offset_first, 4);
    assert_int_equal(a.offset_last, 5);
    assert_int_equal(store_produce(f, 9, 0, 0, 2, false, 100, &a),
                     ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(store_produce(f, 9, 0, 13, 2, false, 100, &a),
                     ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(log_size(f->log), size);
    assert_int_equal(log_end(f->log), 12);
    /* Over a clean stop only the newest is known, over a crash all come back from the log. */
    store_crash(f, 0);
    assert_int_equal(store_produce(f, 9, 0, 4, 2, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(a.offset_first, 4);
    store_reopen(f);
    assert_int_equal(store_produce(f, 9, 0, 10, 2, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(a.offset_first, 10);
    assert_int_equal(store_produce(f, 9, 0, 12, 2, false, 100, &a), ERR_NONE);
    assert_false(a.duplicate);
    assert_int_equal(a.offset_first, 12);
}

static void sets_offsets_and_epoch(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = 77;
    options.leader_epoch = 99;
    struct slice one = store_batch(f, &options, 3, 5, 10);
    /* Seven batches at once are more than are gathered, two are not. */
    for (int count = 2; count <= 7; count += 5) {
        struct buf many;
        struct log_appended a;
        buf_init(&many);
        for (int i = 0; i < count; i++)
            buf_put_slice(&many, one);
        struct slice before = slice_dup(buf_slice(&many));
        int64_t end = log_end(f->log);
        assert_int_equal(log_append(f->log, LOG_COORDINATOR, 6, buf_slice(&many), &a), ERR_NONE);
        assert_true(slice_eq(before, buf_slice(&many))); /* the caller's bytes stay */
        slice_free(&before);
        assert_int_equal(a.offset_first, end);
        assert_int_equal(a.offset_last, end + 3 * count - 1);
        buf_fini(&many);
    }
    struct buf bytes;
    int64_t next;
    buf_init(&bytes);
    assert_int_equal(log_read_copy(f->log, 0, 1 << 20, INT64_MAX, &bytes, &next), ERR_NONE);
    struct batch_iter iter = batch_iter_of(buf_slice(&bytes));
    struct batch_info info;
    int64_t offset = 0;
    while (batch_iter_next(&iter, &info)) {
        assert_int_equal(info.offset_base, offset);
        assert_int_equal(info.leader_epoch, 6);
        assert_true(batch_crc_ok(info.data));
        offset += 3;
    }
    assert_int_equal(offset, 27);
    buf_fini(&bytes);
}

static void replicas_keep_offsets(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = 10;
    options.leader_epoch = 4;
    assert_int_equal(log_append(f->log, LOG_REPLICA, -1, store_batch(f, &options, 3, 5, 10), &a),
                     ERR_NONE);
    assert_int_equal(log_end(f->log), 13);
    assert_int_equal(log_epoch_latest(f->log), 4);
    assert_int_equal(log_append(f->log, LOG_REPLICA, -1, store_batch(f, &options, 3, 5, 10), &a),
                     ERR_OFFSET_OUT_OF_RANGE);
    /* Offsets beyond 31 bits above the base ask for another segment. */
    options.base_offset = (int64_t)INT32_MAX + 10;
    assert_int_equal(log_append(f->log, LOG_REPLICA, -1, store_batch(f, &options, 3, 5, 10), &a),
                     ERR_NONE);
    assert_int_equal(log_segment_count(f->log), 2);
    assert_int_equal(store_read(f, 11, 1 << 20), 13);
    assert_int_equal(store_read(f, 13, 1 << 20), (int64_t)INT32_MAX + 13);
}

static void rolls_by_size_time_and_index(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.segment_size_max = 1000;
    f->options.config.segment_ms = 5000;
    store_open(f);
    struct log_appended a;
    struct builder_options options = BUILDER_DEFAULTS;
    assert_int_equal(log_append(f->log, LOG_CLIENT, 0, store_batch(f, &options, 1, 1000, 0), &a),
                     ERR_RECORD_LIST_TOO_LARGE);
    store_append(f, 1, 400, 1000);
    store_append(f, 1, 400, 1000);
    assert_int_equal(log_segment_count(f->log), 1);
    store_append(f, 1, 400, 1000);
    assert_int_equal(log_segment_count(f->log), 2);
    store_append(f, 1, 10, 6000);
    assert_int_equal(log_segment_count(f->log), 2);
    store_append(f, 1, 10, 6001);
    assert_int_equal(log_segment_count(f->log), 3);
    struct log_config config = f->options.config;
    config.index_interval = 0;
    config.index_size_max = 24;
    config.segment_size_max = 1 << 20;
    log_set_config(f->log, &config);
    for (int i = 0; i < 3; i++)
        store_append(f, 1, 10, 6001 + i);
    assert_int_equal(log_segment_count(f->log), 4);
}

static void nonsense_is_refused(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    struct builder_options options = BUILDER_DEFAULTS;
    struct slice batch = store_batch(f, &options, 3, 5, 10);
    assert_int_equal(log_append(f->log, LOG_CLIENT, 0, slice_sub(batch, 0, batch.size - 1), &a),
                     ERR_CORRUPT_MESSAGE);
    assert_int_equal(log_append(f->log, LOG_CLIENT, 0, slice_sub(batch, 0, 0), &a),
                     ERR_CORRUPT_MESSAGE);
    assert_int_equal(log_end(f->log), 0);
    assert_int_equal(log_size(f->log), 0);
}

static void log_append_time_is_told(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    struct builder_options options = BUILDER_DEFAULTS;
    options.log_append_time = true;
    options.log_append_time_ms = 777;
    assert_int_equal(log_append(f->log, LOG_CLIENT, 0, store_batch(f, &options, 3, 5, 10), &a),
                     ERR_NONE);
    assert_int_equal(a.append_time_ms, 777);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(gives_kafkas_files),
        STORE_TEST(transactions_give_kafkas_files),
        STORE_TEST(repeats_get_their_first_answer),
        STORE_TEST(sets_offsets_and_epoch),
        STORE_TEST(replicas_keep_offsets),
        STORE_TEST(rolls_by_size_time_and_index),
        STORE_TEST(nonsense_is_refused),
        STORE_TEST(log_append_time_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
