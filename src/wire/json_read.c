/* wire_from_json: one JSON object -> a C struct, with the rules of Kafka's converters: what stands
 * in the version and is not tagged must be there, null only where the version has it, unknown names
 * are passed over. A value given for a field that the version lacks is taken; wire_encode then
 * decides whether it may be dropped.
 *
 * The first failure ends the walk and leaves a sentence that names the field. Parsed trees live
 * until the walk is over; strings are copied to the arena. Pure; any thread. */
#include "wire/json.h"

#include "base/base64.h"
#include "wire/tables.h"

#include <jansson.h>

struct reader {
    struct arena *arena;
    int version;
    bool failed;
    struct slice text;
};

static void read_struct(struct reader *r, const struct wire_struct *s, json_t *json, char *at);

static void fail(struct reader *r, const struct wire_field *f, const char *wanted)
{
    if (!r->failed)
        r->text = arena_printf(r->arena, "field '%s': %s", wire_names + f->name, wanted);
    r->failed = true;
}

static int64_t read_integer(struct reader *r, const struct wire_field *f, json_t *json, int64_t min,
                            int64_t max)
{
    int64_t value = json_integer_value(json);
    if (json_is_integer(json) && value >= min && value <= max)
        return value;
    if (!r->failed)
        r->text = arena_printf(r->arena, "field '%s': must be an integer from %lld to %lld",
                               wire_names + f->name, (long long)min, (long long)max);
    r->failed = true;
    return 0;
}

static struct slice json_slice(json_t *json)
{
    return slice_of(json_string_value(json), json_string_length(json));
}

static struct slice read_string(struct reader *r, const struct wire_field *f, json_t *json)
{
    if (!json_is_string(json)) {
        fail(r, f, "must be a string");
        return SLICE_NULL;
    }
    return arena_dup(r->arena, json_slice(json));
}

static struct slice read_base64(struct reader *r, const struct wire_field *f, json_t *json)
{
    struct slice bytes = SLICE_NULL;
    if (!json_is_string(json) || !base64_parse(json_slice(json), r->arena, &bytes))
        fail(r, f, "must be a string in base64");
    return bytes;
}

static bool read_null(struct reader *r, const struct wire_field *f, json_t *json, bool nullable)
{
    if (!json_is_null(json))
        return false;
    /* A field that the version lacks has no say on null; its default may well be null. */
    if (wire_field_in(f, r->version) && !nullable)
        fail(r, f, "must not be null in this version");
    return true;
}

static void read_uuid(struct reader *r, const struct wire_field *f, json_t *json, struct uuid *u)
{
    if (!json_is_string(json) || !uuid_parse(json_slice(json), u))
        fail(r, f, "must be a uuid of 22 characters");
}

static void read_pointer(struct reader *r, const struct wire_field *f, json_t *json, void **ret_at)
{
    const struct wire_struct *s = &wire_structs[f->item];
    *ret_at = NULL;
    if (read_null(r, f, json, wire_value_nullable(f, r->version)))
        return;
    void *at = arena_alloc(r->arena, s->size);
    read_struct(r, s, json, at);
    *ret_at = at;
}

static void read_slice(struct reader *r, const struct wire_field *f, json_t *json,
                       struct slice *ret_slice)
{
    *ret_slice = SLICE_NULL;
    if (!read_null(r, f, json, wire_value_nullable(f, r->version)))
        *ret_slice = f->type == WIRE_STRING ? read_string(r, f, json) : read_base64(r, f, json);
}

