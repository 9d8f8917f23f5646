/* Typed getters, layers, references, what is said of a value that is missing or wrong. */
#include "conf/config_layers.h"
#include "fixture.h"

static void test_getters(void **state)
{
    (void)state;
    struct config *config =
        config_of(NODE "log.dirs=/a, /b\nauto.create.topics.enable=FALSE\nnum.partitions= 7 \n"
                       "log.cleaner.io.buffer.load.factor=0.25\nbroker.rack=r1\n"
                       "sasl.enabled.mechanisms=PLAIN,GSSAPI\n");
    assert_int_equal(config_node_id(config), 1);
    assert_int_equal(config_int(config, BROKER_KEY_BROKER_ID), 1);
    assert_int_equal(config_int(config, BROKER_KEY_NUM_PARTITIONS), 7);
    assert_int_equal(config_int(config, BROKER_KEY_OFFSETS_TOPIC_REPLICATION_FACTOR), 3);
    assert_false(config_bool(config, BROKER_KEY_AUTO_CREATE_TOPICS_ENABLE));
    assert_true(config_double(config, BROKER_KEY_LOG_CLEANER_IO_BUFFER_LOAD_FACTOR) == 0.25);
    assert_slice_eq(config_string(config, BROKER_KEY_BROKER_RACK), "r1");
    assert_int_equal(config_list(config, BROKER_KEY_SASL_ENABLED_MECHANISMS).count, 2);
    assert_int_equal(config_log_dirs(config).count, 2);
    assert_slice_eq(config_log_dirs(config).items[1], "/b");
    assert_slice_eq(config_metadata_log_dir(config), "/a");
    assert_true(config_is_null(config, BROKER_KEY_LOG_RETENTION_MS));
    assert_true(slice_is_null(config_string(config, BROKER_KEY_METADATA_LOG_DIR)));
    assert_true(config_is_static(config, BROKER_KEY_BROKER_RACK));
    assert_false(config_is_static(config, BROKER_KEY_LOG_DIR));
    assert_int_equal(config_log_retention_ms(config), 604800000);
    assert_int_equal(config_log_roll_ms(config), 604800000);
    config_unref(config);
}

static void test_missing_and_defaults(void **state)
{
    (void)state;
    assert_refused("node.id=1\n", "Missing required configuration", "which has no default value.");
    assert_refused("process.roles=broker\ncontroller.listener.names=C\n",
                   "Missing required configuration \"node.id\"", "no default");
    assert_refused("", "Missing required configuration \"process.roles\"", "Write node.id=1");
    /* The id that was written is named, not the one that Kafka copies it to. */
    assert_refused("process.roles=broker,controller\nnode.id=\n", "for configuration node.id:", "");
    assert_refused("process.roles=broker,controller\nbroker.id=\n",
                   "for configuration broker.id:", "");
    assert_refused("node.id=1\nprocess.roles=broker,controller\nbroker.id=x\n",
                   "for configuration broker.id:", "");
    struct config *config = config_of("process.roles=broker,controller\nbroker.id=5\n"
                                      "controller.listener.names=C\n"
                                      "controller.quorum.voters=5@h:1\n"
                                      "listeners=PLAINTEXT://:9092,C://:9093\n");
    assert_int_equal(config_node_id(config), 5); /* from broker.id */
    assert_slice_eq(config_log_dirs(config).items[0], "/tmp/kafka-logs");
    config_unref(config);
}

