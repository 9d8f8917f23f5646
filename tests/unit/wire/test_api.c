#include "../unit.h"

#include "wire/api.h"
#include "wire_messages.h"

static void the_table_is_complete(void **state)
{
    (void)state;
    assert_int_equal(wire_apis_count, 91); /* 95 keys, 4 of them removed */
    for (size_t i = 0; i < wire_apis_count; i++) {
        const struct wire_api *api = &wire_apis[i];
        assert_true(i == 0 || wire_apis[i - 1].key < api->key);
        assert_ptr_equal(wire_api_find(api->key), api);
        assert_int_equal(api->request->key, api->key);
        assert_int_equal(api->response->key, api->key);
        assert_int_equal(api->request->kind, WIRE_REQUEST);
        assert_int_equal(api->response->kind, WIRE_RESPONSE);
        assert_true(api->first <= api->last_stable && api->last_stable <= api->last);
        assert_int_equal(api->request->first, api->first);
        assert_int_equal(api->request->last, api->last);
        assert_true(api->flags & (WIRE_API_ON_BROKER | WIRE_API_ON_CONTROLLER));
        assert_true((api->request->flexible == 255) == (api->flexible == INT16_MAX));
    }
    assert_null(wire_api_find(WIRE_API_LEADER_AND_ISR));
    assert_null(wire_api_find(-1));
    assert_null(wire_api_find(95));
    assert_string_equal(wire_api_find(WIRE_API_FETCH)->name, "Fetch");
    assert_string_equal(wire_api_find(WIRE_API_LIST_OFFSETS)->enum_name, "LIST_OFFSETS");
}

static void versions_as_announced_by_kafka(void **state)
{
    (void)state;
    const struct wire_api *produce = wire_api_find(WIRE_API_PRODUCE);
    assert_int_equal(produce->announced_first, 0);
    assert_false(wire_api_serves(produce, 2, true));
    assert_true(wire_api_serves(produce, 3, false));
    const struct wire_api *init = wire_api_find(WIRE_API_INIT_PRODUCER_ID);
    assert_int_equal(wire_api_version_last(init, false), 5);
    assert_int_equal(wire_api_version_last(init, true), 6);
    assert_false(wire_api_serves(init, 6, false));
    assert_true(wire_api_serves(init, 6, true));
    assert_true(wire_api_find(WIRE_API_PUSH_TELEMETRY)->flags & WIRE_API_TELEMETRY);
    assert_false(wire_api_find(WIRE_API_PRODUCE)->flags & WIRE_API_ON_CONTROLLER);
}

static void header_versions(void **state)
{
    (void)state;
    const struct wire_api *fetch = wire_api_find(WIRE_API_FETCH);
    assert_int_equal(wire_api_request_header_version(fetch, 11), 1);
    assert_int_equal(wire_api_request_header_version(fetch, 12), 2);
    assert_int_equal(wire_api_response_header_version(fetch, 11), 0);
    assert_int_equal(wire_api_response_header_version(fetch, 12), 1);
    const struct wire_api *versions = wire_api_find(WIRE_API_API_VERSIONS);
    assert_int_equal(wire_api_request_header_version(versions, 127), 2);
    assert_int_equal(wire_api_response_header_version(versions, 4), 0);
    const struct wire_api *handshake = wire_api_find(WIRE_API_SASL_HANDSHAKE);
    assert_int_equal(wire_api_request_header_version(handshake, 1), 1);
    assert_int_equal(wire_api_response_header_version(handshake, 1), 0);
}

static enum err read_header(const void *bytes, size_t size, struct request_header *ret_header,
                            size_t *ret_left)
{
    struct arena a;
    arena_init(&a);
    struct cursor c = cursor_of(slice_of(bytes, size));
    enum err err = wire_api_read_header(&c, &a, ret_header);
    *ret_left = cursor_left(&c);
    arena_fini(&a);
    return err;
}

static void headers_are_read(void **state)
{
    (void)state;
    struct request_header h;
    size_t left;
    /* ApiVersions 127: version 2 header, client id "x" not compact, one unknown tag, one more byte
     */
    static const uint8_t v2[] = {0, 18, 0, 127, 0, 0, 0, 7, 0, 1, 'x', 1, 9, 2, 0xaa, 0xbb, 0x55};
    assert_int_equal(read_header(v2, sizeof v2, &h, &left), ERR_NONE);
    assert_int_equal(h.request_api_key, 18);
    assert_int_equal(h.request_api_version, 127);
    assert_int_equal(h.correlation_id, 7);
    assert_slice_eq(h.client_id, "x");
    assert_int_equal(left, 1);
    /* null client id: the tag section still follows */
    static const uint8_t null_id[] = {0, 1, 0, 12, 0, 0, 0, 7, 0xff, 0xff, 0};
    assert_int_equal(read_header(null_id, sizeof null_id, &h, &left), ERR_NONE);
    assert_null(h.client_id.data);
    assert_int_equal(left, 0);
    assert_int_equal(read_header(null_id, sizeof null_id - 1, &h, &left), ERR_MALFORMED);
    /* version 1: no tags */
    static const uint8_t v1[] = {0, 1, 0, 11, 0, 0, 0, 7, 0, 0, 0x55};
    assert_int_equal(read_header(v1, sizeof v1, &h, &left), ERR_NONE);
    assert_int_equal(h.client_id.size, 0);
    assert_int_equal(left, 1);
    static const uint8_t removed[] = {0, 4, 0, 0, 0, 0, 0, 7, 0, 0};
    assert_int_equal(read_header(removed, sizeof removed, &h, &left), ERR_INVALID_REQUEST);
    assert_int_equal(read_header(v1, 3, &h, &left), ERR_MALFORMED);
}

static void headers_are_written(void **state)
{
    (void)state;
    const struct wire_api *fetch = wire_api_find(WIRE_API_FETCH);
    struct buf out;
    buf_init(&out);
    wire_api_put_response_header(fetch, 11, 0x01020304, &out);
    assert_int_equal(out.size, 4);
    wire_api_put_response_header(fetch, 12, 0x01020304, &out);
    assert_memory_equal(out.data, "\1\2\3\4\1\2\3\4\0", 9);
    assert_int_equal(out.size, 9);
    buf_clear(&out);
    wire_api_put_response_header(wire_api_find(WIRE_API_API_VERSIONS), 4, 5, &out);
    assert_int_equal(out.size, 4);
    buf_clear(&out);
    wire_api_put_request_header(fetch, 12, 7, SLICE_LIT("me"), &out);
    assert_memory_equal(out.data, "\0\1\0\14\0\0\0\7\0\2me\0", 13);
    assert_int_equal(out.size, 13);
    buf_clear(&out);
    wire_api_put_request_header(fetch, 4, 7, SLICE_NULL, &out);
    assert_memory_equal(out.data, "\0\1\0\4\0\0\0\7\xff\xff", 10);
    assert_int_equal(out.size, 10);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_complete), cmocka_unit_test(versions_as_announced_by_kafka),
        cmocka_unit_test(header_versions),       cmocka_unit_test(headers_are_read),
        cmocka_unit_test(headers_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
