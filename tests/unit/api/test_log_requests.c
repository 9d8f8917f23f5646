#include "harness.h"

/* DeleteRecords: -1 is the high watermark, at or below the start is success, above it an error. */
static void delete_records(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_produce(&h, "t", 0, 10);
    static const struct {
        int64_t offset, low;
        int16_t error;
    } cases[] = {{4, 4, 0}, {2, 4, 0}, {11, -1, ERR_OFFSET_OUT_OF_RANGE}, {-1, 10, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct delete_records_request body;
        wire_init(&wire_delete_records_request, &body);
        struct delete_records_request_delete_records_topic *t =
            delete_records_request_topics_new(&h.arena, &body, 1);
        t->name = slice_str("t");
        delete_records_request_delete_records_topic_partitions_new(&h.arena, t, 1)->offset =
            cases[i].offset;
        const struct delete_records_response *r =
            harness_call(&h, WIRE_API_DELETE_RECORDS, 2, &body);
        assert_int_equal(r->topics[0].partitions[0].error_code, cases[i].error);
        assert_int_equal(r->topics[0].partitions[0].low_watermark, cases[i].low);
    }
    harness_end(&h);
}

/* Of a partition named again counts what was said last. */
static void delete_records_named_twice(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 2), 0);
    harness_produce(&h, "t", 0, 10);
    struct delete_records_request body;
    wire_init(&wire_delete_records_request, &body);
    struct delete_records_request_delete_records_topic *t =
        delete_records_request_topics_new(&h.arena, &body, 2);
    t[0].name = t[1].name = slice_str("t");
    struct delete_records_request_delete_records_partition *p =
        delete_records_request_delete_records_topic_partitions_new(&h.arena, &t[0], 2);
    p[0].offset = 7;
    p[1].partition_index = 1;
    p[1].offset = 0;
    delete_records_request_delete_records_topic_partitions_new(&h.arena, &t[1], 1)->offset = 3;
    const struct delete_records_response *r = harness_call(&h, WIRE_API_DELETE_RECORDS, 2, &body);
    assert_int_equal(r->topics_count, 2);
    assert_int_equal(r->topics[0].partitions_count, 1);
    assert_int_equal(r->topics[0].partitions[0].partition_index, 1);
    assert_int_equal(r->topics[1].partitions_count, 1);
    assert_int_equal(r->topics[1].partitions[0].low_watermark, 3);
    harness_end(&h);
}

/* The epoch found and where it ends; an unknown one is (-1, -1). */
static void epoch_ends(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_produce(&h, "t", 0, 10);
    struct offset_for_leader_epoch_request body;
    wire_init(&wire_offset_for_leader_epoch_request, &body);
    struct offset_for_leader_epoch_request_offset_for_leader_topic *t =
        offset_for_leader_epoch_request_topics_new(&h.arena, &body, 1);
    t->topic = slice_str("t");
    struct offset_for_leader_epoch_request_offset_for_leader_partition *p =
        offset_for_leader_epoch_request_offset_for_leader_topic_partitions_new(&h.arena, t, 1);
    const struct offset_for_leader_epoch_response *r =
        harness_call(&h, WIRE_API_OFFSET_FOR_LEADER_EPOCH, 4, &body);
    assert_int_equal(r->topics[0].partitions[0].leader_epoch, 0);
    assert_int_equal(r->topics[0].partitions[0].end_offset, 10);
    p->leader_epoch = 99;
    r = harness_call(&h, WIRE_API_OFFSET_FOR_LEADER_EPOCH, 4, &body);
    assert_int_equal(r->topics[0].partitions[0].end_offset, -1);
    p->current_leader_epoch = 99;
    r = harness_call(&h, WIRE_API_OFFSET_FOR_LEADER_EPOCH, 4, &body);
    assert_int_equal(r->topics[0].partitions[0].error_code, ERR_UNKNOWN_LEADER_EPOCH);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(delete_records),
        cmocka_unit_test(delete_records_named_twice),
        cmocka_unit_test(epoch_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
