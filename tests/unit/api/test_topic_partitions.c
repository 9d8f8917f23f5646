#include "harness.h"

static const struct describe_topic_partitions_response *ask(struct harness *h, const char *names,
                                                            int32_t limit, const char *cursor,
                                                            int32_t index)
{
    struct describe_topic_partitions_request body;
    wire_init(&wire_describe_topic_partitions_request, &body);
    struct describe_topic_partitions_request_topic_request *items =
        describe_topic_partitions_request_topics_new(&h->arena, &body, (int32_t)strlen(names));
    for (size_t i = 0; i < strlen(names); i++)
        items[i].name = slice_of(names + i, 1);
    struct describe_topic_partitions_request_cursor at = {slice_str(cursor), index};
    body.response_partition_limit = limit;
    body.cursor = cursor ? &at : NULL;
    return harness_call(h, WIRE_API_DESCRIBE_TOPIC_PARTITIONS, 0, &body);
}

/* Five partitions in pages of two, by following the cursor. */
static void pages(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "a", 3), 0);
    assert_int_equal(harness_create(&h, "b", 2), 0);
    const struct describe_topic_partitions_response *r = ask(&h, "", 2, NULL, 0);
    assert_int_equal(r->topics_count, 1);
    assert_int_equal(r->topics[0].partitions_count, 2);
    assert_int_equal(r->topics[0].partitions[1].leader_id, 1);
    assert_int_equal(r->topics[0].partitions[1].isr_nodes_count, 1);
    assert_int_equal(r->topics[0].partitions[1].eligible_leader_replicas_count, 0);
    assert_int_equal(r->topics[0].topic_authorized_operations, 3576);
    assert_slice_eq(r->next_cursor->topic_name, "a");
    assert_int_equal(r->next_cursor->partition_index, 2);
    r = ask(&h, "", 2, "a", 2);
    assert_int_equal(r->topics_count, 2);
    assert_int_equal(r->topics[0].partitions[0].partition_index, 2);
    assert_slice_eq(r->topics[1].name, "b");
    assert_slice_eq(r->next_cursor->topic_name, "b");
    assert_int_equal(r->next_cursor->partition_index, 1);
    r = ask(&h, "", 2, "b", 1);
    assert_int_equal(r->topics_count, 1);
    assert_null(r->next_cursor);
    /* A page that ends with a topic: the next one begins with the topic after it. */
    r = ask(&h, "", 3, NULL, 0);
    assert_int_equal(r->topics_count, 1);
    assert_slice_eq(r->next_cursor->topic_name, "b");
    assert_int_equal(r->next_cursor->partition_index, 0);
    harness_end(&h);
}

static void named(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "b", 1), 0);
    const struct describe_topic_partitions_response *r = ask(&h, "zb/b", 100, NULL, 0);
    assert_int_equal(r->topics_count, 3); /* sorted, each once */
    assert_int_equal(r->topics[0].error_code, ERR_INVALID_TOPIC_EXCEPTION);
    assert_slice_eq(r->topics[0].name, "/");
    assert_int_equal(r->topics[1].error_code, 0);
    assert_int_equal(r->topics[2].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_null(r->next_cursor);
    r = ask(&h, "zb", 100, "b", -1);
    assert_int_equal(r->topics_count, 2);
    assert_int_equal(r->topics[0].error_code, ERR_INVALID_REQUEST);
    assert_int_equal(r->topics[1].error_code, ERR_INVALID_REQUEST);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages),
        cmocka_unit_test(named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
