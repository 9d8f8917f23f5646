#include "harness.h"

/* Pipelined requests are answered in order; one with acks=0 takes no place in it. */
static void answers_leave_in_order(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct produce_request produce;
    wire_init(&wire_produce_request, &produce);
    produce.acks = 0;
    harness_ask(&h, h.fd, WIRE_API_PRODUCE, 9, &produce);
    struct metadata_request metadata;
    wire_init(&wire_metadata_request, &metadata);
    harness_ask(&h, h.fd, WIRE_API_METADATA, 1, &metadata);
    struct list_groups_request groups;
    wire_init(&wire_list_groups_request, &groups);
    harness_ask(&h, h.fd, WIRE_API_LIST_GROUPS, 4, &groups);
    const struct metadata_response *first = harness_answer(&h, h.fd, WIRE_API_METADATA, 1);
    assert_non_null(first);
    assert_int_equal(first->brokers_count, 1);
    assert_non_null(harness_answer(&h, h.fd, WIRE_API_LIST_GROUPS, 4));
    harness_end(&h);
}

/* A request that is parked when its connection goes is ended, and the node can stop. */
static void a_parked_request_loses_its_connection(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = 60000;
    body.min_bytes = 1;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h.arena, &body, 1);
    topic->topic = slice_str("t");
    fetch_request_fetch_topic_partitions_new(&h.arena, topic, 1)->partition_max_bytes = 1000;
    int fd = harness_connect(&h);
    harness_ask(&h, fd, WIRE_API_FETCH, 11, &body);
    usleep(20000);
    struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
    for (int i = 0; i < 1000 && node_context(h.node)->request_count; i++)
        usleep(1000);
    assert_int_equal(node_context(h.node)->request_count, 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_leave_in_order),
        cmocka_unit_test(a_parked_request_loses_its_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
