/* A shard's plumbing: the mapping of errors, timers, records. */
#include "group_trace.h"

#include "coord/shard.h"

static void test_append_error(void **state)
{
    (void)state;
    static const enum err cases[][2] = {
        {ERR_UNKNOWN_TOPIC_OR_PARTITION, ERR_COORDINATOR_NOT_AVAILABLE},
        {ERR_NOT_ENOUGH_REPLICAS, ERR_COORDINATOR_NOT_AVAILABLE},
        {ERR_REQUEST_TIMED_OUT, ERR_COORDINATOR_NOT_AVAILABLE},
        {ERR_NOT_LEADER_OR_FOLLOWER, ERR_NOT_COORDINATOR},
        {ERR_KAFKA_STORAGE_ERROR, ERR_NOT_COORDINATOR},
        {ERR_IO, ERR_NOT_COORDINATOR},
        {ERR_MESSAGE_TOO_LARGE, ERR_UNKNOWN_SERVER_ERROR},
        {ERR_RECORD_LIST_TOO_LARGE, ERR_UNKNOWN_SERVER_ERROR},
        {ERR_INVALID_FETCH_SIZE, ERR_UNKNOWN_SERVER_ERROR},
        {ERR_NOT_COORDINATOR, ERR_NOT_COORDINATOR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(shard_append_error(cases[i][0]), cases[i][1]);
}

static void test_records(void **state)
{
    (void)state;
    struct shard_records records;
    shard_records_init(&records);
    buf_put_str(&records.bytes, "keyvalue");
    shard_records_close(&records, 0, 3, false);
    buf_put_str(&records.bytes, "gone");
    shard_records_close(&records, 8, 12, true);
    assert_int_equal(records.count, 2);
    struct shard_span spans[2];
    memcpy(spans, records.spans.data, sizeof spans);
    assert_int_equal(spans[0].key_size, 3);
    assert_int_equal(spans[0].value_size, 5);
    assert_int_equal(spans[1].key_size, 4);
    assert_true(spans[1].value_size == SIZE_MAX);
    shard_records_fini(&records);
}

/* Batches carry producer id -1 and base sequence 0, as Kafka's group coordinator writes them. */
static void test_batch_header(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 1);
    assert_int_equal(batch_producer_id(t->log.data), -1);
    assert_int_equal(batch_producer_epoch(t->log.data), -1);
    assert_int_equal(batch_base_sequence(t->log.data), 0);
    assert_int_equal(batch_attributes(t->log.data), 0);
    assert_int_equal(batch_base_timestamp(t->log.data), t->event.wall_ms);
    trace_free(t);
}

static void test_compression(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    config.compression = CODEC_LZ4;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    commit_offset(t, "a", "t", 0, 1);
    assert_int_equal(batch_codec(t->log.data), CODEC_LZ4);
    trace_restart(t);
    fetch_offset(t, "g", "t", 0);
    expect(t, "a commit NONE\nt-0 1 7 '' NONE\n");
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_error),
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_batch_header),
        cmocka_unit_test(test_compression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