/* Besides Kafka's sentence: what to write, once for all that is missing, and which numbers go. */
static void test_hints(void **state)
{
    (void)state;
    assert_refused("log.dirs=/a\n",
                   "no default value. Write process.roles=broker,controller. Write node.id=1, or "
                   "another number from 0 to 2147483647",
                   "Write controller.listener.names=CONTROLLER, and put CONTROLLER://host:port");
    assert_refused("process.roles=broker,controller\ncontroller.listener.names=C\n",
                   "\"node.id\" which has no default value. Write node.id=1", "has.");
    assert_refused(NODE "num.network.threads=many\n",
                   "Invalid value many for configuration num.network.threads: Not a number of type "
                   "INT. Allowed are 1 to 2147483647.",
                   "");
    assert_refused(NODE "log.retention.ms=7d\n",
                   "type LONG. Allowed are -9223372036854775808 to 9223372036854775807.", "");
    assert_refused(NODE "compression.gzip.level=12\n", "equal to -1. Allowed are 1 to 9, or -1.",
                   "");
    assert_refused(NODE "log.cleaner.min.cleanable.ratio=half\n",
                   "type DOUBLE. Allowed are 0 to 1.", "");
    assert_refused(NODE "node.id=x\n", "node.id: Not a number of type INT. Allowed are 0 to", "");
    /* What a tool of Kafka's reads stays as it is: the answer to an alteration has no hint. */
    struct config *config = config_of(NODE), *altered;
    struct arena arena;
    arena_init(&arena);
    struct slice message;
    assert_int_equal(config_try_dynamic(config, PAIRS(PAIR("log.cleaner.threads", "x")), NO_PAIRS,
                                        &arena, &altered, &message),
                     ERR_INVALID_CONFIG);
    assert_slice_eq(message,
                    "Invalid value x for configuration log.cleaner.threads: Not a number of type "
                    "INT");
    arena_fini(&arena);
    config_unref(config);
}

static void test_dynamic_layers(void **state)
{
    (void)state;
    struct config *plain = config_of(NODE "log.retention.minutes=3\nmessage.max.bytes=1000\n");
    struct config *config = config_with_dynamic(
        plain, PAIRS(PAIR("message.max.bytes", "2000"), PAIR("num.io.threads", "x")),
        PAIRS(PAIR("message.max.bytes", "3000"), PAIR("log.retention.ms", "9")));
    assert_slice_eq(config_ignored(config), "num.io.threads (value not valid)");
    assert_int_equal(config_int(config, BROKER_KEY_MESSAGE_MAX_BYTES), 2000);
    assert_int_equal(config_int(config, BROKER_KEY_NUM_IO_THREADS), 8);
    assert_int_equal(config_log_retention_ms(config), 9);
    /* The static minutes are hidden, as Kafka hides them. */
    assert_true(config_is_null(config, BROKER_KEY_LOG_RETENTION_MINUTES));
    assert_int_equal(config_int(plain, BROKER_KEY_MESSAGE_MAX_BYTES), 1000);

    struct config *again = config_with_dynamic(config, NO_PAIRS, NO_PAIRS);
    assert_true(slice_is_null(config_ignored(again)));
    assert_int_equal(config_int(again, BROKER_KEY_MESSAGE_MAX_BYTES), 1000);
    assert_int_equal(config_log_retention_ms(again), 180000);
    config_unref(again);
    config_unref(config);
    config_unref(plain);
}

/* Records as a 4.4.0 controller writes them for whoever asks, and what its broker obeyed of them.
 */
