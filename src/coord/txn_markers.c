/* Markers: what an ended transaction needs in each of its partitions before it is complete.
 *
 *     Prepare committed (or loaded) -> duty in update->markers -> coord_txn_markers_done
 *     for each partition -> none left -> Complete record
 *
 * The partitions of a committed Prepare shrink in memory as their markers are written; after a
 * restart all are written once more, which partitions tell from the producer's epoch. A Complete
 * that cannot be appended is tried again every second: nobody waits for its answer. Called under
 * the shard holder's lock, but for coord_txn_markers_free. */
#include "coord/txn_markers.h"

#include "base/mem.h"
#include "coord/txns.h"

enum { RETRY_MS = 1000 };

void coord_txn_markers_free(struct coord_txn_markers *markers)
{
    if (!markers)
        return;
    slice_free(&markers->transactional_id);
    for (size_t i = 0; i < markers->count; i++)
        slice_free(&markers->partitions[i].topic);
    mem_free(markers->partitions);
    mem_free(markers);
}

static void complete_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct shard_txns *state = shard_txns(shard);
    struct txn *txn = write->undo;
    if (!error || shard->phase != SHARD_ACTIVE)
        return;
    list_remove(&txn->retry_link);
    list_push_back(&state->retries, &txn->retry_link);
    shard_timer_set(shard, &state->retry, RETRY_MS);
}

static void complete(struct coord_shard *shard, struct txn *txn)
{
    struct shard_write write = {.done = complete_done, .undo = txn, .timeout_ms = INT64_MAX};
    shard_txn_append(shard, txn->id, txn_complete(txn->view, shard->event->wall_ms), &write);
}

void txn_markers_begin(struct coord_shard *shard, struct txn *txn)
{
    const struct txn_view *view = txn->view;
    if (view->partitions.count == 0) {
        complete(shard, txn);
        return;
    }
    struct coord_txn_markers *markers = mem_zalloc(sizeof *markers);
    markers->transactional_id = slice_dup(txn->id);
    markers->producer_id = view->producer_id;
    markers->producer_epoch = view->epoch;
    markers->coordinator_epoch = shard->epoch;
    markers->transaction_version = view->client_version;
    markers->commit = view->status == TXN_PREPARE_COMMIT;
    markers->partitions = mem_array(view->partitions.count, sizeof *markers->partitions);
    for (size_t t = 0; t < view->partitions.topic_count; t++) {
        const struct partition_set_topic *topic = &view->partitions.topics[t];
        for (size_t p = 0; p < topic->count; p++)
            markers->partitions[markers->count++] =
                (struct coord_txn_partition){slice_dup(topic->name), topic->partitions[p]};
    }
    list_push_back(&shard->update->markers, &markers->link);
}

void txn_markers_retry(struct coord_shard *shard)
{
    struct shard_txns *state = shard_txns(shard);
    struct list again, *node;
    list_init(&again);
    list_move_all(&again, &state->retries);
    while ((node = list_pop_front(&again)))
        complete(shard, LIST_ITEM(node, struct txn, retry_link));
}

void coord_txn_markers_done(struct coord_shard *shard, const struct coord_event *event,
                            const struct coord_txn_markers *markers, size_t index,
                            struct coord_update *update)
{
    enum err err;
    bool serves = shard_enter(shard, event, update, &err);
    struct txn *txn = serves ? shard_txn(shard, markers->transactional_id) : NULL;
    const struct coord_txn_partition *done = &markers->partitions[index];
    if (txn && txn->view && !txn_is_pending(txn) && txn_is_prepared(txn->view) &&
        shard->epoch == markers->coordinator_epoch &&
        txn->view->producer_id == markers->producer_id &&
        txn->view->epoch == markers->producer_epoch &&
        partition_set_remove(&txn->view->partitions, done->topic, done->partition) &&
        txn->view->partitions.count == 0)
        complete(shard, txn);
    shard_leave(shard);
}
