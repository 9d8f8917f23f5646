/* The end of a transaction, written to the partitions it touched: one control batch for each, in
 * __consumer_offsets through the group coordinator, so that the offsets of the transaction are seen
 * when the marker is there. For WriteTxnMarkers, and for this node's own transaction coordinator
 * (api/txn_duties.h). */
#ifndef KLAMM_API_TXN_MARKERS_H
#define KLAMM_API_TXN_MARKERS_H

#include "api/append_waits.h"
#include "coord/offsets.h"

struct api_context;

struct txn_markers_item {
    struct slice topic;
    int32_t index;
    /* Result. UNKNOWN_TOPIC_OR_PARTITION: deleted. NOT_LEADER_OR_FOLLOWER: not (yet) here, or its
     * groups are being loaded. Others are of the log and the disk. */
    enum err err;

    /* private */
    struct txn_markers *markers;
    struct coord_reply reply;
    enum err group_err;
};

/* One marker for several partitions. Embedded; stable until `done`. */
struct txn_markers {
    struct api_context *context;
    struct loop *loop; /* for waiting, where an append is not acknowledged at once */
    struct coord_marker marker;
    int16_t transaction_version; /* the rules for its epoch; 2: above the one of the data */
    struct txn_markers_item *items;
    int32_t count;
    struct append_wait *waits;                 /* room for `count` */
    void (*done)(struct txn_markers *markers); /* any thread, no lock held; maybe at once */

    /* private */
    struct append_waits waiting;
    struct loop_task task;
    atomic_int pending;
};

/* Writes it everywhere. An item is done when its marker is replicated, as acks=all. No lock may be
 * held. */
void txn_markers_write(struct txn_markers *markers);

#endif
