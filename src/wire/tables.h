/* The tables that codec.c, decode.c, encode.c and json*.c interpret; made by tools/gen_wire.py.
 * Internal to wire and to its tests. They refer to each other by index, so that all of them lie in
 * .rodata without relocations. A message's fields are met in file order, as on the wire; only
 * tagged ones have a list of their own. */
#ifndef KLAMM_WIRE_TABLES_H
#define KLAMM_WIRE_TABLES_H

#include "wire/codec.h"

enum wire_type {
    WIRE_BOOL,
    WIRE_INT8,
    WIRE_INT16,
    WIRE_UINT16,
    WIRE_INT32,
    WIRE_UINT32,
    WIRE_INT64,
    WIRE_FLOAT64,
    WIRE_UUID,
    WIRE_STRING,
    WIRE_BYTES,
    WIRE_RECORDS,
    WIRE_STRUCT,
};

enum wire_flags {
    WIRE_ARRAY = 1,         /* of `type`; its int32_t count follows the pointer */
    WIRE_POINTER = 2,       /* a struct that may be null is held by pointer */
    WIRE_IGNORABLE = 4,     /* may be dropped when the version lacks it */
    WIRE_NEVER_COMPACT = 8, /* keeps the old length form in flexible versions */
    WIRE_DEFAULT_NULL = 16,
};

struct wire_field {
    uint16_t name;   /* into wire_names, as JSON spells it */
    uint16_t offset; /* in the C struct */
    uint16_t item;   /* into wire_structs, for WIRE_STRUCT */
    uint8_t type, flags;
    uint8_t first, last;               /* versions that have it; none = (1, 0) */
    uint8_t null_first, null_last;     /* versions in which null may be sent */
    uint8_t tagged_first, tagged_last; /* versions in which it stands in the tagged section */
    uint8_t tag;
    int64_t preset; /* default of numbers and bool */
};

struct wire_struct {
    uint16_t field_first, field_count;   /* in wire_fields */
    uint16_t tagged_first, tagged_count; /* in wire_tagged, tags rising */
    uint16_t sizes_min;                  /* in wire_sizes_min, for version `version_first` */
    uint16_t version_first;
    uint16_t size; /* of the C struct */
};

extern const char wire_names[];
extern const struct wire_field wire_fields[];
extern const struct wire_struct wire_structs[];
/* Index in wire_schemas of a folder's first schema; one more entry ends the last folder. */
extern const uint16_t wire_folder_first[];
extern const uint16_t wire_tagged[];   /* indexes of fields */
extern const uint8_t wire_sizes_min[]; /* fewest bytes of a struct by version, at most 255 */

static inline bool wire_in(int version, uint8_t first, uint8_t last)
{
    return version >= first && version <= last;
}

static inline bool wire_field_in(const struct wire_field *f, int version)
{
    return wire_in(version, f->first, f->last);
}

static inline bool wire_field_tagged(const struct wire_field *f, int version)
{
    return wire_in(version, f->tagged_first, f->tagged_last);
}

static inline bool wire_field_nullable(const struct wire_field *f, int version)
{
    return wire_in(version, f->null_first, f->null_last);
}

/* The same for a value: an array may be null where the field says so, its items never. */
static inline bool wire_value_nullable(const struct wire_field *f, int version)
{
    return !(f->flags & WIRE_ARRAY) && wire_field_nullable(f, version);
}

static inline int32_t *wire_count_of(void *array)
{
    return (int32_t *)((char *)array + sizeof(void *));
}

static inline int32_t wire_count(const void *array)
{
    int32_t count;
    memcpy(&count, (const char *)array + sizeof(void *), sizeof count);
    return count;
}

/* sizeof one item of an array field. */
size_t wire_item_size(const struct wire_field *f);

/* Sets one field, or all of a struct, to the defaults. A pointer becomes NULL, also where Kafka's
 * default is an empty struct (not WIRE_DEFAULT_NULL): who reads must put that one there. */
void wire_preset_field(const struct wire_field *f, void *field);
void wire_preset(const struct wire_struct *s, void *at);

/* True when the field has its default; a struct when all its fields have. */
bool wire_is_preset(const struct wire_field *f, const void *field);

/* True for a field that is set, must not be dropped, and that the version lacks. */
bool wire_field_lost(const struct wire_field *f, int version, const void *field);

#endif
