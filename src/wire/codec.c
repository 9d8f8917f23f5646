/* Schemas by name and record type, presets, and the question whether a field still has its default.
 *
 * A default is what Kafka's schema says, never what zeroed memory happens to hold: -1, null and
 * 2^31-1 are common, and an absent string is empty, not null. The tagged section leaves fields at
 * their default out, and a field that a version lacks may be dropped only at its default, so
 * presets and wire_is_preset must agree exactly. Pure; any thread. */
#include "wire/codec.h"

#include "base/ensure.h"
#include "wire/tables.h"

static const size_t type_sizes[] = {
    [WIRE_BOOL] = sizeof(bool),
    [WIRE_INT8] = 1,
    [WIRE_INT16] = 2,
    [WIRE_UINT16] = 2,
    [WIRE_INT32] = 4,
    [WIRE_UINT32] = 4,
    [WIRE_INT64] = 8,
    [WIRE_FLOAT64] = sizeof(double),
    [WIRE_UUID] = sizeof(struct uuid),
    [WIRE_STRING] = sizeof(struct slice),
    [WIRE_BYTES] = sizeof(struct slice),
    [WIRE_RECORDS] = sizeof(struct wire_records),
};

const char *wire_schema_name(const struct wire_schema *schema)
{
    return wire_names + schema->name;
}

size_t wire_schema_size(const struct wire_schema *schema)
{
    return wire_structs[schema->root].size;
}

bool wire_schema_has(const struct wire_schema *schema, int version)
{
    return wire_in(version, schema->first, schema->last);
}

const struct wire_schema *wire_schema_of_record(enum wire_folder folder, enum wire_kind kind,
                                                int key)
{
    for (size_t i = wire_folder_first[folder]; i < wire_folder_first[folder + 1]; i++) {
        const struct wire_schema *schema = wire_schemas[i];
        if (schema->kind == kind && schema->key == key && key >= 0)
            return schema;
    }
    return NULL;
}

void wire_init(const struct wire_schema *schema, void *msg)
{
    wire_preset(&wire_structs[schema->root], msg);
}

void *wire_items_new(struct arena *a, unsigned index, int32_t count)
{
    const struct wire_struct *s = &wire_structs[index];
    ENSURE_CMP(count, >=, 0);
    if (count == 0)
        return NULL;
    char *items = arena_array(a, (size_t)count, s->size);
    for (int32_t i = 0; i < count; i++)
        wire_preset(s, items + (size_t)i * s->size);
    return items;
}

struct slice *wire_strings_new(struct arena *a, int32_t count)
{
    ENSURE_CMP(count, >=, 0);
    if (count == 0)
        return NULL;
    struct slice *items = arena_array(a, (size_t)count, sizeof *items);
    for (int32_t i = 0; i < count; i++)
        items[i] = SLICE_LIT("");
    return items;
}

size_t wire_item_size(const struct wire_field *f)
{
    return f->type == WIRE_STRUCT ? wire_structs[f->item].size : type_sizes[f->type];
}

void wire_preset(const struct wire_struct *s, void *at)
{
    memset(at, 0, s->size);
    const struct wire_field *f = &wire_fields[s->field_first];
    for (const struct wire_field *end = f + s->field_count; f < end; f++)
        wire_preset_field(f, (char *)at + f->offset);
}

static double preset_float64(const struct wire_field *f)
{
    return (double)f->preset;
}

void wire_preset_field(const struct wire_field *f, void *field)
{
    bool null = f->flags & WIRE_DEFAULT_NULL;
    if (f->flags & WIRE_ARRAY) {
        *(void **)field = NULL;
        *wire_count_of(field) = null ? -1 : 0;
        return;
    }
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL: *(bool *)field = f->preset != 0; break;
    case WIRE_INT8: *(int8_t *)field = (int8_t)f->preset; break;
    case WIRE_INT16: *(int16_t *)field = (int16_t)f->preset; break;
    case WIRE_UINT16: *(uint16_t *)field = (uint16_t)f->preset; break;
    case WIRE_INT32: *(int32_t *)field = (int32_t)f->preset; break;
    case WIRE_UINT32: *(uint32_t *)field = (uint32_t)f->preset; break;
    case WIRE_INT64: *(int64_t *)field = f->preset; break;
    case WIRE_FLOAT64: *(double *)field = preset_float64(f); break;
    case WIRE_UUID: *(struct uuid *)field = UUID_ZERO; break;
    case WIRE_STRING:
    case WIRE_BYTES: *(struct slice *)field = null ? SLICE_NULL : SLICE_LIT(""); break;
    /* Kafka's records have no empty default: unset is null. */
    case WIRE_RECORDS: *(struct wire_records *)field = (struct wire_records){0}; break;
    case WIRE_STRUCT:
        if (f->flags & WIRE_POINTER)
            *(void **)field = NULL;
        else
            wire_preset(&wire_structs[f->item], field);
        break;
    }
}

static bool struct_is_preset(const struct wire_struct *s, const void *at)
{
    const struct wire_field *f = &wire_fields[s->field_first];
    for (const struct wire_field *end = f + s->field_count; f < end; f++)
        if (!wire_is_preset(f, (const char *)at + f->offset))
            return false;
    return true;
}

static bool slice_is_preset(const struct slice *s, bool null)
{
    return null ? s->data == NULL : s->data != NULL && s->size == 0;
}

bool wire_is_preset(const struct wire_field *f, const void *field)
{
    bool null = f->flags & WIRE_DEFAULT_NULL;
    if (f->flags & WIRE_ARRAY)
        return wire_count(field) == (null ? -1 : 0);
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL: return *(const bool *)field == (f->preset != 0);
    case WIRE_INT8: return *(const int8_t *)field == f->preset;
    case WIRE_INT16: return *(const int16_t *)field == f->preset;
    case WIRE_UINT16: return *(const uint16_t *)field == f->preset;
    case WIRE_INT32: return *(const int32_t *)field == f->preset;
    case WIRE_UINT32: return *(const uint32_t *)field == f->preset;
    case WIRE_INT64: return *(const int64_t *)field == f->preset;
    case WIRE_FLOAT64: {
        double preset = preset_float64(f);
        return memcmp(field, &preset, sizeof preset) == 0;
    }
    case WIRE_UUID: return uuid_is_zero(field);
    case WIRE_STRING:
    case WIRE_BYTES: return slice_is_preset(field, null);
    case WIRE_RECORDS: {
        const struct wire_records *records = field;
        return !records->ext && !records->bytes.data;
    }
    case WIRE_STRUCT:
        if (f->flags & WIRE_POINTER)
            field = *(const void *const *)field;
        if (null || !field)
            return null && !field;
        return struct_is_preset(&wire_structs[f->item], field);
    }
    return false;
}

bool wire_field_lost(const struct wire_field *f, int version, const void *field)
{
    return !wire_field_in(f, version) && !(f->flags & WIRE_IGNORABLE) && !wire_is_preset(f, field);
}
