#include "../unit.h"

#include "base/mem.h"
#include "sample.h"
#include "wire_messages.h"

/* Decodes a copy of exactly this size, so that a sanitizer sees a read past its end. */
static enum err decode_exact(const struct wire_schema *schema, int version, struct slice bytes,
                             struct arena *a, void *ret_msg, size_t *ret_left)
{
    uint8_t *copy = mem_alloc(bytes.size ? bytes.size : 1);
    memcpy(copy, bytes.data, bytes.size);
    struct cursor c = cursor_of(slice_of(copy, bytes.size));
    enum err err = wire_decode(schema, version, &c, a, ret_msg);
    *ret_left = cursor_left(&c);
    if (err == ERR_NONE) { /* views must live as long as the message */
        mem_free(copy);
        c = cursor_of(bytes);
        err = wire_decode(schema, version, &c, a, ret_msg);
    } else {
        mem_free(copy);
    }
    return err;
}

static void round_trip(const struct wire_schema *schema, int version, uint64_t seed)
{
    struct arena a;
    struct buf first, second;
    arena_init(&a);
    buf_init(&first);
    buf_init(&second);
    void *msg = sample_new(schema, version, seed, &a);
    assert_int_equal(wire_encode(schema, version, msg, &first, NULL), ERR_NONE);
    char back[4096];
    memset(back, 0x55, sizeof back);
    size_t left;
    assert_int_equal(decode_exact(schema, version, buf_slice(&first), &a, back, &left), ERR_NONE);
    assert_int_equal(left, 0);
    assert_int_equal(wire_encode(schema, version, back, &second, NULL), ERR_NONE);
    assert_int_equal(first.size, second.size);
    if (first.size)
        assert_memory_equal(first.data, second.data, first.size);
    memset(back, 0x55, sizeof back);
    for (size_t size = 0; size < first.size; size++) {
        struct arena scratch;
        arena_init(&scratch);
        assert_int_equal(
            decode_exact(schema, version, slice_of(first.data, size), &scratch, back, &left),
            ERR_MALFORMED);
        arena_fini(&scratch);
    }
    for (size_t i = 0; i < sizeof back; i++)
        assert_int_equal(back[i], 0x55); /* untouched on failure */
    buf_fini(&first);
    buf_fini(&second);
    arena_fini(&a);
}

static void all_schemas_and_versions_round_trip(void **state)
{
    (void)state;
    for (size_t i = 0; i < wire_schemas_count; i++)
        for (int version = wire_schemas[i]->first; version <= wire_schemas[i]->last; version++)
            for (uint64_t seed = 0; seed < 4; seed++)
                round_trip(wire_schemas[i], version, seed);
}

static enum err decode(const struct wire_schema *schema, int version, const void *bytes,
                       size_t size, void *ret_msg)
{
    static struct arena a;
    arena_fini(&a);
    struct cursor c = cursor_of(slice_of(bytes, size));
    return wire_decode(schema, version, &c, &a, ret_msg);
}

#define DECODE(schema, version, msg, ...)                   \
    decode(schema, version, (const uint8_t[]){__VA_ARGS__}, \
           sizeof((const uint8_t[]){__VA_ARGS__}), msg)

static void versions_are_checked(void **state)
{
    (void)state;
    struct heartbeat_request request;
    assert_int_equal(DECODE(&wire_heartbeat_request, 5, &request, 0), ERR_UNSUPPORTED_VERSION);
    assert_int_equal(DECODE(&wire_heartbeat_request, -1, &request, 0), ERR_UNSUPPORTED_VERSION);
}

static void absent_fields_get_their_defaults(void **state)
{
    (void)state;
    struct offset_commit_value value;
    assert_int_equal(DECODE(&wire_offset_commit_value, 0, &value, 0, 0, 0, 0, 0, 0, 0, 5, 0, 1, 'm',
                            0, 0, 0, 0, 0, 0, 0, 6),
                     ERR_NONE);
    assert_int_equal(value.offset, 5);
    assert_int_equal(value.leader_epoch, -1);
    assert_slice_eq(value.metadata, "m");
    assert_int_equal(value.commit_timestamp, 6);
    assert_int_equal(value.expire_timestamp, -1);
    assert_true(uuid_is_zero(&value.topic_id));
}

