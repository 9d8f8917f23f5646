/* wire_to_json: C structs -> one line of JSON, spelled as Kafka's converters and Jackson spell it,
 * so that output can be compared with theirs byte for byte: no blanks, doubles in Java's form,
 * control characters as \b \t \n \f \r or \u00XX, bytes that are not UTF-8 as U+FFFD. Pure; any
 * thread. */
#include "wire/json.h"

#include "base/base64.h"
#include "base/double.h"
#include "wire/tables.h"

struct writer {
    struct buf *out;
    int version;
    enum wire_json_records records;
    enum err err;
};

static void write_struct(struct writer *w, const struct wire_struct *s, const char *at);

/* Length of the UTF-8 sequence at `p`, or minus the bytes that Java replaces by one U+FFFD. */
static int utf8_length(const uint8_t *p, size_t left)
{
    if (p[0] < 0x80)
        return 1;
    int size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4)
        return -1;
    uint8_t low = p[0] == 0xe0 ? 0xa0 : p[0] == 0xf0 ? 0x90 : 0x80;
    uint8_t high = p[0] == 0xed ? 0x9f : p[0] == 0xf4 ? 0x8f : 0xbf;
    for (int i = 1; i < size; i++) {
        if ((size_t)i >= left || p[i] < low || p[i] > high)
            return -i;
        low = 0x80;
        high = 0xbf;
    }
    return size;
}

static void write_char(struct buf *out, uint8_t c)
{
    static const char *const named[] = {
        ['\b'] = "\\b", ['\t'] = "\\t", ['\n'] = "\\n", ['\f'] = "\\f",
        ['\r'] = "\\r", ['"'] = "\\\"", ['\\'] = "\\\\"};
    const char *name = c < sizeof named / sizeof *named ? named[c] : NULL;
    if (name)
        buf_put_str(out, name);
    else if (c < 0x20)
        buf_printf(out, "\\u%04X", c);
    else
        buf_put(out, &c, 1);
}

static void write_string(struct buf *out, struct slice s)
{
    buf_put_str(out, "\"");
    for (size_t i = 0; i < s.size;) {
        int length = utf8_length(s.data + i, s.size - i);
        if (length == 1)
            write_char(out, s.data[i]);
        else if (length > 1)
            buf_put(out, s.data + i, (size_t)length);
        else
            buf_put_str(out, "\xef\xbf\xbd");
        i += (size_t)(length < 0 ? -length : length);
    }
    buf_put_str(out, "\"");
}

/* Jackson quotes what JSON has no number for. */
static void write_double(struct buf *out, double value)
{
    const char *quote = value - value == 0 ? "" : "\"";
    buf_put_str(out, quote);
    double_put(out, value);
    buf_put_str(out, quote);
}

static void write_base64(struct buf *out, struct slice bytes)
{
    buf_put_str(out, "\"");
    base64_put(out, bytes);
    buf_put_str(out, "\"");
}

static void write_null(struct writer *w, bool nullable)
{
    if (!nullable && w->err == ERR_NONE)
        w->err = ERR_ARGUMENT;
    buf_put_str(w->out, "null");
}

static void write_uuid(struct buf *out, const struct uuid *u)
{
    char text[UUID_TEXT_SIZE + 1];
    buf_printf(out, "\"%s\"", uuid_format(u, text));
}

static void write_slice(struct writer *w, const struct wire_field *f, const struct slice *s)
{
    if (!s->data)
        write_null(w, wire_value_nullable(f, w->version));
    else if (f->type == WIRE_STRING)
        write_string(w->out, *s);
    else
        write_base64(w->out, *s);
}

/* External bytes are not at hand: only their size can be told. */
static void write_records(struct writer *w, const struct wire_field *f,
                          const struct wire_records *records)
{
    if (!records->ext && !records->bytes.data)
        write_null(w, wire_value_nullable(f, w->version));
    else if (w->records == WIRE_JSON_RECORDS_SIZE)
        buf_printf(w->out, "%zu", records->ext ? records->ext_size : records->bytes.size);
    else if (records->ext)
        w->err = ERR_ARGUMENT;
    else
        write_base64(w->out, records->bytes);
}

