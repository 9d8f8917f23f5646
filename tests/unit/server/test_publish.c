#include "../api/harness.h"

#include "os/diag.h"

#include <string.h>

static int64_t append_time(struct harness *h)
{
    return harness_produce(h, "t", 0, 1)->log_append_time_ms;
}

static int16_t alter(struct harness *h, int8_t type, const char *resource, const char *name,
                     const char *value)
{
    struct incremental_alter_configs_request body;
    wire_init(&wire_incremental_alter_configs_request, &body);
    struct incremental_alter_configs_request_alter_configs_resource *item =
        incremental_alter_configs_request_resources_new(&h->arena, &body, 1);
    item->resource_type = type;
    item->resource_name = slice_str(resource);
    struct incremental_alter_configs_request_alterable_config *config =
        incremental_alter_configs_request_alter_configs_resource_configs_new(&h->arena, item, 1);
    config->name = slice_str(name);
    config->value = slice_str(value);
    const struct incremental_alter_configs_response *r =
        harness_call(h, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 1, &body);
    return r->responses[0].error_code;
}

/* A change is in effect in the request after its answer. */
static void settings_take_effect_at_once(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(append_time(&h), -1);
    assert_int_equal(alter(&h, 2, "t", "message.timestamp.type", "LogAppendTime"), 0);
    assert_true(append_time(&h) > 0);
    assert_int_equal(alter(&h, 2, "t", "message.timestamp.type", "CreateTime"), 0);
    assert_int_equal(append_time(&h), -1);
    /* The default of all brokers. */
    assert_int_equal(alter(&h, 4, "", "log.message.timestamp.type", "LogAppendTime"), 0);
    assert_int_equal(harness_create(&h, "u", 1), 0);
    assert_true(harness_produce(&h, "u", 0, 1)->log_append_time_ms > 0);
    harness_end(&h);
}

static void note_line(void *context, struct slice line)
{
    int *count = context;
    *count += memmem(line.data, line.size, "num.network.threads=4", 21) != NULL;
}

/* A changed number of threads is said not to act, at the change and at a start. */
static void threads_stay(void **state)
{
    (void)state;
    struct harness h = harness_start();
    int told = 0;
    diag_init(h.io, note_line, &told);
    diag_set_level(DIAG_SERVER, DIAG_WARN);
    harness_open(&h, NULL);
    assert_int_equal(alter(&h, 4, "", "num.network.threads", "4"), 0);
    assert_int_equal(told, 1);
    assert_int_equal(alter(&h, 4, "", "log.retention.ms", "40000"), 0);
    assert_int_equal(told, 1);
    harness_close(&h);
    harness_open(&h, NULL);
    assert_int_equal(told, 2);
    harness_end(&h);
    diag_init(NULL, NULL, NULL);
}

/* A log whose topic is gone is set aside at the start, not deleted. */
static void strays(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_close(&h);
    char command[256];
    snprintf(command, sizeof command, "mv %s/t-0 %s/s-0", h.dir, h.dir);
    assert_int_equal(system(command), 0);
    harness_open(&h, NULL);
    snprintf(command, sizeof command, "ls -d %s/s-0.*-stray >/dev/null", h.dir);
    assert_int_equal(system(command), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 1)->base_offset, 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_take_effect_at_once),
        cmocka_unit_test(threads_stay),
        cmocka_unit_test(strays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
