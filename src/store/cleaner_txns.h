/* Transactions as the cleaner passes through a log from its start: which batches belong to an
 * aborted one (their records go at once) and which markers are no longer needed.
 *
 * The cleaner stays below the last stable offset, so the transaction indexes already know every
 * aborted transaction of what it passes through. Pure memory; one thread. */
#ifndef KLAMM_STORE_CLEANER_TXNS_H
#define KLAMM_STORE_CLEANER_TXNS_H

#include "base/map.h"
#include "store/txn_index.h"

struct cleaner_txns {
    struct txn_index_entry *aborted; /* by first offset, once sorted */
    size_t aborted_count, aborted_capacity, aborted_next;
    bool sorted;
    struct map open; /* producer id -> struct cleaner_txn */
};

void cleaner_txns_init(struct cleaner_txns *txns);
void cleaner_txns_fini(struct cleaner_txns *txns);

/* Before the first batch: an aborted transaction, in any order; one named twice counts once. */
void cleaner_txns_add(struct cleaner_txns *txns, const struct txn_index_entry *entry);

/* Passes a data batch. True: it belongs to an aborted transaction. */
bool cleaner_txns_pass_data(struct cleaner_txns *txns, int64_t producer_id, bool transactional,
                            int64_t offset_last);

enum cleaner_marker {
    CLEANER_MARKER_NEEDED, /* there were batches of its transaction */
    CLEANER_MARKER_IDLE,   /* it may go once consumers had their time */
};
/* Passes a transaction marker. When an abort marker is needed, *ret_entry (else untouched) is what
 * the new segment's transaction index must say and *ret_indexed becomes true. */
enum cleaner_marker cleaner_txns_pass_marker(struct cleaner_txns *txns, int64_t producer_id,
                                             bool commit, int64_t offset,
                                             struct txn_index_entry *ret_entry, bool *ret_indexed);

#endif
