/* Any bytes as any message of any version. Input: schema number (2 bytes, little-endian, modulo the
 * schemas), version (1 byte, modulo its versions), message.
 *
 * What must hold: memory stays in proportion to the input; what decodes can be encoded, sized and
 * printed; what was encoded decodes to the same bytes again. */
#include "fuzz.h"

#include "base/ensure.h"
#include "wire/api.h"
#include "wire/json.h"

/* The largest struct that few bytes announce: an array item of about 500 bytes for 8 on the wire.
 */
enum { MEMORY_BASE = 1 << 16, MEMORY_PER_BYTE = 512 };

static void check_json(const struct wire_schema *schema, int version, const void *msg,
                       struct arena *a)
{
    struct buf json;
    struct buf again;
    buf_init(&json);
    buf_init(&again);
    ENSURE(wire_to_json(schema, version, msg, WIRE_JSON_RECORDS_SIZE, &json) == ERR_NONE);
    buf_clear(&json);
    ENSURE(wire_to_json(schema, version, msg, WIRE_JSON_RECORDS_BASE64, &json) == ERR_NONE);
    /* Not every value comes back: strings that are not UTF-8 were replaced, NaN is text. */
    void *back = arena_alloc(a, wire_schema_size(schema));
    if (wire_from_json(schema, version, buf_slice(&json), a, back, NULL) == ERR_NONE) {
        ENSURE(wire_to_json(schema, version, back, WIRE_JSON_RECORDS_BASE64, &again) == ERR_NONE);
        ENSURE(slice_eq(buf_slice(&json), buf_slice(&again)));
    }
    buf_fini(&json);
    buf_fini(&again);
}

static void check_message(const struct wire_schema *schema, int version, const void *msg,
                          struct arena *a)
{
    struct buf first, second;
    buf_init(&first);
    buf_init(&second);
    ENSURE(wire_encode(schema, version, msg, &first, NULL) == ERR_NONE);
    void *back = arena_alloc(a, wire_schema_size(schema));
    struct cursor c = cursor_of(buf_slice(&first));
    ENSURE(wire_decode(schema, version, &c, a, back) == ERR_NONE);
    ENSURE_CMP(cursor_left(&c), ==, 0);
    ENSURE(wire_encode(schema, version, back, &second, NULL) == ERR_NONE);
    ENSURE(slice_eq(buf_slice(&first), buf_slice(&second)));
    check_json(schema, version, msg, a);
    buf_fini(&first);
    buf_fini(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    arena_init(&a);
    struct request_header header;
    struct cursor c = cursor_of(slice_of(data, size));
    (void)!wire_api_read_header(&c, &a, &header);
    if (size >= 3) {
        size_t number = (size_t)(data[0] | data[1] << 8) % wire_schemas_count;
        const struct wire_schema *schema = wire_schemas[number];
        int version = schema->first + data[2] % (schema->last - schema->first + 1);
        void *msg = arena_alloc(&a, wire_schema_size(schema));
        c = cursor_of(slice_of(data + 3, size - 3));
        enum err err = wire_decode(schema, version, &c, &a, msg);
        ENSURE_CMP(a.used, <=, MEMORY_BASE + MEMORY_PER_BYTE * size);
        if (err == ERR_NONE)
            check_message(schema, version, msg, &a);
        else
            ENSURE(err == ERR_MALFORMED);
    }
    arena_fini(&a);
    return 0;
}
