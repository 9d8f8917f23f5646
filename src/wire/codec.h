/* Kafka's messages and records as C structs: one interpreter over tables decodes, encodes, sizes
 * and presets all of them. The structs and tables are made from schema/ by tools/gen_wire.py:
 * include "wire_<family>.h" (wire_produce.h, wire_metadata_records.h ...), or "wire_messages.h" for
 * all of them.
 *
 * Shape of the structs (message ProduceRequest -> struct produce_request, schema
 * wire_produce_request):
 *   string, bytes     struct slice; data == NULL is null. Decoded ones are views into the input.
 *   records           struct wire_records.
 *   array             `T *name; int32_t name_count;` count -1 = null, 0 = empty (name may be NULL).
 *   struct            embedded; one that may be null is a pointer, NULL = null.
 *   uuid              struct uuid.
 * Each array field has an inline <struct>_<field>_new(arena, parent, count) that allocates the
 * items, presets them, and sets pointer and count.
 *
 * A struct must be preset (wire_init, _new) before it is filled: many defaults are -1 or null.
 * Everything here is pure and needs no lock; tables are constant. */
#ifndef KLAMM_WIRE_CODEC_H
#define KLAMM_WIRE_CODEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/cursor.h"
#include "base/err.h"
#include "base/uuid.h"

/* A field of type `records`. With ext == NULL its content is `bytes` (data NULL = null). Else
 * ext_size bytes come from elsewhere, such as a file: the encoder writes only their length and
 * notes a splice where they belong; `bytes` is not looked at. */
struct wire_records {
    struct slice bytes;
    void *ext;
    size_t ext_size;
};

/* Where external record bytes belong: before out->data[at]. Splices rise by `at`. */
struct wire_splice {
    size_t at;
    void *ext;
    size_t size;
};

struct wire_splices {
    struct wire_splice *items;
    size_t count, capacity;
    size_t size; /* sum of the sizes of all splices */
};

void wire_splices_init(struct wire_splices *s);
void wire_splices_fini(struct wire_splices *s);

enum wire_kind {
    WIRE_REQUEST,
    WIRE_RESPONSE,
    WIRE_HEADER,
    WIRE_DATA,              /* embedded in others, or a file */
    WIRE_METADATA,          /* record of the metadata log or the remote log metadata topic */
    WIRE_COORDINATOR_KEY,   /* key of a coordinator's record */
    WIRE_COORDINATOR_VALUE, /* value of a coordinator's record */
};

/* One message or record; opaque but for these. */
struct wire_schema {
    uint16_t name;       /* see wire_schema_name */
    uint16_t root;       /* table index of its struct */
    int16_t key;         /* API key or record type; -1 = none */
    uint8_t kind;        /* enum wire_kind */
    uint8_t first, last; /* versions that can be decoded and encoded */
    uint8_t flexible;    /* first flexible version; 255 = none */
    uint8_t folder;      /* which set the record type `key` counts in, enum wire_folder */
};

/* Sets of record types. */
enum wire_folder {
    WIRE_PROTOCOL,
    WIRE_GROUP,
    WIRE_LOG,
    WIRE_METADATA_LOG,
    WIRE_RAFT,
    WIRE_SHARE,
    WIRE_STORAGE,
    WIRE_STREAMS,
    WIRE_TRANSACTION,
};

/* All schemas, in the order of their files' names. */
extern const struct wire_schema *const wire_schemas[];
extern const size_t wire_schemas_count;

/* "ProduceRequest". */
const char *wire_schema_name(const struct wire_schema *schema);
/* sizeof the C struct. */
size_t wire_schema_size(const struct wire_schema *schema);
bool wire_schema_has(const struct wire_schema *schema, int version);
/* The schema of a record type (kind WIRE_METADATA, or a coordinator's key or value); NULL when
 * there is none. */
const struct wire_schema *wire_schema_of_record(enum wire_folder folder, enum wire_kind kind,
                                                int key);

/* Sets all fields to the schema's defaults. One exception: the classic_member_metadata of struct
 * consumer_group_member_metadata_value starts as NULL (and is then written as null, as Kafka does
 * for members of the consumer protocol), although Kafka's default is an empty struct, which
 * wire_decode gives when the field is absent. */
void wire_init(const struct wire_schema *schema, void *msg);

/* `count` preset items of the struct with this table index; for generated code. Never NULL, except
 * that count 0 may give NULL. */
void *wire_items_new(struct arena *a, unsigned index, int32_t count);
/* `count` empty strings; for generated code. */
struct slice *wire_strings_new(struct arena *a, int32_t count);

/* Reads one message. Strings and bytes stay views into the cursor's input, arrays come from `a`
 * (bounded by its size_max); every count is checked against the bytes that remain before memory is
 * taken. The cursor stands behind the message afterwards: whether bytes may follow is the caller's
 * matter (cursor_left). Tags unknown to the schema are skipped.
 * ERR_UNSUPPORTED_VERSION: not a version of the schema. ERR_MALFORMED: bytes end early, a null
 * where none may be, a bad length or tag. ERR_NO_MEMORY: the arena refused. *ret_msg is untouched
 * then. */
enum err wire_decode(const struct wire_schema *schema, int version, struct cursor *c,
                     struct arena *a, void *ret_msg);

/* Appends one message to `out`. `splices` may be NULL when no records are external.
 * ERR_UNSUPPORTED_VERSION: not a version of the schema, or a field is set that this version lacks
 * and that may not be dropped. ERR_ARGUMENT: null where none may be, external records without
 * `splices`. ERR_TOO_LARGE: a string above 32767 bytes, or `out` is at its size_max. After a
 * failure `out` and `splices` are as before. */
enum err wire_encode(const struct wire_schema *schema, int version, const void *msg,
                     struct buf *out, struct wire_splices *splices);

#endif
