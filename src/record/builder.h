/* Builds record batches of magic 2 into a caller's buf: coordinator records, metadata records,
 * control batches, recompressed batches, tests.
 *
 *     struct builder b;
 *     struct builder_options options = BUILDER_DEFAULTS;
 *     builder_begin(&b, &out, &options);
 *     builder_append(&b, timestamp, key, value);
 *     enum err err = builder_end(&b);
 *
 * Several batches may be built one after the other into one buf. Not shared between threads. */
#ifndef KLAMM_RECORD_BUILDER_H
#define KLAMM_RECORD_BUILDER_H

#include "base/buf.h"
#include "base/err.h"
#include "record/batch.h"
#include "record/records.h"

struct encoder;

struct builder_options {
    enum codec codec;
    int level; /* codec_level_default(codec), unless a config says otherwise */
    int64_t base_offset;
    int32_t leader_epoch;
    bool log_append_time; /* the batch's max timestamp becomes log_append_time_ms */
    int64_t log_append_time_ms;
    bool transactional;
    bool control;
    int64_t producer_id;
    int16_t producer_epoch;
    int32_t base_sequence;
    /* Of the cleaner (KIP-534): the base timestamp becomes this horizon, timestamps count from it.
     */
    bool has_delete_horizon;
    int64_t delete_horizon_ms;
};

/* No codec, offset 0, create time, no producer, no leader epoch. */
#define BUILDER_DEFAULTS                                                 \
    ((struct builder_options){.codec = CODEC_NONE,                       \
                              .leader_epoch = BATCH_NO_LEADER_EPOCH,     \
                              .producer_id = BATCH_NO_PRODUCER_ID,       \
                              .producer_epoch = BATCH_NO_PRODUCER_EPOCH, \
                              .base_sequence = BATCH_NO_SEQUENCE})

struct builder {
    struct buf *out;
    size_t from;     /* where the batch starts in out */
    bool had_failed; /* out had, before this batch */
    struct builder_options options;
    struct encoder *encoder; /* NULL: uncompressed, or failed to open */
    struct buf scratch;      /* one record, on its way into the encoder */
    int32_t record_count;
    int32_t last_offset_delta;
    int64_t base_timestamp, max_timestamp;
    enum err err; /* sticky */
};

/* `out` is not touched by others until builder_end. */
void builder_begin(struct builder *b, struct buf *out, const struct builder_options *options);

/* Appends a record with the next offset. The first one's timestamp is the batch's base. Failures
 * (out->size_max, memory) are kept for builder_end. */
void builder_append(struct builder *b, int64_t timestamp, struct slice key, struct slice value);

/* The same with headers and an offset of its own: offset_delta must grow from call to call. */
void builder_append_full(struct builder *b, int32_t offset_delta, int64_t timestamp,
                         struct slice key, struct slice value, const struct record_header *headers,
                         int32_t header_count);

/* Appends a record with the next offset whose headers are already encoded (a record taken from an
 * iterator). */
void builder_append_record(struct builder *b, const struct record *record);

/* The same at the offset that the record has, which must lie above those before it and not before
 * options.base_offset: for batches of which some records are left out. */
void builder_append_kept(struct builder *b, const struct record *record);

/* The batch reaches up to this offset though its last record may have a lower one; after the last
 * append. */
void builder_set_offset_last(struct builder *b, int64_t offset_last);

/* Bytes of the batch so far; with a codec what was written out, which lags behind. */
size_t builder_size(const struct builder *b);

/* Fills the header in and seals the batch: it is out[b.from ..]. ERR_TOO_LARGE, ERR_NO_MEMORY: out
 * is cut back to where it was. A batch without records is allowed. */
enum err builder_end(struct builder *b);

/* Gives up: frees what it holds and cuts `out` back. */
void builder_abort(struct builder *b);

#endif
