#include "../unit.h"

#include "sample.h"
#include "wire/json.h"
#include "wire_messages.h"

static void all_schemas_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < wire_schemas_count; i++) {
        const struct wire_schema *schema = wire_schemas[i];
        for (int version = schema->first; version <= schema->last; version++) {
            struct arena a;
            struct buf json, first, second;
            arena_init(&a);
            buf_init(&json);
            buf_init(&first);
            buf_init(&second);
            void *msg = sample_new(schema, version, 3, &a);
            void *back = arena_alloc(&a, wire_schema_size(schema));
            assert_int_equal(wire_to_json(schema, version, msg, WIRE_JSON_RECORDS_BASE64, &json),
                             ERR_NONE);
            assert_int_equal(wire_from_json(schema, version, buf_slice(&json), &a, back, NULL),
                             ERR_NONE);
            assert_int_equal(wire_encode(schema, version, msg, &first, NULL), ERR_NONE);
            assert_int_equal(wire_encode(schema, version, back, &second, NULL), ERR_NONE);
            assert_true(slice_eq(buf_slice(&first), buf_slice(&second)));
            buf_fini(&json);
            buf_fini(&first);
            buf_fini(&second);
            arena_fini(&a);
        }
    }
}

static struct arena arena;

static void refused(const struct wire_schema *schema, int version, const char *json,
                    const char *want)
{
    char msg[512];
    struct slice text = SLICE_NULL;
    memset(msg, 0x55, sizeof msg);
    assert_int_equal(wire_from_json(schema, version, slice_str(json), &arena, msg, &text),
                     ERR_MALFORMED);
    assert_slice_eq(text, want);
    assert_int_equal(msg[0], 0x55);
    assert_int_equal(wire_from_json(schema, version, slice_str(json), &arena, msg, NULL),
                     ERR_MALFORMED);
}

static void what_is_wrong_is_named(void **state)
{
    (void)state;
    const struct wire_schema *topic = &wire_topic_record, *quota = &wire_client_quota_record;
    refused(topic, 0, "{\"name\":\"t\"}", "field 'topicId': is missing, and this version has it");
    refused(topic, 0, "{\"name\":1}", "field 'name': must be a string");
    refused(topic, 0, "{\"name\":null}", "field 'name': must not be null in this version");
    refused(topic, 0, "{\"name\":\"t\",\"topicId\":\"x\"}",
            "field 'topicId': must be a uuid of 22 characters");
    refused(topic, 0, "[]", "a JSON object must stand here");
    refused(topic, 0, "{\"name\":", "line 1, column 8: unexpected token near end of file");
    refused(quota, 0, "{\"entity\":{}}", "field 'entity': must be an array");
    refused(quota, 0, "{\"entity\":[],\"key\":\"k\",\"value\":\"1\"}",
            "field 'value': must be a number");
    refused(quota, 0, "{\"entity\":[],\"key\":\"k\",\"value\":1,\"remove\":0}",
            "field 'remove': must be true or false");
    refused(&wire_list_groups_request, 4, "{\"statesFilter\":[\"a\",2]}",
            "field 'statesFilter': must be a string");
    refused(&wire_end_txn_marker, 0, "{\"coordinatorEpoch\":2147483648}",
            "field 'coordinatorEpoch': must be an integer from -2147483648 to 2147483647");
    refused(&wire_sasl_authenticate_request, 0, "{\"authBytes\":\"a\"}",
            "field 'authBytes': must be a string in base64");
}

static void lenient_where_kafka_is(void **state)
{
    (void)state;
    struct find_coordinator_request request;
    static const char json[] = "{\"key\":\"g\", \"keyType\":1, \"unknown\":[{}]}";
    assert_int_equal(
        wire_from_json(&wire_find_coordinator_request, 0, slice_str(json), &arena, &request, NULL),
        ERR_NONE);
    assert_slice_eq(request.key, "g");
    assert_int_equal(request.key_type, 1); /* version 0 lacks it; encoding will refuse */
    assert_int_equal(request.coordinator_keys_count, 0);
    assert_int_equal(
        wire_from_json(&wire_find_coordinator_request, 9, slice_str(json), &arena, &request, NULL),
        ERR_UNSUPPORTED_VERSION);
    struct partition_change_record change;
    static const char partial[] =
        "{\"partitionId\":1,\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAQ\",\"isr\":[1,2]}";
    assert_int_equal(
        wire_from_json(&wire_partition_change_record, 0, slice_str(partial), &arena, &change, NULL),
        ERR_NONE);
    assert_int_equal(change.isr_count, 2);
    assert_int_equal(change.isr[1], 2);
    assert_int_equal(change.leader, -2);
    assert_int_equal(change.topic_id.bytes[15], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_schemas_come_back),
        cmocka_unit_test(what_is_wrong_is_named),
        cmocka_unit_test(lenient_where_kafka_is),
    };
    arena_init(&arena);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_fini(&arena);
    return failed;
}
