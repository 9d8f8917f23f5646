#include "harness.h"
#include "meta/image.h"
#include "repl/quorum.h"

static const struct find_coordinator_response_coordinator *ask(struct harness *h, int8_t type)
{
    struct find_coordinator_request body;
    wire_init(&wire_find_coordinator_request, &body);
    body.key_type = type;
    *find_coordinator_request_coordinator_keys_new(&h->arena, &body, 1) = slice_str("g");
    const struct find_coordinator_response *r =
        harness_call(h, WIRE_API_FIND_COORDINATOR, 4, &body);
    return &r->coordinators[0];
}

/* The first question makes the offsets topic, and its answer can be used. */
static void groups(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(ask(&h, 0)->error_code, 0);
    assert_int_equal(ask(&h, 0)->node_id, 1);
    assert_int_equal(ask(&h, 0)->port, 9092);
    harness_end(&h);
}

/* So does the first question about a transactional id makes the topic of transactions. */
static void transactional_ids(void **state)
{
    (void)state;
    HARNESS(h, "transaction.state.log.num.partitions=3\n"
               "transaction.state.log.replication.factor=1\n");
    assert_int_equal(ask(&h, 1)->error_code, 0);
    assert_int_equal(ask(&h, 1)->node_id, 1);
    struct meta_image *image = quorum_image(node_context(h.node)->quorum);
    const struct meta_topic *topic = meta_image_topic(image, slice_str("__transaction_state"));
    assert_non_null(topic);
    assert_int_equal(topic->partition_count, 3);
    assert_null(meta_image_topic(image, slice_str("__consumer_offsets")));
    meta_image_unref(image);
    harness_end(&h);
}

/* Three replicas are the default; one node is told so, and the client to try again. */
static void too_few_nodes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(ask(&h, 1)->error_code, ERR_COORDINATOR_NOT_AVAILABLE);
    harness_end(&h);
}

static void other_types_are_refused(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(ask(&h, 9)->error_code, ERR_INVALID_REQUEST);
    assert_int_equal(ask(&h, 9)->node_id, -1);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),
        cmocka_unit_test(transactional_ids),
        cmocka_unit_test(too_few_nodes),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
