/* Listeners by role, advertised addresses, implied protocols, voters. */
#include "conf/config_layers.h"
#include "fixture.h"

static void is_at(const struct listener_list *list, int32_t index, const char *name,
                  const char *host, int port)
{
    assert_true(index < list->count);
    assert_slice_eq(list->items[index].name, name);
    assert_slice_eq(list->items[index].host, host);
    assert_int_equal(list->items[index].port, port);
}

static void test_split_by_role(void **state)
{
    (void)state;
    struct config *config =
        config_of(NODE "listeners=PLAINTEXT://:9092,CTRL://h:9093,OUT://[::1]:9094\n"
                       "controller.listener.names=CTRL\n"
                       "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,ctrl:PLAINTEXT,OUT:SSL\n"
                       "advertised.listeners=OUT://example.org:19094,CTRL://c:7,PLAINTEXT://a:8\n"
                       "inter.broker.listener.name=out\n");
    assert_int_equal(config_listeners(config)->count, 3);
    assert_int_equal(config->broker_listeners.count, 2);
    is_at(&config->broker_listeners, 1, "OUT", "::1", 9094);
    assert_int_equal(config->broker_listeners.items[1].protocol, SECURITY_SSL);
    assert_int_equal(config_controller_listeners(config)->count, 1);
    is_at(config_controller_listeners(config), 0, "CTRL", "h", 9093);
    assert_int_equal(config_advertised_listeners(config)->count, 2);
    is_at(config_advertised_listeners(config), 0, "OUT", "example.org", 19094);
    is_at(config_advertised_controller_listeners(config), 0, "CTRL", "c", 7);
    assert_slice_eq(config->inter_broker_listener, "OUT");
    config_unref(config);
}

static void test_defaults(void **state)
{
    (void)state;
    struct config *config = config_of(NODE);
    is_at(config_advertised_listeners(config), 0, "PLAINTEXT", "127.0.0.1", 9092);
    is_at(config_advertised_controller_listeners(config), 0, "CONTROLLER", "127.0.0.1", 9093);
    assert_int_equal(config_controller_listeners(config)->items[0].protocol, SECURITY_PLAINTEXT);
    assert_slice_eq(config->inter_broker_listener, "PLAINTEXT");
    assert_false(config_advertise_as_reached(config));
    int32_t voters;
    config_quorum_voters(config, &voters);
    assert_int_equal(voters, 0);
    config_unref(config);
}

/* Names of controllers are PLAINTEXT by themselves only while nothing is secured. */
static void test_implied_protocol(void **state)
{
    (void)state;
    assert_refused(NODE "listeners=SSL://:9092,CONTROLLER://:9093\n",
                   "No security protocol defined for listener CONTROLLER",
                   "add CONTROLLER:PLAINTEXT");
}

static void test_voters(void **state)
{
    (void)state;
    struct config *config = config_of(NODE "controller.quorum.voters=1@h1:9093, 2@[::1]:9094\n");
    int32_t count;
    const struct config_voter *voters = config_quorum_voters(config, &count);
    assert_int_equal(count, 2);
    assert_int_equal(voters[1].id, 2);
    assert_slice_eq(voters[1].host, "::1");
    assert_int_equal(voters[1].port, 9094);
    config_unref(config);
    assert_refused(NODE "controller.quorum.voters=1@h:99999\n", "1@h:99999", "{host}:{port}");
}

static void test_own_key(void **state)
{
    (void)state;
    struct config *config = config_of(NODE "klamm.advertise.as.reached= TRUE\n");
    assert_true(config_advertise_as_reached(config));
    int32_t at = 0;
    assert_true(slice_is_null(config_note_next(config, CONFIG_NOTE_UNKNOWN, &at)));
    config_unref(config);
    assert_refused(NODE "klamm.advertise.as.reached=yes\n", "klamm.advertise.as.reached",
                   "true or false");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_by_role),    cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_implied_protocol), cmocka_unit_test(test_voters),
        cmocka_unit_test(test_own_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
