/* What time does. Every transaction.abort.timed.out.transaction.cleanup.interval.ms: a transaction
 * that has been Ongoing for longer than its timeout is aborted, and its producer fenced by a higher
 * epoch. Every transaction.remove.expired.transaction.cleanup.interval.ms: an id without an open
 * transaction whose last record is transactional.id.expiration.ms old gets a tombstone; what its
 * producer asks next is answered INVALID_PRODUCER_ID_MAPPING.
 *
 * An abort by time has no fresh producer id at hand: where the producer id is spent (at the last
 * epoch Kafka would go on with a new one) it leaves the id at 32767, where no client can be, for
 * the next InitProducerId.
 *
 * Both go by the wall clock, for both may span restarts. A transaction without a timeout (two-phase
 * commit) is never aborted. Called under the shard holder's lock, by coord_shard_tick. */
#include "coord/txn_expiry.h"

#include "coord/txn_record.h"

/* Whether more than `span_ms` have passed since `since_ms`. A record may hold any number: what
 * cannot be told is not over. */
static bool is_over(int64_t now_ms, int64_t since_ms, int64_t span_ms)
{
    int64_t age_ms;
    return !__builtin_sub_overflow(now_ms, since_ms, &age_ms) && age_ms > span_ms;
}

static void abort_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    (void)shard, (void)write, (void)error; /* when it failed, the next check comes back to it */
}

void txn_expiry_abort(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    int64_t now_ms = shard->event->wall_ms;
    for (size_t i = map_count(&state->txns); i-- > 0;) {
        struct txn *txn = map_at(&state->txns, i);
        if (txn_is_pending(txn) || txn->view->status != TXN_ONGOING ||
            txn->view->timeout_ms == TXN_TIMEOUT_NONE_MS ||
            !is_over(now_ms, txn->view->start_ms, txn->view->timeout_ms))
            continue;
        struct txn_view *next =
            txn_fence(txn->view, shard->config.transaction_version,
                      shard_txn_is_spent(shard, txn->view), TXN_NO_PRODUCER_ID, now_ms);
        shard_txn_append(shard, txn->id, next,
                         &(struct shard_write){.done = abort_done, .timeout_ms = INT64_MAX});
    }
}

void txn_expiry_remove(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    struct shard_records records;
    shard_records_init(&records);
    for (size_t i = 0; i < map_count(&state->txns); i++) {
        const struct txn *txn = map_at(&state->txns, i);
        if (!txn_is_pending(txn) && txn_is_idle(txn->view) &&
            is_over(shard->event->wall_ms, txn->view->update_ms,
                    shard->config.transactional_id_expiration_ms - 1))
            txn_record_tombstone(&records, txn->id);
    }
    shard_append_split(shard, &records);
    shard_records_fini(&records);
}
