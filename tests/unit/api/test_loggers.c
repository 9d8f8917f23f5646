#include "../unit.h"

#include "api/loggers.h"
#include "os/diag.h"

static enum err alter(const char *resource, const char *name, int kind, const char *value,
                      bool validate_only, struct arena *arena, struct slice *ret_text)
{
    struct conf_op op = {slice_str(name), (enum conf_op_kind)kind, slice_str(value)};
    return loggers_alter(slice_str(resource), 1, &op, 1, validate_only, arena, ret_text);
}

/* The sentences of 4.4.0 (tests/compat, case loggers). */
static void refusals(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    static const struct {
        const char *resource, *name;
        int kind;
        const char *value;
        enum err err;
        const char *text;
    } cases[] = {
        {"x", "root", 0, "WARN", ERR_INVALID_REQUEST, "Node id must be an integer, but it is: x"},
        {"9", "root", 0, "WARN", ERR_INVALID_REQUEST,
         "Unexpected node id. Expected 1, but received 9"},
        {"1", "none", 0, "WARN", ERR_INVALID_CONFIG, "Logger none does not exist!"},
        {"1", "none", 1, NULL, ERR_INVALID_CONFIG, "Logger none does not exist!"},
        {"1", "root", 0, "warn", ERR_INVALID_CONFIG,
         "Cannot set the log level of root to warn as it is not a supported log level. Valid log "
         "levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"},
        {"1", "root", 1, NULL, ERR_INVALID_REQUEST,
         "Removing the log level of the root logger is not allowed"},
        {"1", "root", 2, "WARN", ERR_INVALID_REQUEST,
         "APPEND operation is not allowed for the BROKER_LOGGER resource"},
        {"1", "root", 3, "WARN", ERR_INVALID_REQUEST,
         "SUBTRACT operation is not allowed for the BROKER_LOGGER resource"},
        {"1", "root", 9, "WARN", ERR_INVALID_REQUEST,
         "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct slice text;
        assert_int_equal(alter(cases[i].resource, cases[i].name, cases[i].kind, cases[i].value,
                               false, &arena, &text),
                         cases[i].err);
        assert_slice_eq(text, cases[i].text);
    }
    assert_int_equal(diag_level_of(DIAG_ROOT), DIAG_INFO);
    arena_fini(&arena);
}

static void levels(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice text;
    assert_int_equal(alter("1", "kafka.server.KafkaApis", 0, "DEBUG", true, &arena, &text), 0);
    assert_int_equal(diag_level_of(DIAG_API), DIAG_INFO); /* validate_only */
    assert_int_equal(alter("1", "kafka.server.KafkaApis", 0, "DEBUG", false, &arena, &text), 0);
    assert_int_equal(diag_level_of(DIAG_API), DIAG_DEBUG);
    assert_int_equal(alter("1", "root", 0, "ERROR", false, &arena, &text), 0);
    assert_int_equal(diag_level_of(DIAG_API), DIAG_DEBUG); /* has its own */
    assert_int_equal(diag_level_of(DIAG_STORE), DIAG_ERROR);
    assert_int_equal(alter("1", "kafka.request.logger", 1, NULL, false, &arena, &text), 0);
    assert_int_equal(diag_level_of(DIAG_API), DIAG_ERROR); /* follows root again */
    assert_int_equal(alter("1", "root", 0, "INFO", false, &arena, &text), 0);
    assert_int_equal(diag_level_of(DIAG_API), DIAG_INFO);
    arena_fini(&arena);
}

/* One bad operation keeps the good ones from being done. */
static void all_or_nothing(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct conf_op ops[] = {{slice_str("kafka.log"), 0, slice_str("TRACE")},
                            {slice_str("none"), 0, slice_str("TRACE")}};
    struct slice text;
    assert_int_equal(loggers_alter(slice_str("1"), 1, ops, 2, false, &arena, &text),
                     ERR_INVALID_CONFIG);
    assert_int_equal(diag_level_of(DIAG_STORE), DIAG_INFO);
    arena_fini(&arena);
}

static void listed_by_name(void **state)
{
    (void)state;
    struct slice level, last = loggers_at(0, &level);
    bool root = false;
    for (int i = 1; i < loggers_count(); i++) {
        struct slice name = loggers_at(i, &level);
        assert_true(slice_cmp(last, name) < 0);
        assert_slice_eq(level, "INFO");
        root = root || slice_eq_str(name, "root");
        last = name;
    }
    assert_true(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals),
        cmocka_unit_test(levels),
        cmocka_unit_test(all_or_nothing),
        cmocka_unit_test(listed_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
