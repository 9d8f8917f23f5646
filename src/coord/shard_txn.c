/* The machine of a __transaction_state partition.
 *
 * Each id has the view of its newest committed record, and beside it that of the record that is
 * appended and not committed yet, of which there is at most one: until it is committed every other
 * transition is refused (CONCURRENT_TRANSACTIONS) and readers see the view before. Both are made by
 * replay alone, but for the last epoch, which records do not have: a repeated InitProducerId after
 * a restart is fenced, as in Kafka; that of an end that gave a new producer id is recalled.
 *
 * A record that could not be appended leaves no trace. One that is not committed in time stays: its
 * client is told COORDINATOR_NOT_AVAILABLE and tries again; Kafka then goes on from the view
 * before, and this coordinator waits for the record's fate.
 *
 * Called under the shard holder's lock. */
#include "coord/shard_txn.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "coord/txn_expiry.h"
#include "coord/txn_markers.h"
#include "coord/txn_record.h"
#include "record/records.h"

static void init(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    map_init(&state->txns);
    list_init(&state->pending);
    list_init(&state->retries);
    shard_timer_init(&state->timeouts, SHARD_TIMER_TXN_TIMEOUTS, shard);
    shard_timer_init(&state->expiry, SHARD_TIMER_TXN_EXPIRY, shard);
    shard_timer_init(&state->retry, SHARD_TIMER_TXN_RETRY, shard);
}

static void drop(struct shard_txns *state, struct txn *txn)
{
    map_remove(&state->txns, txn->id);
    txn_free(txn);
}

static void forget(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    for (size_t i = map_count(&state->txns); i-- > 0;)
        drop(state, map_at(&state->txns, i));
    shard_timer_cancel(shard, &state->timeouts);
    shard_timer_cancel(shard, &state->expiry);
    shard_timer_cancel(shard, &state->retry);
}

static void fini(struct coord_shard *shard)
{
    map_fini(&shard_txns(shard)->txns);
}

static struct txn *make(struct shard_txns *state, struct slice id)
{
    struct txn *txn = txn_new(id);
    map_put(&state->txns, txn->id, txn);
    return txn;
}

/* Of an end that gives a new producer id: its client may not have had the answer, and is known by
 * the epoch that it ended. A Prepare is one above that. `before` is NULL or the record before. */
static void recall_epoch(struct txn_view *view, const struct txn_view *before)
{
    bool rotates = view->producer_id_next != TXN_NO_PRODUCER_ID;
    bool bumped = view->client_version >= TXN_VERSION_EPOCH_BUMP && view->epoch > 0;
    if (txn_is_prepared(view) && rotates && bumped)
        view->epoch_last = (int16_t)(view->epoch - 1);
    else if (before && txn_is_prepared(before) && view->producer_id != before->producer_id)
        view->epoch_last = before->epoch_last;
}

static void replay_loaded(struct shard_txns *state, struct slice id, struct txn_view *view)
{
    struct txn *txn = map_get(&state->txns, id);
    if (!view) {
        if (txn)
            drop(state, txn);
        return;
    }
    if (!txn)
        txn = make(state, id);
    recall_epoch(view, txn->view);
    txn_view_free(txn->view);
    txn->view = view;
}

static void replay_live(struct shard_txns *state, struct slice id, struct txn_view *view,
                        int64_t offset_next)
{
    struct txn *txn = map_get(&state->txns, id);
    if (!txn)
        txn = make(state, id);
    ENSURE(!txn_is_pending(txn));
    txn->removing = !view;
    txn->next = view;
    if (view)
        view->epoch_last = state->appending->epoch_last;
    txn->offset_next = offset_next;
    list_push_back(&state->pending, &txn->pending_link);
}

static enum err replay(struct coord_shard *shard, const struct shard_record *item)
{
    struct slice id;
    struct txn_view *view = NULL;
    if (item->control)
        return ERR_NONE; /* nobody writes transactions into this topic */
    enum err err = txn_record_key(item->record->key, &id);
    if (err || slice_is_null(id))
        return err;
    if (!slice_is_null(item->record->value)) {
        err = txn_record_value(item->record->value, &view);
        if (err || !view)
            return err;
    }
    if (item->live)
        replay_live(shard_txns(shard), id, view, item->offset + 1);
    else
        replay_loaded(shard_txns(shard), id, view);
    return ERR_NONE;
}

static void activated(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    shard_timer_set(shard, &state->timeouts, shard->config.transaction_abort_check_ms);
    shard_timer_set(shard, &state->expiry, shard->config.transaction_expiry_check_ms);
    for (size_t i = 0; i < map_count(&state->txns); i++) {
        struct txn *txn = map_at(&state->txns, i);
        if (txn_is_prepared(txn->view))
            txn_markers_begin(shard, txn);
    }
}

/* Its newest record is committed: it is what readers see and decisions start from. */
static void settle(struct coord_shard *shard, struct txn *txn)
{
    list_remove(&txn->pending_link);
    if (txn->removing) {
        drop(shard_txns(shard), txn);
        return;
    }
    txn_view_free(txn->view);
    txn->view = txn->next;
    txn->next = NULL;
    if (txn_is_prepared(txn->view))
        txn_markers_begin(shard, txn);
}

static void committed(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    if (state->settling)
        return; /* settle has appended: the walk below comes to it */
    state->settling = true;
    while (!list_empty(&state->pending)) {
        struct txn *txn = LIST_ITEM(state->pending.next, struct txn, pending_link);
        if (txn->offset_next > shard->committed)
            break;
        settle(shard, txn);
    }
    state->settling = false;
}

static void fire(struct coord_shard *shard, struct shard_timer *timer)
{
    switch (timer->kind) {
    case SHARD_TIMER_TXN_TIMEOUTS:
        txn_expiry_abort(shard);
        shard_timer_set(shard, timer, shard->config.transaction_abort_check_ms);
        break;
    case SHARD_TIMER_TXN_EXPIRY:
        txn_expiry_remove(shard);
        shard_timer_set(shard, timer, shard->config.transaction_expiry_check_ms);
        break;
    case SHARD_TIMER_TXN_RETRY: txn_markers_retry(shard); break;
    case SHARD_TIMER_WRITE:
    case SHARD_TIMER_SESSION:
    case SHARD_TIMER_PENDING_MEMBER:
    case SHARD_TIMER_JOIN:
    case SHARD_TIMER_SYNC:
    case SHARD_TIMER_EXPIRY: ENSURE(false);
    }
}

const struct shard_machine shard_txn_machine = {
    .state_size = sizeof(struct shard_txns),
    .base_sequence = -1,
    .compresses = false,
    .init = init,
    .fini = fini,
    .replay = replay,
    .activated = activated,
    .forget = forget,
    .committed = committed,
    .fire = fire,
};

void shard_txn_append(struct coord_shard *shard, struct slice id, struct txn_view *next,
                      const struct shard_write *write)
{
    struct shard_records records;
    shard_records_init(&records);
    txn_record_put(&records, id, next, shard->config.transaction_version);
    shard_txns(shard)->appending = next;
    shard_append(shard, &records, write);
    shard_txns(shard)->appending = NULL;
    txn_view_free(next);
    shard_records_fini(&records);
}
