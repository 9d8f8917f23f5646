#include "harness.h"

/* The answers of 4.4.0 without an authorizer (seen): an error for the whole, or for each item. */
static void disabled(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct describe_acls_request describe;
    wire_init(&wire_describe_acls_request, &describe);
    describe.resource_type_filter = 1;
    describe.pattern_type_filter = 1;
    describe.operation = 1;
    describe.permission_type = 1;
    const struct describe_acls_response *d = harness_call(&h, WIRE_API_DESCRIBE_ACLS, 3, &describe);
    assert_int_equal(d->error_code, ERR_SECURITY_DISABLED);
    assert_slice_eq(d->error_message, "No Authorizer is configured on the broker");

    struct create_acls_request create;
    wire_init(&wire_create_acls_request, &create);
    struct create_acls_request_acl_creation *item =
        create_acls_request_creations_new(&h.arena, &create, 2);
    for (int i = 0; i < 2; i++) {
        item[i].resource_type = 2;
        item[i].resource_name = slice_str("t");
        item[i].principal = slice_str("User:a");
        item[i].host = slice_str("*");
        item[i].operation = 3;
        item[i].permission_type = 3;
    }
    const struct create_acls_response *c = harness_call(&h, WIRE_API_CREATE_ACLS, 3, &create);
    assert_int_equal(c->results_count, 2);
    assert_int_equal(c->results[1].error_code, ERR_SECURITY_DISABLED);
    assert_slice_eq(c->results[1].error_message, "No Authorizer is configured.");

    struct delete_acls_request del;
    wire_init(&wire_delete_acls_request, &del);
    struct delete_acls_request_delete_acls_filter *filter =
        delete_acls_request_filters_new(&h.arena, &del, 1);
    filter->resource_type_filter = 1;
    filter->pattern_type_filter = 1;
    filter->operation = 1;
    filter->permission_type = 1;
    const struct delete_acls_response *r = harness_call(&h, WIRE_API_DELETE_ACLS, 3, &del);
    assert_int_equal(r->filter_results_count, 1);
    assert_int_equal(r->filter_results[0].error_code, ERR_SECURITY_DISABLED);
    harness_end(&h);
}

/* A number that Kafka does not have is found unknown only by an authorizer (seen). */
static void other_numbers(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct describe_acls_request body;
    wire_init(&wire_describe_acls_request, &body);
    body.resource_type_filter = 8;
    body.pattern_type_filter = 99;
    body.operation = 16;
    body.permission_type = -1;
    const struct describe_acls_response *d = harness_call(&h, WIRE_API_DESCRIBE_ACLS, 3, &body);
    assert_int_equal(d->error_code, ERR_SECURITY_DISABLED);
    harness_end(&h);
}

/* The kind UNKNOWN makes the request malformed. */
static void unknown_closes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct describe_acls_request body;
    for (int i = 0; i < 4; i++) {
        wire_init(&wire_describe_acls_request, &body);
        body.resource_type_filter = i == 0 ? 0 : 1;
        body.pattern_type_filter = i == 1 ? 0 : 1;
        body.operation = i == 2 ? 0 : 1;
        body.permission_type = i == 3 ? 0 : 1;
        int fd = harness_connect(&h);
        harness_ask(&h, fd, WIRE_API_DESCRIBE_ACLS, 3, &body);
        assert_null(harness_answer(&h, fd, WIRE_API_DESCRIBE_ACLS, 3));
        close(fd);
    }
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(disabled),
        cmocka_unit_test(other_numbers),
        cmocka_unit_test(unknown_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
