/* Configurations that are right but ask for what is not built. */
#include "fixture.h"

static void refused(const char *text, const char *part)
{
    struct config *config = config_of(text);
    char *message = NULL;
    assert_int_equal(config_check_served(config, &message), ERR_INVALID_CONFIG);
    if (!strstr(message, part))
        fail_msg("%s", message);
    mem_free(message);
    config_unref(config);
}

static void test_plain_node_is_served(void **state)
{
    (void)state;
    struct config *config = config_of(NODE "sasl.enabled.mechanisms=PLAIN\n");
    char *message;
    assert_int_equal(config_check_served(config, &message), ERR_NONE);
    config_unref(config);
}

static void test_unsafe_or_impossible(void **state)
{
    (void)state;
    refused(NODE "listeners=PLAINTEXT://:9092,CONTROLLER://:9093,OUT://:9094\n"
                 "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
                 "OUT:SASL_SSL\n",
            "OUT is a SASL_SSL listener");
    refused(NODE "authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer\n",
            "authorizer.class.name=org.apache.kafka");
    refused(NODE "process.roles=broker\nlisteners=PLAINTEXT://:9092\n", "broker,controller");
    refused(NODE "controller.quorum.voters=1@a:1,2@b:1\n", "2 voters");
}

/* Without the provider a reference would be taken as it stands: a folder named "${env:DIR}". */
static void test_references(void **state)
{
    (void)state;
#define PROVIDERS "config.providers=file,env\n"
    assert_refused(NODE PROVIDERS "log.dirs=/data/${env:DIR}\n",
                   "log.dirs: its value holds ${env:...}", "config.providers");
    assert_refused(NODE PROVIDERS "ssl.keystore.password=$a{}${x}${file:/secret:key}\n",
                   "ssl.keystore.password: its value holds ${file:...}", "");
    /* Also where the text would be no value at all. */
    assert_refused("config.providers= env \nnode.id=${env:ID}\n", "node.id: its value holds", "");
    struct config *config =
        config_of(NODE PROVIDERS "broker.rack=${other:a}\n"
                                 "super.users=${env}\nsasl.jaas.config=$env:a}\n");
    char *message;
    assert_int_equal(config_check_served(config, &message), ERR_NONE);
    int32_t at = 0;
    struct slice key = config_reference_next(config, &at);
    assert_slice_eq(key, "broker.rack");
    assert_true(slice_is_null(config_reference_next(config, &at)));
    config_unref(config);
#undef PROVIDERS
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain_node_is_served),
        cmocka_unit_test(test_unsafe_or_impossible),
        cmocka_unit_test(test_references),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
