#include "api/dispatch.h"
#include "harness.h"
#include "repl/quorum.h"

/* "PLAINTEXT 127.0.0.1:9092, CONTROLLER 127.0.0.1:9093" */
static uint16_t harness_controller_port(struct harness *h)
{
    return (uint16_t)atoi(strrchr(node_addresses(h->node), ':') + 1);
}

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

/* KIP-360: the producer id and its epoch come together. */
static void bad_requests(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct init_producer_id_request body;
    wire_init(&wire_init_producer_id_request, &body);
    const struct init_producer_id_response *r =
        harness_call(&h, WIRE_API_INIT_PRODUCER_ID, 4, &body); /* an empty transactional id */
    assert_int_equal(r->error_code, ERR_INVALID_REQUEST);
    assert_int_equal(r->producer_id, -1);
    body.transactional_id = SLICE_NULL;
    body.producer_id = 7;
    r = harness_call(&h, WIRE_API_INIT_PRODUCER_ID, 4, &body);
    assert_int_equal(r->error_code, ERR_INVALID_REQUEST);
    /* A coordinator that nobody has looked for. */
    body.transactional_id = slice_str("tx");
    body.producer_id = -1;
    r = harness_call(&h, WIRE_API_INIT_PRODUCER_ID, 4, &body);
    assert_int_equal(r->error_code, ERR_INVALID_TRANSACTION_TIMEOUT); /* 0 ms */
    body.transaction_timeout_ms = 60000;
    r = harness_call(&h, WIRE_API_INIT_PRODUCER_ID, 4, &body);
    assert_int_equal(r->error_code, ERR_NOT_COORDINATOR);
    harness_end(&h);
}

/* Blocks are granted on controller listeners, to nodes that are registered. */
static void blocks(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    int16_t min, max;
    assert_false(dispatch_versions(WIRE_API_ALLOCATE_PRODUCER_IDS, API_BROKER, false, &min, &max));
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(harness_controller_port(&h))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    struct allocate_producer_ids_request body;
    wire_init(&wire_allocate_producer_ids_request, &body);
    body.broker_id = 1;
    body.broker_epoch = quorum_broker_epoch(node_context(h.node)->quorum);
    int64_t last = -1;
    for (int i = 0; i < 2; i++) {
        harness_ask(&h, fd, WIRE_API_ALLOCATE_PRODUCER_IDS, 0, &body);
        const struct allocate_producer_ids_response *r =
            harness_answer(&h, fd, WIRE_API_ALLOCATE_PRODUCER_IDS, 0);
        assert_int_equal(r->error_code, 0);
        assert_int_equal(r->producer_id_len, 1000);
        assert_true(r->producer_id_start > last);
        last = r->producer_id_start + r->producer_id_len - 1;
    }
    body.broker_epoch++;
    harness_ask(&h, fd, WIRE_API_ALLOCATE_PRODUCER_IDS, 0, &body);
    const struct allocate_producer_ids_response *r =
        harness_answer(&h, fd, WIRE_API_ALLOCATE_PRODUCER_IDS, 0);
    assert_int_equal(r->error_code, ERR_STALE_BROKER_EPOCH);
    close(fd);
    assert_true(next_id(&h) > last);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ids_are_never_reused),
        cmocka_unit_test(bad_requests),
        cmocka_unit_test(blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
