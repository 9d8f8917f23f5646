#include "api/dispatch.h"
#include "harness.h"

static bool is_closed(int fd)
{
    struct buf frame;
    buf_init(&frame);
    bool closed = !harness_receive(fd, &frame);
    buf_fini(&frame);
    return closed;
}

/* ApiVersions 127 is answered in version 0 with error 35 and one entry; the connection lives.
 * The bytes are those that Apache Kafka 4.4.0 sent to the same frame. */
static void api_versions_above_the_highest(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static const uint8_t request[] = "\0\x12\0\x7f\0\0\0\7\0\1x\0";
    static const uint8_t answer[] = "\0\0\0\7\0\x23\0\0\0\1\0\x12\0\0\0\5";
    harness_send(h.fd, slice_of(request, sizeof request - 1));
    struct buf frame;
    buf_init(&frame);
    assert_true(harness_receive(h.fd, &frame));
    assert_int_equal(frame.size, sizeof answer - 1);
    assert_memory_equal(frame.data, answer, frame.size);
    buf_fini(&frame);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_end(&h);
}

/* Whatever else cannot be served closes the connection without an answer. */
static void what_cannot_be_served_closes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static const struct {
        const char *bytes;
        size_t size;
    } frames[] = {
        {"\0\x0b\0\x63\0\0\0\1\0\1x", 11},             /* JoinGroup 99 */
        {"\x03\xe7\0\0\0\0\0\1\0\1x", 11},             /* API 999 */
        {"\0\4\0\0\0\0\0\1\0\1x", 11},                 /* LeaderAndIsr: removed */
        {"\0\x34\0\0\0\0\0\1\0\1x\0", 12},             /* Vote: controllers only */
        {"\0\3\0\1\0\0\0\1\0\1x\x7f\xff\xff\xff", 15}, /* Metadata 1, 2^31-1 topics */
        {"\0\3\0\1\0\0\0\1\0\1x\0\0\0\1\0\5abc", 20},  /* a name that ends early */
        {"\0\3", 2},                                   /* half a header */
    };
    for (size_t i = 0; i < sizeof frames / sizeof frames[0]; i++) {
        int fd = harness_connect(&h);
        harness_send(fd, slice_of(frames[i].bytes, frames[i].size));
        assert_true(is_closed(fd));
        close(fd);
    }
    harness_end(&h);
}

/* A null client id in a flexible header is followed by the tags all the same. */
static void null_client_id(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    static const uint8_t request[] = "\0\x12\0\3\0\0\0\7\xff\xff\0\2x\2y\0";
    harness_send(h.fd, slice_of(request, sizeof request - 1));
    const struct api_versions_response *r = harness_answer(&h, h.fd, WIRE_API_API_VERSIONS, 3);
    assert_non_null(r);
    assert_int_equal(r->error_code, 0);
    harness_end(&h);
}

static void handlers_are_found_by_listener(void **state)
{
    (void)state;
    int16_t min, max;
    assert_true(dispatch_versions(WIRE_API_API_VERSIONS, API_BROKER, false, &min, &max));
    assert_true(dispatch_versions(WIRE_API_API_VERSIONS, API_CONTROLLER, false, &min, &max));
    assert_true(dispatch_versions(WIRE_API_PRODUCE, API_BROKER, false, &min, &max));
    assert_false(dispatch_versions(WIRE_API_PRODUCE, API_CONTROLLER, false, &min, &max));
    assert_false(dispatch_versions(-1, API_BROKER, false, &min, &max));
    assert_false(dispatch_versions(1000, API_BROKER, false, &min, &max));
    assert_true(dispatch_versions(WIRE_API_FETCH, API_BROKER, false, &min, &max));
    assert_int_equal(min, 4);
    assert_int_equal(max, 18);
    assert_false(dispatch_versions(WIRE_API_FETCH, API_CONTROLLER, false, &min, &max));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(api_versions_above_the_highest),
        cmocka_unit_test(what_cannot_be_served_closes),
        cmocka_unit_test(null_client_id),
        cmocka_unit_test(handlers_are_found_by_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
