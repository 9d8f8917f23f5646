/* Limits that the broker sets for groups; more cases, answered by Kafka, in test_dynamic. */
#include "conf/config_layers.h"
#include "fixture.h"

static struct arena arena;

static void check(const struct config *config, struct conf_pairs pairs, const char *message)
{
    struct slice got = SLICE_NULL;
    enum err error = group_config_check(config, pairs, &arena, &got);
    assert_int_equal(error, message ? ERR_INVALID_CONFIG : ERR_NONE);
    if (message)
        assert_slice_eq(got, message);
}

static void test_limits_follow_the_broker(void **state)
{
    (void)state;
    struct config *config = config_of(NODE "group.consumer.min.session.timeout.ms=10\n"
                                           "group.consumer.max.session.timeout.ms=50000\n"
                                           "group.streams.assignors=sticky,other\n");
    check(config, PAIRS(PAIR("consumer.session.timeout.ms", "10")), NULL);
    check(config, PAIRS(PAIR("consumer.session.timeout.ms", "9")),
          "consumer.session.timeout.ms must be in the range 10 to 50000 inclusive.");
    check(config, PAIRS(PAIR("streams.num.standby.replicas", "3")),
          "streams.num.standby.replicas must be less than or equal to 2");
    check(config, PAIRS(PAIR("streams.task.offset.interval.ms", "1")),
          "streams.task.offset.interval.ms must be greater than or equal to 15000");
    check(config, PAIRS(PAIR("streams.assignor.name", "other")), NULL);
    check(config, PAIRS(PAIR("streams.assignor.name", "x")),
          "streams.assignor.name 'x' is not a registered task assignor. Registered assignors are: "
          "[sticky, other].");
    check(config, PAIRS(PAIR("streams.rack.aware.assignment.tags", "a,b")), NULL);
    check(config, PAIRS(PAIR("streams.rack.aware.assignment.tags", "a, a")),
          "streams.rack.aware.assignment.tags must not contain duplicate tag keys.");
    check(config, PAIRS(PAIR("consumer.session.timeout.ms", "20"), PAIR("nokey", "1")),
          "Unknown group config name: nokey");
    config_unref(config);
}

int main(void)
{
    arena_init(&arena);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits_follow_the_broker)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_fini(&arena);
    return failed;
}
