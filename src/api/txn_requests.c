/* AddPartitionsToTxn, AddOffsetsToTxn, EndTxn, DescribeTransactions, ListTransactions: each finds
 * the shard of its transactional id, lets it decide, and answers when it says so. A request keeps
 * its frame until the answer, whose shard may hold on to its strings. */
#include "api/context.h"
#include "api/coordinators.h"
#include "api/families.h"
#include "api/producer_ids.h"
#include "api/request.h"
#include "base/hash.h"
#include "conf/config.h"
#include "coord/txns.h"
#include "meta/image.h"
#include "meta/topic_name.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"
#include "wire_describe_transactions.h"
#include "wire_end_txn.h"
#include "wire_list_transactions.h"

#include <stdatomic.h>

/* Kafka looks at the id before it looks for its coordinator. */
static enum err enter(struct request *request, struct slice transactional_id,
                      struct coordinator_call *ret_call)
{
    if (!transactional_id.size)
        return ERR_INVALID_REQUEST;
    return coordinators_enter(request->context->transactions, transactional_id, request, ret_call);
}

/* ---- AddPartitionsToTxn ---- */

enum { ADD_BATCHED_SINCE = 4 /* versions of brokers: several transactions */ };

struct adding {
    struct request *request;
    struct add_partitions_to_txn_response *response;
    struct add_one *items;
    int32_t count;
    atomic_int pending;
};

/* One transaction of the request. */
struct add_one {
    struct coord_reply reply;
    struct adding *adding;
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *from;
    struct add_partitions_to_txn_response_add_partitions_to_txn_result *result;
};

static void finish_adding(struct adding *adding)
{
    if (atomic_fetch_sub(&adding->pending, 1) != 1)
        return;
    struct add_partitions_to_txn_response *response = adding->response;
    if (adding->request->version < ADD_BATCHED_SINCE) {
        response->results_by_topic_v3_and_below = adding->items[0].result->topic_results;
        response->results_by_topic_v3_and_below_count =
            adding->items[0].result->topic_results_count;
    }
    request_reply(adding->request, response);
}

static void added(struct coord_reply *reply)
{
    finish_adding(LIST_ITEM(reply, struct add_one, reply)->adding);
}

static enum err check_partition(const struct add_one *one, struct slice name,
                                const struct meta_topic *topic, int32_t partition)
{
    /* Offsets come by AddOffsetsToTxn; other brokers may name what they want. */
    if (one->adding->request->version < ADD_BATCHED_SINCE && topic_name_is_internal(name))
        return ERR_TOPIC_AUTHORIZATION_FAILED;
    return topic && meta_topic_partition(topic, partition) ? ERR_NONE
                                                           : ERR_UNKNOWN_TOPIC_OR_PARTITION;
}

/* Partitions that do not exist keep the others out, too. */
static bool refuse_unknown(struct add_one *one, const struct meta_image *image)
{
    struct arena *arena = &one->adding->request->arena;
    bool unknown = false;
    coord_txn_answer_add_partitions(one->adding->request->version, ERR_OPERATION_NOT_ATTEMPTED,
                                    one->from, arena, one->result);
    for (int32_t t = 0; t < one->from->topics_count; t++) {
        const struct meta_topic *topic = meta_image_topic(image, one->from->topics[t].name);
        for (int32_t i = 0; i < one->from->topics[t].partitions_count; i++) {
            enum err err = check_partition(one, one->from->topics[t].name, topic,
                                           one->from->topics[t].partitions[i]);
            if (!err)
                continue;
            one->result->topic_results[t].results_by_partition[i].partition_error_code =
                err_to_wire(err);
            unknown = true;
        }
    }
    return unknown;
}

static void add_one(struct add_one *one, const struct meta_image *image)
{
    struct request *request = one->adding->request;
    if (refuse_unknown(one, image)) {
        finish_adding(one->adding);
        return;
    }
    struct coordinator_call call;
    enum err err = enter(request, one->from->transactional_id, &call);
    if (err) {
        coord_txn_answer_add_partitions(request->version, err, one->from, &request->arena,
                                        one->result);
        finish_adding(one->adding);
        return;
    }
    one->reply =
        (struct coord_reply){.arena = &request->arena, .response = one->result, .done = added};
    list_init(&one->reply.link);
    coord_txn_add_partitions(call.shard, &call.event, one->from, &one->reply, &call.update);
    coordinators_leave(&call);
}

