/* Any bytes as record bytes. Input: options (2 bytes), then what a Produce request or a segment
 * would hold. With the first bit set the CRC is made right, so that the checks behind it are
 * reached.
 *
 * What must hold: memory stays in proportion to the input; what validation lets through can be read
 * back, record by record, with the count and the max timestamp that were announced. */
#include "fuzz.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "record/compress.h"
#include "record/control.h"
#include "record/legacy.h"
#include "record/validate.h"

#include <string.h>

enum { BATCH_MAX = 1 << 20, REBUILT_MAX = 4 << 20 };

/* Touches every byte that a record shows. */
static uint32_t touch(const struct record *r)
{
    uint32_t sum = 0;
    struct record_header header;
    struct slice rest = r->headers;
    for (size_t i = 0; i < r->key.size; i++)
        sum += r->key.data[i];
    for (size_t i = 0; i < r->value.size; i++)
        sum += r->value.data[i];
    while (record_header_next(&rest, &header))
        sum += (uint32_t)header.key.size;
    enum control_type type;
    struct control_end_txn marker;
    if (control_parse_type(r, &type) == ERR_NONE && control_parse_end_txn(r, &marker) == ERR_NONE)
        sum += marker.is_commit;
    return sum;
}

static void walk_entry(const struct batch_info *info)
{
    struct slice entry = slice_of(info->data, info->size);
    struct record r;
    uint32_t sum = (uint32_t)batch_check(entry);
    if (info->magic == BATCH_MAGIC) {
        struct records_iter iter;
        int64_t offset, timestamp;
        if (records_iter_init(&iter, entry, BATCH_MAX) == ERR_NONE) {
            while (records_iter_next(&iter, &r))
                sum += touch(&r);
        }
        records_iter_fini(&iter);
        (void)!records_find_timestamp(entry, sum, 0, &offset, &timestamp);
        (void)!records_find_max_timestamp(entry, &offset);
    } else {
        struct legacy_iter iter;
        if (legacy_iter_init(&iter, entry, BATCH_MAX) == ERR_NONE) {
            while (legacy_iter_next(&iter, &r))
                sum += touch(&r);
        }
        legacy_iter_fini(&iter);
    }
}

/* What was accepted must be readable. A client that set the bit of LogAppendTime had the max
 * timestamp taken for all of its records, here as in Kafka, and got that one back as the max. */
static void check_accepted(const struct validate_result *result, bool had_append_time)
{
    struct slice batch = slice_of(result->batch, result->size);
    struct records_iter iter;
    struct record r;
    int32_t count = 0;
    int64_t max = BATCH_NO_TIMESTAMP;
    ENSURE(batch_check(batch) == ERR_NONE);
    ENSURE(records_iter_init(&iter, batch, 0) == ERR_NONE);
    for (; records_iter_next(&iter, &r); count++)
        max = r.timestamp > max ? r.timestamp : max;
    ENSURE(iter.err == ERR_NONE);
    records_iter_fini(&iter);
    ENSURE_CMP(count, ==, batch_record_count(result->batch));
    ENSURE_CMP(count, ==, result->record_count);
    ENSURE_CMP(batch_max_timestamp(result->batch), ==, result->max_timestamp);
    if (!had_append_time)
        ENSURE_CMP(max, <=, result->max_timestamp);
}

static void validate(uint8_t *bytes, size_t size, uint8_t bits)
{
    struct arena arena;
    struct buf rebuilt;
    struct validate_result result;
    struct validate_options options = {
        .topic = SLICE_LIT("fuzz"),
        .origin = VALIDATE_CLIENT,
        .produce_version = bits & 1 ? 12 : 3,
        .compacted = bits & 2,
        .log_append_time = bits & 4,
        .now_ms = INT64_C(1700000000000),
        .timestamp_before_max_ms = bits & 8 ? 1000 : INT64_MAX,
        .timestamp_after_max_ms = 3600000,
        .codec = (bits >> 4) % (CODEC_COUNT + 1) - 1,
        .batch_size_max = BATCH_MAX,
    };
    if (options.codec >= 0)
        options.level = codec_level_default((enum codec)options.codec);
    arena_init(&arena);
    buf_init(&rebuilt);
    bool had_append_time = size >= BATCH_HEADER_SIZE && batch_is_log_append_time(bytes);
    if (validate_batch(bytes, size, &options, &arena, &rebuilt, &result) == ERR_NONE)
        check_accepted(&result, had_append_time);
    else
        ENSURE(rebuilt.size == 0);
    ENSURE_CMP(rebuilt.capacity, <=, REBUILT_MAX);
    buf_fini(&rebuilt);
    arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t count = size - 2;
    uint8_t *bytes = mem_alloc(count ? count : 1); /* exact: a sanitizer sees a read past it */
    memcpy(bytes, data + 2, count);
    if ((data[0] & 1) && count >= BATCH_HEADER_SIZE) {
        be_put_i32(bytes + 8, (int32_t)count - BATCH_PREFIX_SIZE);
        bytes[16] = BATCH_MAGIC;
        batch_seal(bytes);
    }
    struct batch_iter iter = batch_iter_of(slice_of(bytes, count));
    struct batch_info info;
    while (batch_iter_next(&iter, &info))
        walk_entry(&info);
    validate(bytes, count, data[1]);
    mem_free(bytes);
    return 0;
}
