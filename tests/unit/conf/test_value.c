/* Values and their errors. The sentences were answered by a 4.4.0 node to IncrementalAlterConfigs
 * with validate_only for the same key and value. */
#include "base/buf.h"
#include "fixture.h"

static struct arena arena;

static void check(enum conf_kind kind, const char *name, const char *text, const char *expected,
                  bool ok)
{
    const struct conf_key *key = conf_key(kind, conf_find(kind, slice_str(name)));
    struct conf_value value;
    struct slice message = SLICE_NULL;
    enum err error = conf_value_parse(key, slice_str(text), &arena, &value, &message);
    assert_int_equal(error, ok ? ERR_NONE : ERR_INVALID_CONFIG);
    struct slice got = ok ? conf_value_format(key, &value, &arena) : message;
    if (got.size != strlen(expected) || memcmp(got.data, expected, got.size) != 0)
        fail_msg("%s=%s: '%.*s', expected '%s'", name, text, SLICE_FMT(got), expected);
}

static void topic_is(const char *name, const char *text, const char *shown)
{
    check(CONF_KIND_TOPIC, name, text, shown, true);
}

static void topic_bad(const char *name, const char *text, const char *message)
{
    check(CONF_KIND_TOPIC, name, text, message, false);
}

static void test_every_default_is_valid(void **state)
{
    (void)state;
    for (int kind = 0; kind < CONF_KIND_COUNT; kind++) {
        int count;
        const struct conf_key *table = conf_table((enum conf_kind)kind, &count);
        for (int i = 0; i < count; i++)
            if (!table[i].required && table[i].default_text)
                check((enum conf_kind)kind, table[i].name, table[i].default_text,
                      table[i].default_text, true);
    }
}

static void test_numbers(void **state)
{
    (void)state;
    topic_is("retention.ms", " 5 ", "5");
    topic_is("retention.ms", "+5", "5");
    topic_bad("retention.ms", "abc",
              "Invalid value abc for configuration retention.ms: Not a number of type LONG");
    topic_bad("retention.ms", "",
              "Invalid value  for configuration retention.ms: Not a number of type LONG");
    topic_bad("retention.ms", "-2",
              "Invalid value -2 for configuration retention.ms: Value must be at least -1");
    topic_bad("retention.ms", "99999999999999999999",
              "Invalid value 99999999999999999999 for configuration retention.ms: Not a number of "
              "type LONG");
    topic_bad("max.message.bytes", "3000000000",
              "Invalid value 3000000000 for configuration max.message.bytes: Not a number of type "
              "INT");
    topic_bad("compression.zstd.level", "23",
              "Invalid value 23 for configuration compression.zstd.level: Value must be no more "
              "than 22");
    topic_is("compression.gzip.level", "-1", "-1");
    topic_bad("compression.gzip.level", "0",
              "Invalid value 0 for configuration compression.gzip.level: Value must be between 1 "
              "and 9 or equal to -1");
}

static void test_doubles(void **state)
{
    (void)state;
    topic_is("min.cleanable.dirty.ratio", "0.50", "0.5");
    topic_is("min.cleanable.dirty.ratio", "0x1p-1", "0.5");
    topic_is("min.cleanable.dirty.ratio", "0.5f", "0.5");
    topic_is("min.cleanable.dirty.ratio", ".5e0d", "0.5");
    topic_is("min.cleanable.dirty.ratio", "NaN", "NaN");
    topic_is("min.cleanable.dirty.ratio", "0.00001", "1.0E-5");
    topic_bad(
        "min.cleanable.dirty.ratio", "1.5",
        "Invalid value 1.5 for configuration min.cleanable.dirty.ratio: Value must be no more "
        "than 1");
    topic_bad("min.cleanable.dirty.ratio", "-0.1",
              "Invalid value -0.1 for configuration min.cleanable.dirty.ratio: Value must be at "
              "least 0");
    const char *const no_numbers[] = {"inf", "nan",   "0x1",   "1e", "e1",
                                      ".",   "1.0.0", "0.5ff", "- 1"};
    for (size_t i = 0; i < sizeof(no_numbers) / sizeof(no_numbers[0]); i++) {
        char message[128];
        snprintf(message, sizeof(message),
                 "Invalid value %s for configuration min.cleanable.dirty.ratio: Not a number of "
                 "type DOUBLE",
                 no_numbers[i]);
        topic_bad("min.cleanable.dirty.ratio", no_numbers[i], message);
    }
}

