/* Before transactional records are written to a partition, the coordinator of the transaction says
 * that the partition is a part of it, or makes it one (KIP-890): for Produce, and for
 * TxnOffsetCommit with the partition of __consumer_offsets.
 *
 * A partition is asked about when its log knows no open transaction of the producer: with the first
 * batch, that is. What comes back is a guard that goes with the append, so that data cannot slip in
 * behind a marker that came meanwhile. */
#ifndef KLAMM_API_TXN_CHECK_H
#define KLAMM_API_TXN_CHECK_H

#include "coord/runtime.h"
#include "os/io.h"

struct partition;
struct request;

/* What the client of a request understands. */
enum txn_support {
    TXN_SUPPORT_OLD,       /* Produce to 10, TxnOffsetCommit to 3 */
    TXN_SUPPORT_ABORTABLE, /* knows TRANSACTION_ABORTABLE */
    TXN_SUPPORT_ADDING,    /* Produce from 12, TxnOffsetCommit from 5: leaves the adding to us */
};

struct txn_check_item {
    struct partition *partition; /* referenced by the caller until `done` */
    int32_t sequence;            /* of the first batch; -1 = none */
    const void *owner;           /* the caller's own */
    enum err err;                /* result */
    int64_t guard;               /* result, for the append; 0 = none is needed */
};

struct txn_check {
    struct request *request;
    struct slice transactional_id; /* stable until `done`, as are the items */
    int64_t producer_id;
    int16_t producer_epoch;
    enum txn_support support;
    bool patient; /* asks again while the transaction before this one is being ended (Produce) */
    struct txn_check_item *items;
    int32_t count;
    void (*done)(struct txn_check *check); /* on the request's loop, at once or later */

    /* private */
    struct txn_check_call *call;
    struct loop_timer timer;
    int64_t give_up_ms;
};

/* Takes the check; on the request's loop. */
void txn_check_start(struct txn_check *check);

#endif