static void read_value(struct reader *r, const struct wire_field *f, json_t *json, void *at)
{
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL:
        if (!json_is_boolean(json))
            fail(r, f, "must be true or false");
        *(bool *)at = json_is_true(json);
        break;
    case WIRE_INT8: *(int8_t *)at = (int8_t)read_integer(r, f, json, INT8_MIN, INT8_MAX); break;
    case WIRE_INT16:
        *(int16_t *)at = (int16_t)read_integer(r, f, json, INT16_MIN, INT16_MAX);
        break;
    case WIRE_UINT16: *(uint16_t *)at = (uint16_t)read_integer(r, f, json, 0, UINT16_MAX); break;
    case WIRE_INT32:
        *(int32_t *)at = (int32_t)read_integer(r, f, json, INT32_MIN, INT32_MAX);
        break;
    case WIRE_UINT32: *(uint32_t *)at = (uint32_t)read_integer(r, f, json, 0, UINT32_MAX); break;
    case WIRE_INT64: *(int64_t *)at = read_integer(r, f, json, INT64_MIN, INT64_MAX); break;
    case WIRE_FLOAT64:
        if (!json_is_number(json))
            fail(r, f, "must be a number");
        *(double *)at = json_number_value(json);
        break;
    case WIRE_UUID: read_uuid(r, f, json, at); break;
    case WIRE_STRING:
    case WIRE_BYTES: read_slice(r, f, json, at); break;
    case WIRE_RECORDS:
        *(struct wire_records *)at = (struct wire_records){0};
        read_slice(r, f, json, &((struct wire_records *)at)->bytes);
        break;
    case WIRE_STRUCT:
        if (f->flags & WIRE_POINTER)
            read_pointer(r, f, json, at);
        else
            read_struct(r, &wire_structs[f->item], json, at);
        break;
    }
}

static void read_array(struct reader *r, const struct wire_field *f, json_t *json, void *field)
{
    *(void **)field = NULL;
    *wire_count_of(field) = 0;
    if (read_null(r, f, json, wire_field_nullable(f, r->version))) {
        *wire_count_of(field) = -1;
        return;
    }
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > INT32_MAX) {
        fail(r, f, "must be an array");
        return;
    }
    size_t item_size = wire_item_size(f);
    char *items = count ? arena_try_alloc(r->arena, count * item_size) : NULL;
    if (count && !items) {
        fail(r, f, "has too many items");
        return;
    }
    for (size_t i = 0; i < count && !r->failed; i++)
        read_value(r, f, json_array_get(json, i), items + i * item_size);
    *(void **)field = items;
    *wire_count_of(field) = (int32_t)count;
}

/* A pointer whose default is not null needs memory. */
static void read_absent(struct reader *r, const struct wire_field *f, char *field)
{
    wire_preset_field(f, field);
    if (!(f->flags & WIRE_POINTER) || f->flags & WIRE_DEFAULT_NULL)
        return;
    void *preset = wire_items_new(r->arena, f->item, 1);
    memcpy(field, &preset, sizeof preset);
}

static void read_struct(struct reader *r, const struct wire_struct *s, json_t *json, char *at)
{
    if (!json_is_object(json)) {
        if (!r->failed)
            r->text = SLICE_LIT("a JSON object must stand here");
        r->failed = true;
        return;
    }
    const struct wire_field *f = &wire_fields[s->field_first];
    for (const struct wire_field *end = f + s->field_count; f < end && !r->failed; f++) {
        json_t *value = json_object_get(json, wire_names + f->name);
        if (value && f->flags & WIRE_ARRAY)
            read_array(r, f, value, at + f->offset);
        else if (value)
            read_value(r, f, value, at + f->offset);
        else if (wire_field_in(f, r->version) && !wire_field_tagged(f, r->version))
            fail(r, f, "is missing, and this version has it");
        else
            read_absent(r, f, at + f->offset);
    }
}

enum err wire_from_json(const struct wire_schema *schema, int version, struct slice json,
                        struct arena *a, void *ret_msg, struct slice *ret_text)
{
    if (!wire_schema_has(schema, version))
        return ERR_UNSUPPORTED_VERSION;
    const struct wire_struct *s = &wire_structs[schema->root];
    struct reader r = {.arena = a, .version = version};
    json_error_t error;
    json_t *tree = json_loadb((const char *)json.data, json.size, JSON_ALLOW_NUL, &error);
    char *at = arena_alloc(a, s->size);
    if (tree) {
        read_struct(&r, s, tree, at);
        json_decref(tree);
    } else {
        r.failed = true;
        r.text = arena_printf(a, "line %d, column %d: %s", error.line, error.column, error.text);
    }
    if (r.failed) {
        if (ret_text)
            *ret_text = r.text;
        return ERR_MALFORMED;
    }
    memcpy(ret_msg, at, s->size);
    return ERR_NONE;
}
