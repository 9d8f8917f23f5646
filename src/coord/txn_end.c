/* EndTxn: the decision to commit or to abort, answered when it is committed; the markers follow.
 *
 * Kafka behaviour. Version 5 and later is transaction.version 2 (KIP-890): each end bumps the
 * epoch, the answer tells the new one, and a repetition is known by the epoch it comes with: one
 * below the current, or the last of the producer id before, when that was spent: 32766, or after a
 * power cut any (shard_txn_is_spent). An abort is
 * allowed without a transaction, for the client cannot know whether one had begun:
 *
 *                      abort, repeated   abort          commit, repeated   commit
 *     Empty            fenced            PrepareAbort   fenced             INVALID_TXN_STATE
 *     CompleteAbort    NONE              PrepareAbort   INVALID_TXN_STATE  INVALID_TXN_STATE
 *     CompleteCommit   INVALID_TXN_STATE PrepareAbort   NONE               INVALID_TXN_STATE
 *
 * Below version 5 the epoch stays, and the same end of a complete transaction is a repetition.
 * While the markers are being written all is answered CONCURRENT_TRANSACTIONS, but for a wrong
 * identity below version 5. Called under the shard holder's lock. */
#include "coord/shard_txn.h"
#include "coord/txns.h"
#include "wire/codec.h"
#include "wire_end_txn.h"

enum { EPOCH_BUMP_SINCE = 5 };

/* What is to be done when a decision has no error. */
enum end_step { END_ANSWER, END_PREPARE };

static enum err check_status(const struct txn_view *view, bool commit, bool repeated, bool bumps,
                             enum end_step *ret_step)
{
    enum txn_status same = commit ? TXN_COMPLETE_COMMIT : TXN_COMPLETE_ABORT;
    *ret_step = END_PREPARE;
    if (view->status == TXN_ONGOING)
        return ERR_NONE;
    if (view->status == same && (repeated || !bumps)) {
        *ret_step = END_ANSWER;
        return ERR_NONE;
    }
    bool aborts_nothing = bumps && !repeated && !commit;
    return aborts_nothing ? ERR_NONE : ERR_INVALID_TXN_STATE;
}

/* Before transaction.version 2. */
static enum err decide_plain(const struct txn *txn, const struct end_txn_request *request,
                             enum end_step *ret_step)
{
    const struct txn_view *view = txn->view;
    if (view && view->producer_id != request->producer_id)
        return ERR_INVALID_PRODUCER_ID_MAPPING;
    if (view && view->epoch != request->producer_epoch)
        return ERR_PRODUCER_FENCED;
    if (txn_is_busy(txn))
        return ERR_CONCURRENT_TRANSACTIONS;
    return check_status(view, request->committed, false, false, ret_step);
}

/* With it. What is under way is looked at first: it may be what gives the client the producer id
 * that it comes with. */
static enum err decide_bumping(const struct txn *txn, const struct end_txn_request *request,
                               enum end_step *ret_step)
{
    const struct txn_view *view = txn->view;
    if (txn_is_busy(txn))
        return ERR_CONCURRENT_TRANSACTIONS;
    bool is_current = view->epoch == request->producer_epoch;
    bool after_overflow = view->epoch == 0 && view->producer_id_before == request->producer_id &&
                          (request->producer_epoch == TXN_EPOCH_EXHAUSTED ||
                           txn_came_from(view, request->producer_id, request->producer_epoch));
    /* Only an end that raised the epoch can come again with the one before. Kafka does not look at
     * who ended it: a fenced client then gets the epoch of one that speaks the older protocol, and
     * its commit takes the other one's records with it. */
    bool raised = view->client_version >= TXN_VERSION_EPOCH_BUMP;
    bool repeated = (raised && view->epoch == request->producer_epoch + 1) || after_overflow;
    bool is_complete = view->status == TXN_COMPLETE_COMMIT || view->status == TXN_COMPLETE_ABORT;
    if (view->producer_id != request->producer_id && !after_overflow)
        return ERR_INVALID_PRODUCER_ID_MAPPING;
    if (!is_current && !(is_complete && repeated))
        return ERR_PRODUCER_FENCED;
    if (view->epoch == TXN_EPOCH_MAX)
        return ERR_PRODUCER_FENCED; /* aborted by time at its last epoch: nobody goes on from it */
    return check_status(view, request->committed, repeated, true, ret_step);
}

static enum err decide(const struct coord_shard *shard, const struct end_txn_request *request,
                       const struct txn **ret_txn, enum end_step *ret_step)
{
    if (request->transactional_id.size == 0)
        return ERR_INVALID_REQUEST;
    const struct txn *txn = *ret_txn = shard_txn(shard, request->transactional_id);
    if (!txn)
        return ERR_INVALID_PRODUCER_ID_MAPPING;
    return shard->event->version >= EPOCH_BUMP_SINCE ? decide_bumping(txn, request, ret_step)
                                                     : decide_plain(txn, request, ret_step);
}

static void end_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    if (error)
        coord_txn_answer_end(write->reply->version, error, write->reply->response);
    shard_reply_complete(shard, write->reply);
}

/* The identity that the client goes on with, once all is complete. */
static void tell_identity(const struct txn_view *view, struct end_txn_response *response)
{
    bool rotates = view->producer_id_next != TXN_NO_PRODUCER_ID;
    response->producer_id = rotates ? view->producer_id_next : view->producer_id;
    response->producer_epoch = rotates ? 0 : view->epoch;
}

bool coord_txn_end(struct coord_shard *shard, const struct coord_event *event,
                   const struct end_txn_request *request, int64_t producer_id,
                   struct coord_reply *reply, struct coord_update *update)
{
    enum err err;
    enum end_step step = END_ANSWER;
    const struct txn *txn = NULL;
    shard_enter(shard, event, update, &err);
    if (!err)
        err = decide(shard, request, &txn, &step);
    bool bumps = event->version >= EPOCH_BUMP_SINCE;
    bool rotates = !err && step == END_PREPARE && bumps && shard_txn_is_spent(shard, txn->view);
    if (rotates && producer_id < 0) {
        shard_leave(shard);
        return false;
    }
    struct end_txn_response *response = reply->response;
    shard_reply_begin(shard, reply);
    coord_txn_answer_end(event->version, err, response);
    if (!err && step == END_PREPARE) {
        struct txn_view *next =
            txn_prepare(txn->view, request->committed, bumps ? TXN_VERSION_EPOCH_BUMP : 0,
                        rotates ? producer_id : TXN_NO_PRODUCER_ID, event->wall_ms);
        if (bumps)
            tell_identity(next, response);
        shard_txn_append(shard, txn->id, next,
                         &(struct shard_write){.done = end_done,
                                               .reply = reply,
                                               .timeout_ms = txn->view->timeout_ms});
    } else {
        if (!err && bumps)
            tell_identity(txn->view, response);
        shard_reply_complete(shard, reply);
    }
    shard_leave(shard);
    return true;
}
