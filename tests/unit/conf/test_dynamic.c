/* Alterations: each line of tests/golden/conf/alter.tsv as Apache Kafka answered it, then what
 * changes come out. */
#include "conf/dynamic.h"
#include "fixture.h"

static struct arena arena;
static struct config *config;

static struct slice cell(char **at)
{
    char *from = *at;
    char *end = strpbrk(from, "\t\n");
    *at = *end == '\t' ? end + 1 : NULL;
    *end = '\0';
    return strcmp(from, "\\N") == 0 ? SLICE_NULL : slice_str(from);
}

static long number(struct slice s)
{
    int64_t value;
    assert_true(slice_to_i64(s, INT32_MIN, INT32_MAX, &value));
    return (long)value;
}

static void check_line(char *line, int line_number)
{
    char *at = line;
    long error = number(cell(&at));
    struct slice message = cell(&at);
    long type = number(cell(&at));
    struct slice name = cell(&at);
    struct conf_op ops[4];
    int32_t count = 0;
    while (at) {
        ops[count].name = cell(&at);
        ops[count].kind = (enum conf_op_kind)number(cell(&at));
        ops[count++].value = cell(&at);
    }
    struct conf_pairs current = type == CONF_RESOURCE_BROKER && name.size == 0
                                    ? PAIRS(PAIR("min.insync.replicas", "1"))
                                    : NO_PAIRS;
    struct conf_changes changes = {NULL, 0};
    struct conf_result result = conf_alter((enum conf_resource_type)type, name, config, current,
                                           ops, count, &arena, &changes);
    if (!result.error)
        result = conf_elr_check((enum conf_resource_type)type, name, &changes);
    /* Java says here that an index is out of range; Klamm says what is wrong. */
    if (slice_eq_str(ops[0].name, "max.connections.per.ip.overrides") && error) {
        assert_int_equal(result.error, error);
        return;
    }
    if ((long)result.error != error || !slice_eq(result.message, message))
        fail_msg("line %d: %d '%.*s', expected %ld '%.*s'", line_number, (int)result.error,
                 SLICE_FMT(result.message), error, SLICE_FMT(message));
}

static void test_answers_of_kafka(void **state)
{
    (void)state;
    char *text = golden("alter.tsv");
    int line_number = 0;
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        if (++line_number > 1)
            check_line(line, line_number);
    }
    assert_true(line_number > 150);
    mem_free(text);
}

static struct conf_changes alter(enum conf_resource_type type, struct conf_pairs current,
                                 enum conf_op_kind kind, const char *name, const char *value)
{
    struct conf_op op = {slice_str(name), kind, slice_str(value)};
    struct conf_changes changes = {NULL, -1};
    struct slice resource = type == CONF_RESOURCE_BROKER ? SLICE_LIT("1") : SLICE_LIT("t");
    struct conf_result result =
        conf_alter(type, resource, config, current, &op, 1, &arena, &changes);
    assert_int_equal(result.error, ERR_NONE);
    return changes;
}

static void topic_becomes(struct conf_pairs current, enum conf_op_kind kind, const char *value,
                          const char *expected)
{
    struct conf_changes changes =
        alter(CONF_RESOURCE_TOPIC, current, kind, "cleanup.policy", value);
    assert_int_equal(changes.count, expected ? 1 : 0);
    if (expected)
        assert_slice_eq(changes.items[0].value, expected);
}

static void test_lists(void **state)
{
    (void)state;
    /* The base is what is set, else the default. */
    topic_becomes(NO_PAIRS, CONF_OP_APPEND, "compact", "delete,compact");
    topic_becomes(NO_PAIRS, CONF_OP_APPEND, "delete", "delete");
    topic_becomes(NO_PAIRS, CONF_OP_SUBTRACT, "delete", "");
    topic_becomes(NO_PAIRS, CONF_OP_SUBTRACT, "compact", "delete");
    struct conf_pairs both = PAIRS(PAIR("cleanup.policy", "compact,delete"));
    topic_becomes(both, CONF_OP_APPEND, "compact,delete", NULL);
    topic_becomes(both, CONF_OP_SUBTRACT, "compact", "delete");
    topic_becomes(both, CONF_OP_SUBTRACT, "delete,compact", "");
}