static void a_tagged_struct_may_be_null(void **state)
{
    (void)state;
    /* As Kafka writes a member of the consumer protocol: the tag is there, and null. Without the
     * tag it is the default, which is not null. */
    struct consumer_group_member_metadata_value value;
    const struct wire_schema *schema = &wire_consumer_group_member_metadata_value;
    static const uint8_t null[] = {1, 1, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 1, 1, 0, 1, 0};
    static const uint8_t absent[] = {1, 1, 1, 1, 1, 1, 0xff, 0xff, 0xff, 0xff, 1, 0};
    struct buf out;
    buf_init(&out);
    assert_int_equal(decode(schema, 0, null, sizeof null, &value), ERR_NONE);
    assert_null(value.classic_member_metadata);
    assert_int_equal(wire_encode(schema, 0, &value, &out, NULL), ERR_NONE);
    assert_true(slice_eq(buf_slice(&out), slice_of(null, sizeof null)));
    buf_clear(&out);
    assert_int_equal(decode(schema, 0, absent, sizeof absent, &value), ERR_NONE);
    assert_non_null(value.classic_member_metadata);
    assert_int_equal(value.classic_member_metadata->supported_protocols_count, 0);
    assert_int_equal(wire_encode(schema, 0, &value, &out, NULL), ERR_NONE);
    assert_true(slice_eq(buf_slice(&out), slice_of(absent, sizeof absent)));
    buf_clear(&out);
    wire_init(schema, &value);
    assert_int_equal(wire_encode(schema, 0, &value, &out, NULL), ERR_NONE);
    assert_true(slice_eq(buf_slice(&out), slice_of(null, sizeof null)));
    buf_fini(&out);
}

static void counts_beyond_the_bytes_take_no_memory(void **state)
{
    (void)state;
    struct metadata_request request;
    struct arena a;
    arena_init(&a);
    static const uint8_t bytes[] = {0x7f, 0xff, 0xff, 0xff};
    struct cursor c = cursor_of(slice_of(bytes, sizeof bytes));
    assert_int_equal(wire_decode(&wire_metadata_request, 1, &c, &a, &request), ERR_MALFORMED);
    assert_true(a.used < 4096);
    /* three topics announced, bytes for less than two of them (2 bytes each at least) */
    assert_int_equal(DECODE(&wire_metadata_request, 1, &request, 0, 0, 0, 3, 0, 0, 0, 0, 0),
                     ERR_MALFORMED);
    /* compact counts and lengths */
    assert_int_equal(DECODE(&wire_metadata_request, 9, &request, 0xff, 0xff, 0xff, 0xff, 0x07, 0),
                     ERR_MALFORMED);
    struct heartbeat_request heartbeat;
    assert_int_equal(DECODE(&wire_heartbeat_request, 4, &heartbeat, 0xff, 0xff, 0xff, 0xff, 0x07),
                     ERR_MALFORMED);
    arena_fini(&a);
}

static void the_arena_limit_holds(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    struct buf in;
    buf_init(&in);
    buf_put_i32(&in, COUNT);
    for (int i = 0; i < COUNT; i++)
        buf_put_i16(&in, 0);
    struct arena a;
    arena_init(&a);
    a.size_max = 64 * 1024;
    struct metadata_request request;
    struct cursor c = cursor_of(buf_slice(&in));
    assert_int_equal(wire_decode(&wire_metadata_request, 1, &c, &a, &request), ERR_NO_MEMORY);
    arena_fini(&a);
    a.size_max = 0;
    c = cursor_of(buf_slice(&in));
    assert_int_equal(wire_decode(&wire_metadata_request, 1, &c, &a, &request), ERR_NONE);
    assert_int_equal(request.topics_count, COUNT);
    arena_fini(&a);
    mem_fail_after(1); /* the message itself, then its array */
    c = cursor_of(buf_slice(&in));
    assert_int_equal(wire_decode(&wire_metadata_request, 1, &c, &a, &request), ERR_NO_MEMORY);
    mem_fail_after(-1);
    arena_fini(&a);
    buf_fini(&in);
}

