/* What a log knows of the producers that wrote to it: epochs and sequence numbers (to refuse gaps
 * and to recognise repeats), open transactions (for the last stable offset) and their ends.
 *
 * Pure memory; under the log's lock. A change is first checked against copies
 * (producer_changes_add for each batch), then, once the bytes are in the file, taken over
 * (producer_changes_apply), so that a failed append leaves no trace. */
#ifndef KLAMM_STORE_PRODUCER_STATE_H
#define KLAMM_STORE_PRODUCER_STATE_H

#include "base/err.h"
#include "base/list.h"
#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

enum { PRODUCER_BATCHES = 5 }; /* remembered for recognising repeats */

struct producer_batch {
    int32_t sequence_last;
    int32_t offset_delta;
    int64_t offset_last;
    int64_t timestamp;
};

struct producer {
    int64_t id;
    int64_t last_timestamp;
    int64_t txn_offset_first; /* -1: no open transaction */
    int32_t coordinator_epoch;
    int16_t epoch; /* -1: none */
    uint8_t batch_count;
    struct producer_batch batches[PRODUCER_BATCHES]; /* oldest first */
};

struct producer_txn {
    int64_t producer_id;
    int64_t offset_first;
    int64_t offset_last; /* of the marker; -1 while it is open */
};

struct producer_txns {
    struct producer_txn *items;
    uint32_t count, capacity;
};

struct producer_state {
    struct map producers;       /* id -> struct producer; not initialized while `count` is 0 */
    struct producer_txns open;  /* in order of offset_first */
    struct producer_txns ended; /* whose marker lies at or above the high watermark */
};

void producer_state_init(struct producer_state *state);
void producer_state_fini(struct producer_state *state);
void producer_state_clear(struct producer_state *state);
uint32_t producer_state_count(const struct producer_state *state);
struct producer *producer_state_get(const struct producer_state *state, int64_t id);
struct producer *producer_state_at(const struct producer_state *state, uint32_t index);
/* Adds or replaces (snapshot). */
void producer_state_put(struct producer_state *state, const struct producer *producer);

/* First offset that is undecided; -1: none. */
int64_t producer_state_first_open(const struct producer_state *state);
/* First offset that is undecided, or decided by a marker at or above the high watermark; -1: none.
 */
int64_t producer_state_first_unstable(const struct producer_state *state);
/* Ended transactions whose marker lies below `high_watermark` are stable. */
void producer_state_settle(struct producer_state *state, int64_t high_watermark);
/* Forgets producers without open transaction that were idle since before now - expiry_ms. */
void producer_state_expire(struct producer_state *state, int64_t now_ms, int64_t expiry_ms);

/* ---- changes ----------------------------------------------------------------------------------
 */

struct verification;

/* What a batch says about its producer. */
struct producer_input {
    int64_t id;
    int64_t offset_first, offset_last;
    int64_t timestamp;                     /* largest of the batch */
    int32_t sequence_first, sequence_last; /* -1: none */
    int16_t epoch;
    bool transactional;
    bool marker; /* control batch that ends a transaction */
    bool abort;
    int32_t coordinator_epoch;
    bool strict_epoch;                       /* a marker of transaction.version 2 */
    const struct verification *verification; /* under way for this producer; NULL: none */
};

enum producer_check {
    PRODUCER_CHECK_ALL,   /* clients: epoch and sequence */
    PRODUCER_CHECK_EPOCH, /* coordinators */
    PRODUCER_CHECK_NONE,  /* replication and loading: the leader has checked */
};

struct producer_end { /* a transaction that a marker of this change ends */
    struct producer_txn txn;
    bool abort;
};

enum { PRODUCER_CHANGES_INLINE = 2 };

struct producer_changes {
    struct producer *items; /* changed copies */
    struct producer_end *ends;
    uint32_t count, capacity, end_count, end_capacity;
    struct producer inline_items[PRODUCER_CHANGES_INLINE];
    struct producer_end inline_ends[PRODUCER_CHANGES_INLINE];
};

void producer_changes_init(struct producer_changes *changes);
void producer_changes_fini(struct producer_changes *changes);

/* The batch of the last five that this one repeats; NULL when it is none. */
const struct producer_batch *producer_state_duplicate(const struct producer_state *state,
                                                      const struct producer_input *input);
/* Checks one batch and notes what it changes. Kafka's errors: OUT_OF_ORDER_SEQUENCE_NUMBER,
 * INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED, INVALID_TXN_STATE. */
enum err producer_changes_add(struct producer_changes *changes, const struct producer_state *state,
                              const struct producer_input *input, enum producer_check check);
void producer_changes_apply(const struct producer_changes *changes, struct producer_state *state);
/* Last stable offset right after `end`, before it is applied: the transaction index keeps it. */
int64_t producer_changes_last_stable(const struct producer_changes *changes,
                                     const struct producer_state *state,
                                     const struct producer_end *end);

#endif
