#include "harness.h"

#include "api/change.h"

struct shutdown {
    struct quorum_op op;
    struct latch done;
};

static void shutdown_done(struct quorum_op *op)
{
    latch_open(&((struct shutdown *)op)->done);
}

static void shut_down(struct harness *h)
{
    struct shutdown shutdown = {.op = {.done = shutdown_done, .loop = h->loop, .arena = &h->arena}};
    latch_init(&shutdown.done);
    quorum_shutdown(node_context(h->node)->quorum, &shutdown.op);
    latch_wait(&shutdown.done);
    latch_fini(&shutdown.done);
    assert_int_equal(shutdown.op.error, ERR_NONE);
}

/* After the shutdown of the metadata log, changes are refused: every item gets the error. */
static void refused(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    shut_down(&h);
    struct elect_leaders_request elect;
    wire_init(&wire_elect_leaders_request, &elect);
    struct elect_leaders_request_topic_partitions *t =
        elect_leaders_request_topic_partitions_new(&h.arena, &elect, 1);
    t->topic = slice_str("t");
    elect_leaders_request_topic_partitions_partitions_new(&h.arena, t, 1);
    const struct elect_leaders_response *e = harness_call(&h, WIRE_API_ELECT_LEADERS, 2, &elect);
    assert_int_not_equal(e->error_code, 0);
    assert_int_equal(e->replica_election_results[0].partition_result[0].error_code, e->error_code);
    struct incremental_alter_configs_request alter;
    wire_init(&wire_incremental_alter_configs_request, &alter);
    struct incremental_alter_configs_request_alter_configs_resource *resources =
        incremental_alter_configs_request_resources_new(&h.arena, &alter, 2);
    resources[0].resource_type = 2;
    resources[0].resource_name = slice_str("t");
    resources[1].resource_type = 8; /* is settled without the controller */
    resources[1].resource_name = slice_str("1");
    const struct incremental_alter_configs_response *a =
        harness_call(&h, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 1, &alter);
    assert_int_equal(a->responses[0].error_code, e->error_code);
    assert_int_equal(a->responses[1].error_code, 0);
    assert_int_equal(harness_create(&h, "u", 1), e->error_code);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
