/* What the start says about keys that do nothing. */
#include "conf/config_layers.h"
#include "fixture.h"

/* The keys of that note, joined by blanks. */
static void assert_notes(const struct config *config, enum config_note note, const char *expected)
{
    char text[1024] = "";
    size_t size = 0;
    int32_t at = 0;
    struct slice key;
    while ((key = config_note_next(config, note, &at)).data)
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%.*s", size ? " " : "",
                                 SLICE_FMT(key));
    assert_string_equal(text, expected);
}

static void test_nothing_to_say(void **state)
{
    (void)state;
    struct config *config = config_of(
        NODE "num.partitions=3\nklamm.advertise.as.reached=false\nmetric.reporters=\n"
             "config.providers=\nprincipal.builder.class=org.apache.kafka.common.security."
             "authenticator.DefaultKafkaPrincipalBuilder\n");
    for (int note = CONFIG_NOTE_UNKNOWN; note <= CONFIG_NOTE_IDLE; note++)
        assert_notes(config, (enum config_note)note, "");
    config_unref(config);
}

static void test_each_note(void **state)
{
    (void)state;
    struct config *config =
        config_of(NODE "no.such.key=1\nklamm.advertise.as.reachd=true\n"
                       "sasl.kerberos.service.name=kafka\nnum.io.threads=4\n"
                       "log.preallocate=true\nmetrics.recording.level=DEBUG\n"
                       "share.coordinator.state.topic.min.isr=1\n"
                       "share.coordinator.state.topic.num.partitions=5\n"
                       "create.topic.policy.class.name=a.B\nclient.quota.callback.class=c.D\n");
    assert_notes(config, CONFIG_NOTE_UNKNOWN, "no.such.key klamm.advertise.as.reachd");
    assert_notes(config, CONFIG_NOTE_NO_LISTENER, "");
    assert_notes(config, CONFIG_NOTE_LATER,
                 "sasl.kerberos.service.name share.coordinator.state.topic.num.partitions");
    assert_notes(config, CONFIG_NOTE_PLUGIN,
                 "create.topic.policy.class.name client.quota.callback.class");
    assert_notes(config, CONFIG_NOTE_IDLE,
                 "num.io.threads log.preallocate metrics.recording.level "
                 "share.coordinator.state.topic.min.isr");
    config_unref(config);
}

static void test_keys_of_a_listener(void **state)
{
    (void)state;
    struct config *config =
        config_of(NODE "listeners=PLAINTEXT://:9092,IN.NER://:9094,CONTROLLER://:9093\n"
                       "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,IN.NER:PLAINTEXT,"
                       "CONTROLLER:PLAINTEXT\n"
                       "listener.name.plaintext.num.network.threads=3\n"
                       "listener.name.controller.plain.sasl.jaas.config=x\n"
                       "listener.name.in.ner.ssl.keystore.location=/k\n"
                       "listener.name.plaintext.num.netwerk.threads=3\n"
                       "listener.name.plaintext.principal.builder.class=a.B\n"
                       "listener.name.plaintext.num.io.threads=1\n"
                       "listener.name.PLAINTEXT.max.connections=3\n"
                       "listener.name.plain.max.connections=3\n"
                       "listener.name.plaintext=3\nlistener.name.=3\n");
    assert_notes(config, CONFIG_NOTE_LATER,
                 "listener.name.plaintext.num.network.threads "
                 "listener.name.controller.plain.sasl.jaas.config "
                 "listener.name.in.ner.ssl.keystore.location");
    assert_notes(config, CONFIG_NOTE_UNKNOWN, "listener.name.plaintext.num.netwerk.threads");
    assert_notes(config, CONFIG_NOTE_PLUGIN, "listener.name.plaintext.principal.builder.class");
    assert_notes(config, CONFIG_NOTE_IDLE, "listener.name.plaintext.num.io.threads");
    /* Kafka, too, looks for the name in lower case only. */
    assert_notes(config, CONFIG_NOTE_NO_LISTENER,
                 "listener.name.PLAINTEXT.max.connections listener.name.plain.max.connections "
                 "listener.name.plaintext listener.name.");
    config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_say),
        cmocka_unit_test(test_each_note),
        cmocka_unit_test(test_keys_of_a_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
