/* The transaction coordinator: the transaction APIs, one function for each, over a shard of kind
 * COORD_TRANSACTIONS: that of partition coordinator_partition(transactional id, count) of
 * __transaction_state. See coord/runtime.h for the walk, the life of `reply` and the threads.
 *
 * Functions with a reply never fail: what is wrong is in the response, in the form and with the
 * code that Kafka gives it in event->version. Their replies complete once their records are
 * committed. Authorization, splitting a request over several shards, and an idempotent producer's
 * InitProducerId (null transactional id) are the handler's.
 *
 * Fresh producer ids come from outside. Where a decision may need one, the function takes
 * `producer_id`, -1 for none, and returns false when it needs one and has none: then nothing has
 * happened, `reply` is untouched, and the handler leaves the shard, gets an id, and calls again.
 * An id that turns out not to be needed is lost, as ids may be.
 *
 * Duties: an ended transaction needs a marker in each of its partitions. A coord_txn_markers
 * comes out in update->markers once the decision is committed (and again for all that are found
 * undone after loading). The holder takes it out before coord_update_deliver, writes the markers,
 * tells each one done with coord_txn_markers_done, and frees it. It tries again for as
 * long as it takes, the shard keeps no timer for them. When the last one is done the shard writes
 * the Complete record. */
#ifndef KLAMM_COORD_TXNS_H
#define KLAMM_COORD_TXNS_H

#include "coord/runtime.h"

struct init_producer_id_request;
struct init_producer_id_response;
struct add_partitions_to_txn_request_add_partitions_to_txn_transaction;
struct add_partitions_to_txn_response_add_partitions_to_txn_result;
struct add_offsets_to_txn_request;
struct add_offsets_to_txn_response;
struct end_txn_request;
struct end_txn_response;
struct describe_transactions_response_transaction_state;
struct list_transactions_request;
struct list_transactions_response;

struct coord_txn_partition {
    struct slice topic;
    int32_t partition;
};

/* The markers of one ended transaction. One owner; it may be moved to any thread. */
struct coord_txn_markers {
    struct list link; /* in update->markers; the holder's after that */
    struct slice transactional_id;
    int64_t producer_id;
    int16_t producer_epoch;
    int32_t coordinator_epoch;
    int16_t transaction_version; /* of the client that ended it: 0 or 2 */
    bool commit;
    struct coord_txn_partition *partitions; /* differ; count > 0 */
    size_t count;
};
/* Accepts NULL. */
void coord_txn_markers_free(struct coord_txn_markers *markers);

/* The marker in markers->partitions[index] is written (as durable as acks=all makes it), or that
 * partition does not exist any more. Ignored when it is not this shard's to do (unloaded since,
 * loaded again) or was told before. */
void coord_txn_markers_done(struct coord_shard *shard, const struct coord_event *event,
                            const struct coord_txn_markers *markers, size_t index,
                            struct coord_update *update);

/* What is wrong with the request whoever coordinates the transaction: Kafka looks at this before it
 * looks for the shard. Pure. */
enum err coord_txn_init_check(const struct coord_config *config,
                              const struct init_producer_id_request *request);
/* InitProducerId with a transactional id. reply->response: struct init_producer_id_response. */
bool coord_txn_init(struct coord_shard *shard, const struct coord_event *event,
                    const struct init_producer_id_request *request, int64_t producer_id,
                    struct coord_reply *reply, struct coord_update *update);

/* One transaction of AddPartitionsToTxn, added or, with verify_only, only looked at. For versions 0
 * to 3 the handler makes the struct from the v3_and_below fields. When one of the
 * partitions does not exist or may not be written the handler does not call: nothing is added, nor
 * verified (that one's own error, OPERATION_NOT_ATTEMPTED for the others). reply->response: struct
 * add_partitions_to_txn_response_add_partitions_to_txn_result, with an item for each partition. */
void coord_txn_add_partitions(
    struct coord_shard *shard, const struct coord_event *event,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request,
    struct coord_reply *reply, struct coord_update *update);

/* AddOffsetsToTxn: adds partition `offsets_partition` of __consumer_offsets, that of the request's
 * group. reply->response: struct add_offsets_to_txn_response. */
void coord_txn_add_offsets(struct coord_shard *shard, const struct coord_event *event,
                           const struct add_offsets_to_txn_request *request,
                           int32_t offsets_partition, struct coord_reply *reply,
                           struct coord_update *update);

/* EndTxn; version 5 and above is transaction.version 2. Answered when the decision is committed,
 * not when the markers are written. reply->response: struct end_txn_response. */
bool coord_txn_end(struct coord_shard *shard, const struct coord_event *event,
                   const struct end_txn_request *request, int64_t producer_id,
                   struct coord_reply *reply, struct coord_update *update);

/* Describes one transactional id into *ret_state (initialised here), from committed state. Bytes
 * are copied into `arena`. */
void coord_txn_describe(const struct coord_shard *shard, const struct coord_event *event,
                        struct slice transactional_id, struct arena *arena,
                        struct describe_transactions_response_transaction_state *ret_state);

/* ListTransactions, over all shards of this node:
 *
 *     begin -> for each shard: take (under its lock), match until it says false -> end
 *
 * A client's pattern may take long to match (10 ms, the largest ones): whatever it is, a shard is
 * held no longer than it takes to copy what the other filters leave, and the matching can be left
 * and gone on with. */
struct coord_txn_list;

/* Initialises *response, to which the transactions are added (in `arena`), and sets
 * unknown_state_filters, or error_code INVALID_REGULAR_EXPRESSION for a pattern that is none: then
 * no shard is to be asked. All three must stay until `end`. */
struct coord_txn_list *coord_txn_list_begin(const struct list_transactions_request *request,
                                            struct arena *arena,
                                            struct list_transactions_response *response);
/* What is committed in the shard. One that loads sets response->error_code and drops what is
 * listed, one that is unloaded adds nothing. */
void coord_txn_list_take(struct coord_txn_list *list, const struct coord_shard *shard,
                         const struct coord_event *event);
/* One id of what was taken; without a lock. False when none is left. */
bool coord_txn_list_match(struct coord_txn_list *list);
void coord_txn_list_end(struct coord_txn_list *list);

/* Answers with one error for a handler that cannot or may not ask a shard (no shard: pass
 * NOT_COORDINATOR). Each initialises its response and gives `error` the form and code of that API
 * and version. */
void coord_txn_answer_init(int16_t version, enum err error,
                           struct init_producer_id_response *response);
void coord_txn_answer_add_partitions(
    int16_t version, enum err error,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request,
    struct arena *arena,
    struct add_partitions_to_txn_response_add_partitions_to_txn_result *ret_result);
void coord_txn_answer_add_offsets(int16_t version, enum err error,
                                  struct add_offsets_to_txn_response *response);
void coord_txn_answer_end(int16_t version, enum err error, struct end_txn_response *response);
void coord_txn_answer_describe(enum err error, struct slice transactional_id,
                               struct describe_transactions_response_transaction_state *ret_state);

#endif
