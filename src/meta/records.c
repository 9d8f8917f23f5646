/* A list of encoded metadata records; see records.h. Filled by decisions (meta/controller_*.c) and
 * by whoever writes bootstrap records; read by the quorum driver, which puts them into batches.
 * Each record is its frame version, its type, its version (unsigned varints) and its body. */
#include "meta/records.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "wire/codec.h"

enum { FRAME_VERSION = 1 };

void meta_records_init(struct meta_records *records)
{
    *records = (struct meta_records){.ends = NULL};
    buf_init(&records->bytes);
}

void meta_records_fini(struct meta_records *records)
{
    buf_fini(&records->bytes);
    mem_free(records->ends);
    records->ends = NULL;
    records->count = records->capacity = 0;
}

void meta_records_clear(struct meta_records *records)
{
    buf_clear(&records->bytes);
    records->count = 0;
}

static void note_end(struct meta_records *records)
{
    if (records->count == records->capacity) {
        records->capacity = records->capacity ? records->capacity * 2 : 16;
        records->ends =
            mem_realloc(records->ends, (size_t)records->capacity * sizeof *records->ends);
    }
    records->ends[records->count++] = records->bytes.size;
}

void meta_records_add(struct meta_records *records, const struct wire_schema *schema,
                      int16_t version, const void *record)
{
    buf_put_uvarint(&records->bytes, FRAME_VERSION);
    buf_put_uvarint(&records->bytes, (uint64_t)schema->key);
    buf_put_uvarint(&records->bytes, (uint64_t)version);
    enum err e = wire_encode(schema, version, record, &records->bytes, NULL);
    ENSURE_CMP(e, ==, ERR_NONE); /* we choose version and fields */
    note_end(records);
}

void meta_records_add_payload(struct meta_records *records, struct slice payload)
{
    buf_put_slice(&records->bytes, payload);
    note_end(records);
}

struct slice meta_records_at(const struct meta_records *records, int32_t index)
{
    ENSURE_CMP(index, <, records->count);
    size_t from = index ? records->ends[index - 1] : 0;
    return slice_of(records->bytes.data + from, records->ends[index] - from);
}

void meta_records_cut(struct meta_records *records, int32_t count)
{
    ENSURE_CMP(count, <=, records->count);
    records->count = count;
    records->bytes.size = count ? records->ends[count - 1] : 0;
}
