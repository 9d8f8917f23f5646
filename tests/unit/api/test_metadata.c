#include "harness.h"

static const struct metadata_response *ask(struct harness *h, int16_t version, const char *name,
                                           int32_t count)
{
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    body.topics_count = count;
    if (count > 0)
        metadata_request_topics_new(&h->arena, &body, 1)->name = slice_str(name);
    return harness_call(h, WIRE_API_METADATA, version, &body);
}

/* Null asks for all, [] for none; in version 0 [] asks for all. */
static void all_or_none(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "a", 2), 0);
    assert_int_equal(harness_create(&h, "b", 1), 0);
    assert_int_equal(ask(&h, 12, NULL, -1)->topics_count, 2);
    assert_int_equal(ask(&h, 12, NULL, 0)->topics_count, 0);
    const struct metadata_response *r = ask(&h, 0, NULL, 0);
    assert_int_equal(r->topics_count, 2);
    assert_slice_eq(r->topics[0].name, "a");
    assert_int_equal(r->topics[0].partitions_count, 2);
    assert_int_equal(r->topics[0].partitions[1].leader_id, 1);
    harness_end(&h);
}

/* A created topic can be used in the very next request. */
static void unknown_names_are_created(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    const struct metadata_response *r = ask(&h, 9, "fresh", 1);
    assert_int_equal(r->topics[0].error_code, 0);
    assert_int_equal(r->topics[0].partitions_count, 1);
    assert_int_equal(harness_produce(&h, "fresh", 0, 3)->error_code, 0);
    assert_int_equal(ask(&h, 9, "a/b", 1)->topics[0].error_code, ERR_INVALID_TOPIC_EXCEPTION);
    harness_end(&h);
}

/* One topic, however often it is named. */
static void a_name_said_twice_is_created_once(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    struct metadata_request_metadata_request_topic *topics =
        metadata_request_topics_new(&h.arena, &body, 3);
    topics[0].name = topics[2].name = slice_str("fresh");
    topics[1].name = slice_str("other");
    const struct metadata_response *r = harness_call(&h, WIRE_API_METADATA, 9, &body);
    assert_non_null(r);
    assert_int_equal(r->topics_count, 2);
    for (int32_t i = 0; i < 2; i++) {
        assert_int_equal(r->topics[i].error_code, 0);
        assert_int_equal(r->topics[i].partitions_count, 1);
    }
    harness_end(&h);
}

static void creation_can_be_off(void **state)
{
    (void)state;
    HARNESS(h, "auto.create.topics.enable=false\n");
    assert_int_equal(ask(&h, 9, "no", 1)->topics[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(ask(&h, 9, NULL, -1)->topics_count, 0);
    harness_end(&h);
}

static void unknown_ids_are_echoed(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct metadata_request body;
    wire_init(&wire_metadata_request, &body);
    struct metadata_request_metadata_request_topic *topic =
        metadata_request_topics_new(&h.arena, &body, 1);
    topic->name = SLICE_NULL;
    memset(topic->topic_id.bytes, 9, 16);
    const struct metadata_response *r = harness_call(&h, WIRE_API_METADATA, 12, &body);
    assert_int_equal(r->topics[0].error_code, ERR_UNKNOWN_TOPIC_ID);
    assert_memory_equal(r->topics[0].topic_id.bytes, topic->topic_id.bytes, 16);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_or_none),
        cmocka_unit_test(unknown_names_are_created),
        cmocka_unit_test(a_name_said_twice_is_created_once),
        cmocka_unit_test(creation_can_be_off),
        cmocka_unit_test(unknown_ids_are_echoed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
