/* DescribeConfigs of whole nodes, line by line against Apache Kafka's answers (tests/golden/conf).
 */
#include "base/buf.h"
#include "conf/dynamic.h"
#include "fixture.h"

static const char *shown(struct slice s, struct arena *arena)
{
    return s.data ? arena_cstr(arena, s) : "\\N";
}

static void print_entry(struct buf *out, const struct conf_entry *e, struct arena *arena)
{
    buf_printf(out, "%s\t%s\tsource=%d\tro=%d\tsens=%d\ttype=%d\tsyn=", shown(e->name, arena),
               shown(e->value, arena), (int)e->source, e->read_only, e->sensitive, (int)e->type);
    for (int32_t i = 0; i < e->synonym_count; i++)
        buf_printf(out, "%s%d:%s=%s", i ? ";" : "", (int)e->synonyms[i].source,
                   shown(e->synonyms[i].name, arena), shown(e->synonyms[i].value, arena));
    buf_put_str(out, "\n");
}

/* The lines of the section that begins with "# <resource> ". */
static struct slice section(const char *text, const char *resource)
{
    char head[64];
    snprintf(head, sizeof(head), "# %s ", resource);
    const char *at = strstr(text, head);
    assert_non_null(at);
    at = strchr(at, '\n') + 1;
    const char *end = strstr(at, "\n# ");
    return slice_of(at, end ? (size_t)(end + 1 - at) : strlen(at));
}

/* Names differ in how '.' sorts only for a program that sorts whole lines; compare as sets. */
static void check(const struct config *config, const char *file, const char *resource,
                  struct conf_pairs overrides)
{
    struct arena arena;
    arena_init(&arena);
    int type;
    char name[32] = "";
    assert_true(sscanf(resource, "%d:%31s", &type, name) >= 1);
    struct conf_entry *entries;
    int32_t count;
    conf_describe((enum conf_resource_type)type, slice_str(name), config, overrides, NULL, 0,
                  &arena, &entries, &count);
    char *text = golden(file);
    struct slice expected = section(text, resource);
    int32_t lines = 0;
    for (size_t i = 0; i < expected.size; i++)
        lines += expected.data[i] == '\n';
    struct buf line;
    buf_init(&line);
    for (int32_t i = 0; i < count; i++) {
        buf_clear(&line);
        buf_put_str(&line, "\n");
        print_entry(&line, &entries[i], &arena);
        struct slice found = slice_of(expected.data - 1, expected.size + 1);
        if (!memmem(found.data, found.size, line.data, line.size))
            fail_msg("%s %s: not in Kafka's answer: %.*s", file, resource, (int)line.size,
                     (const char *)line.data);
        if (i > 0)
            assert_true(slice_cmp(entries[i - 1].name, entries[i].name) < 0);
    }
    assert_int_equal(count, lines);
    buf_fini(&line);
    mem_free(text);
    arena_fini(&arena);
}

static struct config *config_of_golden(const char *file)
{
    char *text = golden(file);
    struct config *config = config_of(text);
    mem_free(text);
    return config;
}

static void test_default_node(void **state)
{
    (void)state;
    /* What formatting a node leaves as cluster default. */
    struct conf_pairs all = PAIRS(PAIR("min.insync.replicas", "1"));
    struct config *plain = config_of_golden("default.properties");
    struct config *config = config_with_dynamic(plain, NO_PAIRS, all);
    check(config, "default.txt", "4:1", NO_PAIRS);
    check(config, "default.txt", "4:", all);
    check(config, "default.txt", "2:cora-a", NO_PAIRS);
    check(config, "default.txt", "32:g", NO_PAIRS);
    check(config, "default.txt", "16:m", NO_PAIRS);
    config_unref(config);
    config_unref(plain);
}

static void test_altered_node(void **state)
{
    (void)state;
    struct conf_pairs all =
        PAIRS(PAIR("min.insync.replicas", "1"), PAIR("log.retention.ms", "888"),
              PAIR("log.cleaner.threads", "2"), PAIR("compression.type", "lz4"),
              PAIR("nokey2", "v"), PAIR("log.flush.interval.ms", "123"),
              PAIR("message.max.bytes", " 5 "), PAIR("log.preallocate", "False"));
    struct conf_pairs one =
        PAIRS(PAIR("log.retention.ms", "777"), PAIR("nokey", "v"),
              PAIR("listener.name.plaintext.max.connections", "5"),
              PAIR("leader.replication.throttled.rate", "9"), PAIR("log.cleaner.threads", "2"),
              PAIR("sasl.jaas.config", "x"), PAIR("log.cleanup.policy", "delete"));
    struct config *plain = config_of_golden("altered.properties");
    struct config *config = config_with_dynamic(plain, one, all);
    assert_true(slice_is_null(config_ignored(config)));
    check(config, "altered.txt", "4:1", NO_PAIRS);
    check(config, "altered.txt", "4:", all);
    check(config, "altered.txt", "2:t",
          PAIRS(PAIR("cleanup.policy", "compact,compact"), PAIR("preallocate", "TRUE"),
                PAIR("retention.ms", " 5000 "), PAIR("internal.segment.bytes", "2000000"),
                PAIR("min.cleanable.dirty.ratio", "0.50"), PAIR("compression.type", " gzip "),
                PAIR("leader.replication.throttled.replicas", "0:1, 1:2")));
    check(config, "altered.txt", "32:g",
          PAIRS(PAIR("consumer.session.timeout.ms", "55000"),
                PAIR("share.isolation.level", "read_committed"),
                PAIR("streams.assignor.name", "sticky"),
                PAIR("consumer.heartbeat.interval.ms", "6000")));
    check(config, "altered.txt", "16:m",
          PAIRS(PAIR("metrics", "a, b,a"), PAIR("interval.ms", " 1000 ")));
    config_unref(config);
    config_unref(plain);
}

