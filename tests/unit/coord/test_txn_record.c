/* Records byte for byte as Apache Kafka 4.4.0 writes them (golden_txn_log.h), and those that no
 * coordinator writes. */
#include <stdio.h>

#include "golden_txn_log.h"
#include "txn_trace.h"

enum { GOLDEN_COUNT = sizeof golden_txn_log / sizeof *golden_txn_log };

static void put_hex(struct buf *out, const char *hex)
{
    for (; *hex; hex += 2) {
        unsigned byte;
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        buf_put_i8(out, (int8_t)byte);
    }
}

/* Calls `look` with each golden record. */
static void each_golden(void (*look)(void *arg, int index, const struct record *record), void *arg)
{
    for (int i = 0; i < GOLDEN_COUNT; i++) {
        struct buf batch;
        struct records_iter iter;
        struct record record;
        buf_init(&batch);
        put_hex(&batch, golden_txn_log[i]);
        assert_int_equal(batch_check(buf_slice(&batch)), ERR_NONE);
        assert_int_equal(batch_base_sequence(batch.data), -1);
        assert_int_equal(records_iter_init(&iter, buf_slice(&batch), 0), ERR_NONE);
        assert_true(records_iter_next(&iter, &record));
        look(arg, i, &record);
        assert_false(records_iter_next(&iter, &record));
        records_iter_fini(&iter);
        buf_fini(&batch);
    }
}

/* Kafka's order of topics is that of a hash map: only these have more than one. */
static bool has_topics_unordered(int index)
{
    return index == 2 || index == 3;
}

static void encode_again(void *arg, int index, const struct record *record)
{
    (void)arg;
    struct slice id;
    struct txn_view *view;
    struct shard_records records;
    assert_int_equal(txn_record_key(record->key, &id), ERR_NONE);
    assert_int_equal(txn_record_value(record->value, &view), ERR_NONE);
    shard_records_init(&records);
    txn_record_put(&records, id, view, 2);
    assert_int_equal(records.bytes.size, record->key.size + record->value.size);
    assert_memory_equal(records.bytes.data, record->key.data, record->key.size);
    if (!has_topics_unordered(index))
        assert_memory_equal(records.bytes.data + record->key.size, record->value.data,
                            record->value.size);
    txn_view_free(view);
    shard_records_fini(&records);
}

static void test_encoded_as_kafka(void **state)
{
    (void)state;
    each_golden(encode_again, NULL);
}

/* The same requests at the same times make the same records. */
struct run {
    struct trace *t;
    int index;
};

static void set_clock(void *arg, int index, const struct record *record)
{
    struct run *run = arg;
    struct txn_view *view;
    if (index != run->index)
        return;
    assert_int_equal(txn_record_value(record->value, &view), ERR_NONE);
    run->t->event.wall_ms = view->update_ms;
    txn_view_free(view);
}

/* The clock of golden record `index`, whose request comes next. */
static void at(struct trace *t, int index)
{
    struct run run = {t, index};
    each_golden(set_clock, &run);
    int ours = 0;
    struct batch_iter iter = batch_iter_of(buf_slice(&t->log));
    struct batch_info info;
    while (batch_iter_next(&iter, &info))
        ours++;
    assert_int_equal(ours, index);
}

static void compare(void *arg, int index, const struct record *golden)
{
    struct trace *t = arg;
    struct batch_iter batches = batch_iter_of(buf_slice(&t->log));
    struct batch_info info = {0};
    struct records_iter iter;
    struct record ours;
    for (int i = 0; i <= index; i++)
        assert_true(batch_iter_next(&batches, &info));
    assert_int_equal(batch_base_sequence(info.data), -1);
    assert_int_equal(batch_producer_id(info.data), -1);
    assert_int_equal(records_iter_init(&iter, slice_of(info.data, info.size), 0), ERR_NONE);
    assert_true(records_iter_next(&iter, &ours));
    assert_true(slice_eq(ours.key, golden->key));
    assert_int_equal(ours.value.size, golden->value.size);
    if (!has_topics_unordered(index))
        assert_memory_equal(ours.value.data, golden->value.data, golden->value.size);
    records_iter_fini(&iter);
}

