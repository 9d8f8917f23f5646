#include "harness.h"

#include "conf/dynamic.h"
#include "repl/partition_table.h"

struct asked {
    int8_t type;
    const char *name, *key, *value;
};

static const struct incremental_alter_configs_response *alter(struct harness *h,
                                                              const struct asked *asked, int count)
{
    struct incremental_alter_configs_request body;
    wire_init(&wire_incremental_alter_configs_request, &body);
    struct incremental_alter_configs_request_alter_configs_resource *resources =
        incremental_alter_configs_request_resources_new(&h->arena, &body, count);
    for (int i = 0; i < count; i++) {
        resources[i].resource_type = asked[i].type;
        resources[i].resource_name = slice_str(asked[i].name);
        struct incremental_alter_configs_request_alterable_config *config =
            incremental_alter_configs_request_alter_configs_resource_configs_new(&h->arena,
                                                                                 &resources[i], 1);
        config->name = slice_str(asked[i].key);
        config->config_operation = asked[i].value ? CONF_OP_SET : CONF_OP_DELETE;
        config->value = slice_str(asked[i].value);
    }
    return harness_call(h, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 1, &body);
}

static int16_t alter_one(struct harness *h, int8_t type, const char *name, const char *key,
                         const char *value)
{
    struct asked asked = {type, name, key, value};
    return alter(h, &asked, 1)->responses[0].error_code;
}

static struct topic_config topic_config_now(struct harness *h, const char *topic)
{
    struct partition *partition =
        partition_table_get(node_context(h->node)->partitions, slice_str(topic), 0);
    struct topic_config config = partition_config(partition);
    partition_unref(partition);
    return config;
}

/* Settled here, decided by the controller, refused: each answer in its place. */
static void mixed(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    static const struct asked asked[] = {
        {CONF_RESOURCE_TOPIC, "t", "retention.ms", "5000"},
        {CONF_RESOURCE_GROUP, "g", "consumer.session.timeout.ms", "50000"},
        {CONF_RESOURCE_TOPIC, "none", "retention.ms", "5000"},
        {CONF_RESOURCE_BROKER_LOGGER, "1", "kafka.log", "ERROR"},
        {CONF_RESOURCE_GROUP, "g", "consumer.session.timeout.ms", "50000"},
        {CONF_RESOURCE_BROKER_LOGGER, "9", "root", "ERROR"},
        {99, "x", "a", "b"},
        {CONF_RESOURCE_TOPIC, "a b", "retention.ms", "5000"},
    };
    static const struct {
        int16_t error;
        const char *text;
    } wanted[] = {
        {0, NULL},
        {ERR_INVALID_REQUEST, "Each resource must appear at most once."},
        {ERR_UNKNOWN_TOPIC_OR_PARTITION, "The topic 'none' does not exist."},
        {0, NULL},
        {ERR_INVALID_REQUEST, "Each resource must appear at most once."},
        {ERR_INVALID_REQUEST, "Unexpected node id. Expected 1, but received 9"},
        {ERR_INVALID_REQUEST, "Unknown resource type 99"},
        {ERR_INVALID_TOPIC_EXCEPTION,
         "Topic name is invalid: 'a b' contains one or more characters other than ASCII "
         "alphanumerics, '.', '_' and '-'"},
    };
    enum { COUNT = sizeof wanted / sizeof *wanted };
    const struct incremental_alter_configs_response *r = alter(&h, asked, COUNT);
    assert_int_equal(r->responses_count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(r->responses[i].resource_type, asked[i].type);
        assert_slice_eq(r->responses[i].resource_name, asked[i].name);
        assert_int_equal(r->responses[i].error_code, wanted[i].error);
        if (wanted[i].text)
            assert_slice_eq(r->responses[i].error_message, wanted[i].text);
        else
            assert_true(slice_is_null(r->responses[i].error_message));
    }
    harness_end(&h);
}

/* When the answer is there, the logs have the new settings; the broker's reach topics that have
 * none of their own. */
