/* wire_encode: C structs -> bytes, by walking the schema's tables.
 *
 * A tagged value is counted first, because its size stands before it: the same walk without a
 * buffer, so size and bytes cannot disagree. Kafka's rules: a tagged field
 * at its default is left out, tags rise, a set field that the version lacks fails the message
 * unless it is ignorable. Records that lie elsewhere leave a splice. Pure; any thread. */
#include "wire/codec.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "wire/tables.h"

struct encoder {
    struct buf *out; /* NULL: only count */
    struct wire_splices *splices;
    size_t size;     /* bytes counted while out is NULL */
    size_t ext_size; /* external bytes met */
    int version;
    bool flexible;
    enum err err;
};

enum { STRING_SIZE_MAX = INT16_MAX };

static void encode_struct(struct encoder *e, const struct wire_struct *s, const char *at);

void wire_splices_init(struct wire_splices *s)
{
    *s = (struct wire_splices){0};
}

void wire_splices_fini(struct wire_splices *s)
{
    mem_free(s->items);
    *s = (struct wire_splices){0};
}

static void splices_add(struct wire_splices *s, size_t at, const struct wire_records *records)
{
    s->items = mem_grow(s->items, &s->capacity, s->count, sizeof *s->items);
    s->items[s->count++] = (struct wire_splice){at, records->ext, records->ext_size};
    s->size += records->ext_size;
}

static void fail(struct encoder *e, enum err err)
{
    if (e->err == ERR_NONE)
        e->err = err;
}

/* Room for `size` bytes; NULL while counting. The first way out is what nearly every field takes.
 */
static inline uint8_t *extend(struct encoder *e, size_t size)
{
    struct buf *out = e->out;
    e->size += size;
    if (!out)
        return NULL;
    if (out->size_max || out->failed || out->capacity - out->size < size)
        return buf_extend(out, size);
    uint8_t *p = out->data + out->size;
    out->size += size;
    return p;
}

static void put_i8(struct encoder *e, int8_t v)
{
    uint8_t *p = extend(e, 1);
    if (p)
        *p = (uint8_t)v;
}

static void put_i16(struct encoder *e, int16_t v)
{
    uint8_t *p = extend(e, 2);
    if (p)
        be_put_i16(p, v);
}

static void put_i32(struct encoder *e, int32_t v)
{
    uint8_t *p = extend(e, 4);
    if (p)
        be_put_i32(p, v);
}

static void put_i64(struct encoder *e, int64_t v)
{
    uint8_t *p = extend(e, 8);
    if (p)
        be_put_i64(p, v);
}

static void put_bytes(struct encoder *e, const void *data, size_t size)
{
    if (size == 0)
        return;
    uint8_t *p = extend(e, size);
    if (p)
        memcpy(p, data, size);
}

static void put_uvarint(struct encoder *e, uint64_t v)
{
    if (v < 0x80) {
        put_i8(e, (int8_t)v);
        return;
    }
    if (e->out)
        buf_put_uvarint(e->out, v);
    e->size += uvarint_size(v);
}

static void put_float64(struct encoder *e, const double *value)
{
    int64_t bits;
    memcpy(&bits, value, sizeof bits);
    put_i64(e, bits);
}

/* The length of bytes, records or an array; -1 = null. */
static void put_length(struct encoder *e, bool nullable, bool compact, int64_t length)
{
    if (length < 0 && !nullable)
        fail(e, ERR_ARGUMENT);
    if (length > INT32_MAX - 1)
        fail(e, ERR_TOO_LARGE);
    if (compact)
        put_uvarint(e, (uint32_t)(length + 1));
    else
        put_i32(e, (int32_t)length);
}

static void put_string(struct encoder *e, const struct wire_field *f, bool compact, struct slice s)
{
    if (!s.data && !wire_value_nullable(f, e->version))
        fail(e, ERR_ARGUMENT);
    if (s.size > STRING_SIZE_MAX) {
        fail(e, ERR_TOO_LARGE);
        return;
    }
    if (compact)
        put_uvarint(e, s.data ? s.size + 1 : 0);
    else
        put_i16(e, s.data ? (int16_t)s.size : (int16_t)-1);
    put_bytes(e, s.data, s.data ? s.size : 0);
}

static int64_t slice_length(struct slice s)
{
    if (!s.data)
        return -1;
    return s.size > INT32_MAX ? INT64_MAX : (int64_t)s.size;
}

static void put_records(struct encoder *e, const struct wire_field *f, bool compact,
                        const struct wire_records *records)
{
    bool nullable = wire_value_nullable(f, e->version);
    if (!records->ext) {
        put_length(e, nullable, compact, slice_length(records->bytes));
        put_bytes(e, records->bytes.data, records->bytes.data ? records->bytes.size : 0);
        return;
    }
    put_length(e, nullable, compact,
               records->ext_size > INT32_MAX ? INT64_MAX : (int64_t)records->ext_size);
    e->ext_size += records->ext_size;
    if (!e->out)
        return;
    if (e->splices)
        splices_add(e->splices, e->out->size, records);
    else
        fail(e, ERR_ARGUMENT);
}

