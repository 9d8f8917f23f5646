#include "harness.h"

static const struct describe_producers_response_partition_response *ask(struct harness *h,
                                                                        const char *topic,
                                                                        int32_t partition)
{
    struct describe_producers_request body;
    wire_init(&wire_describe_producers_request, &body);
    struct describe_producers_request_topic_request *t =
        describe_producers_request_topics_new(&h->arena, &body, 1);
    t->name = slice_str(topic);
    *describe_producers_request_topic_request_partition_indexes_new(&h->arena, t, 1) = partition;
    const struct describe_producers_response *r =
        harness_call(h, WIRE_API_DESCRIBE_PRODUCERS, 0, &body);
    assert_slice_eq(r->topics[0].name, topic);
    assert_int_equal(r->topics[0].partitions[0].partition_index, partition);
    return &r->topics[0].partitions[0];
}

/* An idempotent batch of one record with sequence 0. */
static void produce_idempotent(struct harness *h, const char *topic)
{
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = 77;
    options.producer_epoch = 3;
    options.base_sequence = 0;
    builder_begin(&b, &batch, &options);
    builder_append(&b, io_wall_ms(h->io), SLICE_NULL, slice_str("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct produce_request body;
    wire_init(&wire_produce_request, &body);
    body.acks = -1;
    struct produce_request_topic_produce_data *t =
        produce_request_topic_data_new(&h->arena, &body, 1);
    t->name = slice_str(topic);
    produce_request_topic_produce_data_partition_data_new(&h->arena, t, 1)->records.bytes =
        buf_slice(&batch);
    const struct produce_response *r = harness_call(h, WIRE_API_PRODUCE, 9, &body);
    assert_int_equal(r->responses[0].partition_responses[0].error_code, 0);
    buf_fini(&batch);
}

static void active(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(ask(&h, "t", 0)->active_producers_count, 0);
    produce_idempotent(&h, "t");
    const struct describe_producers_response_partition_response *r = ask(&h, "t", 0);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->active_producers_count, 1);
    assert_int_equal(r->active_producers[0].producer_id, 77);
    assert_int_equal(r->active_producers[0].producer_epoch, 3);
    assert_int_equal(r->active_producers[0].last_sequence, 0);
    assert_int_equal(r->active_producers[0].current_txn_start_offset, -1);
    harness_end(&h);
}

/* As 4.4.0 answers: the sentence comes with the topic's errors only. */
static void unknown(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    const struct describe_producers_response_partition_response *r = ask(&h, "t", 7);
    assert_int_equal(r->error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_true(slice_is_null(r->error_message));
    r = ask(&h, "none", 0);
    assert_int_equal(r->error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_slice_eq(r->error_message, "This server does not host this topic-partition.");
    r = ask(&h, ".", 0);
    assert_int_equal(r->error_code, ERR_INVALID_TOPIC_EXCEPTION);
    assert_slice_eq(r->error_message, "Topic name is invalid: '.' is not allowed");
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(active),
        cmocka_unit_test(unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
