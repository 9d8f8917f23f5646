#include "harness.h"

static int64_t next_id(struct harness *h)
{
    struct init_producer_id_request body;
    wire_init(&wire_init_producer_id_request, &body);
    body.transactional_id = SLICE_NULL;
    const struct init_producer_id_response *r =
        harness_call(h, WIRE_API_INIT_PRODUCER_ID, 4, &body);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->producer_epoch, 0);
    return r->producer_id;
}

/* Ids rise, and go on above the last block after a restart. */
static void ids_are_never_reused(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    int64_t first = next_id(&h);
    assert_int_equal(next_id(&h), first + 1);
    harness_close(&h);
    harness_open(&h, NULL);
    assert_true(next_id(&h) > first + 1);
    harness_end(&h);
}

static void transactions_are_refused(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct init_producer_id_request body;
    wire_init(&wire_init_producer_id_request, &body);
    body.transactional_id = slice_str("tx");
    const struct init_producer_id_response *r =
        harness_call(&h, WIRE_API_INIT_PRODUCER_ID, 4, &body);
    assert_int_equal(r->error_code, ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    assert_int_equal(r->producer_id, -1);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_never_reused),
        cmocka_unit_test(transactions_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