static void test_records_that_no_broker_takes(void **state)
{
    (void)state;
    struct config *plain = config_of(NODE);
    struct config *config = config_with_dynamic(
        plain,
        PAIRS(PAIR("offsets.topic.num.partitions", "3"), PAIR("log.retention.hours", "5"),
              PAIR("message.max.bytes", "2000"), PAIR("node.id", "5"),
              PAIR("log.retention.ms", "x"), PAIR("ssl.keystore.location", "/y"),
              PAIR("num.io.threads", " 9 "), PAIR("principal.builder.class", "no.such.Class"),
              PAIR("listener.name.plaintext.max.connections", "77")),
        PAIRS(PAIR("auto.create.topics.enable", "false"), PAIR("num.partitions", "7"),
              PAIR("delete.topic.enable", "false"), PAIR("background.threads", "5"),
              PAIR("ssl.keystore.location", "/x"), PAIR("log.segment.bytes", "abc"),
              PAIR("compression.type", "gzip"),
              PAIR("listener.security.protocol.map", "PLAINTEXT:SSL"),
              PAIR("listener.name.plaintext.ssl.keystore.location", "/q"),
              PAIR("listener.name.plaintext.max.connections", "abc"), PAIR("mine.own", "5")));
    assert_int_equal(config_log_retention_ms(config), 604800000);
    assert_int_equal(config_int(config, BROKER_KEY_OFFSETS_TOPIC_NUM_PARTITIONS), 50);
    assert_int_equal(config_node_id(config), 1);
    assert_true(config_bool(config, BROKER_KEY_AUTO_CREATE_TOPICS_ENABLE));
    assert_true(config_bool(config, BROKER_KEY_DELETE_TOPIC_ENABLE));
    assert_int_equal(config_int(config, BROKER_KEY_NUM_PARTITIONS), 1);
    assert_true(config_is_null(config, BROKER_KEY_SSL_KEYSTORE_LOCATION));
    assert_int_equal(config_int(config, BROKER_KEY_MESSAGE_MAX_BYTES), 2000);
    assert_int_equal(config_int(config, BROKER_KEY_NUM_IO_THREADS), 9);
    assert_int_equal(config_int(config, BROKER_KEY_BACKGROUND_THREADS), 5);
    assert_slice_eq(config_string(config, BROKER_KEY_COMPRESSION_TYPE), "gzip");
    assert_int_equal(config->layers[CONFIG_LAYER_BROKER].count, 3);
    assert_int_equal(config->layers[CONFIG_LAYER_CLUSTER_DEFAULT].count, 3);
    struct slice own = slice_sub(config_ignored(config), 0, 96);
    assert_slice_eq(own, "offsets.topic.num.partitions (set in the properties file only), "
                         "log.retention.hours (set in the ");
    config_unref(config);
    config_unref(plain);
}

/* Each value is right; the layers cannot stand together. */
static void test_layers_that_exclude_each_other(void **state)
{
    (void)state;
    struct config *plain = config_of(NODE);
    struct conf_pairs threads = PAIRS(PAIR("log.cleaner.threads", "2"));
    struct conf_pairs small = PAIRS(PAIR("log.cleaner.dedupe.buffer.size", "2000000"));
    struct conf_pairs zero = PAIRS(PAIR("log.roll.ms", "0"), PAIR("message.max.bytes", "5"));
    struct config *config = config_with_dynamic(plain, small, threads);
    assert_int_equal(config_int(config, BROKER_KEY_LOG_CLEANER_DEDUPE_BUFFER_SIZE), 2000000);
    assert_int_equal(config_int(config, BROKER_KEY_LOG_CLEANER_THREADS), 1);
    assert_slice_eq(config_ignored(config),
                    "all others of the default of all brokers (requirement failed: "
                    "log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread.)");
    config_unref(config);
    config = config_with_dynamic(plain, zero, threads);
    assert_int_equal(config_int(config, BROKER_KEY_LOG_CLEANER_THREADS), 2);
    assert_int_equal(config_log_roll_ms(config), 604800000);
    assert_slice_eq(slice_sub(config_ignored(config), 0, 25), "all others of this broker");
    config_unref(config);
    config = config_with_dynamic(plain, zero, zero);
    assert_int_equal(config_log_roll_ms(config), 604800000);
    assert_slice_eq(slice_sub(config_ignored(config), 0, 12), "all others (");
    config_unref(config);
    config_unref(plain);
}

static void test_references(void **state)
{
    (void)state;
    struct config *config = config_of(NODE);
    struct config *other = config_ref(config);
    config_unref(config);
    assert_int_equal(config_node_id(other), 1);
    config_unref(other);
    config_unref(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_getters),
        cmocka_unit_test(test_missing_and_defaults),
        cmocka_unit_test(test_hints),
        cmocka_unit_test(test_dynamic_layers),
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_records_that_no_broker_takes),
        cmocka_unit_test(test_layers_that_exclude_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
