/* Producer state of one log. Pure memory, under the log's lock.
 *
 * Rules (Kafka's ProducerStateManager and ProducerAppendInfo):
 * - a batch of a client that equals one of the last five of its producer and epoch in first and
 * last sequence is a repeat: its first answer is given again;
 * - a lower epoch than the last seen is refused; a higher one begins at sequence 0;
 * - a producer without state may begin anywhere (its records may have been deleted);
 * - otherwise the first sequence follows the last one, wrapping from 2^31-1 to 0;
 * - transactional data opens a transaction at its first offset; a marker ends it and, when it
 *   carries another epoch, forgets the remembered batches;
 * - an ended transaction holds the last stable offset back until its marker is below the high
 *   watermark. */
#include "store/producer_state.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "store/verification.h"

#include <string.h>

void producer_state_init(struct producer_state *state)
{
    *state = (struct producer_state){0};
}

static void txns_fini(struct producer_txns *txns)
{
    mem_free(txns->items);
    *txns = (struct producer_txns){0};
}

void producer_state_clear(struct producer_state *state)
{
    for (size_t i = 0; i < map_count(&state->producers); i++)
        mem_free(map_at(&state->producers, i));
    map_fini(&state->producers);
    txns_fini(&state->open);
    txns_fini(&state->ended);
    producer_state_init(state);
}

void producer_state_fini(struct producer_state *state)
{
    producer_state_clear(state);
}

uint32_t producer_state_count(const struct producer_state *state)
{
    return (uint32_t)map_count(&state->producers);
}

struct producer *producer_state_get(const struct producer_state *state, int64_t id)
{
    return map_count(&state->producers) ? map_get(&state->producers, MAP_KEY(id)) : NULL;
}

struct producer *producer_state_at(const struct producer_state *state, uint32_t index)
{
    return map_at(&state->producers, index);
}

/* ---- transactions -----------------------------------------------------------------------------
 */

static void txns_insert(struct producer_txns *txns, uint32_t at, struct producer_txn txn)
{
    if (txns->count == txns->capacity) {
        txns->capacity = txns->capacity ? txns->capacity * 2 : 4;
        txns->items = mem_realloc(txns->items, txns->capacity * sizeof *txns->items);
    }
    memmove(txns->items + at + 1, txns->items + at, (txns->count - at) * sizeof *txns->items);
    txns->items[at] = txn;
    txns->count++;
}

static void txns_remove(struct producer_txns *txns, uint32_t at)
{
    txns->count--;
    memmove(txns->items + at, txns->items + at + 1, (txns->count - at) * sizeof *txns->items);
    if (!txns->count)
        txns_fini(txns);
}

/* Appends come in order of offset, so that the place is nearly always the end. */
static void open_txn(struct producer_state *state, int64_t producer_id, int64_t offset_first)
{
    uint32_t at = state->open.count;
    while (at && state->open.items[at - 1].offset_first > offset_first)
        at--;
    txns_insert(&state->open, at, (struct producer_txn){producer_id, offset_first, -1});
}

static void close_txn(struct producer_state *state, int64_t producer_id)
{
    for (uint32_t i = 0; i < state->open.count; i++)
        if (state->open.items[i].producer_id == producer_id) {
            txns_remove(&state->open, i);
            return;
        }
}

void producer_state_put(struct producer_state *state, const struct producer *producer)
{
    struct producer *kept = producer_state_get(state, producer->id);
    if (!kept) {
        kept = mem_alloc(sizeof *kept);
        kept->id = producer->id;
        kept->txn_offset_first = -1;
        map_put(&state->producers, MAP_KEY(kept->id), kept);
    }
    int64_t open_before = kept->txn_offset_first;
    *kept = *producer;
    if (open_before == kept->txn_offset_first)
        return;
    if (open_before >= 0)
        close_txn(state, kept->id);
    if (kept->txn_offset_first >= 0)
        open_txn(state, kept->id, kept->txn_offset_first);
}

int64_t producer_state_first_open(const struct producer_state *state)
{
    return state->open.count ? state->open.items[0].offset_first : -1;
}

int64_t producer_state_first_unstable(const struct producer_state *state)
{
    int64_t first = producer_state_first_open(state);
    for (uint32_t i = 0; i < state->ended.count; i++)
        if (first < 0 || state->ended.items[i].offset_first < first)
            first = state->ended.items[i].offset_first;
    return first;
}

