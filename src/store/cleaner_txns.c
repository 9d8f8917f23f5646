/* The state is what lies between here and there: for each producer, whether batches of a committed
 * transaction were passed since its last commit marker, and which aborted transaction is open.
 *
 * An aborted transaction opens when its first offset is reached (also when that batch itself is
 * gone already) and closes with its marker. One producer has one open transaction at a time.
 * Answers to Kafka's CleanedTransactionMetadata. Called by a round of the cleaner. */
#include "store/cleaner_txns.h"

#include "base/mem.h"

#include <stdlib.h>

struct cleaner_txn {
    int64_t producer_id; /* the key in the map */
    bool committed_data; /* batches of a transaction that was not aborted */
    bool aborted;
    bool aborted_data; /* batches of the aborted one */
    struct txn_index_entry entry;
};

void cleaner_txns_init(struct cleaner_txns *txns)
{
    *txns = (struct cleaner_txns){0};
    map_init(&txns->open);
}

void cleaner_txns_fini(struct cleaner_txns *txns)
{
    for (size_t i = 0; i < map_count(&txns->open); i++)
        mem_free(map_at(&txns->open, i));
    map_fini(&txns->open);
    mem_free(txns->aborted);
    *txns = (struct cleaner_txns){0};
}

void cleaner_txns_add(struct cleaner_txns *txns, const struct txn_index_entry *entry)
{
    txns->aborted = mem_grow(txns->aborted, &txns->aborted_capacity, txns->aborted_count,
                             sizeof *txns->aborted);
    txns->aborted[txns->aborted_count++] = *entry;
    txns->sorted = false;
}

static int by_first_offset(const void *a, const void *b)
{
    const struct txn_index_entry *x = a, *y = b;
    return (x->offset_first > y->offset_first) - (x->offset_first < y->offset_first);
}

static struct cleaner_txn *txn_of(struct cleaner_txns *txns, int64_t producer_id)
{
    struct cleaner_txn *txn = map_get(&txns->open, MAP_KEY(producer_id));
    if (txn)
        return txn;
    txn = mem_zalloc(sizeof *txn);
    txn->producer_id = producer_id;
    map_put(&txns->open, MAP_KEY(txn->producer_id), txn);
    return txn;
}

static void forget_if_idle(struct cleaner_txns *txns, struct cleaner_txn *txn)
{
    if (txn->committed_data || txn->aborted)
        return;
    map_remove(&txns->open, MAP_KEY(txn->producer_id));
    mem_free(txn);
}

/* Opens the aborted transactions that begin at or before `offset`. */
static void open_up_to(struct cleaner_txns *txns, int64_t offset)
{
    if (!txns->sorted && txns->aborted_count)
        qsort(txns->aborted, txns->aborted_count, sizeof *txns->aborted, by_first_offset);
    txns->sorted = true;
    while (txns->aborted_next < txns->aborted_count &&
           txns->aborted[txns->aborted_next].offset_first <= offset) {
        const struct txn_index_entry *entry = &txns->aborted[txns->aborted_next++];
        struct cleaner_txn *txn = txn_of(txns, entry->producer_id);
        if (!txn->aborted) {
            txn->aborted = true;
            txn->aborted_data = false;
            txn->entry = *entry;
        }
    }
}

bool cleaner_txns_pass_data(struct cleaner_txns *txns, int64_t producer_id, bool transactional,
                            int64_t offset_last)
{
    open_up_to(txns, offset_last);
    if (!transactional)
        return false;
    struct cleaner_txn *txn = txn_of(txns, producer_id);
    if (txn->aborted)
        txn->aborted_data = true;
    else
        txn->committed_data = true;
    return txn->aborted;
}

enum cleaner_marker cleaner_txns_pass_marker(struct cleaner_txns *txns, int64_t producer_id,
                                             bool commit, int64_t offset,
                                             struct txn_index_entry *ret_entry, bool *ret_indexed)
{
    open_up_to(txns, offset);
    struct cleaner_txn *txn = map_get(&txns->open, MAP_KEY(producer_id));
    if (!txn)
        return CLEANER_MARKER_IDLE;
    bool needed;
    if (commit) {
        needed = txn->committed_data;
        txn->committed_data = false;
    } else {
        needed = txn->aborted && txn->aborted_data;
        if (needed) {
            *ret_entry = txn->entry;
            *ret_indexed = true;
        }
        txn->aborted = false;
    }
    forget_if_idle(txns, txn);
    return needed ? CLEANER_MARKER_NEEDED : CLEANER_MARKER_IDLE;
}
