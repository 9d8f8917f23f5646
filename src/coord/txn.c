/* One transactional id and its transitions. Each transition is a function from what the newest
 * record says to what the next one will say; nothing here writes, waits or answers.
 *
 *     from                 by                                        to
 *     (none)               InitProducerId                            Empty
 *     Empty, Complete*     InitProducerId: epoch + 1, or a new id    Empty
 *     Empty, Complete*     AddPartitions, AddOffsets                 Ongoing
 *     Ongoing              AddPartitions, AddOffsets                 Ongoing
 *     Ongoing              EndTxn                                    PrepareCommit, PrepareAbort
 *     Empty, Complete*     EndTxn abort, transaction.version 2       PrepareAbort
 *     Ongoing              InitProducerId, timeout: epoch + 1        PrepareAbort
 *     Prepare*             the last marker is written                Complete*
 *     Empty, Complete*     transactional.id.expiration.ms            (none)
 *
 * Kafka behaviour: KIP-98; KIP-360: the epoch before the last bump is remembered, so that a
 * repeated InitProducerId is answered like the first; KIP-890 (transaction.version 2): the end of
 * each transaction bumps the epoch. Epoch 32767 is never a client's: it is left to fence with. A
 * producer at 32766 goes on with a new producer id and epoch 0. Pure. */
#include "coord/txn.h"

#include "base/ensure.h"
#include "base/mem.h"

static const char *const status_names[TXN_STATUS_COUNT] = {
    [TXN_EMPTY] = "Empty",
    [TXN_ONGOING] = "Ongoing",
    [TXN_PREPARE_COMMIT] = "PrepareCommit",
    [TXN_PREPARE_ABORT] = "PrepareAbort",
    [TXN_COMPLETE_COMMIT] = "CompleteCommit",
    [TXN_COMPLETE_ABORT] = "CompleteAbort",
    [TXN_DEAD] = "Dead",
    [TXN_PREPARE_EPOCH_FENCE] = "PrepareEpochFence",
};

const char *txn_status_name(enum txn_status status)
{
    return status_names[status];
}

int txn_status_of(struct slice name)
{
    for (int status = 0; status < TXN_STATUS_COUNT; status++) {
        if (slice_eq_str(name, status_names[status]))
            return status;
    }
    return -1;
}

struct txn *txn_new(struct slice id)
{
    struct txn *txn = mem_zalloc(sizeof *txn);
    txn->id = slice_dup(id);
    list_init(&txn->pending_link);
    list_init(&txn->retry_link);
    return txn;
}

void txn_free(struct txn *txn)
{
    if (!txn)
        return;
    list_remove(&txn->pending_link);
    list_remove(&txn->retry_link);
    txn_view_free(txn->view);
    txn_view_free(txn->next);
    slice_free(&txn->id);
    mem_free(txn);
}

struct txn_view *txn_view_new(void)
{
    struct txn_view *view = mem_zalloc(sizeof *view);
    view->status = TXN_EMPTY;
    view->producer_id = TXN_NO_PRODUCER_ID;
    view->producer_id_before = TXN_NO_PRODUCER_ID;
    view->producer_id_next = TXN_NO_PRODUCER_ID;
    view->epoch = view->epoch_last = view->epoch_next = TXN_NO_EPOCH;
    view->start_ms = -1;
    return view;
}

static struct txn_view *copy_of(const struct txn_view *view)
{
    struct txn_view *copy = mem_alloc(sizeof *copy);
    *copy = *view;
    partition_set_init(&copy->partitions);
    partition_set_copy(&copy->partitions, &view->partitions);
    return copy;
}

void txn_view_free(struct txn_view *view)
{
    if (!view)
        return;
    partition_set_fini(&view->partitions);
    mem_free(view);
}

/* What all transitions share: the copy remembers the producer id it comes from. */
static struct txn_view *next_of(const struct txn_view *view, enum txn_status status, int64_t now_ms)
{
    struct txn_view *next = copy_of(view);
    next->status = status;
    next->producer_id_before = view->producer_id;
    next->update_ms = now_ms;
    return next;
}

/* A producer starts, or starts anew: no transaction. */
static struct txn_view *initialised(const struct txn_view *view, int32_t timeout_ms, int64_t now_ms)
{
    struct txn_view *next = next_of(view, TXN_EMPTY, now_ms);
    partition_set_fini(&next->partitions);
    next->timeout_ms = timeout_ms;
    next->start_ms = -1;
    return next;
}