/* What no broker takes is not shown as a default of all. */
static void test_default_of_all_shows_what_counts(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct config *config = config_of(NODE);
    struct conf_entry *entries;
    int32_t count;
    conf_describe(CONF_RESOURCE_BROKER, SLICE_LIT(""), config,
                  PAIRS(PAIR("num.partitions", "7"), PAIR("mine.own", "1"),
                        PAIR("ssl.keystore.location", "/x"), PAIR("log.segment.bytes", "abc"),
                        PAIR("compression.type", "gzip"),
                        PAIR("listener.security.protocol.map", "PLAINTEXT:SSL")),
                  NULL, 0, &arena, &entries, &count);
    assert_int_equal(count, 2);
    assert_slice_eq(entries[0].name, "compression.type");
    assert_slice_eq(entries[0].value, "gzip");
    assert_slice_eq(entries[1].name, "mine.own");
    config_unref(config);
    arena_fini(&arena);
}

static void test_named_keys_only(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct config *config = config_of(NODE);
    struct slice keys[] = {SLICE_LIT("retention.ms"), SLICE_LIT("no.such"),
                           SLICE_LIT("cleanup.policy")};
    struct conf_entry *entries;
    int32_t count;
    conf_describe(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config,
                  PAIRS(PAIR("old.unknown.key", "1"), PAIR("cleanup.policy", "delete")), keys, 3,
                  &arena, &entries, &count);
    assert_int_equal(count, 2);
    assert_slice_eq(entries[0].name, "cleanup.policy");
    /* The source is the topic although the value is the default. */
    assert_int_equal(entries[0].source, CONF_SOURCE_TOPIC);
    assert_false(entries[0].is_default);
    assert_slice_eq(entries[1].name, "retention.ms");
    assert_true(entries[1].is_default);
    /* A key that no version knows keeps its place, without value. */
    keys[0] = SLICE_LIT("old.unknown.key");
    conf_describe(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config, PAIRS(PAIR("old.unknown.key", "1")),
                  keys, 1, &arena, &entries, &count);
    assert_int_equal(count, 1);
    assert_true(entries[0].sensitive && slice_is_null(entries[0].value));
    config_unref(config);
    arena_fini(&arena);
}

/* As they were written, of a topic, a group and a broker; a group's fallback is a value like others
 * (seen on 4.4.0). */
static void test_internal_keys_show_their_text(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct config *plain = config_of(NODE);
    struct config *config = config_with_dynamic(
        plain, PAIRS(PAIR("group.consumer.assignor.offload.enable", " TRUE ")), NO_PAIRS);
    struct conf_entry *entries;
    int32_t count;
    struct slice key = SLICE_LIT("internal.segment.bytes");
    conf_describe(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config,
                  PAIRS(PAIR("internal.segment.bytes", "+2000000")), &key, 1, &arena, &entries,
                  &count);
    assert_int_equal(count, 1);
    assert_slice_eq(entries[0].value, "+2000000");
    assert_slice_eq(entries[0].synonyms[0].value, "+2000000");
    struct slice keys[] = {SLICE_LIT("streams.acceptable.recovery.lag"),
                           SLICE_LIT("share.assignor.offload.enable")};
    conf_describe(CONF_RESOURCE_GROUP, SLICE_LIT("g"), config,
                  PAIRS(PAIR("streams.acceptable.recovery.lag", " 6 "),
                        PAIR("share.assignor.offload.enable", "False")),
                  keys, 2, &arena, &entries, &count);
    assert_int_equal(count, 2);
    assert_slice_eq(entries[0].value, "False");
    assert_slice_eq(entries[1].value, " 6 ");
    key = SLICE_LIT("group.consumer.assignor.offload.enable");
    conf_describe(CONF_RESOURCE_BROKER, SLICE_LIT("1"), config, NO_PAIRS, &key, 1, &arena, &entries,
                  &count);
    assert_int_equal(count, 1);
    assert_slice_eq(entries[0].value, " TRUE ");
    config_unref(config);
    config_unref(plain);
    arena_fini(&arena);
}

/* Only hours in the file: the topic's value follows, yet its source is "default" and it has no
 * synonyms, for the list would begin with another name than log.retention.ms (seen on 4.4.0). */
static void test_hours_alone_give_no_synonym(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct config *config = config_of(NODE "log.retention.hours=24\n");
    struct slice key = SLICE_LIT("retention.ms");
    struct conf_entry *entries;
    int32_t count;
    conf_describe(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config, NO_PAIRS, &key, 1, &arena, &entries,
                  &count);
    assert_int_equal(count, 1);
    assert_slice_eq(entries[0].value, "86400000");
    assert_int_equal(entries[0].source, CONF_SOURCE_DEFAULT);
    assert_int_equal(entries[0].synonym_count, 0);
    config_unref(config);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default_node),
        cmocka_unit_test(test_altered_node),
        cmocka_unit_test(test_default_of_all_shows_what_counts),
        cmocka_unit_test(test_named_keys_only),
        cmocka_unit_test(test_internal_keys_show_their_text),
        cmocka_unit_test(test_hours_alone_give_no_synonym),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