static void write_value(struct writer *w, const struct wire_field *f, const void *at)
{
    struct buf *out = w->out;
    switch ((enum wire_type)f->type) {
    case WIRE_BOOL: buf_put_str(out, *(const bool *)at ? "true" : "false"); break;
    case WIRE_INT8: buf_printf(out, "%d", *(const int8_t *)at); break;
    case WIRE_INT16: buf_printf(out, "%d", *(const int16_t *)at); break;
    case WIRE_UINT16: buf_printf(out, "%u", *(const uint16_t *)at); break;
    case WIRE_INT32: buf_printf(out, "%d", *(const int32_t *)at); break;
    case WIRE_UINT32: buf_printf(out, "%u", *(const uint32_t *)at); break;
    case WIRE_INT64: buf_printf(out, "%lld", (long long)*(const int64_t *)at); break;
    case WIRE_FLOAT64: write_double(out, *(const double *)at); break;
    case WIRE_UUID: write_uuid(out, at); break;
    case WIRE_STRING:
    case WIRE_BYTES: write_slice(w, f, at); break;
    case WIRE_RECORDS: write_records(w, f, at); break;
    case WIRE_STRUCT:
        if (f->flags & WIRE_POINTER)
            at = *(const void *const *)at;
        if (at)
            write_struct(w, &wire_structs[f->item], at);
        else
            write_null(w, wire_value_nullable(f, w->version));
        break;
    }
}

static void write_array(struct writer *w, const struct wire_field *f, const void *field)
{
    const char *items;
    memcpy(&items, field, sizeof items);
    int32_t count = wire_count(field);
    if (count < 0) {
        write_null(w, wire_field_nullable(f, w->version));
        return;
    }
    size_t item_size = wire_item_size(f);
    buf_put_str(w->out, "[");
    for (int32_t i = 0; i < count; i++) {
        if (i)
            buf_put_str(w->out, ",");
        write_value(w, f, items + (size_t)i * item_size);
    }
    buf_put_str(w->out, "]");
}

static void write_field(struct writer *w, const struct wire_field *f, const char *at)
{
    const void *field = at + f->offset;
    const char *suffix = "";
    if (f->type == WIRE_RECORDS && w->records == WIRE_JSON_RECORDS_SIZE) {
        const struct wire_records *records = field;
        suffix = records->ext || records->bytes.data ? "SizeInBytes" : "";
    }
    buf_printf(w->out, "\"%s%s\":", wire_names + f->name, suffix);
    if (f->flags & WIRE_ARRAY)
        write_array(w, f, field);
    else
        write_value(w, f, field);
}

static void write_struct(struct writer *w, const struct wire_struct *s, const char *at)
{
    const struct wire_field *f = &wire_fields[s->field_first];
    bool first = true;
    buf_put_str(w->out, "{");
    for (const struct wire_field *end = f + s->field_count; f < end; f++) {
        const char *field = at + f->offset;
        if (wire_field_lost(f, w->version, field) && w->err == ERR_NONE)
            w->err = ERR_UNSUPPORTED_VERSION;
        if (!wire_field_in(f, w->version) ||
            (wire_field_tagged(f, w->version) && wire_is_preset(f, field)))
            continue;
        if (!first)
            buf_put_str(w->out, ",");
        first = false;
        write_field(w, f, at);
    }
    buf_put_str(w->out, "}");
}

enum err wire_to_json(const struct wire_schema *schema, int version, const void *msg,
                      enum wire_json_records records, struct buf *out)
{
    if (!wire_schema_has(schema, version))
        return ERR_UNSUPPORTED_VERSION;
    if (out->failed)
        return ERR_TOO_LARGE;
    size_t size_before = out->size;
    struct writer w = {out, version, records, ERR_NONE};
    write_struct(&w, &wire_structs[schema->root], msg);
    if (out->failed && w.err == ERR_NONE)
        w.err = ERR_TOO_LARGE;
    if (w.err != ERR_NONE) {
        out->size = size_before;
        out->failed = false;
    }
    return w.err;
}
