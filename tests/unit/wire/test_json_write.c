#include "../unit.h"

#include "wire/json.h"
#include "wire_messages.h"

#include <math.h>

static struct buf out;

static const char *json_text(const struct wire_schema *schema, int version, const void *msg,
                             enum wire_json_records records)
{
    buf_clear(&out);
    assert_int_equal(wire_to_json(schema, version, msg, records, &out), ERR_NONE);
    buf_put_i8(&out, 0);
    return (const char *)out.data;
}

static void a_record_as_kafka_prints_it(void **state)
{
    (void)state;
    struct topic_record topic;
    wire_init(&wire_topic_record, &topic);
    topic.name = SLICE_LIT("orders");
    topic.topic_id.bytes[15] = 1;
    assert_string_equal(json_text(&wire_topic_record, 0, &topic, WIRE_JSON_RECORDS_SIZE),
                        "{\"name\":\"orders\",\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAQ\"}");
    struct partition_change_record change;
    wire_init(&wire_partition_change_record, &change);
    change.partition_id = 3;
    change.leader = 1; /* tagged; the other tags stay at null */
    assert_string_equal(
        json_text(&wire_partition_change_record, 2, &change, WIRE_JSON_RECORDS_SIZE),
        "{\"partitionId\":3,\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\",\"leader\":1}");
}

static void strings_are_escaped(void **state)
{
    (void)state;
    struct topic_record topic;
    wire_init(&wire_topic_record, &topic);
    /* quotes, controls, two-byte and four-byte letters, then bytes that are not UTF-8: a lone
     * continuation, an overlong form (two bytes), a sequence cut short, a surrogate (three bytes)
     */
    topic.name = SLICE_LIT("a\"\\/\b\t\n\f\r\x01\x1f\x7f \xc3\xa9\xf0\x9f\x98\x80|\x80|\xc0\xaf|"
                           "\xe2\x82|\xed\xa0\x80|\xe2\x82");
    assert_string_equal(
        json_text(&wire_topic_record, 0, &topic, WIRE_JSON_RECORDS_SIZE),
        "{\"name\":\"a\\\"\\\\/\\b\\t\\n\\f\\r\\u0001\\u001F\x7f "
        "\xc3\xa9\xf0\x9f\x98\x80|\xef\xbf\xbd|"
        "\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd|\xef\xbf\xbd\","
        "\"topicId\":\"AAAAAAAAAAAAAAAAAAAAAA\"}");
}

static void doubles_in_javas_form(void **state)
{
    (void)state;
    struct client_quota_record quota;
    wire_init(&wire_client_quota_record, &quota);
    quota.value = 1.5e9;
    assert_string_equal(json_text(&wire_client_quota_record, 0, &quota, WIRE_JSON_RECORDS_SIZE),
                        "{\"entity\":[],\"key\":\"\",\"value\":1.5E9,\"remove\":false}");
    quota.value = (double)INFINITY;
    assert_string_equal(json_text(&wire_client_quota_record, 0, &quota, WIRE_JSON_RECORDS_SIZE),
                        "{\"entity\":[],\"key\":\"\",\"value\":\"Infinity\",\"remove\":false}");
}

static void records_by_size_or_content(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct produce_request request;
    wire_init(&wire_produce_request, &request);
    struct produce_request_topic_produce_data *topic =
        produce_request_topic_data_new(&a, &request, 1);
    topic->name = SLICE_LIT("t");
    struct produce_request_partition_produce_data *data =
        produce_request_topic_produce_data_partition_data_new(&a, topic, 2);
    data[0].records.bytes = SLICE_LIT("foob");
    assert_string_equal(
        json_text(&wire_produce_request, 9, &request, WIRE_JSON_RECORDS_SIZE),
        "{\"transactionalId\":null,\"acks\":0,\"timeoutMs\":0,\"topicData\":[{\"name\":\"t\","
        "\"partitionData\":[{\"index\":0,\"recordsSizeInBytes\":4},{\"index\":0,\"records\":null}]}"
        "]}");
    assert_string_equal(
        json_text(&wire_produce_request, 9, &request, WIRE_JSON_RECORDS_BASE64),
        "{\"transactionalId\":null,\"acks\":0,\"timeoutMs\":0,\"topicData\":[{\"name\":\"t\","
        "\"partitionData\":[{\"index\":0,\"records\":\"Zm9vYg==\"},{\"index\":0,\"records\":null}]}"
        "]}");
    data[0].records = (struct wire_records){.ext = data, .ext_size = 12};
    assert_non_null(strstr(json_text(&wire_produce_request, 9, &request, WIRE_JSON_RECORDS_SIZE),
                           "\"recordsSizeInBytes\":12"));
    assert_int_equal(
        wire_to_json(&wire_produce_request, 9, &request, WIRE_JSON_RECORDS_BASE64, &out),
        ERR_ARGUMENT);
    arena_fini(&a);
}

static void errors_leave_the_output_as_it_was(void **state)
{
    (void)state;
    struct find_coordinator_request request;
    wire_init(&wire_find_coordinator_request, &request);
    request.key_type = 1;
    buf_clear(&out);
    buf_put_str(&out, "x");
    assert_int_equal(
        wire_to_json(&wire_find_coordinator_request, 0, &request, WIRE_JSON_RECORDS_SIZE, &out),
        ERR_UNSUPPORTED_VERSION);
    assert_int_equal(
        wire_to_json(&wire_find_coordinator_request, 7, &request, WIRE_JSON_RECORDS_SIZE, &out),
        ERR_UNSUPPORTED_VERSION);
    request.key = SLICE_NULL;
    assert_int_equal(
        wire_to_json(&wire_find_coordinator_request, 3, &request, WIRE_JSON_RECORDS_SIZE, &out),
        ERR_ARGUMENT);
    assert_slice_eq(buf_slice(&out), "x");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_as_kafka_prints_it),
        cmocka_unit_test(strings_are_escaped),
        cmocka_unit_test(doubles_in_javas_form),
        cmocka_unit_test(records_by_size_or_content),
        cmocka_unit_test(errors_leave_the_output_as_it_was),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    buf_fini(&out);
    return failed;
}
