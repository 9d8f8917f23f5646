/* What a leader does to a partition's record bytes before it appends them, bar the offset: checks
 * them as Kafka does, sets timestamps, recompresses where the topic asks for another codec.
 *
 * Called outside any lock, on the request's loop. Afterwards the caller, under the partition's
 * lock, only has to call batch_set_base_offset and batch_set_leader_epoch on ret->batch (both
 * outside the CRC) and to write it. */
#ifndef KLAMM_RECORD_VALIDATE_H
#define KLAMM_RECORD_VALIDATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "record/codec.h"

enum { VALIDATE_CODEC_PRODUCER = -1 }; /* compression.type=producer: keep the batch's codec */

enum validate_origin {
    VALIDATE_CLIENT,      /* a Produce request */
    VALIDATE_COORDINATOR, /* built by this node's coordinators: control batches are allowed */
};

struct validate_options {
    struct slice topic; /* for the texts of errors ("topic-partition") */
    int32_t partition;
    enum validate_origin origin;
    int16_t produce_version; /* of the request; zstd needs 7. Ignored for coordinators */
    bool compacted;          /* cleanup.policy has compact: every record needs a key */
    bool log_append_time;    /* message.timestamp.type */
    int64_t now_ms;
    int64_t timestamp_before_max_ms; /* message.timestamp.before.max.ms */
    int64_t timestamp_after_max_ms;  /* message.timestamp.after.max.ms */
    int codec;              /* compression.type: an enum codec or VALIDATE_CODEC_PRODUCER */
    int level;              /* of that codec; codec_level_default */
    int32_t batch_size_max; /* max.message.bytes, of the batch as sent and as rebuilt; 0 = none */
    /* max.decompressed.message.bytes, of what a record's length field says; it is asked of records
     * that come compressed. 0 = none */
    int32_t record_size_max;
};

struct validate_record_error {
    int32_t index; /* of the record in the batch */
    struct slice message;
};

struct validate_result {
    /* Filled when validation succeeds. */
    uint8_t *batch;        /* the batch to append: in the caller's bytes, or in `rebuilt` */
    size_t size;           /* its bytes */
    bool is_rebuilt;       /* it lies in `rebuilt` */
    int32_t record_count;  /* offsets the batch takes: last_offset_delta + 1 */
    int64_t max_timestamp; /* BATCH_NO_TIMESTAMP when no record has one. Kafka's index keeps it with
                              the last offset of the batch */
    int64_t log_append_time_ms; /* for the reply: now_ms with LogAppendTime, else -1 */

    /* Filled when it fails. Texts are in the arena. */
    bool is_framed;       /* the bytes hold one batch: what is wrong lies in it */
    struct slice message; /* error_message of the reply; null = none */
    struct validate_record_error *record_errors;
    int32_t record_error_count;
};

/* Validates the record bytes of one partition of a Produce request. `bytes` are the caller's and
 * may be changed (timestamp fields, CRC); result->batch points into them, or into `rebuilt` (to
 * which the batch is appended, from its present size on; its size_max should allow
 * batch_size_max).
 *
 * Returns ERR_NONE or the wire error to answer with, in which case result has its texts:
 * CORRUPT_MESSAGE, INVALID_RECORD, INVALID_TIMESTAMP, MESSAGE_TOO_LARGE,
 * UNSUPPORTED_COMPRESSION_TYPE, UNKNOWN_SERVER_ERROR. The result is always initialised. */
enum err validate_batch(uint8_t *bytes, size_t size, const struct validate_options *options,
                        struct arena *arena, struct buf *rebuilt,
                        struct validate_result *ret_result);

#endif
