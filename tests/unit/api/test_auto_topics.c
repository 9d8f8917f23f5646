#include "harness.h"

#include "os/io_ops.h"

/* Replication 3 on one node cannot be made: Metadata answers as for any unknown topic (so does
 * Apache Kafka 4.4.0 with this setting), and the node lives on. */
static void an_impossible_default(void **state)
{
    (void)state;
    HARNESS(h, "default.replication.factor=3\n");
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    metadata_request_topics_new(&h.arena, &body, 1)->name = slice_str("t");
    const struct metadata_response *r = harness_call(&h, WIRE_API_METADATA, 9, &body);
    assert_int_equal(r->topics[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_create(&h, "u", 1), 0);
    harness_end(&h);
}

/* Several names at once, one of them there already. */
static void several_names(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "b", 1), 0);
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    struct metadata_request_metadata_request_topic *topics =
        metadata_request_topics_new(&h.arena, &body, 3);
    topics[0].name = slice_str("a");
    topics[1].name = slice_str("b");
    topics[2].name = slice_str("c");
    const struct metadata_response *r = harness_call(&h, WIRE_API_METADATA, 9, &body);
    for (int32_t i = 0; i < 3; i++) {
        assert_int_equal(r->topics[i].error_code, 0);
        assert_int_equal(r->topics[i].partitions_count, 1);
    }
    harness_end(&h);
}

/* As CreateTopics, and as Apache Kafka: one request does not make more than 10,000. */
static void too_many_names(void **state)
{
    (void)state;
    enum { COUNT = 10001 };
    HARNESS(h, NULL);
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    struct metadata_request_metadata_request_topic *topics =
        metadata_request_topics_new(&h.arena, &body, COUNT);
    for (int i = 0; i < COUNT; i++)
        topics[i].name = arena_printf(&h.arena, "t%d", i);
    const struct metadata_response *r = harness_call(&h, WIRE_API_METADATA, 9, &body);
    assert_int_equal(r->topics_count, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(r->topics[i].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    body.topics_count = -1;
    r = harness_call(&h, WIRE_API_METADATA, 9, &body);
    assert_int_equal(r->topics_count, 0);
    harness_end(&h);
}

static const struct io_ops *sound;
static _Atomic bool held;

static enum err held_fdatasync(struct io *io, int fd)
{
    while (held)
        usleep(1000);
    return sound->fdatasync(io, fd);
}

/* Metadata waits a second for a topic that is made. What goes on behind its answer counts as under
 * way, so that a node that stops waits for it. */
static void a_creation_outlives_its_request(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.fdatasync = held_fdatasync;
    h.io->ops = &ops;
    harness_open(&h, NULL);
    held = true;
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    metadata_request_topics_new(&h.arena, &body, 1)->name = slice_str("t");
    const struct metadata_response *r = harness_call(&h, WIRE_API_METADATA, 9, &body);
    assert_int_equal(r->topics[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(node_context(h.node)->request_count, 1);
    held = false;
    for (int i = 0; i < 5000 && node_context(h.node)->request_count; i++)
        usleep(1000);
    assert_int_equal(node_context(h.node)->request_count, 0);
    assert_int_equal(harness_create(&h, "t", 1), ERR_TOPIC_ALREADY_EXISTS);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_impossible_default),
        cmocka_unit_test(several_names),
        cmocka_unit_test(too_many_names),
        cmocka_unit_test(a_creation_outlives_its_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
