/* Record batches, magic 2, as bytes: accessors and setters at fixed offsets, structural and CRC
 * checks, and iteration over batches that lie back to back (in a segment, a fetch reply, a produce
 * request). The iteration and `struct batch_info` also know entries of magic 0 and 1 in old
 * segments; record/legacy.h looks inside those.
 *
 * Pure and stateless: any thread. Nothing here allocates; views point into the caller's bytes.
 *
 * The inline accessors take the address of a batch's first byte and read without any check: the
 * caller has BATCH_HEADER_SIZE bytes there and magic 2 (batch_peek or batch_iter_next said so). */
#ifndef KLAMM_RECORD_BATCH_H
#define KLAMM_RECORD_BATCH_H

#include "base/be.h"
#include "base/err.h"
#include "base/slice.h"
#include "record/codec.h"

enum {
    BATCH_PREFIX_SIZE = 12,      /* base offset and length, which length does not count */
    BATCH_PEEK_SIZE = 17,        /* enough to know the magic and the size */
    BATCH_HEADER_SIZE = 61,      /* magic 2; the records follow */
    BATCH_SIZE_MIN_V0 = 12 + 14, /* smallest entry of magic 0 ... */
    BATCH_SIZE_MIN_V1 = 12 + 22, /* ... and 1 */
    BATCH_MAGIC = 2,             /* what is written */
    BATCH_CRC_FROM = 21,         /* the CRC covers bytes from here to the batch's end */
};

/* Bits of the attributes. */
enum {
    BATCH_CODEC_MASK = 0x07,
    BATCH_LOG_APPEND_TIME = 0x08,
    BATCH_TRANSACTIONAL = 0x10,
    BATCH_CONTROL = 0x20,
    BATCH_DELETE_HORIZON = 0x40, /* base timestamp is the cleaner's delete horizon */
};

#define BATCH_NO_TIMESTAMP      INT64_C(-1)
#define BATCH_NO_PRODUCER_ID    INT64_C(-1)
#define BATCH_NO_PRODUCER_EPOCH ((int16_t)-1)
#define BATCH_NO_SEQUENCE       INT32_C(-1)
#define BATCH_NO_LEADER_EPOCH   INT32_C(-1)

/* ---- header fields, in file order -------------------------------------------------------- */

static inline int64_t batch_base_offset(const uint8_t *b)
{
    return be_i64(b);
}

/* The length field: bytes after it. May be anything in bytes not yet checked. */
static inline int32_t batch_length(const uint8_t *b)
{
    return be_i32(b + 8);
}

/* Whole size in bytes; only after the length was checked (not negative). */
static inline size_t batch_size(const uint8_t *b)
{
    return BATCH_PREFIX_SIZE + (size_t)be_u32(b + 8);
}

static inline int32_t batch_leader_epoch(const uint8_t *b)
{
    return be_i32(b + 12);
}

static inline int8_t batch_magic(const uint8_t *b)
{
    return (int8_t)b[16];
}

static inline uint32_t batch_crc(const uint8_t *b)
{
    return be_u32(b + 17);
}

static inline int16_t batch_attributes(const uint8_t *b)
{
    return be_i16(b + 21);
}

static inline int32_t batch_last_offset_delta(const uint8_t *b)
{
    return be_i32(b + 23);
}

static inline int64_t batch_base_timestamp(const uint8_t *b)
{
    return be_i64(b + 27);
}

static inline int64_t batch_max_timestamp(const uint8_t *b)
{
    return be_i64(b + 35);
}

static inline int64_t batch_producer_id(const uint8_t *b)
{
    return be_i64(b + 43);
}

static inline int16_t batch_producer_epoch(const uint8_t *b)
{
    return be_i16(b + 51);
}

static inline int32_t batch_base_sequence(const uint8_t *b)
{
    return be_i32(b + 53);
}

/* 0 in a batch that compaction emptied but kept for its producer state. */
static inline int32_t batch_record_count(const uint8_t *b)
{
    return be_i32(b + 57);
}

/* ---- what follows from them -------------------------------------------------------------- */

/* Numbers 5 to 7 are no codec; batch_check_header and the record iterator refuse them. */
static inline enum codec batch_codec(const uint8_t *b)
{
    return (enum codec)(batch_attributes(b) & BATCH_CODEC_MASK);
}

static inline bool batch_is_log_append_time(const uint8_t *b)
{
    return batch_attributes(b) & BATCH_LOG_APPEND_TIME;
}

static inline bool batch_is_transactional(const uint8_t *b)
{
    return batch_attributes(b) & BATCH_TRANSACTIONAL;
}

static inline bool batch_is_control(const uint8_t *b)
{
    return batch_attributes(b) & BATCH_CONTROL;
}

static inline bool batch_has_delete_horizon(const uint8_t *b)
{
    return batch_attributes(b) & BATCH_DELETE_HORIZON;
}

