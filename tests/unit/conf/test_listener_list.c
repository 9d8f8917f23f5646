/* Addresses of listeners: the odd cases (what Kafka says to them is in
 * tests/golden/conf/start.tsv). */
#include "conf/listener_list.h"
#include "fixture.h"

static const struct slice map =
    SLICE_LIT("PLAINTEXT:PLAINTEXT, A:SSL,b : SASL_SSL,C:sasl_plaintext");
static struct arena arena;

static enum err parse(const char *text, enum listener_rule rule, struct listener_list *list,
                      struct slice *message)
{
    struct slice items[8];
    int32_t count = 0;
    for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        items[count++] = slice_trim(slice_of(at, strcspn(at, ",")));
    struct conf_list texts = {items, count};
    return listener_list_parse("listeners", &texts, map, rule, &arena, list, message);
}

static void one(const char *text, const char *name, const char *host, int port)
{
    struct listener_list list;
    struct slice message = SLICE_NULL;
    if (parse(text, LISTENER_RULE_BIND, &list, &message))
        fail_msg("%s: %.*s", text, SLICE_FMT(message));
    assert_int_equal(list.count, 1);
    assert_slice_eq(list.items[0].name, name);
    assert_slice_eq(list.items[0].host, host);
    assert_int_equal(list.items[0].port, port);
}

static void refused(const char *text, enum listener_rule rule, const char *part)
{
    struct listener_list list;
    struct slice message;
    if (!parse(text, rule, &list, &message))
        fail_msg("taken: %s", text);
    if (!strstr(arena_cstr(&arena, message), part))
        fail_msg("%s: %.*s", text, SLICE_FMT(message));
}

static void test_addresses(void **state)
{
    (void)state;
    one("PLAINTEXT://[::1]:9092", "PLAINTEXT", "::1", 9092);
    one("PLAINTEXT://:9092", "PLAINTEXT", "", 9092);
    one("plaintext://my_host-1.example:0", "PLAINTEXT", "my_host-1.example", 0);
    one("PLAINTEXT://[fe80::1%eth0]:65535", "PLAINTEXT", "fe80::1%eth0", 65535);
    one("PLAINTEXT://::1:9092", "PLAINTEXT", "::1", 9092);
}

static void test_refused(void **state)
{
    (void)state;
    const char *const unparsable[] = {
        "PLAINTEXT:9092",  "PLAINTEXT://h", "PLAINTEXT://h:",   "PLAINTEXT://h o:9092",
        "PLAINTEXT://h:x", "h:9092",        "PLAINTEXT://h:+1", "PLAINTEXT://h:9999999999999"};
    for (size_t i = 0; i < sizeof(unparsable) / sizeof(unparsable[0]); i++)
        refused(unparsable[i], LISTENER_RULE_BIND, "Unable to parse");
    refused("PLAINTEXT://:65536", LISTENER_RULE_BIND, "65536");
    refused("://h:1", LISTENER_RULE_BIND, "No security protocol");
    refused("D://h:1", LISTENER_RULE_BIND, "No security protocol defined for listener D");
}

static void test_distinct(void **state)
{
    (void)state;
    struct listener_list list;
    struct slice message;
    assert_int_equal(parse("A://127.0.0.1:1,B://[::1]:1", LISTENER_RULE_BIND, &list, &message),
                     ERR_NONE);
    assert_int_equal(parse("A://:0,B://:0", LISTENER_RULE_BIND, &list, &message), ERR_NONE);
    assert_int_equal(parse("A://x:1,B://x:1", LISTENER_RULE_ADVERTISE, &list, &message), ERR_NONE);
    refused("A://x:1,a://y:2", LISTENER_RULE_ADVERTISE, "different name");
    refused("A://x:1,B://y:1", LISTENER_RULE_BIND, "different port, listeners: [A://x:1, B://y:1]");
    refused("A://1.1.1.1:1,B://2.2.2.2:1", LISTENER_RULE_BIND, "one needs to be IPv4");
    refused("A://1.1.1.1:1,B://y:1", LISTENER_RULE_BIND, "unless exactly one listener");
}

static void test_map(void **state)
{
    (void)state;
    enum security_protocol protocol;
    assert_true(listener_protocol(map, SLICE_LIT("B"), &protocol) && protocol == SECURITY_SASL_SSL);
    assert_true(listener_protocol(map, SLICE_LIT("c"), &protocol) &&
                protocol == SECURITY_SASL_PLAINTEXT);
    assert_false(listener_protocol(map, SLICE_LIT("SSL"), &protocol));
    assert_string_equal(security_protocol_name(protocol), "SASL_PLAINTEXT");
    struct slice message;
    assert_int_equal(listener_map_check(map, &arena, &message), ERR_NONE);
    assert_int_equal(listener_map_check(SLICE_LIT("A:TLS"), &arena, &message), ERR_INVALID_CONFIG);
    assert_int_equal(listener_map_check(SLICE_LIT("A"), &arena, &message), ERR_INVALID_CONFIG);
    struct listener_list list;
    assert_int_equal(parse("A://x:1,B://y:2", LISTENER_RULE_BIND, &list, &message), ERR_NONE);
    assert_ptr_equal(listener_list_find(&list, SLICE_LIT("b")), &list.items[1]);
    assert_null(listener_list_find(&list, SLICE_LIT("c")));
}

int main(void)
{
    arena_init(&arena);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_distinct),
        cmocka_unit_test(test_map),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_fini(&arena);
    return failed;
}
