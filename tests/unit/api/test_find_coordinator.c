#include "harness.h"

static const struct find_coordinator_response_coordinator *ask(struct harness *h, int8_t type)
{
    struct find_coordinator_request body;
    wire_init(&wire_find_coordinator_request, &body);
    body.key_type = type;
    *find_coordinator_request_coordinator_keys_new(&h->arena, &body, 1) = slice_str("g");
    const struct find_coordinator_response *r =
        harness_call(h, WIRE_API_FIND_COORDINATOR, 4, &body);
    return &r->coordinators[0];
}

/* G19: the first question makes the offsets topic, and its answer can be used. */
static void groups(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(ask(&h, 0)->error_code, 0);
    assert_int_equal(ask(&h, 0)->node_id, 1);
    assert_int_equal(ask(&h, 0)->port, 9092);
    harness_end(&h);
}

static void other_types_are_refused(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(ask(&h, 1)->error_code, ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert_int_equal(ask(&h, 9)->error_code, ERR_INVALID_REQUEST);
    assert_int_equal(ask(&h, 9)->node_id, -1);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups),
        cmocka_unit_test(other_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
