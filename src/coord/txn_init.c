/* InitProducerId of a transactional producer: it gets its producer id and an epoch above all that
 * were given out for its transactional id, and so fences every producer before it. An open
 * transaction is aborted first, under an epoch of its own; the producer is told
 * CONCURRENT_TRANSACTIONS and comes again.
 *
 * Kafka behaviour: a producer that says who it is (version 3 and later, KIP-360) goes on only when
 * nobody has taken its place: with the current id and epoch it gets the next epoch, with the last
 * ones the answer that it had missed, else PRODUCER_FENCED (INVALID_PRODUCER_EPOCH before version
 * 4). An exhausted epoch gives a new producer id, and here so does one that cannot be trusted
 * after a power cut (shard_txn_is_spent). A repetition is written like a change. Called
 * under the shard holder's lock. */
#include "coord/shard_txn.h"
#include "coord/txns.h"
#include "wire/codec.h"
#include "wire_init_producer_id.h"

/* Who the producer says it is. */
struct init_expected {
    bool given;
    int64_t producer_id;
    int16_t epoch;
};

enum err coord_txn_init_check(const struct coord_config *config,
                              const struct init_producer_id_request *request)
{
    bool has_id = request->producer_id != TXN_NO_PRODUCER_ID;
    bool has_epoch = request->producer_epoch != TXN_NO_EPOCH;
    if (has_id != has_epoch || request->transactional_id.size == 0)
        return ERR_INVALID_REQUEST;
    if (request->enable2_pc && !config->two_phase_commit_enable)
        return ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
    if (request->keep_prepared_txn)
        return ERR_UNSUPPORTED_VERSION;
    if (!request->enable2_pc &&
        (request->transaction_timeout_ms <= 0 ||
         request->transaction_timeout_ms > config->transaction_timeout_max_ms))
        return ERR_INVALID_TRANSACTION_TIMEOUT;
    return ERR_NONE;
}

/* It may be the one that this id belongs to; its epoch is looked at afterwards. With a producer id
 * that was spent it repeats what gave it the next one. */
static bool is_known(const struct txn_view *view, const struct init_expected *expected)
{
    return !expected->given || expected->producer_id == view->producer_id ||
           (expected->producer_id == view->producer_id_before &&
            txn_epoch_exhausted(expected->epoch)) ||
           txn_came_from(view, expected->producer_id, expected->epoch);
}

/* AGAIN: it needs a producer id. */
static enum err decide_idle(const struct coord_shard *shard, const struct txn_view *view,
                            const struct init_expected *expected, int32_t timeout_ms,
                            int64_t producer_id, struct txn_view **ret_next)
{
    int64_t now_ms = shard->event->wall_ms;
    bool spent = shard_txn_is_spent(shard, view);
    if (!spent && txn_came_from(view, expected->producer_id, expected->epoch)) {
        *ret_next = txn_repeat(view, timeout_ms, now_ms);
        return ERR_NONE;
    }
    if (!spent)
        return txn_bump(view, expected->epoch, timeout_ms, now_ms, ret_next);
    bool aborted_by_time = expected->epoch == view->epoch_last; /* and nobody came since */
    if (expected->given && expected->epoch != view->epoch && !aborted_by_time)
        /* Kafka fails on what it cannot bump. */
        return view->epoch == TXN_EPOCH_EXHAUSTED ? ERR_UNKNOWN_SERVER_ERROR : ERR_PRODUCER_FENCED;
    if (producer_id < 0)
        return ERR_AGAIN;
    *ret_next = txn_rotate(view, producer_id, expected->epoch, timeout_ms, now_ms);
    return ERR_NONE;
}

static enum err decide(const struct coord_shard *shard, const struct txn *txn,
                       const struct init_producer_id_request *request,
                       const struct init_expected *expected, int64_t producer_id,
                       struct txn_view **ret_next)
{
    int64_t now_ms = shard->event->wall_ms;
    int32_t timeout_ms =
        request->enable2_pc ? TXN_TIMEOUT_NONE_MS : request->transaction_timeout_ms;
    if (!txn) {
        if (producer_id < 0)
            return ERR_AGAIN;
        *ret_next = txn_begin(producer_id, timeout_ms, now_ms);
        return ERR_NONE;
    }
    if (txn_is_busy(txn))
        return ERR_CONCURRENT_TRANSACTIONS;
    if (!is_known(txn->view, expected))
        return ERR_PRODUCER_FENCED;
    if (txn_is_idle(txn->view))
        return decide_idle(shard, txn->view, expected, timeout_ms, producer_id, ret_next);
    int16_t version = shard->config.transaction_version;
    bool spent = shard_txn_is_spent(shard, txn->view);
    bool rotates = version >= TXN_VERSION_EPOCH_BUMP && spent;
    if (rotates && producer_id < 0)
        return ERR_AGAIN;
    *ret_next =
        txn_fence(txn->view, version, spent, rotates ? producer_id : TXN_NO_PRODUCER_ID, now_ms);
    return ERR_NONE;
}

static void init_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    if (error)
        coord_txn_answer_init(write->reply->version, error, write->reply->response);
    shard_reply_complete(shard, write->reply);
}

bool coord_txn_init(struct coord_shard *shard, const struct coord_event *event,
                    const struct init_producer_id_request *request, int64_t producer_id,
                    struct coord_reply *reply, struct coord_update *update)
{
    struct init_expected expected = {request->producer_id != TXN_NO_PRODUCER_ID,
                                     request->producer_id, request->producer_epoch};
    struct txn_view *next = NULL;
    enum err state_err;
    shard_enter(shard, event, update, &state_err);
    enum err err = coord_txn_init_check(&shard->config, request);
    if (!err)
        err = state_err;
    if (!err)
        err = decide(shard, shard_txn(shard, request->transactional_id), request, &expected,
                     producer_id, &next);
    if (err == ERR_AGAIN) {
        shard_leave(shard);
        return false;
    }
    struct init_producer_id_response *response = reply->response;
    bool fences = next && next->status != TXN_EMPTY;
    shard_reply_begin(shard, reply);
    coord_txn_answer_init(event->version, fences ? ERR_CONCURRENT_TRANSACTIONS : err, response);
    if (next) {
        if (!fences) {
            response->producer_id = next->producer_id;
            response->producer_epoch = next->epoch;
        }
        struct shard_write write = {
            .done = init_done, .reply = reply, .timeout_ms = next->timeout_ms};
        shard_txn_append(shard, request->transactional_id, next, &write);
    } else {
        shard_reply_complete(shard, reply);
    }
    shard_leave(shard);
    return true;
}
