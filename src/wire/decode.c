/* wire_decode: bytes -> C structs, by walking the schema's tables.
 *
 * The bytes come from anybody. Invariants: nothing is read beyond the cursor; a count is compared
 * with the bytes that remain, divided by the fewest bytes an item takes in this version, before
 * memory is taken; memory comes from the caller's arena and its limit; depth is bounded by the
 * schema. The first failure makes the cursor fail, so that what follows reads nothing and stops at
 * the next array item; the message reaches the caller only when all of it was good.
 *
 * Leniency is Kafka's, compared with it on mutated messages: any negative length or count is null,
 * any non-zero byte is true, tags come in any order, a repeated tag counts last, the announced size
 * of a known tag is not looked at. A known tag in a version that lacks it is refused; tags that no
 * version knows are skipped. Pure; any thread. */
#include "wire/codec.h"

#include "wire/tables.h"

struct decoder {
    struct cursor *c;
    struct arena *arena;
    int version;
    bool flexible;
    enum err err;
};

enum { STRING_SIZE_MAX = INT16_MAX };

static void decode_struct(struct decoder *d, const struct wire_struct *s, char *at);

static void fail(struct decoder *d, enum err err)
{
    if (d->err == ERR_NONE)
        d->err = err;
    d->c->failed = true;
}

/* A length or count in either form; negative = null. A compact one is stored plus one. */
static int32_t read_length(struct decoder *d, const struct wire_field *f, bool compact)
{
    if (compact)
        return (int32_t)(cursor_uvarint(d->c) - 1);
    if (f->type == WIRE_STRING && !(f->flags & WIRE_ARRAY))
        return cursor_i16(d->c);
    return cursor_i32(d->c);
}

static struct slice read_slice(struct decoder *d, const struct wire_field *f, int32_t size)
{
    if (size < 0) {
        if (!wire_value_nullable(f, d->version))
            fail(d, ERR_MALFORMED);
        return SLICE_NULL;
    }
    if (f->type == WIRE_STRING && size > STRING_SIZE_MAX)
        fail(d, ERR_MALFORMED);
    return cursor_slice(d->c, (size_t)size);
}

static double read_float64(struct cursor *c)
{
    int64_t bits = cursor_i64(c);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void read_uuid(struct cursor *c, struct uuid *u)
{
    const uint8_t *bytes = cursor_take(c, sizeof u->bytes);
    if (bytes)
        memcpy(u->bytes, bytes, sizeof u->bytes);
}

/* Zeroed memory of a struct; NULL after a failure. */
static void *new_struct(struct decoder *d, const struct wire_field *f)
{
    if (d->c->failed)
        return NULL;
    void *at = arena_try_alloc(d->arena, wire_structs[f->item].size);
    if (!at)
        fail(d, ERR_NO_MEMORY);
    return at;
}

/* A struct on its own, with the marker that says whether it is null where it may be: a byte, but
 * an unsigned varint in the tagged section. */
static void decode_pointer(struct decoder *d, const struct wire_field *f, void **ret_struct)
{
    *ret_struct = NULL;
    if (wire_field_tagged(f, d->version)
            ? (int32_t)cursor_uvarint(d->c) <= 0
            : wire_field_nullable(f, d->version) && cursor_i8(d->c) < 0)
        return;
    void *at = new_struct(d, f);
    if (at)
        decode_struct(d, &wire_structs[f->item], at);
    *ret_struct = at;
}

/* A field that is not there. A pointer whose default is not null needs memory. */
static void decode_absent(struct decoder *d, const struct wire_field *f, char *at)
{
    wire_preset_field(f, at + f->offset);
    if (!(f->flags & WIRE_POINTER) || f->flags & WIRE_DEFAULT_NULL)
        return;
    void *preset = new_struct(d, f);
    if (preset)
        wire_preset(&wire_structs[f->item], preset);
    memcpy(at + f->offset, &preset, sizeof preset);
}

/* One value that is not an array: a field, or an array's item. */
static void decode_value(struct decoder *d, const struct wire_field *f, bool compact, void *at)
{
    struct cursor *c = d->c;
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL: *(bool *)at = cursor_i8(c) != 0; break;
    case WIRE_INT8: *(int8_t *)at = cursor_i8(c); break;
    case WIRE_INT16: *(int16_t *)at = cursor_i16(c); break;
    case WIRE_UINT16: *(uint16_t *)at = (uint16_t)cursor_i16(c); break;
    case WIRE_INT32: *(int32_t *)at = cursor_i32(c); break;
    case WIRE_UINT32: *(uint32_t *)at = (uint32_t)cursor_i32(c); break;
    case WIRE_INT64: *(int64_t *)at = cursor_i64(c); break;
    case WIRE_FLOAT64: *(double *)at = read_float64(c); break;
    case WIRE_UUID: read_uuid(c, at); break;
    case WIRE_STRING: {
        int32_t size = compact ? (int32_t)(cursor_uvarint(c) - 1) : cursor_i16(c);
        *(struct slice *)at = read_slice(d, f, size);
        break;
    }
    case WIRE_BYTES: *(struct slice *)at = read_slice(d, f, read_length(d, f, compact)); break;
    case WIRE_RECORDS:
        *(struct wire_records *)at =
            (struct wire_records){.bytes = read_slice(d, f, read_length(d, f, compact))};
        break;
    case WIRE_STRUCT:
        if (f->flags & WIRE_POINTER)
            decode_pointer(d, f, at);
        else
            decode_struct(d, &wire_structs[f->item], at);
        break;
    }
}