static void takes_effect(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_TOPIC, "t", "max.message.bytes", "1000"), 0);
    assert_int_equal(topic_config_now(&h, "t").max_message_size, 1000);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_BROKER, "", "message.max.bytes", "2000"), 0);
    assert_int_equal(topic_config_now(&h, "t").max_message_size, 1000);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_TOPIC, "t", "max.message.bytes", NULL), 0);
    assert_int_equal(topic_config_now(&h, "t").max_message_size, 2000);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_BROKER, "1", "message.max.bytes", "3000"), 0);
    assert_int_equal(topic_config_now(&h, "t").max_message_size, 3000);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_BROKER, "1", "log.retention.ms", "4000"), 0);
    assert_int_equal(topic_config_now(&h, "t").retention_ms, 4000);
    assert_int_equal(harness_produce(&h, "t", 0, 1000)->error_code, ERR_MESSAGE_TOO_LARGE);
    harness_end(&h);
}

/* Dynamic settings of topics and brokers are in force again after a restart, before anybody asks.
 */
static void survives_restart(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_TOPIC, "t", "retention.ms", "5000"), 0);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_BROKER, "1", "message.max.bytes", "3000"), 0);
    harness_close(&h);
    harness_open(&h, NULL);
    assert_int_equal(topic_config_now(&h, "t").retention_ms, 5000);
    assert_int_equal(topic_config_now(&h, "t").max_message_size, 3000);
    harness_end(&h);
}

/* What AlterConfigs does not name goes back to its default. */
static void legacy_replaces(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(alter_one(&h, CONF_RESOURCE_TOPIC, "t", "max.message.bytes", "1000"), 0);
    struct alter_configs_request body;
    wire_init(&wire_alter_configs_request, &body);
    struct alter_configs_request_alter_configs_resource *resources =
        alter_configs_request_resources_new(&h.arena, &body, 3);
    for (int i = 0; i < 3; i++) {
        resources[i].resource_type = i ? CONF_RESOURCE_BROKER_LOGGER : CONF_RESOURCE_TOPIC;
        resources[i].resource_name = i ? slice_str("1") : slice_str("t");
        struct alter_configs_request_alterable_config *config =
            alter_configs_request_alter_configs_resource_configs_new(&h.arena, &resources[i], 1);
        config->name = slice_str("retention.ms");
        config->value = slice_str("7000");
    }
    const struct alter_configs_response *r = harness_call(&h, WIRE_API_ALTER_CONFIGS, 2, &body);
    assert_int_equal(r->responses[0].error_code, 0);
    assert_slice_eq(r->responses[1].error_message, "Each resource must appear at most once.");
    assert_slice_eq(r->responses[2].error_message, "Each resource must appear at most once.");
    assert_int_equal(topic_config_now(&h, "t").retention_ms, 7000);
    assert_int_equal(topic_config_now(&h, "t").max_message_size, 1048588);
    harness_end(&h);
}

/* "a\0b" and "a\0c" are two resources, as in Kafka. */
static void names_do_not_end_at_a_zero_byte(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct incremental_alter_configs_request body;
    wire_init(&wire_incremental_alter_configs_request, &body);
    struct incremental_alter_configs_request_alter_configs_resource *resources =
        incremental_alter_configs_request_resources_new(&h.arena, &body, 2);
    for (int i = 0; i < 2; i++) {
        resources[i].resource_type = CONF_RESOURCE_GROUP;
        resources[i].resource_name = slice_of(i ? "a\0b" : "a\0c", 3);
        struct incremental_alter_configs_request_alterable_config *config =
            incremental_alter_configs_request_alter_configs_resource_configs_new(&h.arena,
                                                                                 &resources[i], 1);
        config->name = slice_str("consumer.session.timeout.ms");
        config->value = slice_str("50000");
    }
    const struct incremental_alter_configs_response *r =
        harness_call(&h, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 1, &body);
    assert_int_equal(r->responses[0].error_code, 0);
    assert_int_equal(r->responses[1].error_code, 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mixed),
        cmocka_unit_test(takes_effect),
        cmocka_unit_test(survives_restart),
        cmocka_unit_test(legacy_replaces),
        cmocka_unit_test(names_do_not_end_at_a_zero_byte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
