#include "harness.h"

static void elections(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct elect_leaders_request body;
    wire_init(&wire_elect_leaders_request, &body);
    body.topic_partitions_count = -1;
    const struct elect_leaders_response *r = harness_call(&h, WIRE_API_ELECT_LEADERS, 2, &body);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->replica_election_results_count, 1); /* a topic with nothing to do */
    assert_int_equal(r->replica_election_results[0].partition_result_count, 0);
    struct elect_leaders_request_topic_partitions *t =
        elect_leaders_request_topic_partitions_new(&h.arena, &body, 1);
    t->topic = slice_str("t");
    elect_leaders_request_topic_partitions_partitions_new(&h.arena, t, 2)[1] = 7;
    r = harness_call(&h, WIRE_API_ELECT_LEADERS, 2, &body);
    const struct elect_leaders_response_partition_result *p =
        r->replica_election_results[0].partition_result;
    assert_int_equal(p[0].error_code, ERR_ELECTION_NOT_NEEDED);
    assert_int_equal(p[1].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    body.election_type = 7;
    r = harness_call(&h, WIRE_API_ELECT_LEADERS, 2, &body);
    assert_int_equal(r->error_code, ERR_INVALID_REQUEST);
    assert_slice_eq(r->replica_election_results[0].partition_result[0].error_message,
                    "Unknown election type 7");
    harness_end(&h);
}

static void reassignments(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct alter_partition_reassignments_request body;
    wire_init(&wire_alter_partition_reassignments_request, &body);
    struct alter_partition_reassignments_request_reassignable_topic *t =
        alter_partition_reassignments_request_topics_new(&h.arena, &body, 1);
    t->name = slice_str("t");
    struct alter_partition_reassignments_request_reassignable_partition *p =
        alter_partition_reassignments_request_reassignable_topic_partitions_new(&h.arena, t, 1);
    static const struct {
        int32_t replica; /* 0: null, cancel */
        int16_t error;
    } cases[] = {{1, 0}, {9, ERR_INVALID_REPLICA_ASSIGNMENT}, {0, ERR_NO_REASSIGNMENT_IN_PROGRESS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        p->replicas_count = -1;
        if (cases[i].replica)
            *alter_partition_reassignments_request_reassignable_partition_replicas_new(
                &h.arena, p, 1) = cases[i].replica;
        const struct alter_partition_reassignments_response *r =
            harness_call(&h, WIRE_API_ALTER_PARTITION_REASSIGNMENTS, 1, &body);
        assert_int_equal(r->error_code, 0);
        assert_int_equal(r->responses[0].partitions[0].error_code, cases[i].error);
    }
    struct list_partition_reassignments_request list;
    wire_init(&wire_list_partition_reassignments_request, &list);
    list.topics_count = -1;
    const struct list_partition_reassignments_response *l =
        harness_call(&h, WIRE_API_LIST_PARTITION_REASSIGNMENTS, 0, &list);
    assert_int_equal(l->error_code, 0);
    assert_int_equal(l->topics_count, 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elections),
        cmocka_unit_test(reassignments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