static void init_timeout(struct trace *t, const char *id, int32_t timeout_ms)
{
    struct init_producer_id_request request;
    wire_init(&wire_init_producer_id_request, &request);
    request.transactional_id = slice_str(id);
    request.transaction_timeout_ms = timeout_ms;
    init_request(t, 5, &request);
}

static void tick_timeouts(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    t->event.now_ms += t->config.transaction_abort_check_ms;
    coord_shard_tick(t->shard, &t->event, &update);
    trace_deliver(t, &update);
}

static void test_written_as_kafka(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.transaction_abort_check_ms = 1000;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    t->producer_id_next = 0;

    at(t, 0), init(t, "x");
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic topics[2] = {
        {SLICE_LIT("ta"), (int32_t[]){0}, 1}, {SLICE_LIT("tb"), (int32_t[]){1}, 1}};
    at(t, 1), add_topics(t, "x", 0, 0, topics, 2, 3);
    at(t, 2), add_offsets(t, "x", 0, 0, 1);
    at(t, 3), end_v1(t, "x", 0, 0, true);
    at(t, 4), markers_done(t);
    at(t, 5), add(t, "x", 0, 0, "ta", 2);
    at(t, 6), end(t, "x", 0, 0, true);
    at(t, 7), markers_done(t);
    at(t, 8), t->hold = true, end(t, "x", 0, 1, false);
    at(t, 9), t->hold = false, commit_all(t);
    at(t, 10), add(t, "x", 0, 2, "ta", 1);
    at(t, 11), init(t, "x");
    at(t, 12), markers_done(t);
    at(t, 13), init(t, "x");
    at(t, 14), init_as(t, "x", 0, 4);
    at(t, 15), init_timeout(t, "y", 1000);
    at(t, 16), add(t, "y", 1, 0, "ta", 0);
    at(t, 17), tick_timeouts(t);
    at(t, 18), markers_done(t);
    at(t, 19), t->hold = true, end(t, "y", 1, 1, false);
    at(t, 20), t->hold = false, commit_all(t);
    at(t, 21), init_timeout(t, "z", 1000);
    at(t, 22), add_version(t, "z", 2, 0, "ta", 0, 3, false);
    at(t, 23), tick_timeouts(t);
    at(t, 24), markers_done(t);
    at(t, 25), init(t, "e");
    at(t, 26), t->hold = true, end(t, "e", 3, 0, false);
    at(t, 27), t->hold = false, commit_all(t);
    at(t, 28), add(t, "e", 3, 1, "ta", 0);
    at(t, 29), init_as(t, "q", 777, 3);
    each_golden(compare, t);
    buf_clear(&t->lines);
    trace_free(t);
}

static void load(void *arg, int index, const struct record *record)
{
    (void)record;
    put_hex(&((struct trace *)arg)->log, golden_txn_log[index]);
    ((struct trace *)arg)->log_end++;
}

static void test_read_from_kafka(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    each_golden(load, t);
    trace_restart(t);
    t->event.wall_ms = 1796070268309;
    describe(t, "x");
    describe(t, "y");
    describe(t, "z");
    describe(t, "e");
    describe(t, "q");
    expect(t, "x Empty 0/5 timeout 60000 start -1\n"
              "y CompleteAbort 1/2 timeout 1000 start 96070223728\n"
              "z CompleteAbort 2/1 timeout 1000 start 96070223735\n"
              "e Ongoing 3/1 timeout 60000 start 96070227989 ta-0\n"
              "q Empty 4/0 timeout 60000 start -1\n");
    trace_free(t);
}

