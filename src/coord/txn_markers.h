/* Inside coord only: the way of an ended transaction to its Complete record. */
#ifndef KLAMM_COORD_TXN_MARKERS_H
#define KLAMM_COORD_TXN_MARKERS_H

#include "coord/shard_txn.h"

/* Its Prepare is committed, or was found so: the markers become a duty of the update, or, without
 * partitions, the transaction is complete. */
void txn_markers_begin(struct coord_shard *shard, struct txn *txn);
/* Tries again to write the Complete records that could not be appended. */
void txn_markers_retry(struct coord_shard *shard);

#endif
