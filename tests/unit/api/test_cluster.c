#include "harness.h"

/* The nodes of this listener's kind; the other kind is an error. */
static void nodes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct describe_cluster_request body;
    wire_init(&wire_describe_cluster_request, &body);
    const struct describe_cluster_response *r =
        harness_call(&h, WIRE_API_DESCRIBE_CLUSTER, 2, &body);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->brokers_count, 1);
    assert_int_equal(r->brokers[0].broker_id, 1);
    assert_slice_eq(r->cluster_id, "AAAAAAAAAAAAAAAAAAAAAg");
    body.endpoint_type = 2;
    r = harness_call(&h, WIRE_API_DESCRIBE_CLUSTER, 2, &body);
    assert_int_equal(r->error_code, ERR_MISMATCHED_ENDPOINT_TYPE);
    body.endpoint_type = 7;
    r = harness_call(&h, WIRE_API_DESCRIBE_CLUSTER, 2, &body);
    assert_int_equal(r->error_code, ERR_UNSUPPORTED_ENDPOINT_TYPE);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