static void nulls_only_where_the_version_has_them(void **state)
{
    (void)state;
    struct metadata_request request;
    assert_int_equal(DECODE(&wire_metadata_request, 0, &request, 0xff, 0xff, 0xff, 0xff),
                     ERR_MALFORMED);
    assert_int_equal(DECODE(&wire_metadata_request, 1, &request, 0xff, 0xff, 0xff, 0xff), ERR_NONE);
    assert_int_equal(request.topics_count, -1);
    assert_int_equal(DECODE(&wire_metadata_request, 1, &request, 0, 0, 0, 0), ERR_NONE);
    assert_int_equal(request.topics_count, 0);
    struct heartbeat_request heartbeat;
    assert_int_equal(DECODE(&wire_heartbeat_request, 0, &heartbeat, 0xff, 0xff, 0, 0, 0, 0, 0, 0),
                     ERR_MALFORMED);
    /* an array may be null, its items may not */
    struct consumer_group_heartbeat_request group;
    static const uint8_t null_item[] = {2,    'g',  1,    0, 0, 0, 0, 0, 0, 0xff,
                                        0xff, 0xff, 0xff, 2, 0, 0, 0, 0, 0};
    static const uint8_t null_array[] = {2,    'g',  1,    0,    0, 0, 0, 0, 0,
                                         0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0};
    const struct wire_schema *schema = &wire_consumer_group_heartbeat_request;
    assert_int_equal(decode(schema, 0, null_array, sizeof null_array, &group), ERR_NONE);
    assert_int_equal(group.subscribed_topic_names_count, -1);
    assert_int_equal(decode(schema, 0, null_item, sizeof null_item, &group), ERR_MALFORMED);
    /* heartbeat 3 has a group instance id that may be null */
    assert_int_equal(
        DECODE(&wire_heartbeat_request, 3, &heartbeat, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff),
        ERR_NONE);
    assert_null(heartbeat.group_instance_id.data);
    assert_non_null(heartbeat.group_id.data);
}

static void unknown_tags_are_skipped_everywhere(void **state)
{
    (void)state;
    struct metadata_request request;
    assert_int_equal(DECODE(&wire_metadata_request, 9, &request, 2,      /* one topic */
                            2, 't', 1, 0x7f, 5, 'h', 'e', 'l', 'l', 'o', /* its tags */
                            1, 0, 0, 2, 50, 0, 0x80, 0x80, 4, 1, 'x'),
                     ERR_NONE);
    assert_int_equal(request.topics_count, 1);
    assert_slice_eq(request.topics[0].name, "t");
    assert_true(request.allow_auto_topic_creation);
    /* a tag that is larger than the rest */
    assert_int_equal(DECODE(&wire_metadata_request, 9, &request, 1, 1, 0, 0, 1, 50, 9, 1, 2),
                     ERR_MALFORMED);
    /* more tags announced than there are */
    assert_int_equal(
        DECODE(&wire_metadata_request, 9, &request, 1, 1, 0, 0, 0xff, 0xff, 0xff, 0xff, 0x0f),
        ERR_MALFORMED);
}

static void known_tags_only_in_their_versions(void **state)
{
    (void)state;
    /* ProduceResponse: NodeEndpoints is tag 0 from version 10 on */
    struct produce_response response;
    assert_int_equal(DECODE(&wire_produce_response, 10, &response, 1, 0, 0, 0, 0, 1, 0, 1, 1),
                     ERR_NONE);
    assert_int_equal(response.node_endpoints_count, 0);
    assert_int_equal(DECODE(&wire_produce_response, 9, &response, 1, 0, 0, 0, 0, 1, 0, 1, 1),
                     ERR_MALFORMED);
    /* the value says where it ends, not the size before it */
    assert_int_equal(DECODE(&wire_produce_response, 10, &response, 1, 0, 0, 0, 0, 1, 0, 9, 1),
                     ERR_NONE);
    assert_int_equal(DECODE(&wire_produce_response, 10, &response, 1, 0, 0, 0, 0, 1, 0, 1),
                     ERR_MALFORMED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_schemas_and_versions_round_trip),
        cmocka_unit_test(versions_are_checked),
        cmocka_unit_test(absent_fields_get_their_defaults),
        cmocka_unit_test(a_tagged_struct_may_be_null),
        cmocka_unit_test(counts_beyond_the_bytes_take_no_memory),
        cmocka_unit_test(the_arena_limit_holds),
        cmocka_unit_test(nulls_only_where_the_version_has_them),
        cmocka_unit_test(unknown_tags_are_skipped_everywhere),
        cmocka_unit_test(known_tags_only_in_their_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
