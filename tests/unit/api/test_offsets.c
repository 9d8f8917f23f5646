#include "harness_group.h"

/* A group without members keeps offsets; topics that are not there are told apart. */
static void commit_and_delete(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "g");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(harness_commit(&h, "g", "t", 7), 0);
    assert_int_equal(harness_commit(&h, "g", "unknown", 7), ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_committed(&h, "g", "t"), 7);
    struct offset_delete_request body;
    wire_init(&wire_offset_delete_request, &body);
    body.group_id = slice_str("g");
    struct offset_delete_request_offset_delete_request_topic *t =
        offset_delete_request_topics_new(&h.arena, &body, 2);
    t[0].name = slice_str("unknown");
    t[1].name = slice_str("t");
    for (int i = 0; i < 2; i++)
        offset_delete_request_offset_delete_request_topic_partitions_new(&h.arena, &t[i], 1);
    const struct offset_delete_response *r = harness_call(&h, WIRE_API_OFFSET_DELETE, 0, &body);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->topics[0].partitions[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(r->topics[1].partitions[0].error_code, 0);
    assert_int_equal(harness_committed(&h, "g", "t"), -1);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(commit_and_delete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
