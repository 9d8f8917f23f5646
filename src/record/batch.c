/* Heads of record batches: checks, setters under the CRC, and iteration over entries that lie back
 * to back. Invariant: nothing is read that the given slice does not hold, and every length is
 * compared with what remains before it is used.
 *
 * Pure; called by the produce path and fetch (event loops), recovery and the cleaner (workers).
 * Layout: magic 2 of KIP-98; magic 0 and 1 only as Kafka 4 still reads them from old segments. */
#include "record/batch.h"

#include "base/crc32c.h"
#include "base/ensure.h"

#include <zlib.h>

enum {
    LEGACY_SIZE_MIN_V0 = BATCH_SIZE_MIN_V0 - BATCH_PREFIX_SIZE,
    LEGACY_CRC_FROM = BATCH_PREFIX_SIZE + 4,
    LEGACY_ATTRIBUTES = BATCH_PREFIX_SIZE + 5,
    LEGACY_TIMESTAMP = BATCH_PREFIX_SIZE + 6,
};

/* Everything a length may be, prefix included, stays below 2^31. */
static const int32_t length_max = INT32_MAX - BATCH_PREFIX_SIZE;

static uint32_t crc_of(const uint8_t *b)
{
    return crc32c(0, b + BATCH_CRC_FROM, batch_size(b) - BATCH_CRC_FROM);
}

void batch_seal(uint8_t *b)
{
    ENSURE_CMP(batch_length(b), >=, BATCH_HEADER_SIZE - BATCH_PREFIX_SIZE);
    be_put_u32(b + 17, crc_of(b));
}

void batch_set_max_timestamp(uint8_t *b, bool log_append_time, int64_t timestamp)
{
    int16_t attributes = batch_attributes(b);
    if (batch_is_log_append_time(b) == log_append_time && batch_max_timestamp(b) == timestamp)
        return;
    int known = attributes &
                (BATCH_CODEC_MASK | BATCH_TRANSACTIONAL | BATCH_CONTROL | BATCH_DELETE_HORIZON);
    be_put_i16(b + 21, (int16_t)(known | (log_append_time ? BATCH_LOG_APPEND_TIME : 0)));
    be_put_i64(b + 35, timestamp);
    batch_seal(b);
}

bool batch_crc_ok(const uint8_t *b)
{
    return batch_crc(b) == crc_of(b);
}

enum err batch_check_header(struct slice batch)
{
    const uint8_t *b = batch.data;
    if (batch.size < BATCH_HEADER_SIZE || batch_magic(b) != BATCH_MAGIC || batch_length(b) < 0 ||
        batch_size(b) != batch.size)
        return ERR_CORRUPT_MESSAGE;
    if (batch_record_count(b) < 0 || batch_last_offset_delta(b) < 0 ||
        (batch_attributes(b) & BATCH_CODEC_MASK) >= CODEC_COUNT)
        return ERR_CORRUPT_MESSAGE;
    if (batch_base_offset(b) > INT64_MAX - 1 - batch_last_offset_delta(b))
        return ERR_CORRUPT_MESSAGE;
    return ERR_NONE;
}

enum err batch_check(struct slice batch)
{
    struct batch_info info;
    enum err err = batch_peek(batch, &info);
    if (err)
        return ERR_CORRUPT_MESSAGE;
    if (info.size != batch.size)
        return ERR_CORRUPT_MESSAGE;
    if (info.magic == BATCH_MAGIC) {
        err = batch_check_header(batch);
        if (err)
            return err;
        return batch_crc_ok(batch.data) ? ERR_NONE : ERR_CORRUPT_MESSAGE;
    }
    if ((info.attributes & BATCH_CODEC_MASK) > CODEC_LZ4)
        return ERR_CORRUPT_MESSAGE;
    uLong crc = crc32_z(0, batch.data + LEGACY_CRC_FROM, batch.size - LEGACY_CRC_FROM);
    return crc == be_u32(batch.data + BATCH_PREFIX_SIZE) ? ERR_NONE : ERR_CORRUPT_MESSAGE;
}

static enum err peek_v2(struct slice head, struct batch_info *ret_info)
{
    const uint8_t *b = head.data;
    if (batch_length(b) < BATCH_HEADER_SIZE - BATCH_PREFIX_SIZE)
        return ERR_CORRUPT_MESSAGE;
    if (head.size < BATCH_HEADER_SIZE)
        return ERR_MALFORMED;
    *ret_info = (struct batch_info){
        .data = b,
        .size = (uint32_t)batch_size(b),
        .magic = BATCH_MAGIC,
        .attributes = batch_attributes(b),
        .offset_base = batch_base_offset(b),
        .offset_last = batch_offset_last(b),
        .max_timestamp = batch_max_timestamp(b),
        .leader_epoch = batch_leader_epoch(b),
    };
    return ERR_NONE;
}

static enum err peek_legacy(struct slice head, struct batch_info *ret_info)
{
    const uint8_t *b = head.data;
    bool v1 = batch_magic(b) == 1;
    size_t size_min = v1 ? BATCH_SIZE_MIN_V1 : BATCH_SIZE_MIN_V0;
    if (batch_size(b) < size_min)
        return ERR_CORRUPT_MESSAGE;
    if (head.size < size_min)
        return ERR_MALFORMED;
    *ret_info = (struct batch_info){
        .data = b,
        .size = (uint32_t)batch_size(b),
        .magic = batch_magic(b),
        .attributes = b[LEGACY_ATTRIBUTES],
        .offset_base = batch_base_offset(b),
        .offset_last = batch_base_offset(b),
        .max_timestamp = v1 ? be_i64(b + LEGACY_TIMESTAMP) : BATCH_NO_TIMESTAMP,
        .leader_epoch = BATCH_NO_LEADER_EPOCH,
    };
    return ERR_NONE;
}

enum err batch_peek(struct slice head, struct batch_info *ret_info)
{
    if (head.size < BATCH_PREFIX_SIZE)
        return ERR_MALFORMED;
    int32_t length = batch_length(head.data);
    if (length < LEGACY_SIZE_MIN_V0 || length > length_max)
        return ERR_CORRUPT_MESSAGE;
    if (head.size < BATCH_PEEK_SIZE)
        return ERR_MALFORMED;
    switch (batch_magic(head.data)) {
    case 2: return peek_v2(head, ret_info);
    case 1:
    case 0: return peek_legacy(head, ret_info);
    default: return ERR_CORRUPT_MESSAGE;
    }
}

bool batch_iter_next(struct batch_iter *iter, struct batch_info *ret_info)
{
    if (iter->err || !iter->rest.size)
        return false;
    struct batch_info info;
    enum err err = batch_peek(iter->rest, &info);
    if (err) {
        if (err != ERR_MALFORMED)
            iter->err = err;
        return false;
    }
    if (info.size > iter->rest.size)
        return false;
    iter->rest.data += info.size;
    iter->rest.size -= info.size;
    *ret_info = info;
    return true;
}