/* The transactions of the request, whatever its version. */
static void collect(struct adding *adding)
{
    struct request *request = adding->request;
    struct arena *arena = &request->arena;
    const struct add_partitions_to_txn_request *body = request->body;
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *from =
        body->transactions;
    adding->count = body->transactions_count;
    if (request->version < ADD_BATCHED_SINCE) {
        struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *one =
            arena_alloc(arena, sizeof *one);
        one->transactional_id = body->v3_and_below_transactional_id;
        one->producer_id = body->v3_and_below_producer_id;
        one->producer_epoch = body->v3_and_below_producer_epoch;
        one->topics = body->v3_and_below_topics;
        one->topics_count = body->v3_and_below_topics_count;
        from = one;
        adding->count = 1;
    }
    struct add_partitions_to_txn_response_add_partitions_to_txn_result *results =
        add_partitions_to_txn_response_results_by_transaction_new(arena, adding->response,
                                                                  adding->count);
    if (request->version < ADD_BATCHED_SINCE)
        adding->response->results_by_transaction_count = 0;
    adding->items = arena_array(arena, (size_t)adding->count, sizeof *adding->items);
    for (int32_t i = 0; i < adding->count; i++)
        adding->items[i] =
            (struct add_one){.adding = adding, .from = &from[i], .result = &results[i]};
}

static void add_partitions_to_txn(struct request *request)
{
    struct adding *adding = arena_alloc(&request->arena, sizeof *adding);
    adding->request = request;
    adding->response = request_response(request);
    collect(adding);
    int32_t count = adding->count;
    atomic_init(&adding->pending, count + 1);
    struct meta_image *image = quorum_image(request->context->quorum);
    for (int32_t i = 0; i < count; i++)
        add_one(&adding->items[i], image);
    meta_image_unref(image);
    finish_adding(adding);
}

/* ---- one transactional id ---- */

/* A request that is asked of one shard, perhaps twice: the second time with a fresh id. */
struct txn_request {
    struct coord_reply reply;
    struct producer_id_call call;
    struct request *request;
    void *response;
};

static void reply_done(struct coord_reply *reply)
{
    request_reply(LIST_ITEM(reply, struct txn_request, reply)->request, reply->response);
}

static struct txn_request *new_request(struct request *request)
{
    struct txn_request *txn = arena_alloc(&request->arena, sizeof *txn);
    txn->request = request;
    txn->response = request_response(request);
    txn->reply = (struct coord_reply){
        .arena = &request->arena, .response = txn->response, .done = reply_done};
    list_init(&txn->reply.link);
    return txn;
}

/* Clients send TxnOffsetCommit as soon as AddOffsetsToTxn is answered, and EndTxn after that.
 * librdkafka 2.16 may wait instead, for ever: for a coordinator's handle that it gave up when its
 * only broker was away, and looks at again when the state of any of its connections changes. So a
 * connection that falls silent here is closed long before connections.max.idle.ms; whoever was only
 * slow opens another. Closing it costs a transaction nothing. */
enum { OFFSETS_IDLE_MAX_MS = 1000 };

/* Producers add a group's partition before they look for its coordinator: its topic may not be
 * there yet. */
static int32_t offsets_partition(struct api_context *context, struct slice group_id)
{
    int32_t partition = coordinators_partition_of(context->groups, group_id);
    int64_t count = config_int(context->config, BROKER_KEY_OFFSETS_TOPIC_NUM_PARTITIONS);
    return partition >= 0 ? partition : coordinator_partition(group_id, (int32_t)count);
}

static void add_offsets_to_txn(struct request *request)
{
    const struct add_offsets_to_txn_request *body = request->body;
    struct api_context *context = request->context;
    struct txn_request *txn = new_request(request);
    struct coordinator_call call;
    request_limit_idle(request, OFFSETS_IDLE_MAX_MS);
    enum err err = enter(request, body->transactional_id, &call);
    if (err) {
        coord_txn_answer_add_offsets(request->version, err, txn->response);
        request_reply(request, txn->response);
        return;
    }
    coord_txn_add_offsets(call.shard, &call.event, body, offsets_partition(context, body->group_id),
                          &txn->reply, &call.update);
    coordinators_leave(&call);
}