struct txn_view *txn_begin(int64_t producer_id, int32_t timeout_ms, int64_t now_ms)
{
    struct txn_view *next = txn_view_new();
    next->producer_id = producer_id;
    next->producer_id_before = producer_id;
    next->epoch = 0;
    next->timeout_ms = timeout_ms;
    next->update_ms = now_ms;
    return next;
}

enum err txn_bump(const struct txn_view *view, int16_t expected, int32_t timeout_ms, int64_t now_ms,
                  struct txn_view **ret_next)
{
    bool bumps = expected == TXN_NO_EPOCH || expected == view->epoch;
    if (!bumps && expected != view->epoch_last)
        return ERR_PRODUCER_FENCED;
    struct txn_view *next = initialised(view, timeout_ms, now_ms);
    if (bumps) {
        ENSURE(!txn_epoch_exhausted(view->epoch));
        next->epoch = (int16_t)(view->epoch + 1);
        next->epoch_last = expected;
    }
    *ret_next = next;
    return ERR_NONE;
}

struct txn_view *txn_repeat(const struct txn_view *view, int32_t timeout_ms, int64_t now_ms)
{
    return initialised(view, timeout_ms, now_ms);
}

struct txn_view *txn_rotate(const struct txn_view *view, int64_t producer_id, int16_t epoch_last,
                            int32_t timeout_ms, int64_t now_ms)
{
    struct txn_view *next = initialised(view, timeout_ms, now_ms);
    next->producer_id = producer_id;
    next->epoch = 0;
    next->epoch_last = epoch_last;
    return next;
}

struct txn_view *txn_extend(const struct txn_view *view, int16_t client_version, int64_t now_ms)
{
    ENSURE(!txn_is_prepared(view));
    struct txn_view *next = next_of(view, TXN_ONGOING, now_ms);
    if (txn_is_idle(view))
        next->start_ms = now_ms;
    next->client_version = client_version;
    return next;
}

/* The next epoch; at its end it stays, which only an abort lets happen. */
static int16_t epoch_above(int16_t epoch)
{
    return epoch == TXN_EPOCH_MAX ? epoch : (int16_t)(epoch + 1);
}

struct txn_view *txn_prepare(const struct txn_view *view, bool commit, int16_t client_version,
                             int64_t producer_id_next, int64_t now_ms)
{
    ENSURE(view->status == TXN_ONGOING || (!commit && txn_is_idle(view)));
    struct txn_view *next = next_of(view, commit ? TXN_PREPARE_COMMIT : TXN_PREPARE_ABORT, now_ms);
    if (txn_is_idle(view))
        next->start_ms = now_ms; /* nobody knows when it began: no partition was added */
    if (client_version >= TXN_VERSION_EPOCH_BUMP) {
        next->epoch = epoch_above(view->epoch);
        next->epoch_last = view->epoch;
    }
    next->producer_id_next = producer_id_next;
    next->client_version = client_version;
    return next;
}

struct txn_view *txn_fence(const struct txn_view *view, int16_t transaction_version, bool spent,
                           int64_t producer_id_next, int64_t now_ms)
{
    ENSURE_CMP(view->status, ==, TXN_ONGOING);
    struct txn_view *next = next_of(view, TXN_PREPARE_ABORT, now_ms);
    bool bumps_always = transaction_version >= TXN_VERSION_EPOCH_BUMP;
    next->epoch = spent ? TXN_EPOCH_MAX : epoch_above(view->epoch);
    next->epoch_last = bumps_always ? view->epoch : TXN_NO_EPOCH;
    next->producer_id_next = producer_id_next;
    next->client_version = bumps_always ? transaction_version : 0;
    return next;
}

struct txn_view *txn_complete(const struct txn_view *view, int64_t now_ms)
{
    ENSURE(txn_is_prepared(view));
    bool commit = view->status == TXN_PREPARE_COMMIT;
    struct txn_view *next =
        next_of(view, commit ? TXN_COMPLETE_COMMIT : TXN_COMPLETE_ABORT, now_ms);
    partition_set_fini(&next->partitions);
    if (view->client_version >= TXN_VERSION_EPOCH_BUMP &&
        view->producer_id_next != TXN_NO_PRODUCER_ID) {
        next->producer_id = view->producer_id_next;
        next->epoch = 0;
    }
    next->producer_id_next = TXN_NO_PRODUCER_ID;
    return next;
}
