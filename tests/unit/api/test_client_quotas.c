#include "harness.h"

#include "meta/controller.h"
#include "repl/quorum.h"
#include "wire_metadata_records.h"

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

/* ---- what a folder taken over holds --------------------------------------------------------- */

static void add_quota(struct controller *c, const char *user, const char *client, const char *key,
                      double value)
{
    struct client_quota_record record;
    struct client_quota_record_entity_data parts[2];
    wire_init(&wire_client_quota_record, &record);
    record.entity = parts;
    record.entity_count = 0;
    if (user)
        parts[record.entity_count++] = (struct client_quota_record_entity_data){
            SLICE_LIT("user"), *user ? slice_str(user) : SLICE_NULL};
    if (client)
        parts[record.entity_count++] = (struct client_quota_record_entity_data){
            SLICE_LIT("client-id"), *client ? slice_str(client) : SLICE_NULL};
    record.key = slice_str(key);
    record.value = value;
    meta_records_add(c->records, &wire_client_quota_record, 0, &record);
}

static void add_credential(struct controller *c, const char *user, int8_t mechanism,
                           int32_t iterations)
{
    struct user_scram_credential_record record;
    wire_init(&wire_user_scram_credential_record, &record);
    record.name = slice_str(user);
    record.mechanism = mechanism;
    record.iterations = iterations;
    record.salt = record.stored_key = record.server_key = SLICE_LIT("secret");
    meta_records_add(c->records, &wire_user_scram_credential_record, 0, &record);
}

static void decide_kept(struct quorum_op *op, struct controller *c)
{
    (void)op;
    add_quota(c, "u", NULL, "producer_byte_rate", 1000);
    add_quota(c, "u", "c", "producer_byte_rate", 2000);
    add_quota(c, "", NULL, "producer_byte_rate", 3000); /* "" here: the default user */
    add_quota(c, "u", NULL, "consumer_byte_rate", 4000);
    add_credential(c, "a", 1, 4096);
    add_credential(c, "b", 2, 8192);
    add_credential(c, "a", 2, 8192);
}

struct kept_op {
    struct quorum_op op;
    struct latch ended;
};

static void kept_done(struct quorum_op *op)
{
    latch_open(&((struct kept_op *)op)->ended);
}

static void keep_some(struct harness *h)
{
    struct kept_op kept = {
        .op = {.decide = decide_kept, .done = kept_done, .loop = h->loop, .arena = &h->arena}};
    latch_init(&kept.ended);
    quorum_submit(node_context(h->node)->quorum, &kept.op);
    latch_wait(&kept.ended);
    assert_int_equal(kept.op.error, ERR_NONE);
    latch_fini(&kept.ended);
}

/* How many entities the answer has, and the sum of all their values. */
static int32_t quotas_of(struct harness *h, const char *type, int8_t match_type, const char *match,
                         bool strict, double *ret_sum)
{
    struct describe_client_quotas_request body;
    wire_init(&wire_describe_client_quotas_request, &body);
    struct describe_client_quotas_request_component_data *item =
        describe_client_quotas_request_components_new(&h->arena, &body, type ? 1 : 0);
    if (type) {
        item->entity_type = slice_str(type);
        item->match_type = match_type;
        item->match = match ? slice_str(match) : SLICE_NULL;
    }
    body.strict = strict;
    const struct describe_client_quotas_response *r =
        harness_call(h, WIRE_API_DESCRIBE_CLIENT_QUOTAS, 1, &body);
    assert_int_equal(r->error_code, 0);
    *ret_sum = 0;
    for (int32_t i = 0; i < r->entries_count; i++)
        for (int32_t v = 0; v < r->entries[i].values_count; v++)
            *ret_sum += r->entries[i].values[v].value;
    return r->entries_count;
}

static void kept_quotas(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    keep_some(&h);
    static const struct {
        const char *type;
        int8_t match_type;
        const char *match;
        bool strict;
        int32_t entries;
        double sum;
    } cases[] = {
        {NULL, 0, NULL, false, 3, 10000},      {"user", 0, "u", false, 2, 7000},
        {"user", 0, "u", true, 1, 5000},       {"user", 1, NULL, false, 1, 3000},
        {"user", 2, NULL, false, 3, 10000},    {"user", 2, NULL, true, 2, 8000},
        {"client-id", 0, "c", false, 1, 2000}, {"client-id", 1, NULL, false, 0, 0},
        {"ip", 2, NULL, false, 0, 0},          {"user", 0, "v", false, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double sum;
        assert_int_equal(quotas_of(&h, cases[i].type, cases[i].match_type, cases[i].match,
                                   cases[i].strict, &sum),
                         cases[i].entries);
        assert_true(sum == cases[i].sum);
    }
    harness_end(&h);
}

static void kept_credentials(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    keep_some(&h);
    struct describe_user_scram_credentials_request body;
    wire_init(&wire_describe_user_scram_credentials_request, &body);
    body.users_count = -1;
    const struct describe_user_scram_credentials_response *r =
        harness_call(&h, WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, 0, &body);
    assert_int_equal(r->results_count, 2);
    for (int32_t i = 0; i < 2; i++) {
        bool is_a = slice_eq_str(r->results[i].user, "a");
        assert_int_equal(r->results[i].error_code, 0);
        assert_int_equal(r->results[i].credential_infos_count, is_a ? 2 : 1);
        if (!is_a)
            assert_int_equal(r->results[i].credential_infos[0].iterations, 8192);
    }
    struct describe_user_scram_credentials_request_user_name *users =
        describe_user_scram_credentials_request_users_new(&h.arena, &body, 2);
    users[0].name = slice_str("x");
    users[1].name = slice_str("a");
    r = harness_call(&h, WIRE_API_DESCRIBE_USER_SCRAM_CREDENTIALS, 0, &body);
    assert_int_equal(r->results[0].error_code, ERR_RESOURCE_NOT_FOUND);
    assert_int_equal(r->results[1].credential_infos_count, 2);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters),
        cmocka_unit_test(scram_users),
        cmocka_unit_test(kept_quotas),
        cmocka_unit_test(kept_credentials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
