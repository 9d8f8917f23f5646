#include "harness.h"
#include "record/batch.h"

static const struct list_offsets_response_list_offsets_partition_response *ask(struct harness *h,
                                                                               int16_t version,
                                                                               int64_t timestamp)
{
    struct list_offsets_request body;
    wire_init(&wire_list_offsets_request, &body);
    body.replica_id = -1;
    struct list_offsets_request_list_offsets_topic *topic =
        list_offsets_request_topics_new(&h->arena, &body, 1);
    topic->name = slice_str("t");
    list_offsets_request_list_offsets_topic_partitions_new(&h->arena, topic, 1)->timestamp =
        timestamp;
    const struct list_offsets_response *r = harness_call(h, WIRE_API_LIST_OFFSETS, version, &body);
    return &r->topics[0].partitions[0];
}

/* Special timestamps, each from the version that brought it. */
static void special_timestamps(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_produce(&h, "t", 0, 3);
    assert_int_equal(ask(&h, 1, -1)->offset, 3);
    assert_int_equal(ask(&h, 1, -2)->offset, 0);
    assert_int_equal(ask(&h, 6, -3)->error_code, ERR_UNSUPPORTED_VERSION);
    assert_int_equal(ask(&h, 7, -3)->error_code, 0);
    assert_int_equal(ask(&h, 7, -4)->error_code, ERR_UNSUPPORTED_VERSION);
    assert_int_equal(ask(&h, 8, -4)->offset, 0);
    assert_int_equal(ask(&h, 9, -5)->offset, -1);
    assert_int_equal(ask(&h, 11, -6)->offset, -1);
    assert_int_equal(ask(&h, 11, -7)->error_code, ERR_UNSUPPORTED_VERSION);
    harness_end(&h);
}

/* Nothing at or after the time: -1 and no error. */
static void times(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(ask(&h, 5, 0)->offset, -1);
    harness_produce(&h, "t", 0, 3);
    assert_int_equal(ask(&h, 5, 0)->offset, 0);
    assert_int_equal(ask(&h, 5, INT64_MAX)->offset, -1);
    assert_int_equal(ask(&h, 5, INT64_MAX)->timestamp, -1);
    harness_end(&h);
}

static void a_partition_named_twice(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct list_offsets_request body;
    wire_init(&wire_list_offsets_request, &body);
    body.replica_id = -1;
    struct list_offsets_request_list_offsets_topic *topic =
        list_offsets_request_topics_new(&h.arena, &body, 1);
    topic->name = slice_str("t");
    list_offsets_request_list_offsets_topic_partitions_new(&h.arena, topic, 2);
    const struct list_offsets_response *r = harness_call(&h, WIRE_API_LIST_OFFSETS, 5, &body);
    assert_int_equal(r->topics[0].partitions_count, 1);
    assert_int_equal(r->topics[0].partitions[0].error_code, ERR_INVALID_REQUEST);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(special_timestamps),
        cmocka_unit_test(times),
        cmocka_unit_test(a_partition_named_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