/* transaction.version 0 writes what older coordinators understand. */
static void test_version_0(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.transaction_version = 0;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    init(t, "x");
    add_version(t, "x", 1000, 0, "t", 1, 3, false);
    end_v1(t, "x", 1000, 0, false);
    markers_done(t);
    static const uint8_t first[] = {0, 0, 0, 0,    0,    0, 0,    0,    3,    0xe8, 0,
                                    0, 0, 0, 0xea, 0x60, 0, 0xff, 0xff, 0xff, 0xff};
    struct record record;
    struct records_iter iter;
    struct batch_iter batches = batch_iter_of(buf_slice(&t->log));
    struct batch_info info;
    assert_true(batch_iter_next(&batches, &info));
    assert_int_equal(records_iter_init(&iter, slice_of(info.data, info.size), 0), ERR_NONE);
    assert_true(records_iter_next(&iter, &record));
    assert_memory_equal(record.value.data, first, sizeof first);
    assert_int_equal(record.value.size, sizeof first + 16);
    records_iter_fini(&iter);
    buf_clear(&t->lines);
    show_log(t, 1);
    expect(t, "x Ongoing 1000<-1>-1/0 timeout 60000 start 0 update 0 v0 t-1\n"
              "x PrepareAbort 1000<-1>-1/0 timeout 60000 start 0 update 0 v0 t-1\n"
              "x CompleteAbort 1000<-1>-1/0 timeout 60000 start 0 update 0 v0\n");
    trace_restart(t);
    describe(t, "x");
    expect(t, "x CompleteAbort 1000/0 timeout 60000 start 0\n");
    trace_free(t);
}

static void test_keys(void **state)
{
    (void)state;
    struct slice id;
    assert_int_equal(txn_record_key(SLICE_LIT("\0\0\0\2ab"), &id), ERR_NONE);
    assert_slice_eq(id, "ab");
    assert_int_equal(txn_record_key(SLICE_LIT("\0\1whatever"), &id), ERR_NONE);
    assert_true(slice_is_null(id));
    assert_int_equal(txn_record_key(SLICE_LIT("\0\0\0\3ab"), &id), ERR_CORRUPT);
    assert_int_equal(txn_record_key(SLICE_LIT("\0\0\xff\xff"), &id), ERR_CORRUPT);
    assert_int_equal(txn_record_key(SLICE_LIT("\0\0\0"), &id), ERR_CORRUPT);
    assert_int_equal(txn_record_key(SLICE_LIT("\0"), &id), ERR_CORRUPT);
    assert_int_equal(txn_record_key(SLICE_LIT(""), &id), ERR_CORRUPT);
    assert_int_equal(txn_record_key(SLICE_NULL, &id), ERR_CORRUPT);
}

static void cut(void *arg, int index, const struct record *record)
{
    (void)arg, (void)index;
    struct txn_view *view;
    for (size_t size = 0; size < record->value.size; size++)
        assert_int_equal(txn_record_value(slice_of(record->value.data, size), &view), ERR_CORRUPT);
    /* The state comes behind version, producer id, epoch and timeout. */
    uint8_t bytes[512];
    assert_true(record->value.size < sizeof bytes);
    memcpy(bytes, record->value.data, record->value.size);
    for (int status = 6; status < 256; status++) {
        bytes[16] = (uint8_t)status;
        assert_int_equal(txn_record_value(slice_of(bytes, record->value.size), &view), ERR_CORRUPT);
    }
    /* From a later version: skipped. */
    bytes[1] = 2;
    view = (struct txn_view *)bytes;
    assert_int_equal(txn_record_value(slice_of(bytes, record->value.size), &view), ERR_NONE);
    assert_null(view);
}

static void test_broken_values(void **state)
{
    (void)state;
    each_golden(cut, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_encoded_as_kafka),
        cmocka_unit_test(test_written_as_kafka),
        cmocka_unit_test(test_read_from_kafka),
        cmocka_unit_test(test_version_0),
        cmocka_unit_test(test_keys),
        cmocka_unit_test(test_broken_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