static void test_words(void **state)
{
    (void)state;
    topic_is("preallocate", "TRUE", "true");
    topic_bad(
        "preallocate", "yes",
        "Invalid value yes for configuration preallocate: Expected value to be either true or "
        "false");
    topic_is("compression.type", " gzip ", "gzip");
    topic_bad("compression.type", "GZIP",
              "Invalid value GZIP for configuration compression.type: String must be one of: "
              "uncompressed, zstd, lz4, snappy, gzip, producer");
    check(CONF_KIND_BROKER, "group.consumer.migration.policy", "Upgrade", "Upgrade", true);
}

static void test_lists(void **state)
{
    (void)state;
    topic_is("cleanup.policy", "compact , delete", "compact,delete");
    topic_is("cleanup.policy", "compact,compact", "compact");
    topic_is("cleanup.policy", "", "");
    topic_bad("cleanup.policy", "compact,,delete",
              "Configuration 'cleanup.policy' values must not be empty.");
    topic_bad("cleanup.policy", "compact, foo",
              "Invalid value foo for configuration cleanup.policy: String must be one of: compact, "
              "delete");
    topic_is("leader.replication.throttled.replicas", "0:1, 1:2", "0:1,1:2");
    topic_is("leader.replication.throttled.replicas", "0:1,0:1", "0:1,0:1");
    topic_is("leader.replication.throttled.replicas", "*", "*");
    topic_is("leader.replication.throttled.replicas", "", "");
    topic_bad("leader.replication.throttled.replicas", "0:1,*",
              "Invalid value [0:1, *] for configuration leader.replication.throttled.replicas: "
              "leader.replication.throttled.replicas must be the literal '*' or a list of replicas "
              "in the following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...");
}

static void test_offset_reset(void **state)
{
    (void)state;
    const char *name = "share.auto.offset.reset";
    check(CONF_KIND_GROUP, name, "by_duration:PT1H", "by_duration:PT1H", true);
    check(CONF_KIND_GROUP, name, "by_duration:p1dt2h3m4.5s", "by_duration:p1dt2h3m4.5s", true);
    const char *const bad[] = {
        "foo", "LATEST", "by_duration:", "by_duration:x", "by_duration:-PT1H", "by_duration:PT"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char message[512];
        snprintf(
            message, sizeof(message),
            "Invalid value %s for configuration share.auto.offset.reset: Invalid value `%s` for "
            "configuration share.auto.offset.reset. The value must be either 'earliest', "
            "'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'.",
            bad[i], bad[i]);
        check(CONF_KIND_GROUP, name, bad[i], message, false);
    }
}

static void test_null(void **state)
{
    (void)state;
    topic_is("internal.segment.bytes", "5", "5");
    const struct conf_key *key = conf_key(CONF_KIND_TOPIC, TOPIC_KEY_INTERNAL_SEGMENT_BYTES);
    struct conf_value value;
    struct slice message;
    assert_int_equal(conf_value_parse(key, SLICE_NULL, &arena, &value, &message), ERR_NONE);
    assert_true(value.is_null);
    assert_true(slice_is_null(conf_value_format(key, &value, &arena)));
}

/* One value may have very many items; that must not take quadratic time (the test's limit is a
 * minute). */
static void test_a_long_list(void **state)
{
    (void)state;
    enum { COUNT = 600000 };
    struct buf b;
    buf_init(&b);
    for (int i = 0; i < COUNT; i++)
        buf_printf(&b, "%07d,", i);
    buf_put_str(&b, "0000000");
    const struct conf_key *key =
        conf_key(CONF_KIND_GROUP, GROUP_KEY_STREAMS_RACK_AWARE_ASSIGNMENT_TAGS);
    struct conf_value value;
    struct slice message;
    assert_int_equal(conf_value_parse(key, buf_slice(&b), &arena, &value, &message), ERR_NONE);
    assert_int_equal(value.list.count, COUNT);
    assert_slice_eq(value.list.items[1], "0000001");
    key = conf_key(CONF_KIND_BROKER, BROKER_KEY_SSL_CIPHER_SUITES);
    assert_int_equal(conf_value_check_repeats(key, buf_slice(&b), &arena, &message),
                     ERR_INVALID_CONFIG);
    assert_slice_eq(message, "Configuration 'ssl.cipher.suites' values must not be duplicated.");
    buf_fini(&b);
}

int main(void)
{
    arena_init(&arena);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_long_list),  cmocka_unit_test(test_every_default_is_valid),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_words),        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_offset_reset), cmocka_unit_test(test_null),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_fini(&arena);
    return failed;
}
