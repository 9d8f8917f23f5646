/* Message sets of magic 0 and 1 inside old segments: iteration over the messages of one entry
 * (batch_iter_next gives entries), compressed wrappers included. Kafka 4 no longer writes or
 * accepts them, but serves and recovers segments that hold them.
 *
 * Pure; any thread, an iterator belongs to one. A compressed wrapper of magic 1 is decoded twice
 * (its offsets count back from the last message), with bounded memory both times. */
#ifndef KLAMM_RECORD_LEGACY_H
#define KLAMM_RECORD_LEGACY_H

#include "record/batch.h"
#include "record/records.h"

struct legacy_iter {
    struct slice entry;
    int8_t magic;
    bool is_done;
    int64_t base;            /* magic 1 wrapper: what to add to relative offsets */
    struct decoder *decoder; /* NULL: an uncompressed entry, which is its only message */
    const uint8_t *at, *end; /* inner bytes at hand */
    struct buf stitch;
    size_t message_size_max;
    enum err err;
};

/* `entry` is one whole entry of magic 0 or 1. message_size_max bounds the memory of one inner
 * message, 0 = 2^31 - 1. ERR_CORRUPT_MESSAGE, ERR_INVALID_RECORD (a wrapper that Kafka refuses:
 * null value, no messages, offsets that do not fit), ERR_NO_MEMORY. */
enum err legacy_iter_init(struct legacy_iter *iter, struct slice entry, size_t message_size_max);

/* The next message as a record: no headers, no sequence, magic 0 has timestamp -1. Views live until
 * the next call. False at the end or on error, see iter->err. */
bool legacy_iter_next(struct legacy_iter *iter, struct record *ret_record);

/* May be called at any time after legacy_iter_init, also after it failed. */
void legacy_iter_fini(struct legacy_iter *iter);

#endif