void producer_state_settle(struct producer_state *state, int64_t high_watermark)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < state->ended.count; i++)
        if (state->ended.items[i].offset_last >= high_watermark)
            state->ended.items[kept++] = state->ended.items[i];
    state->ended.count = kept;
    if (!kept)
        txns_fini(&state->ended);
}

void producer_state_expire(struct producer_state *state, int64_t now_ms, int64_t expiry_ms)
{
    for (uint32_t i = producer_state_count(state); i-- > 0;) {
        struct producer *producer = producer_state_at(state, i);
        if (producer->txn_offset_first >= 0 || now_ms - producer->last_timestamp < expiry_ms)
            continue;
        map_remove(&state->producers, MAP_KEY(producer->id));
        mem_free(producer);
    }
}

/* ---- changes ----------------------------------------------------------------------------------
 */

void producer_changes_init(struct producer_changes *changes)
{
    changes->items = changes->inline_items;
    changes->ends = changes->inline_ends;
    changes->count = changes->end_count = 0;
    changes->capacity = changes->end_capacity = PRODUCER_CHANGES_INLINE;
}

void producer_changes_fini(struct producer_changes *changes)
{
    if (changes->items != changes->inline_items)
        mem_free(changes->items);
    if (changes->ends != changes->inline_ends)
        mem_free(changes->ends);
}

static int32_t sequence_first(const struct producer_batch *batch)
{
    /* Sequences wrap from 2^31-1 to 0. */
    int64_t first = (int64_t)batch->sequence_last - batch->offset_delta;
    return (int32_t)(first < 0 ? first + INT32_MAX + 1 : first);
}

const struct producer_batch *producer_state_duplicate(const struct producer_state *state,
                                                      const struct producer_input *input)
{
    const struct producer *producer = producer_state_get(state, input->id);
    if (!producer || producer->epoch != input->epoch)
        return NULL;
    for (int i = 0; i < producer->batch_count; i++) {
        const struct producer_batch *batch = &producer->batches[i];
        if (batch->sequence_last == input->sequence_last &&
            sequence_first(batch) == input->sequence_first)
            return batch;
    }
    return NULL;
}

/* The copy under change, begun from the state or empty. */
static struct producer *changed(struct producer_changes *changes,
                                const struct producer_state *state, int64_t id)
{
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->items[i].id == id)
            return &changes->items[i];
    if (changes->count == changes->capacity) {
        uint32_t capacity = changes->capacity * 2;
        struct producer *items = mem_alloc(capacity * sizeof *items);
        memcpy(items, changes->items, changes->count * sizeof *items);
        if (changes->items != changes->inline_items)
            mem_free(changes->items);
        changes->items = items;
        changes->capacity = capacity;
    }
    struct producer *copy = &changes->items[changes->count++];
    const struct producer *known = producer_state_get(state, id);
    *copy = known ? *known
                  : (struct producer){.id = id,
                                      .epoch = -1,
                                      .coordinator_epoch = -1,
                                      .last_timestamp = -1,
                                      .txn_offset_first = -1};
    return copy;
}

static void add_end(struct producer_changes *changes, struct producer_end end)
{
    if (changes->end_count == changes->end_capacity) {
        uint32_t capacity = changes->end_capacity * 2;
        struct producer_end *ends = mem_alloc(capacity * sizeof *ends);
        memcpy(ends, changes->ends, changes->end_count * sizeof *ends);
        if (changes->ends != changes->inline_ends)
            mem_free(changes->ends);
        changes->ends = ends;
        changes->end_capacity = capacity;
    }
    changes->ends[changes->end_count++] = end;
}

/* What a verification under way adds: without remembered batches a producer that bumps its epoch
 * with each transaction begins at 0, and nobody begins above a batch that is being verified. */
static enum err check_verified(const struct producer_state *state,
                               const struct producer_input *input)
{
    const struct verification *verification = input->verification;
    if (!verification)
        return ERR_NONE;
    const struct producer *known = producer_state_get(state, input->id);
    bool empty = !known || !known->batch_count;
    if ((verification->epoch_bump && empty && input->sequence_first != 0) ||
        input->sequence_first > verification->sequence_lowest)
        return ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
    return ERR_NONE;
}

static enum err check_sequence(const struct producer *producer, const struct producer_input *input)
{
    if (producer->epoch < 0)
        return ERR_NONE;
    int32_t expected = 0;
    if (producer->epoch == input->epoch && producer->batch_count) {
        int32_t last = producer->batches[producer->batch_count - 1].sequence_last;
        expected = last == INT32_MAX ? 0 : last + 1;
    }
    return input->sequence_first == expected ? ERR_NONE : ERR_OUT_OF_ORDER_SEQUENCE_NUMBER;
}

