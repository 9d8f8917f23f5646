#include "harness.h"

/* The base offset is that of the first record. */
static void offsets_follow(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 10)->base_offset, 0);
    const struct produce_response_partition_produce_response *p = harness_produce(&h, "t", 0, 5);
    assert_int_equal(p->error_code, 0);
    assert_int_equal(p->base_offset, 10);
    assert_int_equal(p->log_append_time_ms, -1);
    assert_int_equal(p->log_start_offset, 0);
    harness_end(&h);
}

static int16_t produce_bytes(struct harness *h, int16_t acks, struct slice bytes)
{
    struct produce_request body;
    wire_init(&wire_produce_request, &body);
    body.acks = acks;
    struct produce_request_topic_produce_data *t =
        produce_request_topic_data_new(&h->arena, &body, 1);
    t->name = slice_str("t");
    produce_request_topic_produce_data_partition_data_new(&h->arena, t, 1)->records.bytes = bytes;
    const struct produce_response *r = harness_call(h, WIRE_API_PRODUCE, 9, &body);
    return r->responses[0].partition_responses[0].error_code;
}

/* An error for the partition; the connection lives. */
static void bad_requests_are_answered(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    uint8_t junk[100] = {0};
    assert_int_equal(produce_bytes(&h, 2, slice_of(junk, 5)), ERR_INVALID_REQUIRED_ACKS);
    /* What is not even framed comes first (seen). */
    assert_int_equal(produce_bytes(&h, 2, slice_of(junk, 100)), ERR_CORRUPT_MESSAGE);
    assert_int_equal(produce_bytes(&h, 1, slice_of(junk, 100)), ERR_CORRUPT_MESSAGE);
    assert_int_equal(harness_produce(&h, "u", 0, 1)->error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_produce(&h, "t", 7, 1)->error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_produce(&h, "t", 0, 1)->base_offset, 0);
    harness_end(&h);
}

/* acks=0 with an error closes the connection. */
static void acks_0_with_an_error_closes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct produce_request body;
    wire_init(&wire_produce_request, &body);
    struct produce_request_topic_produce_data *t =
        produce_request_topic_data_new(&h.arena, &body, 1);
    t->name = slice_str("unknown");
    produce_request_topic_produce_data_partition_data_new(&h.arena, t, 1);
    int fd = harness_connect(&h);
    harness_ask(&h, fd, WIRE_API_PRODUCE, 9, &body);
    assert_null(harness_answer(&h, fd, WIRE_API_PRODUCE, 9));
    close(fd);
    harness_end(&h);
}

/* With flush.messages=1 the answer waits for the flush, and comes. */
static void group_commit_acknowledges(void **state)
{
    (void)state;
    HARNESS(h, "log.flush.interval.messages=1\n");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    for (int i = 0; i < 5; i++) {
        const struct produce_response_partition_produce_response *p =
            harness_produce(&h, "t", 0, 2);
        assert_int_equal(p->error_code, 0);
        assert_int_equal(p->base_offset, 2 * i);
    }
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_follow),
        cmocka_unit_test(bad_requests_are_answered),
        cmocka_unit_test(acks_0_with_an_error_closes),
        cmocka_unit_test(group_commit_acknowledges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
