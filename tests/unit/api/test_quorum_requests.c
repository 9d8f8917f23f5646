#include "harness.h"

static const struct describe_quorum_response *describe(struct harness *h, const char *topic,
                                                       int16_t version)
{
    struct describe_quorum_request body;
    wire_init(&wire_describe_quorum_request, &body);
    struct describe_quorum_request_topic_data *t =
        describe_quorum_request_topics_new(&h->arena, &body, 1);
    t->topic_name = slice_str(topic);
    describe_quorum_request_topic_data_partitions_new(&h->arena, t, 1);
    return harness_call(h, WIRE_API_DESCRIBE_QUORUM, version, &body);
}

static void quorum(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    for (int16_t version = 0; version < 3; version++) {
        const struct describe_quorum_response *r = describe(&h, "__cluster_metadata", version);
        const struct describe_quorum_response_partition_data *p = &r->topics[0].partitions[0];
        assert_int_equal(p->error_code, 0);
        assert_int_equal(p->leader_id, 1);
        assert_true(p->high_watermark > 0);
        assert_int_equal(p->current_voters_count, 1);
        assert_int_equal(p->current_voters[0].log_end_offset, p->high_watermark);
        assert_int_equal(r->nodes_count, version < 2 ? 0 : 1);
    }
    const struct describe_quorum_response *r = describe(&h, "other", 2);
    assert_int_equal(r->topics[0].partitions[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_slice_eq(r->topics[0].partitions[0].error_message,
                    "This server does not host this topic-partition.");
    assert_int_equal(r->nodes_count, 0);
    harness_end(&h);
}

static const struct update_features_response *update(struct harness *h, const char *feature,
                                                     int16_t level, int16_t version)
{
    struct update_features_request body;
    wire_init(&wire_update_features_request, &body);
    struct update_features_request_feature_update_key *item =
        update_features_request_feature_updates_new(&h->arena, &body, 1);
    item->feature = slice_str(feature);
    item->max_version_level = level;
    return harness_call(h, WIRE_API_UPDATE_FEATURES, version, &body);
}

static void features(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    const struct update_features_response *r = update(&h, "metadata.version", 33, 1);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->results_count, 1);
    assert_slice_eq(r->results[0].error_message, "NONE");
    r = update(&h, "group.version", 9, 2);
    assert_int_equal(r->error_code, ERR_INVALID_UPDATE_VERSION);
    assert_slice_eq(r->error_message,
                    "The update failed for all features since the following feature had an error: "
                    "Invalid update version 9 for feature group.version. Local controller 1 only "
                    "supports versions 0-1");
    harness_end(&h);
}

static void unregister(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct unregister_broker_request body = {.broker_id = 9};
    const struct unregister_broker_response *r =
        harness_call(&h, WIRE_API_UNREGISTER_BROKER, 0, &body);
    assert_int_equal(r->error_code, ERR_BROKER_ID_NOT_REGISTERED);
    assert_slice_eq(r->error_message, "Broker ID 9 is not currently registered");
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quorum),
        cmocka_unit_test(features),
        cmocka_unit_test(unregister),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
