#include "../unit.h"

#include "conf/documentation.h"

static void sentences(void **state)
{
    (void)state;
    static const struct {
        enum conf_kind kind;
        const char *name, *text;
    } cases[] = {
        {CONF_KIND_TOPIC, "retention.ms",
         "A whole number of at least -1. By default 604800000. Where it is not set, the broker's "
         "log.retention.ms, then log.retention.minutes, then log.retention.hours decide."},
        {CONF_KIND_TOPIC, "cleanup.policy",
         "A list, separated by commas of: compact, delete. By default delete. Where it is not set, "
         "the broker's log.cleanup.policy decides."},
        {CONF_KIND_BROKER, "node.id",
         "A whole number of at least 0. It must be set. Read at the start."},
        {CONF_KIND_BROKER, "message.max.bytes",
         "A whole number of at least 0. By default 1048588. May be changed for a running broker, "
         "or for all."},
        {CONF_KIND_CLIENT_METRICS, "interval.ms", "A whole number. By default 300000."},
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_slice_eq(documentation_of(cases[i].kind, slice_str(cases[i].name), &arena),
                        cases[i].text);
    assert_true(slice_is_null(documentation_of(CONF_KIND_TOPIC, slice_str("nonsense"), &arena)));
    arena_fini(&arena);
}

/* Every key of every table has a text. */
static void complete(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    for (int kind = 0; kind < CONF_KIND_COUNT; kind++) {
        int count;
        const struct conf_key *table = conf_table((enum conf_kind)kind, &count);
        for (int i = 0; i < count; i++)
            assert_true(
                documentation_of((enum conf_kind)kind, slice_str(table[i].name), &arena).size > 5);
    }
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sentences),
        cmocka_unit_test(complete),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
