/* Inside coord only: the shard of a __transaction_state partition. */
#ifndef KLAMM_COORD_SHARD_TXN_H
#define KLAMM_COORD_SHARD_TXN_H

#include "coord/shard.h"
#include "coord/txn.h"

struct shard_txns {
    struct map txns;     /* transactional id -> struct txn */
    struct list pending; /* struct txn whose newest record is not committed, by offset */
    struct list retries; /* struct txn whose Complete could not be written */
    bool settling;       /* the walk over `pending` is under way */
    const struct txn_view *appending; /* by shard_txn_append, now */
    struct shard_timer timeouts, expiry, retry;
};

extern const struct shard_machine shard_txn_machine;

static inline struct shard_txns *shard_txns(const struct coord_shard *shard)
{
    return shard->state;
}

/* NULL when absent. */
static inline struct txn *shard_txn(const struct coord_shard *shard, struct slice id)
{
    return map_get(&shard_txns(shard)->txns, id);
}

/* No further epoch of its producer id is given out: the last one was, or it may be that one was
 * that no record tells of any more. The transactional id goes on with a new producer id. */
static inline bool shard_txn_is_spent(const struct coord_shard *shard, const struct txn_view *view)
{
    return txn_epoch_exhausted(view->epoch) ||
           view->producer_id < shard->config.producer_id_trusted;
}

/* Appends `next` (taken) as the id's record, which must have none that is pending. shard_append
 * tells the rest. */
void shard_txn_append(struct coord_shard *shard, struct slice id, struct txn_view *next,
                      const struct shard_write *write);

#endif