static void test_changes(void **state)
{
    (void)state;
    struct conf_pairs set = PAIRS(PAIR("retention.ms", "5"));
    struct conf_changes c = alter(CONF_RESOURCE_TOPIC, set, CONF_OP_SET, "retention.ms", "5");
    assert_int_equal(c.count, 0);
    c = alter(CONF_RESOURCE_TOPIC, set, CONF_OP_DELETE, "retention.ms", NULL);
    assert_int_equal(c.count, 1);
    assert_true(slice_is_null(c.items[0].value));
    c = alter(CONF_RESOURCE_TOPIC, NO_PAIRS, CONF_OP_DELETE, "retention.ms", NULL);
    assert_int_equal(c.count, 0);
    /* A value that equals the default is still an override. */
    c = alter(CONF_RESOURCE_TOPIC, NO_PAIRS, CONF_OP_SET, "cleanup.policy", "delete");
    assert_int_equal(c.count, 1);
    /* Brokers get the record again even when nothing changes. */
    set = PAIRS(PAIR("message.max.bytes", "5"));
    c = alter(CONF_RESOURCE_BROKER, set, CONF_OP_SET, "message.max.bytes", "5");
    assert_int_equal(c.count, 1);
    c = alter(CONF_RESOURCE_BROKER, NO_PAIRS, CONF_OP_DELETE, "message.max.bytes", NULL);
    assert_int_equal(c.count, 1);
}

static void test_legacy_replaces_everything(void **state)
{
    (void)state;
    struct conf_changes c = {NULL, 0};
    struct conf_pairs current =
        PAIRS(PAIR("retention.ms", "5"), PAIR("segment.ms", "7"), PAIR("flush.ms", "9"));
    struct conf_result result =
        conf_alter_all(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config, current,
                       PAIRS(PAIR("segment.ms", "8"), PAIR("flush.ms", "9")), &arena, &c);
    assert_int_equal(result.error, ERR_NONE);
    assert_int_equal(c.count, 2);
    assert_slice_eq(c.items[0].name, "segment.ms");
    assert_slice_eq(c.items[0].value, "8");
    assert_slice_eq(c.items[1].name, "retention.ms");
    assert_true(slice_is_null(c.items[1].value));
    result = conf_alter_all(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config, current,
                            PAIRS(PAIR("segment.ms", "x")), &arena, &c);
    assert_int_equal(result.error, ERR_INVALID_CONFIG);
    assert_slice_eq(result.message,
                    "Invalid value x for configuration segment.ms: Not a number of type LONG");
    assert_int_equal(c.count, 2); /* untouched */
}

static void test_conflict_with_what_is_set(void **state)
{
    (void)state;
    struct conf_op op = {SLICE_LIT("max.compaction.lag.ms"), CONF_OP_SET, SLICE_LIT("5")};
    struct conf_changes c = {NULL, 0};
    struct conf_result result =
        conf_alter(CONF_RESOURCE_TOPIC, SLICE_LIT("t"), config,
                   PAIRS(PAIR("min.compaction.lag.ms", "10")), &op, 1, &arena, &c);
    assert_slice_eq(result.message, "conflict topic config setting min.compaction.lag.ms (10) > "
                                    "max.compaction.lag.ms (5)");
}

/* Records that no broker takes are no reason to refuse another alteration (Kafka answers 0); they
 * can be deleted one by one, and the request itself is looked at as ever. */
static void test_beside_records_that_no_broker_takes(void **state)
{
    (void)state;
    struct conf_pairs one = PAIRS(PAIR("node.id", "5"), PAIR("log.retention.ms", "x"),
                                  PAIR("log.cleanup.policy", "foo"));
    struct conf_changes c =
        alter(CONF_RESOURCE_BROKER, one, CONF_OP_SET, "log.segment.bytes", "3000000");
    assert_int_equal(c.count, 1);
    c = alter(CONF_RESOURCE_BROKER, one, CONF_OP_DELETE, "node.id", NULL);
    assert_int_equal(c.count, 1);
    c = alter(CONF_RESOURCE_BROKER, one, CONF_OP_APPEND, "log.cleanup.policy", "compact");
    assert_slice_eq(c.items[0].value, "delete,compact");
    struct conf_pairs all = PAIRS(PAIR("num.partitions", "7"), PAIR("broker.rack", "r"),
                                  PAIR("listener.security.protocol.map", "PLAINTEXT:SSL"));
    struct conf_op ops[] = {{SLICE_LIT("log.segment.bytes"), CONF_OP_SET, SLICE_LIT("3000000")},
                            {SLICE_LIT("num.partitions"), CONF_OP_SET, SLICE_LIT("8")}};
    struct conf_result result =
        conf_alter(CONF_RESOURCE_BROKER, SLICE_LIT(""), config, all, ops, 1, &arena, &c);
    assert_int_equal(result.error, ERR_NONE);
    result = conf_alter(CONF_RESOURCE_BROKER, SLICE_LIT(""), config, all, ops, 2, &arena, &c);
    assert_slice_eq(result.message, "Cannot update these configs dynamically: [num.partitions]");
    /* The old request takes them away, for it replaces everything. */
    result = conf_alter_all(CONF_RESOURCE_BROKER, SLICE_LIT(""), config, all,
                            PAIRS(PAIR("log.segment.bytes", "4000000")), &arena, &c);
    assert_int_equal(result.error, ERR_NONE);
    assert_int_equal(c.count, 4);
}

