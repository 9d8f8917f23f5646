#include "harness.h"

static const struct describe_cluster_response *ask(struct harness *h)
{
    struct describe_cluster_request body;
    wire_init(&wire_describe_cluster_request, &body);
    return harness_call(h, WIRE_API_DESCRIBE_CLUSTER, 0, &body);
}

static void advertised_as_told(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_slice_eq(ask(&h)->brokers[0].host, "127.0.0.1");
    assert_int_equal(ask(&h)->brokers[0].port, 9092);
    harness_end(&h);
}

static void advertised_as_reached(void **state)
{
    (void)state;
    HARNESS(h, "klamm.advertise.as.reached=true\n");
    assert_int_equal(ask(&h)->brokers[0].port, node_port(h.node));
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(advertised_as_told),
        cmocka_unit_test(advertised_as_reached),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
