/* Inside coord only: what time does to transactions. */
#ifndef KLAMM_COORD_TXN_EXPIRY_H
#define KLAMM_COORD_TXN_EXPIRY_H

#include "coord/shard_txn.h"

/* Aborts and fences the transactions that have been open for longer than their timeout. */
void txn_expiry_abort(struct coord_shard *shard);
/* Removes the ids that were idle for transactional.id.expiration.ms. */
void txn_expiry_remove(struct coord_shard *shard);

#endif
