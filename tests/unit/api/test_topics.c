#include "harness.h"

/* What is wrong is told per topic. */
static void create_and_delete(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 3), 0);
    assert_int_equal(harness_create(&h, "t", 3), ERR_TOPIC_ALREADY_EXISTS);
    assert_int_equal(harness_create(&h, "a/b", 3), ERR_INVALID_TOPIC_EXCEPTION);
    assert_int_equal(harness_produce(&h, "t", 2, 1)->error_code, 0);
    struct delete_topics_request body;
    wire_init(&wire_delete_topics_request, &body);
    struct delete_topics_request_delete_topic_state *items =
        delete_topics_request_topics_new(&h.arena, &body, 2);
    items[0].name = slice_str("t");
    items[1].name = slice_str("unknown");
    const struct delete_topics_response *r = harness_call(&h, WIRE_API_DELETE_TOPICS, 6, &body);
    assert_int_equal(r->responses_count, 2);
    for (int32_t i = 0; i < 2; i++)
        assert_int_equal(r->responses[i].error_code, slice_eq_str(r->responses[i].name, "t")
                                                         ? ERR_NONE
                                                         : ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_produce(&h, "t", 2, 1)->error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    harness_end(&h);
}

/* More partitions serve at once. */
static void more_partitions(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct create_partitions_request body;
    wire_init(&wire_create_partitions_request, &body);
    struct create_partitions_request_create_partitions_topic *item =
        create_partitions_request_topics_new(&h.arena, &body, 1);
    item->name = slice_str("t");
    item->count = 4;
    item->assignments_count = -1;
    const struct create_partitions_response *r =
        harness_call(&h, WIRE_API_CREATE_PARTITIONS, 3, &body);
    assert_int_equal(r->results[0].error_code, 0);
    assert_int_equal(harness_produce(&h, "t", 3, 1)->error_code, 0);
    harness_end(&h);
}

/* Every topic can be written to in the request after its creation. */
static void a_new_topic_is_live(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof name, "t%d", i);
        assert_int_equal(harness_create(&h, name, 1), 0);
        assert_int_equal(harness_produce(&h, name, 0, 1)->error_code, 0);
    }
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(create_and_delete),
        cmocka_unit_test(more_partitions),
        cmocka_unit_test(a_new_topic_is_live),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
