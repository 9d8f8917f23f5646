/* The checks at start, each line of tests/golden/conf/start.tsv as Apache Kafka judged it. */
#include "conf/config_layers.h"
#include "fixture.h"

/* Lines that Klamm judges or words in its own way, and how. */
static const struct {
    const char *line, *message; /* message NULL: taken */
} own[] = {
    /* Kafka notices these ports only when it binds them. */
    {"listeners=PLAINTEXT://:99999,CONTROLLER://:9093", "port 99999"},
    {"listeners=PLAINTEXT://:-1,CONTROLLER://:9093", "port -1"},
    {"controller.quorum.voters=1@0.0.0.0:9093", "Host string (0.0.0.0) is not routeable"},
    /* Java shows an index or a number format here. */
    {"listener.security.protocol.map=PLAINTEXT", "PLAINTEXT has no ':'"},
    {"max.connections.per.ip.overrides=foo", "'foo' is not of the form host:limit"},
    {"max.connections.per.ip.overrides=foo:x", "'foo:x' is not of the form host:limit"},
    /* The name in lower case: Kafka stumbles over the protocol, Klamm over the missing listener. */
    {"controller.listener.names=controller", "controller.listener.names must contain"},
    /* Which of two equal ids is named first. */
    {"node.id=x", "Invalid value x for configuration"},
};

static void check_line(char *line, char *answer)
{
    const char *expected = strcmp(answer, "ok") == 0 ? NULL : answer;
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        if (strcmp(own[i].line, line) == 0)
            expected = own[i].message;
    char text[2048], *message;
    snprintf(text, sizeof(text), "%s%s\n", NODE, line);
    struct config *config = config_try(slice_str(text), &message);
    if ((config != NULL) != (expected == NULL))
        fail_msg("%s: %s, expected %s", line, config ? "taken" : message, answer);
    if (expected && !strstr(message, expected))
        fail_msg("%s: '%s' does not contain '%s'", line, message, expected);
    config_unref(config);
    mem_free(message);
}

static void test_answers_of_kafka(void **state)
{
    (void)state;
    char *text = golden("start.tsv");
    int count = 0;
    for (char *line = strchr(text, '\n') + 1, *next; *line; line = next, count++) {
        char *tab = strchr(line, '\t');
        next = strchr(line, '\n');
        *tab = '\0';
        *next++ = '\0';
        check_line(line, tab + 1);
    }
    assert_true(count > 80);
    mem_free(text);
}

static void test_hints_say_what_to_write(void **state)
{
    (void)state;
    assert_refused(
        NODE "listeners=PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093\n",
        "advertised.listeners is not set",
        "advertised.listeners=PLAINTEXT://<the name or address that clients reach>:9092");
    /* Advertised by name, also the controller's is refused; bound only, it is fine (start.tsv). */
    assert_refused(NODE "advertised.listeners=PLAINTEXT://x:1,CONTROLLER://0.0.0.0:1\n",
                   "advertised.listeners says it", "advertised.listeners=CONTROLLER://");
    assert_refused(NODE "controller.quorum.bootstrap.servers=\n", "If using process.roles",
                   "controller.quorum.bootstrap.servers=<its controller listener, host:port>");
    assert_refused(NODE "inter.broker.listener.name=CONTROLLER\n", "valid options",
                   "inter.broker.listener.name=PLAINTEXT");
    /* Kafka's sentence without its full stop, then the advice. */
    assert_refused(NODE "process.roles=broker\n", "just the broker role. Take CONTROLLER out", ".");
    assert_refused(NODE "group.consumer.session.timeout.ms=5\n", "is 5", "45000 to 60000");
    assert_refused(NODE "offsets.topic.compression.codec=9\n", "id: 9",
                   "offsets.topic.compression.codec is one of 0");
}

static void test_roles(void **state)
{
    (void)state;
    struct config *broker =
        config_of(NODE "process.roles=broker\nlisteners=PLAINTEXT://127.0.0.1:9092\n");
    assert_true(broker->is_broker && !config_is_controller(broker));
    config_unref(broker);
    struct config *controller =
        config_of(NODE "process.roles=controller\nlisteners=CONTROLLER://127.0.0.1:9093\n");
    assert_true(!controller->is_broker && config_is_controller(controller));
    config_unref(controller);
    assert_refused(NODE "process.roles=broker\nlisteners=PLAINTEXT://127.0.0.1:9092\n"
                        "controller.quorum.voters=1@a:1\n",
                   "just the 'broker' role, the node id 1", "Set(1)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_of_kafka),
        cmocka_unit_test(test_hints_say_what_to_write),
        cmocka_unit_test(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
