/* Bytes and JSON of Apache Kafka 4.4.0's own classes, for every message and record in every
 * version, against ours. How the files were made: tests/golden/wire/README.md. */
#include "../unit.h"

#include "golden_file.h"
#include "sample.h"
#include "wire/api.h"
#include "wire/json.h"

static const struct wire_schema *schema_named(struct slice name)
{
    for (size_t i = 0; i < wire_schemas_count; i++)
        if (slice_eq_str(name, wire_schema_name(wire_schemas[i])))
            return wire_schemas[i];
    return NULL;
}

static void check_line(struct slice line, struct slice name, const struct wire_schema *schema,
                       int version)
{
    struct arena a;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    struct slice bytes = golden_unhex(golden_cut(&line, ' '), &a);
    void *msg = arena_alloc(&a, wire_schema_size(schema));
    struct cursor c = cursor_of(bytes);
    enum err err = wire_decode(schema, version, &c, &a, msg);
    if (err != ERR_NONE || cursor_left(&c))
        fail_msg("%.*s %d: decode: %s, %zu bytes left", SLICE_FMT(name), version, err_name(err),
                 cursor_left(&c));
    err = wire_encode(schema, version, msg, &out, NULL);
    if (err != ERR_NONE || !slice_eq(buf_slice(&out), bytes))
        fail_msg("%.*s %d: encode: %s, or other bytes", SLICE_FMT(name), version, err_name(err));
    buf_clear(&out);
    err = wire_to_json(schema, version, msg, WIRE_JSON_RECORDS_SIZE, &out);
    if (err != ERR_NONE || !slice_eq(buf_slice(&out), line))
        fail_msg("%.*s %d: JSON: %s\nours:    %.*s\nKafka's: %.*s", SLICE_FMT(name), version,
                 err_name(err), SLICE_FMT(buf_slice(&out)), SLICE_FMT(line));
    buf_fini(&out);
    arena_fini(&a);
}

/* What Kafka writes for a message whose fields nobody set. */
static void check_defaults(struct slice line, struct slice name, const struct wire_schema *schema,
                           int version)
{
    struct arena a;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    struct slice bytes = golden_unhex(golden_cut(&line, ' '), &a);
    void *msg = sample_defaults_new(schema, version, &a);
    enum err err = wire_encode(schema, version, msg, &out, NULL);
    if (err != ERR_NONE || !slice_eq(buf_slice(&out), bytes))
        fail_msg("%.*s %d: defaults: %s, or other bytes", SLICE_FMT(name), version, err_name(err));
    buf_fini(&out);
    arena_fini(&a);
}

static void kafkas_bytes_and_json(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct slice rest = golden_read("wire/messages.txt", &a), line;
    assert_non_null(rest.data);
    const struct wire_schema *last = NULL;
    size_t schemas = 0, versions = 0;
    int version_last = -1;
    while ((line = golden_cut(&rest, '\n')).data) {
        struct slice name = golden_cut(&line, ' ');
        int64_t version;
        const struct wire_schema *schema = schema_named(name);
        assert_non_null(schema);
        assert_true(slice_to_i64(golden_cut(&line, ' '), 0, 100, &version));
        schemas += schema != last;
        versions += schema != last || version != version_last;
        last = schema;
        version_last = (int)version;
        if (line.size && line.data[0] == '=')
            check_defaults(slice_sub(line, 1, line.size - 1), name, schema, (int)version);
        else
            check_line(line, name, schema, (int)version);
    }
    size_t versions_all = 0;
    for (size_t i = 0; i < wire_schemas_count; i++)
        versions_all += (size_t)(wire_schemas[i]->last - wire_schemas[i]->first + 1);
    assert_int_equal(schemas, wire_schemas_count);
    assert_int_equal(versions, versions_all);
    arena_fini(&a);
}

static void put_header(bool response, const struct wire_api *api, int version,
                       const struct request_header *header, struct buf *out)
{
    if (response)
        wire_api_put_response_header(api, version, header->correlation_id, out);
    else
        wire_api_put_request_header(api, version, header->correlation_id, header->client_id, out);
}

