#include "harness.h"

struct component {
    const char *type;
    int8_t match_type;
    const char *match;
};

static void filters(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static const struct {
        struct component components[2];
        int32_t count;
        int16_t error;
        const char *text;
    } cases[] = {
        {{{NULL, 0, NULL}}, 0, 0, ""},
        {{{"user", 2, NULL}, {"client-id", 0, "a"}}, 2, 0, ""},
        {{{"user", 0, "a"}, {"user", 1, NULL}},
         2,
         ERR_INVALID_REQUEST,
         "Entity type user cannot appear more than once in the filter."},
        {{{"nonsense", 0, "a"}}, 1, ERR_UNSUPPORTED_VERSION, "Unsupported entity type nonsense"},
        {{{"", 0, "a"}}, 1, ERR_INVALID_REQUEST, "Invalid empty entity type."},
        {{{"user", 9, NULL}}, 1, ERR_INVALID_REQUEST, "Unknown match type 9"},
        {{{"user", 0, NULL}},
         1,
         ERR_INVALID_REQUEST,
         "Request specified MATCH_TYPE_EXACT, but set match string to null."},
        {{{"user", 1, "a"}},
         1,
         ERR_INVALID_REQUEST,
         "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."},
        {{{"ip", 2, NULL}, {"user", 2, NULL}},
         2,
         ERR_INVALID_REQUEST,
         "Invalid entity filter component combination. IP filter component should not be used "
         "with user or clientId filter component."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct describe_client_quotas_request body;
        wire_init(&wire_describe_client_quotas_request, &body);
        struct describe_client_quotas_request_component_data *items =
            describe_client_quotas_request_components_new(&h.arena, &body, cases[i].count);
        for (int32_t k = 0; k < cases[i].count; k++) {
            items[k].entity_type = slice_str(cases[i].components[k].type);
            items[k].match_type = cases[i].components[k].match_type;
            items[k].match = slice_str(cases[i].components[k].match);
        }
        const struct describe_client_quotas_response *r =
            harness_call(&h, WIRE_API_DESCRIBE_CLIENT_QUOTAS, 1, &body);
        assert_int_equal(r->error_code, cases[i].error);
        assert_slice_eq(r->error_message, cases[i].text);
        assert_int_equal(r->entries_count, cases[i].error ? -1 : 0);
    }
    harness_end(&h);
}

static void scram_users(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct describe_user_scram_credentials_request body;
    wire_init(&wire_describe_user_scram_credentials_request, &body);
    body.users_count = -1;
    const struct describe_user_scram_credentials_response *r =
        harness_call(&h, WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, 0, &body);
    assert_int_equal(r->results_count, 0);
    struct describe_user_scram_credentials_request_user_name *users =
        describe_user_scram_credentials_request_users_new(&h.arena, &body, 3);
    users[0].name = slice_str("a");
    users[1].name = slice_str("b");
    users[2].name = slice_str("a");
    r = harness_call(&h, WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, 0, &body);
    assert_int_equal(r->results_count, 2);
    assert_int_equal(r->results[0].error_code, ERR_DUPLICATE_RESOURCE);
    assert_slice_eq(r->results[0].error_message,
                    "Cannot describe SCRAM credentials for the same user twice in a single "
                    "request: a");
    assert_int_equal(r->results[1].error_code, ERR_RESOURCE_NOT_FOUND);
    assert_slice_eq(r->results[1].error_message,
                    "Attempt to describe a user credential that does not exist: b");
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters),
        cmocka_unit_test(scram_users),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
