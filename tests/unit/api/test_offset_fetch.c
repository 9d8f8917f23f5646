#include "harness_group.h"

/* Old versions, all topics, by id, unknown groups. */
static void in_all_shapes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "g");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(harness_commit(&h, "g", "t", 7), 0);
    struct offset_fetch_request body;
    wire_init(&wire_offset_fetch_request, &body);
    body.group_id = slice_str("g");
    body.topics_count = -1;
    const struct offset_fetch_response *r = harness_call(&h, WIRE_API_OFFSET_FETCH, 2, &body);
    assert_int_equal(r->topics_count, 1);
    assert_int_equal(r->topics[0].partitions[0].committed_offset, 7);
    assert_slice_eq(r->topics[0].partitions[0].metadata, "note");

    wire_init(&wire_offset_fetch_request, &body);
    struct offset_fetch_request_offset_fetch_request_group *g =
        offset_fetch_request_groups_new(&h.arena, &body, 2);
    g[0].group_id = slice_str("g");
    g[0].topics_count = -1;
    g[1].group_id = slice_str("other");
    struct offset_fetch_request_offset_fetch_request_topics *t =
        offset_fetch_request_offset_fetch_request_group_topics_new(&h.arena, &g[1], 1);
    memset(t->topic_id.bytes, 9, 16);
    offset_fetch_request_offset_fetch_request_topics_partition_indexes_new(&h.arena, t, 1)[0] = 0;
    r = harness_call(&h, WIRE_API_OFFSET_FETCH, 10, &body);
    assert_int_equal(r->groups_count, 2);
    assert_int_equal(r->groups[0].topics_count, 1);
    assert_false(uuid_is_zero(&r->groups[0].topics[0].topic_id));
    assert_int_equal(r->groups[1].topics[0].partitions[0].error_code, ERR_UNKNOWN_TOPIC_ID);
    assert_int_equal(harness_committed(&h, "nobody", "t"), -1);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_all_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