static void refuse_end(struct txn_request *txn, enum err err)
{
    coord_txn_answer_end(txn->request->version, err, txn->response);
    request_reply(txn->request, txn->response);
}

static void fetched(struct producer_id_call *call);

static void ask_end(struct txn_request *txn, int64_t producer_id)
{
    struct request *request = txn->request;
    const struct end_txn_request *body = request->body;
    struct coordinator_call call;
    enum err err = enter(request, body->transactional_id, &call);
    if (err) {
        refuse_end(txn, err);
        return;
    }
    bool decides =
        coord_txn_end(call.shard, &call.event, body, producer_id, &txn->reply, &call.update);
    coordinators_leave(&call);
    if (decides)
        return;
    txn->call.done = fetched;
    producer_ids_next(request->context->producer_ids, &txn->call);
}

static void fetched(struct producer_id_call *call)
{
    struct txn_request *txn = LIST_ITEM(call, struct txn_request, call);
    if (call->error)
        refuse_end(txn, call->error);
    else
        ask_end(txn, call->producer_id);
}

static void end_txn(struct request *request)
{
    request_limit_idle(request, 0);
    ask_end(new_request(request), -1);
}

/* ---- looking ---- */

static void describe_transactions(struct request *request)
{
    const struct describe_transactions_request *body = request->body;
    struct describe_transactions_response *response = request_response(request);
    struct describe_transactions_response_transaction_state *states =
        describe_transactions_response_transaction_states_new(&request->arena, response,
                                                              body->transactional_ids_count);
    for (int32_t i = 0; i < body->transactional_ids_count; i++) {
        struct slice id = body->transactional_ids[i];
        struct coordinator_call call;
        enum err err = enter(request, id, &call);
        if (err) {
            coord_txn_answer_describe(err, id, &states[i]);
            continue;
        }
        coord_txn_describe(call.shard, &call.event, id, &request->arena, &states[i]);
        coordinators_leave(&call);
    }
    request_reply(request, response);
}

/* A ListTransactions under way: patterns may take long, so it gives way to others every now and
 * then. */
struct listing {
    struct coord_txn_list *list;
    struct list_transactions_response *response;
    int32_t next, count; /* shards */
};

enum { LISTING_TURN_NS = 2000000 };

static void take_shard(struct request *request, struct listing *listing)
{
    struct coordinator_call call;
    enum err err =
        coordinators_enter_at(request->context->transactions, listing->next++, request, &call);
    if (err == ERR_COORDINATOR_LOAD_IN_PROGRESS) {
        listing->response->error_code = err_to_wire(err);
        listing->response->transaction_states_count = 0;
    }
    if (err)
        return;
    coord_txn_list_take(listing->list, call.shard, &call.event);
    coordinators_leave(&call);
}

/* One turn on the connection's loop. Nobody waits once the connection is gone. */
static void list_some(struct request *request)
{
    struct listing *listing = request->parked;
    int64_t end_ns = io_mono_ns(request->context->io) + LISTING_TURN_NS;
    while (request->conn && !listing->response->error_code) {
        if (io_mono_ns(request->context->io) >= end_ns) {
            request_post(request, list_some);
            return;
        }
        if (coord_txn_list_match(listing->list))
            continue;
        if (listing->next == listing->count)
            break;
        take_shard(request, listing);
    }
    coord_txn_list_end(listing->list);
    request_reply(request, listing->response);
}

static void list_transactions(struct request *request)
{
    struct listing *listing = arena_alloc(&request->arena, sizeof *listing);
    listing->response = request_response(request);
    listing->list = coord_txn_list_begin(request->body, &request->arena, listing->response);
    listing->count = coordinators_partition_count(request->context->transactions);
    request->parked = listing;
    request->peer_closed = request_abandon;
    list_some(request);
}

API_FAMILY(api_txn_requests, {WIRE_API_ADD_PARTITIONS_TO_TXN, API_BROKER, add_partitions_to_txn},
           {WIRE_API_ADD_OFFSETS_TO_TXN, API_BROKER, add_offsets_to_txn},
           {WIRE_API_END_TXN, API_BROKER, end_txn},
           {WIRE_API_DESCRIBE_TRANSACTIONS, API_BROKER, describe_transactions},
           {WIRE_API_LIST_TRANSACTIONS, API_BROKER, list_transactions});
