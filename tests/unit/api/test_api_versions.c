#include "harness.h"

static const struct api_versions_response *ask(struct harness *h, int16_t version)
{
    struct api_versions_request body;
    wire_init(&wire_api_versions_request, &body);
    body.client_software_name = slice_str("unit");
    body.client_software_version = slice_str("1.0");
    return harness_call(h, WIRE_API_API_VERSIONS, version, &body);
}

/* Produce is announced from 0 although 3 is the first version served. */
static void served_apis_are_announced(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    const struct api_versions_response *r = ask(&h, 4);
    assert_int_equal(r->error_code, 0);
    bool produce = false, vote = false;
    for (int32_t i = 0; i < r->api_keys_count; i++) {
        if (r->api_keys[i].api_key == WIRE_API_PRODUCE) {
            produce = true;
            assert_int_equal(r->api_keys[i].min_version, 0);
            assert_int_equal(r->api_keys[i].max_version, 13);
        }
        vote |= r->api_keys[i].api_key == WIRE_API_VOTE;
    }
    assert_true(produce);
    assert_false(vote);
    harness_end(&h);
}

/* Before version 4, features that start at level 0 are left out. */
static void features_fit_the_version(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    const struct api_versions_response *r3 = ask(&h, 3), *r4 = ask(&h, 4);
    assert_int_equal(r3->supported_features_count, 1);
    assert_slice_eq(r3->supported_features[0].name, "metadata.version");
    assert_int_equal(r4->supported_features_count, 7);
    assert_true(r4->finalized_features_epoch >= 0);
    harness_end(&h);
}

static void bad_client_names_are_refused(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct api_versions_request body;
    wire_init(&wire_api_versions_request, &body);
    body.client_software_name = slice_str("-x");
    body.client_software_version = slice_str("1");
    const struct api_versions_response *r = harness_call(&h, WIRE_API_API_VERSIONS, 3, &body);
    assert_int_equal(r->error_code, ERR_INVALID_REQUEST);
    assert_int_equal(r->api_keys_count, 0);
    harness_end(&h);
}

/* Version 5, as seen on Apache Kafka 4.4.0: cluster and node are named both or neither, and must be
 * those of the node that was reached. */
static void version_5_names_the_node(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static const struct {
        const char *cluster;
        int32_t node;
        int16_t error;
    } cases[] = {
        {NULL, -1, ERR_NONE},
        {"AAAAAAAAAAAAAAAAAAAAAg", 1, ERR_NONE},
        {"AAAAAAAAAAAAAAAAAAAAAg", -1, ERR_INVALID_REQUEST},
        {NULL, 1, ERR_INVALID_REQUEST},
        {"AAAAAAAAAAAAAAAAAAAAAg", 77, ERR_REBOOTSTRAP_REQUIRED},
        {"zzz", 1, ERR_REBOOTSTRAP_REQUIRED},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct api_versions_request body;
        wire_init(&wire_api_versions_request, &body);
        body.client_software_name = body.client_software_version = slice_str("1");
        body.cluster_id = slice_str(cases[i].cluster);
        body.node_id = cases[i].node;
        const struct api_versions_response *r = harness_call(&h, WIRE_API_API_VERSIONS, 5, &body);
        assert_int_equal(r->error_code, cases[i].error);
    }
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(served_apis_are_announced),
        cmocka_unit_test(features_fit_the_version),
        cmocka_unit_test(bad_client_names_are_refused),
        cmocka_unit_test(version_5_names_the_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