static void read_header(bool response, const struct wire_api *api, int version, struct cursor *c,
                        struct arena *a, struct request_header *ret_header)
{
    if (!response) {
        assert_int_equal(wire_api_read_header(c, a, ret_header), ERR_NONE);
        assert_int_equal(ret_header->request_api_version, version);
        return;
    }
    struct response_header header;
    assert_int_equal(wire_decode(&wire_response_header,
                                 wire_api_response_header_version(api, version), c, a, &header),
                     ERR_NONE);
    ret_header->correlation_id = header.correlation_id;
}

static void check_frame(bool response, int key, int version, struct slice hex)
{
    struct arena a;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    struct slice bytes = golden_unhex(hex, &a);
    struct cursor c = cursor_of(bytes);
    const struct wire_api *api = wire_api_find(key);
    assert_non_null(api);
    struct request_header header = {0};
    read_header(response, api, version, &c, &a, &header);
    put_header(response, api, version, &header, &out);
    const struct wire_schema *schema = response ? api->response : api->request;
    void *msg = arena_alloc(&a, wire_schema_size(schema));
    enum err err = wire_decode(schema, version, &c, &a, msg);
    if (err != ERR_NONE || cursor_left(&c))
        fail_msg("%s %d: decode: %s, %zu bytes left", wire_schema_name(schema), version,
                 err_name(err), cursor_left(&c));
    err = wire_encode(schema, version, msg, &out, NULL);
    if (err != ERR_NONE || !slice_eq(buf_slice(&out), bytes))
        fail_msg("%s %d: encode: %s, or other bytes: %.*s", wire_schema_name(schema), version,
                 err_name(err), SLICE_FMT(hex));
    buf_fini(&out);
    arena_fini(&a);
}

static void frames_between_real_clients_and_nodes(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct slice rest = golden_read("wire/captured.txt", &a), line;
    assert_non_null(rest.data);
    size_t count = 0;
    while ((line = golden_cut(&rest, '\n')).data) {
        int64_t key, version;
        bool response = slice_eq_str(golden_cut(&line, ' '), "response");
        assert_true(slice_to_i64(golden_cut(&line, ' '), 0, 100, &key));
        assert_true(slice_to_i64(golden_cut(&line, ' '), 0, 100, &version));
        check_frame(response, (int)key, (int)version, line);
        count++;
    }
    assert_true(count > 400);
    arena_fini(&a);
}

/* Damaged messages: what Kafka's classes refuse we refuse, and where they stop reading we stop. */
static void refused_where_kafka_refuses(void **state)
{
    (void)state;
    struct arena all;
    arena_init(&all);
    struct slice rest = golden_read("wire/damaged.txt", &all), line;
    assert_non_null(rest.data);
    size_t refused = 0, taken = 0;
    while ((line = golden_cut(&rest, '\n')).data) {
        struct arena a;
        arena_init(&a);
        struct slice name = golden_cut(&line, ' ');
        const struct wire_schema *schema = schema_named(name);
        int64_t version, left = -1;
        assert_non_null(schema);
        assert_true(slice_to_i64(golden_cut(&line, ' '), 0, 100, &version));
        struct slice hex = golden_cut(&line, ' ');
        struct cursor c = cursor_of(golden_unhex(hex, &a));
        void *msg = arena_alloc(&a, wire_schema_size(schema));
        enum err err = wire_decode(schema, (int)version, &c, &a, msg);
        bool ok = slice_to_i64(line, 0, 1000, &left);
        if ((err == ERR_NONE) != ok || (ok && (int64_t)cursor_left(&c) != left))
            fail_msg("%.*s %d %.*s: %s, %zu left; Kafka: %.*s", SLICE_FMT(name), (int)version,
                     SLICE_FMT(hex), err_name(err), cursor_left(&c), SLICE_FMT(line));
        refused += !ok;
        taken += ok;
        arena_fini(&a);
    }
    assert_true(refused > 1000 && taken > 500);
    arena_fini(&all);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_where_kafka_refuses),
        cmocka_unit_test(frames_between_real_clients_and_nodes),
        cmocka_unit_test(kafkas_bytes_and_json),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
