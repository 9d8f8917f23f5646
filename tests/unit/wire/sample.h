/* Messages of any schema and version with random contents, from a seed: every field that the
 * version has is drawn, nulls and empty arrays included; fields it lacks keep their defaults, so
 * that the message can be encoded. */
#ifndef KLAMM_TESTS_WIRE_SAMPLE_H
#define KLAMM_TESTS_WIRE_SAMPLE_H

#include "wire/codec.h"
#include "wire/tables.h"

struct sample {
    struct arena *arena;
    uint64_t state;
    int version;
    bool full;
};

/* splitmix64 */
static inline uint64_t sample_next(struct sample *s)
{
    uint64_t z = s->state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static inline void sample_struct(struct sample *s, const struct wire_struct *table, char *at);

static inline struct slice sample_slice(struct sample *s, bool nullable)
{
    if (nullable && !s->full && sample_next(s) % 3 == 0)
        return SLICE_NULL;
    size_t size = s->full                    ? 1 + sample_next(s) % 6
                  : sample_next(s) % 16 == 0 ? 200
                                             : sample_next(s) % 12;
    uint8_t *data = arena_alloc(s->arena, size + 2);
    for (size_t i = 0; i < size; i++)
        data[i] = (uint8_t)('!' + sample_next(s) % 90);
    if (sample_next(s) % 8 == 0) {
        memcpy(data + size, "\xc3\xa9", 2);
        size += 2;
    }
    return slice_of(data, size);
}

static inline void sample_value(struct sample *s, const struct wire_field *f, char *at)
{
    bool nullable = wire_field_nullable(f, s->version);
    uint64_t random = sample_next(s);
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL: *(bool *)at = random & 1; break;
    case WIRE_STRING:
    case WIRE_BYTES:
        *(struct slice *)at = sample_slice(s, nullable && !(f->flags & WIRE_ARRAY));
        break;
    case WIRE_RECORDS: ((struct wire_records *)at)->bytes = sample_slice(s, nullable); break;
    case WIRE_UUID:
        memcpy(at, &random, 8);
        memcpy(at + 8, &random, 8);
        break;
    case WIRE_STRUCT: {
        const struct wire_struct *table = &wire_structs[f->item];
        if (f->flags & WIRE_POINTER) {
            char *item =
                nullable && !s->full && random % 3 == 0 ? NULL : arena_alloc(s->arena, table->size);
            *(void **)at = item;
            at = item;
        }
        if (at)
            sample_struct(s, table, at);
        break;
    }
    case WIRE_FLOAT64: *(double *)at = (double)(int32_t)random / 8; break;
    case WIRE_INT8:
    case WIRE_INT16:
    case WIRE_UINT16:
    case WIRE_INT32:
    case WIRE_UINT32:
    case WIRE_INT64: memcpy(at, &random, wire_item_size(f)); break;
    }
}

static inline void sample_array(struct sample *s, const struct wire_field *f, char *at)
{
    int32_t count = (int32_t)(sample_next(s) % 4);
    if (s->full)
        count = count == 3 ? 2 : 1;
    if (count == 3 && wire_field_nullable(f, s->version)) {
        *(void **)at = NULL;
        *wire_count_of(at) = -1;
        return;
    }
    size_t size = wire_item_size(f);
    char *items = arena_alloc(s->arena, size * 4);
    for (int32_t i = 0; i < count; i++)
        sample_value(s, f, items + (size_t)i * size);
    *(void **)at = items;
    *wire_count_of(at) = count;
}

/* An embedded struct without a field in this version stays as it is. */
static inline bool sample_can_differ(const struct sample *s, const struct wire_field *f)
{
    if (f->type != WIRE_STRUCT || f->flags & (WIRE_ARRAY | WIRE_POINTER))
        return true;
    const struct wire_struct *table = &wire_structs[f->item];
    for (unsigned i = 0; i < table->field_count; i++)
        if (wire_field_in(&wire_fields[table->field_first + i], s->version))
            return true;
    return false;
}

static inline void sample_struct(struct sample *s, const struct wire_struct *table, char *at)
{
    wire_preset(table, at);
    for (unsigned i = 0; i < table->field_count; i++) {
        const struct wire_field *f = &wire_fields[table->field_first + i];
        if (!wire_field_in(f, s->version))
            continue;
        if (wire_field_tagged(f, s->version) && !s->full && sample_next(s) % 3 == 0)
            continue;
        do {
            if (f->flags & WIRE_ARRAY)
                sample_array(s, f, at + f->offset);
            else
                sample_value(s, f, at + f->offset);
        } while (s->full && wire_is_preset(f, at + f->offset) && sample_can_differ(s, f));
    }
}

/* Seed 0 = full. */
static inline void *sample_new(const struct wire_schema *schema, int version, uint64_t seed,
                               struct arena *a)
{
    uint64_t state = seed ^ (uint64_t)schema->root << 32 ^ (uint64_t)version << 16;
    struct sample s = {a, state, version, seed == 0};
    char *msg = arena_alloc(a, wire_schema_size(schema));
    sample_struct(&s, &wire_structs[schema->root], msg);
    return msg;
}

/* A message of defaults in which every array of structs that the version has holds one item of
 * defaults: shows the defaults of all structs. */
static inline void sample_defaults(struct sample *s, const struct wire_struct *table, char *at)
{
    for (unsigned i = 0; i < table->field_count; i++) {
        const struct wire_field *f = &wire_fields[table->field_first + i];
        if (!wire_field_in(f, s->version) || f->type != WIRE_STRUCT)
            continue;
        char *item = at + f->offset;
        if (f->flags & WIRE_POINTER) {
            if (f->flags & WIRE_DEFAULT_NULL)
                continue;
            item = wire_items_new(s->arena, f->item, 1);
            memcpy(at + f->offset, &item, sizeof item);
            continue;
        }
        if (f->flags & WIRE_ARRAY) {
            item = wire_items_new(s->arena, f->item, 1);
            memcpy(at + f->offset, &item, sizeof item);
            *wire_count_of(at + f->offset) = 1;
        }
        sample_defaults(s, &wire_structs[f->item], item);
    }
}

static inline void *sample_defaults_new(const struct wire_schema *schema, int version,
                                        struct arena *a)
{
    struct sample s = {.arena = a, .version = version};
    char *msg = arena_alloc(a, wire_schema_size(schema));
    wire_init(schema, msg);
    sample_defaults(&s, &wire_structs[schema->root], msg);
    return msg;
}

#endif
