#include "harness.h"

#include "base/be.h"

#include <fcntl.h>

/* Pipelined requests are answered in order; one with acks=0 takes no place in it. */
static void answers_leave_in_order(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct produce_request produce;
    wire_init(&wire_produce_request, &produce);
    produce.acks = 0;
    harness_ask(&h, h.fd, WIRE_API_PRODUCE, 9, &produce);
    struct metadata_request metadata;
    wire_init(&wire_metadata_request, &metadata);
    harness_ask(&h, h.fd, WIRE_API_METADATA, 1, &metadata);
    struct list_groups_request groups;
    wire_init(&wire_list_groups_request, &groups);
    harness_ask(&h, h.fd, WIRE_API_LIST_GROUPS, 4, &groups);
    const struct metadata_response *first = harness_answer(&h, h.fd, WIRE_API_METADATA, 1);
    assert_non_null(first);
    assert_int_equal(first->brokers_count, 1);
    assert_non_null(harness_answer(&h, h.fd, WIRE_API_LIST_GROUPS, 4));
    harness_end(&h);
}

/* A request that is parked when its connection goes is ended, and the node can stop. */
static void a_parked_request_loses_its_connection(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = 60000;
    body.min_bytes = 1;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h.arena, &body, 1);
    topic->topic = slice_str("t");
    fetch_request_fetch_topic_partitions_new(&h.arena, topic, 1)->partition_max_bytes = 1000;
    int fd = harness_connect(&h);
    harness_ask(&h, fd, WIRE_API_FETCH, 11, &body);
    usleep(20000);
    struct linger reset = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
    for (int i = 0; i < 1000 && node_context(h.node)->request_count; i++)
        usleep(1000);
    assert_int_equal(node_context(h.node)->request_count, 0);
    harness_end(&h);
}

/* Makes the partition's only batch one of `size` bytes, in a file that takes no room. */
static void enlarge(const struct harness *h, const char *partition, int32_t size)
{
    enum { PREFIX = 12 };
    char path[128];
    uint8_t length[4];
    be_put_i32(length, size - PREFIX);
    snprintf(path, sizeof path, "%s/%s/00000000000000000000.log", h->dir, partition);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, length, sizeof length, 8), sizeof length);
    assert_int_equal(ftruncate(fd, size), 0);
    close(fd);
}

/* Asks for all that a frame can hold, and answers the size of the frame; 0: the connection was
 * closed. */
static int32_t fetch_all(struct harness *h, const char *name)
{
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_bytes = INT32_MAX;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h->arena, &body, 1);
    topic->topic = slice_str(name);
    struct fetch_request_fetch_partition *items =
        fetch_request_fetch_topic_partitions_new(&h->arena, topic, 2);
    items[0].partition_max_bytes = items[1].partition_max_bytes = INT32_MAX;
    items[1].partition = 1;
    int fd = harness_connect(h);
    harness_ask(h, fd, WIRE_API_FETCH, 11, &body);
    uint8_t size[4];
    ssize_t got = recv(fd, size, sizeof size, MSG_WAITALL);
    close(fd);
    return got == sizeof size ? be_i32(size) : 0;
}

/* Whatever fetch.max.bytes allows, records leave room for the rest of the frame. A batch that
 * leaves none costs its reader the connection, and nobody else anything. */
static void answers_fit_a_frame(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 2), 0);
    assert_int_equal(harness_create(&h, "u", 2), 0);
    harness_produce(&h, "t", 0, 1);
    harness_produce(&h, "t", 1, 1);
    harness_produce(&h, "u", 0, 1);
    harness_close(&h);
    enlarge(&h, "t-0", 1200000000);
    enlarge(&h, "t-1", 1200000000);
    enlarge(&h, "u-0", INT32_MAX - 16);
    harness_open(&h, "fetch.max.bytes=2147483647\n");
    assert_true(fetch_all(&h, "t") > 2000000000);
    diag_set_level(DIAG_API, DIAG_FATAL);
    assert_int_equal(fetch_all(&h, "u"), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 1)->error_code, 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_leave_in_order),
        cmocka_unit_test(a_parked_request_loses_its_connection),
        cmocka_unit_test(answers_fit_a_frame),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
