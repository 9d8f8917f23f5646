#include "harness.h"

static char told[512];
static _Atomic int told_count;

static void keep_line(void *context, struct slice line)
{
    (void)context;
    snprintf(told, sizeof told, "%.*s", SLICE_FMT(line));
    told_count++;
}

/* Announced and refused, with an error that ends clients of the consumer protocol at once; the node
 * tells who, but not at each try. */
static void refused_in_words(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct api_versions_request asked;
    wire_init(&wire_api_versions_request, &asked);
    asked.client_software_name = asked.client_software_version = slice_str("1");
    const struct api_versions_response *apis = harness_call(&h, WIRE_API_API_VERSIONS, 4, &asked);
    bool announced = false;
    for (int32_t i = 0; i < apis->api_keys_count; i++)
        announced |= apis->api_keys[i].api_key == WIRE_API_CONSUMER_GROUP_HEARTBEAT;
    assert_true(announced);

    diag_init(h.io, keep_line, NULL);
    diag_set_level(DIAG_ROOT, DIAG_WARN);
    for (int16_t version = 0; version <= 1; version++) {
        struct consumer_group_heartbeat_request body;
        wire_init(&wire_consumer_group_heartbeat_request, &body);
        body.group_id = slice_str("modern");
        body.member_id = slice_str("m");
        const struct consumer_group_heartbeat_response *r =
            harness_call(&h, WIRE_API_CONSUMER_GROUP_HEARTBEAT, version, &body);
        assert_int_equal(r->error_code, ERR_UNSUPPORTED_VERSION);
        assert_slice_eq(r->error_message, "The consumer group protocol is not served yet; use "
                                          "group.protocol=classic.");
        assert_null(r->assignment);
    }
    assert_int_equal(told_count, 1);
    assert_non_null(strstr(told, "group modern at 127.0.0.1"));
    assert_non_null(strstr(told, "group.protocol=classic"));
    diag_init(h.io, NULL, NULL);
    diag_set_level(DIAG_ROOT, DIAG_ERROR);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
