/* What the node has promised about transactions, as the clients that run them know it.
 *
 * A transaction's number is given when its client begins it; each of its records knows it (see
 * model_id_new), and the offset it commits to its cell's group is the number itself. So every
 * record and every committed offset that is read tells of the outcome of one transaction, and all
 * of them must tell the same.
 *
 * A cell is a transactional id with what belongs to it. Several clients may work in one: they fence
 * each other. */
#ifndef KLAMM_TESTS_SIM_TXN_MODEL_H
#define KLAMM_TESTS_SIM_TXN_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch_info;
struct fetch_response_aborted_transaction;
struct model;
struct model_partition;

enum { MODEL_CELLS_MAX = 3, MODEL_PENDING_MAX = 32 };

struct model_txn {
    int cell;
    bool has_offset; /* it commits its number to the cell's group */
    bool commit_sent, commit_acked, abort_acked;
    bool seen_committed, seen_aborted;
    bool loose; /* begun before a power cut that may have taken what it left: nothing is promised */
};

struct model_cell {
    char id[16], group[16];
    int64_t producer_id; /* the newest */
    int32_t epoch;       /* highest given for it */
    int64_t offset_floor;
};

/* A transaction whose marker has not been read yet, in a walk over one partition from its start. */
struct model_pending {
    int64_t producer_id;
    uint64_t txn;
};

/* How a partition is read. */
struct model_view {
    bool committed; /* only what is committed is shown, as clients do it with what follows */
    const struct fetch_response_aborted_transaction *aborted;
    int32_t aborted_count;
    bool walk; /* the batches follow each other since model_scan_begin */
    /* internal: the producers whose aborted transaction has begun in what was read */
    int64_t active[MODEL_PENDING_MAX];
    int active_count;
    int64_t activated_to; /* -1 at first */
};

/* Numbers start at 1. */
uint64_t model_txn_new(struct model *model, int cell);
struct model_txn *model_txn(struct model *model, uint64_t number);
/* Something that was read says how it ended. */
void model_txn_see(struct model *model, uint64_t number, bool committed, const char *where);

/* InitProducerId or EndTxn gave out this pair. before: the cell when it was asked for, as answers
 * on several connections overtake each other. again: the same request was sent before and not
 * answered, so that the pair may be one that was meant for it. */
void model_cell_given(struct model *model, int cell, const struct model_cell *before,
                      int64_t producer_id, int32_t epoch, bool again);
/* The committed offset of the cell's group: floor is cell->offset_floor when it was asked for. */
void model_cell_read(struct model *model, int cell, int64_t floor, int64_t value);

/* A batch with a producer id, or a marker, in a read. Returns whether a client that reads this way
 * shows its records. */
bool model_view_batch(struct model *model, struct model_partition *partition,
                      struct model_view *view, const struct batch_info *info);
/* A record of the transaction (0: of none) in it; shown as model_view_batch said. */
void model_view_record(struct model *model, struct model_partition *partition,
                       const struct model_view *view, const struct batch_info *info, bool shown,
                       uint64_t txn);

/* A power cut: what is not synced may be gone. */
void model_txn_power_cut(struct model *model);

#endif