/* One request may hold very many keys; that must not take quadratic time (the test's limit is a
 * minute). */
static void test_many_keys(void **state)
{
    (void)state;
    enum { COUNT = 200000 };
    struct arena own;
    arena_init(&own);
    struct conf_op *ops = arena_array(&own, COUNT, sizeof *ops);
    for (int i = 0; i < COUNT; i++)
        ops[i] = (struct conf_op){arena_printf(&own, "listener.name.l.key%d", i), CONF_OP_SET,
                                  slice_str("1")};
    struct conf_changes changes;
    struct conf_result result = conf_alter(CONF_RESOURCE_BROKER, slice_str(""), config, NO_PAIRS,
                                           ops, COUNT, &own, &changes);
    assert_int_equal(result.error, ERR_INVALID_REQUEST); /* not at default cluster level */
    ops[COUNT - 1].name = ops[0].name;
    result = conf_alter(CONF_RESOURCE_BROKER, slice_str(""), config, NO_PAIRS, ops, COUNT, &own,
                        &changes);
    assert_slice_eq(result.message, "Error due to duplicate config keys");
    arena_fini(&own);
}

/* A broker takes names that no table has, but not without end; what is there may be taken away. */
static void test_a_resource_has_a_limit(void **state)
{
    (void)state;
    enum { COUNT = CONF_OVERRIDES_MAX + 1 };
    struct conf_op *ops = arena_array(&arena, COUNT, sizeof *ops);
    struct conf_pair *pairs = arena_array(&arena, COUNT + 1, sizeof *pairs);
    for (int i = 0; i < COUNT; i++) {
        ops[i] = (struct conf_op){arena_printf(&arena, "mine.%d", i), CONF_OP_SET, SLICE_LIT("1")};
        pairs[i] = (struct conf_pair){ops[i].name, ops[i].value};
    }
    struct conf_changes c = {NULL, 0};
    struct conf_result result =
        conf_alter(CONF_RESOURCE_BROKER, SLICE_LIT("1"), config, NO_PAIRS, ops, COUNT, &arena, &c);
    assert_int_equal(result.error, ERR_POLICY_VIOLATION);
    assert_slice_eq(result.message, "A resource may have at most 2000 configs, not 2001.");
    result = conf_alter(CONF_RESOURCE_BROKER, SLICE_LIT("1"), config, NO_PAIRS, ops, COUNT - 1,
                        &arena, &c);
    assert_int_equal(result.error, ERR_NONE);
    assert_int_equal(c.count, COUNT - 1);
    pairs[COUNT] = (struct conf_pair){SLICE_LIT("mine.last"), SLICE_LIT("1")};
    ops[0].kind = CONF_OP_DELETE;
    result = conf_alter(CONF_RESOURCE_BROKER, SLICE_LIT("1"), config,
                        (struct conf_pairs){pairs, COUNT + 1}, ops, 1, &arena, &c);
    assert_int_equal(result.error, ERR_NONE);
}

int main(void)
{
    arena_init(&arena);
    char *text = golden("default.properties");
    config = config_of(text);
    mem_free(text);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers_of_kafka),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_changes),
        cmocka_unit_test(test_legacy_replaces_everything),
        cmocka_unit_test(test_conflict_with_what_is_set),
        cmocka_unit_test(test_beside_records_that_no_broker_takes),
        cmocka_unit_test(test_many_keys),
        cmocka_unit_test(test_a_resource_has_a_limit),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    config_unref(config);
    arena_fini(&arena);
    return failed;
}
