/* Partitions of a transaction: AddPartitionsToTxn, AddOffsetsToTxn, and the question of a partition
 * leader whether one was added (verify_only, KIP-890).
 *
 * Kafka behaviour: partitions are added all or none, each gets the same code. What is there already
 * is answered without a record. A verification looks at what is committed, also while a record is
 * under way: the log has the last word. From version 4 of AddPartitionsToTxn on the client counts
 * as one of transaction.version 2. Called under the shard holder's lock. */
#include "coord/shard_txn.h"
#include "coord/txns.h"
#include "wire/codec.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"

enum { CLIENT_VERSION_2_SINCE = 4 };

/* The checks that all additions share. */
static enum err check_add(const struct txn *txn, struct slice id, int64_t producer_id,
                          int16_t epoch)
{
    if (id.size == 0)
        return ERR_INVALID_REQUEST;
    if (!txn)
        return ERR_INVALID_PRODUCER_ID_MAPPING;
    if (txn_is_busy(txn))
        return ERR_CONCURRENT_TRANSACTIONS; /* first: the client may know the id to come already */
    if (txn->view->producer_id != producer_id)
        return ERR_INVALID_PRODUCER_ID_MAPPING;
    return txn->view->epoch == epoch ? ERR_NONE : ERR_PRODUCER_FENCED;
}

/* A reply's end: all partitions, or the whole answer, get the error. */
static void add_partitions_done(struct coord_shard *shard, struct shard_write *write,
                                enum err error)
{
    struct add_partitions_to_txn_response_add_partitions_to_txn_result *result =
        write->reply->response;
    for (int32_t t = 0; error && t < result->topic_results_count; t++) {
        struct add_partitions_to_txn_response_add_partitions_to_txn_topic_result *topic =
            &result->topic_results[t];
        for (int32_t p = 0; p < topic->results_by_partition_count; p++)
            topic->results_by_partition[p].partition_error_code = err_to_wire(error);
    }
    shard_reply_complete(shard, write->reply);
}

static void add_offsets_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    if (error)
        coord_txn_answer_add_offsets(write->reply->version, error, write->reply->response);
    shard_reply_complete(shard, write->reply);
}

/* ---- verification ------------------------------------------------------------------------- */

static enum err check_verify(const struct txn *txn, struct slice id, int64_t producer_id,
                             int16_t epoch)
{
    if (id.size == 0)
        return ERR_INVALID_REQUEST;
    if (!txn || !txn->view || txn->view->producer_id != producer_id)
        return ERR_INVALID_PRODUCER_ID_MAPPING;
    if (txn->view->epoch != epoch)
        return ERR_PRODUCER_FENCED;
    return txn_is_prepared(txn->view) ? ERR_CONCURRENT_TRANSACTIONS : ERR_NONE;
}

static void verify_each(const struct txn_view *view,
                        struct add_partitions_to_txn_response_add_partitions_to_txn_result *result)
{
    for (int32_t t = 0; t < result->topic_results_count; t++) {
        struct add_partitions_to_txn_response_add_partitions_to_txn_topic_result *topic =
            &result->topic_results[t];
        for (int32_t p = 0; p < topic->results_by_partition_count; p++) {
            struct add_partitions_to_txn_response_add_partitions_to_txn_partition_result *item =
                &topic->results_by_partition[p];
            if (!partition_set_has(&view->partitions, topic->name, item->partition_index))
                item->partition_error_code = err_to_wire(ERR_TRANSACTION_ABORTABLE);
        }
    }
}

static void verify(
    struct coord_shard *shard, enum err err,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request,
    struct coord_reply *reply)
{
    const struct txn *txn = err ? NULL : shard_txn(shard, request->transactional_id);
    if (!err)
        err = check_verify(txn, request->transactional_id, request->producer_id,
                           request->producer_epoch);
    coord_txn_answer_add_partitions(reply->version, err, request, reply->arena, reply->response);
    if (!err)
        verify_each(txn->view, reply->response);
    shard_reply_complete(shard, reply);
}

/* ---- addition ----------------------------------------------------------------------------- */

static bool add_all(
    struct txn_view *view,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request)
{
    bool added = false;
    for (int32_t t = 0; t < request->topics_count; t++) {
        for (int32_t p = 0; p < request->topics[t].partitions_count; p++)
            added |= partition_set_add(&view->partitions, request->topics[t].name,
                                       request->topics[t].partitions[p]);
    }
    return added;
}

/* Writes `next`, or completes at once when it brings nothing new to an open transaction. */
static void extend(struct coord_shard *shard, const struct txn *txn, struct txn_view *next,
                   bool added, const struct shard_write *write)
{
    if (added || txn->view->status != TXN_ONGOING) {
        shard_txn_append(shard, txn->id, next, write);
        return;
    }
    txn_view_free(next);
    shard_reply_complete(shard, write->reply);
}

void coord_txn_add_partitions(
    struct coord_shard *shard, const struct coord_event *event,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request,
    struct coord_reply *reply, struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    if (request->verify_only) {
        verify(shard, err, request, reply);
        shard_leave(shard);
        return;
    }
    const struct txn *txn = err ? NULL : shard_txn(shard, request->transactional_id);
    if (!err)
        err = check_add(txn, request->transactional_id, request->producer_id,
                        request->producer_epoch);
    coord_txn_answer_add_partitions(event->version, err, request, reply->arena, reply->response);
    if (err) {
        shard_reply_complete(shard, reply);
    } else {
        int16_t client_version =
            event->version >= CLIENT_VERSION_2_SINCE ? TXN_VERSION_EPOCH_BUMP : 0;
        struct txn_view *next = txn_extend(txn->view, client_version, event->wall_ms);
        bool added = add_all(next, request);
        extend(shard, txn, next, added,
               &(struct shard_write){.done = add_partitions_done,
                                     .reply = reply,
                                     .timeout_ms = txn->view->timeout_ms});
    }
    shard_leave(shard);
}

void coord_txn_add_offsets(struct coord_shard *shard, const struct coord_event *event,
                           const struct add_offsets_to_txn_request *request,
                           int32_t offsets_partition, struct coord_reply *reply,
                           struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    const struct txn *txn = err ? NULL : shard_txn(shard, request->transactional_id);
    if (!err)
        err = check_add(txn, request->transactional_id, request->producer_id,
                        request->producer_epoch);
    coord_txn_answer_add_offsets(event->version, err, reply->response);
    if (err) {
        shard_reply_complete(shard, reply);
    } else {
        struct txn_view *next = txn_extend(txn->view, 0, event->wall_ms);
        bool added = partition_set_add(&next->partitions, SLICE_LIT("__consumer_offsets"),
                                       offsets_partition);
        extend(shard, txn, next, added,
               &(struct shard_write){
                   .done = add_offsets_done, .reply = reply, .timeout_ms = txn->view->timeout_ms});
    }
    shard_leave(shard);
}
