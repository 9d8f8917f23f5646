/* The records inside a batch of magic 2: iteration with views of keys, values and headers,
 * decompressing as it goes, and look-ups by timestamp that touch neither keys nor values.
 *
 * Pure; any thread, an iterator belongs to one. Memory: none for uncompressed batches; else the
 * decoder's scratch (see compress.h) and, for records that cross pieces of its output, a buffer
 * that grows with bytes received up to record_size_max. */
#ifndef KLAMM_RECORD_RECORDS_H
#define KLAMM_RECORD_RECORDS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct decoder;

struct record {
    int64_t offset;
    int64_t timestamp; /* ms; with LogAppendTime that of the batch */
    int32_t sequence;  /* BATCH_NO_SEQUENCE when the batch has none */
    int32_t size;      /* bytes, uncompressed, with the length in front */
    int8_t attributes; /* 0 in magic 2 */
    struct slice key;  /* data NULL = null */
    struct slice value;
    struct slice headers; /* the encoded headers; walk them with record_header_next */
    int32_t header_count;
};

struct record_header {
    struct slice key;   /* never null */
    struct slice value; /* may be null */
};

/* Takes the first header off `headers` (a copy of record.headers); false when none is left. */
bool record_header_next(struct slice *headers, struct record_header *ret_header);

struct records_iter {
    const uint8_t *batch;
    const uint8_t *at, *end; /* record bytes at hand */
    struct decoder *decoder; /* NULL: uncompressed */
    struct buf stitch;       /* a record that crosses pieces */
    int32_t left;            /* records not yet returned */
    size_t record_size_max;
    enum err err;
};

/* Starts over the records of a whole batch whose header is sound (batch_check_header). The bytes
 * stay in place until records_iter_fini. record_size_max bounds the memory of a single compressed
 * record, 0 = 2^31 - 1. ERR_CORRUPT_MESSAGE for a header that is not sound, ERR_NO_MEMORY. */
enum err records_iter_init(struct records_iter *iter, struct slice batch, size_t record_size_max);

/* The next record. Views live until the next call (uncompressed: as long as the batch's bytes).
 * Stopping early is fine. False at the end, with iter->err ERR_NONE; or ERR_INVALID_RECORD: broken
 * structure, bytes left over, or fewer records than the header says; ERR_CORRUPT_MESSAGE: the
 * compressed bytes are broken; ERR_TOO_LARGE: a record above record_size_max; ERR_NO_MEMORY. */
bool records_iter_next(struct records_iter *iter, struct record *ret_record);

/* May be called at any time after records_iter_init, also after it failed. */
void records_iter_fini(struct records_iter *iter);

/* The first record of the batch with timestamp >= `timestamp` and offset >= `offset_min` (what
 * ListOffsets looks for). ERR_NOT_FOUND: the batch has none; other errors as records_iter_next. */
enum err records_find_timestamp(struct slice batch, int64_t timestamp, int64_t offset_min,
                                int64_t *ret_offset, int64_t *ret_timestamp);

/* The offset of the first record that has the batch's max timestamp; with LogAppendTime the base
 * offset. ERR_NOT_FOUND when the max timestamp is -1 or no record has it. */
enum err records_find_max_timestamp(struct slice batch, int64_t *ret_offset);

#endif