static void set_epoch(struct producer *producer, int16_t epoch)
{
    if (producer->epoch == epoch)
        return;
    producer->epoch = epoch;
    producer->batch_count = 0;
}

static void remember(struct producer *producer, const struct producer_input *input)
{
    if (producer->batch_count == PRODUCER_BATCHES) {
        memmove(producer->batches, producer->batches + 1,
                (PRODUCER_BATCHES - 1) * sizeof *producer->batches);
        producer->batch_count--;
    }
    producer->batches[producer->batch_count++] =
        (struct producer_batch){.sequence_last = input->sequence_last,
                                .offset_delta = (int32_t)(input->offset_last - input->offset_first),
                                .offset_last = input->offset_last,
                                .timestamp = input->timestamp};
}

static enum err add_marker(struct producer_changes *changes, struct producer *producer,
                           const struct producer_input *input, enum producer_check check)
{
    if (check != PRODUCER_CHECK_NONE && producer->coordinator_epoch > input->coordinator_epoch)
        return ERR_TRANSACTION_COORDINATOR_FENCED;
    /* A marker without data before it changes nothing for readers and is not indexed. */
    if (producer->txn_offset_first >= 0)
        add_end(changes,
                (struct producer_end){
                    {producer->id, producer->txn_offset_first, input->offset_first}, input->abort});
    set_epoch(producer, input->epoch);
    producer->coordinator_epoch = input->coordinator_epoch;
    producer->last_timestamp = input->timestamp;
    producer->txn_offset_first = -1;
    return ERR_NONE;
}

/* With transaction.version 2 each marker bumps the epoch, so that one that comes late does not end
 * the transaction after its own. It may come again while none is open, and the last epoch there is
 * cannot be bumped. */
static bool is_stale(const struct producer *producer, const struct producer_input *input)
{
    if (!input->strict_epoch || input->epoch != producer->epoch)
        return input->epoch < producer->epoch;
    return producer->txn_offset_first >= 0 && input->epoch != INT16_MAX;
}

enum err producer_changes_add(struct producer_changes *changes, const struct producer_state *state,
                              const struct producer_input *input, enum producer_check check)
{
    struct producer *producer = changed(changes, state, input->id);
    if (check != PRODUCER_CHECK_NONE && is_stale(producer, input))
        return ERR_INVALID_PRODUCER_EPOCH;
    if (input->marker)
        return add_marker(changes, producer, input, check);
    if (check == PRODUCER_CHECK_ALL) {
        enum err err = check_verified(state, input);
        if (!err)
            err = check_sequence(producer, input);
        if (err)
            return err;
    }
    if (check != PRODUCER_CHECK_NONE && producer->txn_offset_first >= 0 && !input->transactional)
        return ERR_INVALID_TXN_STATE;
    set_epoch(producer, input->epoch);
    remember(producer, input);
    producer->last_timestamp = input->timestamp;
    if (input->transactional && producer->txn_offset_first < 0)
        producer->txn_offset_first = input->offset_first;
    return ERR_NONE;
}

void producer_changes_apply(const struct producer_changes *changes, struct producer_state *state)
{
    for (uint32_t i = 0; i < changes->count; i++)
        producer_state_put(state, &changes->items[i]);
    for (uint32_t i = 0; i < changes->end_count; i++)
        txns_insert(&state->ended, state->ended.count, changes->ends[i].txn);
}

static bool is_changed(const struct producer_changes *changes, int64_t id)
{
    for (uint32_t i = 0; i < changes->count; i++)
        if (changes->items[i].id == id)
            return true;
    return false;
}

int64_t producer_changes_last_stable(const struct producer_changes *changes,
                                     const struct producer_state *state,
                                     const struct producer_end *end)
{
    int64_t first = -1;
    for (uint32_t i = 0; i < changes->count; i++) {
        const struct producer *producer = &changes->items[i];
        if (producer->id != end->txn.producer_id && producer->txn_offset_first >= 0 &&
            (first < 0 || producer->txn_offset_first < first))
            first = producer->txn_offset_first;
    }
    for (uint32_t i = 0; i < state->open.count; i++) {
        const struct producer_txn *txn = &state->open.items[i];
        if (txn->producer_id == end->txn.producer_id || is_changed(changes, txn->producer_id))
            continue;
        if (first < 0 || txn->offset_first < first)
            first = txn->offset_first;
        break; /* they are in order */
    }
    return first < 0 ? end->txn.offset_last + 1 : first;
}