static void put_pointer(struct encoder *e, const struct wire_field *f, const void *at)
{
    bool nullable = wire_field_nullable(f, e->version);
    if (nullable && wire_field_tagged(f, e->version))
        put_uvarint(e, at ? 1 : 0);
    else if (nullable)
        put_i8(e, at ? 1 : -1);
    else if (!at)
        fail(e, ERR_ARGUMENT);
    if (at)
        encode_struct(e, &wire_structs[f->item], at);
}

static void encode_value(struct encoder *e, const struct wire_field *f, bool compact,
                         const void *at)
{
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL: put_i8(e, *(const bool *)at); break;
    case WIRE_INT8: put_i8(e, *(const int8_t *)at); break;
    case WIRE_INT16: put_i16(e, *(const int16_t *)at); break;
    case WIRE_UINT16: put_i16(e, (int16_t) * (const uint16_t *)at); break;
    case WIRE_INT32: put_i32(e, *(const int32_t *)at); break;
    case WIRE_UINT32: put_i32(e, (int32_t) * (const uint32_t *)at); break;
    case WIRE_INT64: put_i64(e, *(const int64_t *)at); break;
    case WIRE_FLOAT64: put_float64(e, at); break;
    case WIRE_UUID: put_bytes(e, at, sizeof(struct uuid)); break;
    case WIRE_STRING: put_string(e, f, compact, *(const struct slice *)at); break;
    case WIRE_BYTES: {
        const struct slice *s = at;
        put_length(e, wire_value_nullable(f, e->version), compact, slice_length(*s));
        put_bytes(e, s->data, s->data ? s->size : 0);
        break;
    }
    case WIRE_RECORDS: put_records(e, f, compact, at); break;
    case WIRE_STRUCT:
        if (f->flags & WIRE_POINTER)
            put_pointer(e, f, *(const void *const *)at);
        else
            encode_struct(e, &wire_structs[f->item], at);
        break;
    }
}

static void encode_array(struct encoder *e, const struct wire_field *f, bool compact,
                         const void *field)
{
    const char *items;
    memcpy(&items, field, sizeof items);
    int32_t count = wire_count(field);
    put_length(e, wire_field_nullable(f, e->version), compact, count);
    size_t item_size = wire_item_size(f);
    for (int32_t i = 0; i < count && e->err == ERR_NONE; i++)
        encode_value(e, f, compact, items + (size_t)i * item_size);
}

static void encode_field(struct encoder *e, const struct wire_field *f, const char *at)
{
    bool compact = e->flexible && !(f->flags & WIRE_NEVER_COMPACT);
    if (f->flags & WIRE_ARRAY)
        encode_array(e, f, compact, at + f->offset);
    else
        encode_value(e, f, compact, at + f->offset);
}

static void encode_tags(struct encoder *e, const struct wire_struct *s, const char *at)
{
    const uint16_t *tagged = &wire_tagged[s->tagged_first];
    unsigned count = 0;
    for (unsigned i = 0; i < s->tagged_count; i++) {
        const struct wire_field *f = &wire_fields[tagged[i]];
        count += wire_field_in(f, e->version) && wire_field_tagged(f, e->version) &&
                 !wire_is_preset(f, at + f->offset);
    }
    put_uvarint(e, count);
    for (unsigned i = 0; count && i < s->tagged_count; i++) {
        const struct wire_field *f = &wire_fields[tagged[i]];
        if (!wire_field_in(f, e->version) || !wire_field_tagged(f, e->version) ||
            wire_is_preset(f, at + f->offset))
            continue;
        struct encoder counting = {.version = e->version, .flexible = e->flexible};
        encode_field(&counting, f, at);
        put_uvarint(e, f->tag);
        put_uvarint(e, counting.size + counting.ext_size);
        encode_field(e, f, at);
    }
}

static void encode_struct(struct encoder *e, const struct wire_struct *s, const char *at)
{
    const struct wire_field *f = &wire_fields[s->field_first];
    for (const struct wire_field *end = f + s->field_count; f < end; f++) {
        if (wire_field_in(f, e->version)) {
            if (!wire_field_tagged(f, e->version))
                encode_field(e, f, at);
        } else if (wire_field_lost(f, e->version, at + f->offset)) {
            fail(e, ERR_UNSUPPORTED_VERSION);
        }
    }
    if (e->flexible)
        encode_tags(e, s, at);
}

enum err wire_encode(const struct wire_schema *schema, int version, const void *msg,
                     struct buf *out, struct wire_splices *splices)
{
    if (!wire_schema_has(schema, version))
        return ERR_UNSUPPORTED_VERSION;
    if (out->failed)
        return ERR_TOO_LARGE;
    size_t size_before = out->size;
    size_t splices_before = splices ? splices->count : 0;
    size_t splices_size = splices ? splices->size : 0;
    struct encoder e = {.out = out,
                        .splices = splices,
                        .version = version,
                        .flexible = version >= schema->flexible};
    encode_struct(&e, &wire_structs[schema->root], msg);
    if (out->failed)
        fail(&e, ERR_TOO_LARGE);
    if (e.err != ERR_NONE) {
        out->size = size_before;
        out->failed = false;
        if (splices) {
            splices->count = splices_before;
            splices->size = splices_size;
        }
    }
    return e.err;
}
