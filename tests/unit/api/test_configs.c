#include "harness.h"

#include "conf/dynamic.h"

static const struct describe_configs_response_describe_configs_result *describe(struct harness *h,
                                                                                int8_t type,
                                                                                const char *name,
                                                                                const char *key)
{
    struct describe_configs_request body;
    wire_init(&wire_describe_configs_request, &body);
    body.include_synonyms = true;
    body.include_documentation = true;
    struct describe_configs_request_describe_configs_resource *resource =
        describe_configs_request_resources_new(&h->arena, &body, 1);
    resource->resource_type = type;
    resource->resource_name = slice_str(name);
    resource->configuration_keys_count = -1;
    if (key)
        *describe_configs_request_describe_configs_resource_configuration_keys_new(
            &h->arena, resource, 1) = slice_str(key);
    const struct describe_configs_response *r =
        harness_call(h, WIRE_API_DESCRIBE_CONFIGS, 4, &body);
    assert_int_equal(r->results_count, 1);
    assert_int_equal(r->results[0].resource_type, type);
    assert_slice_eq(r->results[0].resource_name, name);
    return &r->results[0];
}

/* The errors of 4.4.0 (tests/compat, case configs). */
static void refusals(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static const char malformed[] =
        "This most likely occurs because of a request being malformed by the client library or "
        "the message was sent to an incompatible broker. See the broker logs for more details.";
    static const struct {
        int8_t type;
        const char *name;
        int16_t error;
        const char *text;
    } cases[] = {
        {CONF_RESOURCE_TOPIC, "none", ERR_UNKNOWN_TOPIC_OR_PARTITION, ""},
        {CONF_RESOURCE_TOPIC, "", ERR_INVALID_TOPIC_EXCEPTION,
         "Topic name is invalid: the empty string is not allowed"},
        {CONF_RESOURCE_BROKER, "2", ERR_INVALID_REQUEST,
         "Unexpected broker id, expected 1 or empty string, but received 2"},
        {CONF_RESOURCE_BROKER, "x", ERR_INVALID_REQUEST,
         "Broker id must be an integer, but it is: x"},
        {CONF_RESOURCE_BROKER_LOGGER, "2", ERR_INVALID_REQUEST,
         "Unexpected broker id, expected 1 but received 2"},
        {CONF_RESOURCE_BROKER_LOGGER, "", ERR_INVALID_REQUEST, "Broker id must not be empty"},
        {CONF_RESOURCE_GROUP, "", ERR_INVALID_REQUEST, "Group name must not be empty"},
        {CONF_RESOURCE_CLIENT_METRICS, "", ERR_INVALID_REQUEST,
         "Client metrics subscription name must not be empty"},
        {0, "x", ERR_INVALID_REQUEST, malformed},
        {99, "x", ERR_INVALID_REQUEST, malformed},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct describe_configs_response_describe_configs_result *r =
            describe(&h, cases[i].type, cases[i].name, NULL);
        assert_int_equal(r->error_code, cases[i].error);
        assert_slice_eq(r->error_message, cases[i].text);
        assert_int_equal(r->configs_count, 0);
    }
    harness_end(&h);
}

static void entries(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    const struct describe_configs_response_describe_configs_result *r =
        describe(&h, CONF_RESOURCE_TOPIC, "t", NULL);
    assert_int_equal(r->error_code, 0);
    assert_true(r->configs_count > 30);
    r = describe(&h, CONF_RESOURCE_TOPIC, "t", "retention.ms");
    assert_int_equal(r->configs_count, 1);
    assert_slice_eq(r->configs[0].value, "604800000");
    assert_int_equal(r->configs[0].config_source, CONF_SOURCE_DEFAULT);
    assert_int_equal(r->configs[0].synonyms_count, 0); /* the default is that of another key */
    r = describe(&h, CONF_RESOURCE_TOPIC, "t", "max.message.bytes");
    assert_int_equal(r->configs[0].synonyms_count, 1);
    assert_slice_eq(r->configs[0].synonyms[0].name, "message.max.bytes");
    assert_true(r->configs[0].documentation.size > 0);
    r = describe(&h, CONF_RESOURCE_BROKER, "1", "node.id");
    assert_slice_eq(r->configs[0].value, "1");
    assert_true(r->configs[0].read_only);
    assert_int_equal(r->configs[0].config_source, CONF_SOURCE_STATIC);
    r = describe(&h, CONF_RESOURCE_BROKER_LOGGER, "1", "root");
    assert_slice_eq(r->configs[0].value, "ERROR");
    assert_int_equal(r->configs[0].config_source, CONF_SOURCE_BROKER_LOGGER);
    r = describe(&h, CONF_RESOURCE_GROUP, "g", "consumer.session.timeout.ms");
    assert_slice_eq(r->configs[0].value, "45000");
    harness_end(&h);
}

static int32_t list(struct harness *h, int8_t type, int16_t *ret_error)
{
    struct list_config_resources_request body;
    wire_init(&wire_list_config_resources_request, &body);
    if (type)
        *list_config_resources_request_resource_types_new(&h->arena, &body, 1) = type;
    const struct list_config_resources_response *r =
        harness_call(h, WIRE_API_LIST_CONFIG_RESOURCES, 1, &body);
    *ret_error = r->error_code;
    return r->config_resources_count;
}

static void listed(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    int16_t error;
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(list(&h, CONF_RESOURCE_TOPIC, &error), 1);
    assert_int_equal(list(&h, CONF_RESOURCE_BROKER, &error), 1);
    assert_int_equal(list(&h, CONF_RESOURCE_BROKER_LOGGER, &error), 1);
    assert_int_equal(list(&h, CONF_RESOURCE_GROUP, &error), 0);
    assert_int_equal(list(&h, 0, &error), 3);
    assert_int_equal(error, 0);
    assert_int_equal(list(&h, 1, &error), 0);
    assert_int_equal(error, ERR_UNSUPPORTED_VERSION);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(entries),
        cmocka_unit_test(listed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