/* The fewest bytes an item of this array takes. Never 0: flexible structs end in a tag count, and
 * the generator's tables have no empty struct in other versions. */
static size_t item_size_min(const struct decoder *d, const struct wire_field *f, bool compact)
{
    if (f->type == WIRE_STRUCT) {
        const struct wire_struct *s = &wire_structs[f->item];
        size_t size = wire_sizes_min[s->sizes_min + d->version - s->version_first];
        return size ? size : 1;
    }
    if (f->type == WIRE_STRING)
        return compact ? 1 : 2;
    if (f->type == WIRE_BYTES)
        return compact ? 1 : 4;
    return f->type == WIRE_BOOL ? 1 : wire_item_size(f);
}

static void decode_array(struct decoder *d, const struct wire_field *f, bool compact, void *field)
{
    *(void **)field = NULL;
    int32_t *ret_count = wire_count_of(field);
    *ret_count = 0;
    int32_t count = read_length(d, f, compact);
    if (d->c->failed)
        return;
    if (count < 0) {
        if (!wire_field_nullable(f, d->version))
            fail(d, ERR_MALFORMED);
        *ret_count = -1;
        return;
    }
    if ((size_t)count > cursor_left(d->c) / item_size_min(d, f, compact)) {
        fail(d, ERR_MALFORMED);
        return;
    }
    if (count == 0)
        return;
    size_t item_size = wire_item_size(f);
    char *items = arena_try_alloc(d->arena, (size_t)count * item_size);
    if (!items) {
        fail(d, ERR_NO_MEMORY);
        return;
    }
    for (int32_t i = 0; i < count && !d->c->failed; i++)
        decode_value(d, f, compact, items + (size_t)i * item_size);
    *(void **)field = items;
    *ret_count = count;
}

static void decode_field(struct decoder *d, const struct wire_field *f, char *at)
{
    bool compact = d->flexible && !(f->flags & WIRE_NEVER_COMPACT);
    if (f->flags & WIRE_ARRAY)
        decode_array(d, f, compact, at + f->offset);
    else
        decode_value(d, f, compact, at + f->offset);
}

static const struct wire_field *tagged_field(const struct wire_struct *s, uint32_t tag)
{
    for (unsigned i = 0; i < s->tagged_count; i++) {
        const struct wire_field *f = &wire_fields[wire_tagged[s->tagged_first + i]];
        if (f->tag == tag)
            return f;
    }
    return NULL;
}

static void decode_tags(struct decoder *d, const struct wire_struct *s, char *at)
{
    uint32_t count = cursor_uvarint(d->c);
    for (uint32_t i = 0; i < count && !d->c->failed; i++) {
        uint32_t tag = cursor_uvarint(d->c);
        uint32_t size = cursor_uvarint(d->c);
        const struct wire_field *f = tagged_field(s, tag);
        if (!f)
            cursor_take(d->c, size);
        else if (wire_field_in(f, d->version) && wire_field_tagged(f, d->version))
            decode_field(d, f, at);
        else
            fail(d, ERR_MALFORMED);
    }
}

/* `at` is zeroed memory of the struct. */
static void decode_struct(struct decoder *d, const struct wire_struct *s, char *at)
{
    const struct wire_field *f = &wire_fields[s->field_first];
    for (const struct wire_field *end = f + s->field_count; f < end; f++) {
        if (wire_field_in(f, d->version) && !wire_field_tagged(f, d->version))
            decode_field(d, f, at);
        else
            decode_absent(d, f, at);
    }
    if (d->flexible)
        decode_tags(d, s, at);
}

enum err wire_decode(const struct wire_schema *schema, int version, struct cursor *c,
                     struct arena *a, void *ret_msg)
{
    if (!wire_schema_has(schema, version))
        return ERR_UNSUPPORTED_VERSION;
    const struct wire_struct *s = &wire_structs[schema->root];
    char *at = arena_try_alloc(a, s->size);
    if (!at)
        return ERR_NO_MEMORY;
    struct decoder d = {c, a, version, version >= schema->flexible, ERR_NONE};
    decode_struct(&d, s, at);
    if (d.err != ERR_NONE || c->failed)
        return d.err != ERR_NONE ? d.err : ERR_MALFORMED;
    memcpy(ret_msg, at, s->size);
    return ERR_NONE;
}