static inline bool batch_has_producer_id(const uint8_t *b)
{
    return batch_producer_id(b) > BATCH_NO_PRODUCER_ID;
}

static inline int64_t batch_offset_last(const uint8_t *b)
{
    return (int64_t)((uint64_t)batch_base_offset(b) +
                     (uint64_t)(int64_t)batch_last_offset_delta(b));
}

static inline int64_t batch_offset_next(const uint8_t *b)
{
    return (int64_t)((uint64_t)batch_offset_last(b) + 1);
}

/* Sequence numbers wrap from 2^31-1 to 0. `sequence` not negative. */
static inline int32_t batch_sequence_add(int32_t sequence, int32_t count)
{
    return (int32_t)(((int64_t)sequence + count) & INT32_MAX);
}

/* BATCH_NO_SEQUENCE when the base sequence is. */
static inline int32_t batch_last_sequence(const uint8_t *b)
{
    int32_t base = batch_base_sequence(b);
    return base < 0 ? BATCH_NO_SEQUENCE : batch_sequence_add(base, batch_last_offset_delta(b));
}

/* The record bytes (compressed if a codec is set). */
static inline struct slice batch_payload(const uint8_t *b)
{
    return slice_of(b + BATCH_HEADER_SIZE, batch_size(b) - BATCH_HEADER_SIZE);
}

/* ---- setters ----------------------------------------------------------------------------- */

/* Outside the CRC. */
static inline void batch_set_base_offset(uint8_t *b, int64_t offset)
{
    be_put_i64(b, offset);
}

/* Outside the CRC. */
static inline void batch_set_leader_epoch(uint8_t *b, int32_t epoch)
{
    be_put_i32(b + 12, epoch);
}

/* Recomputes and stores the CRC after a change of covered bytes. */
void batch_seal(uint8_t *b);

/* Sets timestamp type (log_append_time or create time) and max timestamp, and the CRC again. With
 * LogAppendTime the max timestamp is the timestamp of every record. Does nothing when both are
 * already so; else unknown attribute bits are dropped, as in Kafka. */
void batch_set_max_timestamp(uint8_t *b, bool log_append_time, int64_t timestamp);

/* ---- checks ------------------------------------------------------------------------------ */

/* True when the stored CRC is that of the bytes. The whole batch must be there. */
bool batch_crc_ok(const uint8_t *b);

/* Checks of the header of a magic 2 batch that lies whole in `batch`, bar the CRC: its length is
 * exactly batch.size, record count and last offset delta are not negative, the last offset
 * does not wrap, the codec is known. ERR_CORRUPT_MESSAGE otherwise. */
enum err batch_check_header(struct slice batch);

/* batch_check_header for magic 2 (legacy: sizes), and the CRC: what recovery asks of a batch in a
 * segment before it trusts it. ERR_CORRUPT_MESSAGE otherwise. `batch` is one entry of any magic. */
enum err batch_check(struct slice batch);

/* ---- iteration --------------------------------------------------------------------------- */

/* What a log needs to know of one entry, of any magic. */
struct batch_info {
    const uint8_t *data; /* its first byte */
    uint32_t size;       /* with the prefix */
    int8_t magic;        /* 0, 1, 2; the inline accessors are for 2 only */
    int16_t attributes;  /* of the batch; legacy: of the message (codec and timestamp type) */
    int64_t offset_base; /* legacy: equals offset_last; of a compressed wrapper the true one is its
                            first message's */
    int64_t offset_last;
    int64_t max_timestamp; /* magic 0: BATCH_NO_TIMESTAMP */
    int32_t leader_epoch;  /* legacy: BATCH_NO_LEADER_EPOCH */
};

/* Reads the head of an entry: `head` starts at it and has at least the first BATCH_HEADER_SIZE
 * bytes, or all there is. The entry itself may reach beyond `head`: the caller compares size with
 * what its file has.
 * ERR_MALFORMED: head ends before the header does (a torn tail, if there is no more).
 * ERR_CORRUPT_MESSAGE: unknown magic, or a length below the least of its magic. */
enum err batch_peek(struct slice head, struct batch_info *ret_info);

struct batch_iter {
    struct slice rest; /* not yet returned; after the end: the bytes that are no whole entry */
    enum err err;      /* why it ended */
};

static inline struct batch_iter batch_iter_of(struct slice bytes)
{
    return (struct batch_iter){bytes, ERR_NONE};
}

/* The next whole entry, with sizes checked but no CRC. False at the end, with iter->err
 * ERR_NONE: nothing is left, or only a part of an entry (iter->rest.size tells, as fetch replies
 * may be cut anywhere); ERR_CORRUPT_MESSAGE: iter->rest starts with what is no entry. */
bool batch_iter_next(struct batch_iter *iter, struct batch_info *ret_info);

#endif
