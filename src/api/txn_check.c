/* A check on its request's loop: each partition says whether it must be asked about at all; the
 * coordinator of the transactional id is asked for the others at once, as AddPartitionsToTxn of a
 * broker does; its answer may come at once or from another thread, which posts.
 *
 * The coordinator is on this node. Where one on another node is to be asked, ask() is the place. */
#include "api/txn_check.h"

#include "api/context.h"
#include "api/coordinators.h"
#include "api/request.h"
#include "conf/config.h"
#include "coord/txns.h"
#include "repl/partition.h"
#include "wire_add_partitions_to_txn.h"

enum { ADD_PARTITIONS_VERSION = 5 /* what brokers ask each other in */ };

struct txn_check_call {
    struct txn_check *check;
    struct add_partitions_to_txn_request_add_partitions_to_txn_transaction question;
    struct add_partitions_to_txn_response_add_partitions_to_txn_result answer;
    struct coord_reply reply;
    struct loop_task task;
};

static void start_round(struct txn_check *check);

static bool is_asked(const struct txn_check_item *item)
{
    return !item->err && item->guard;
}

/* ---- the answer ---- */

/* In the terms of producers. */
static enum err answer_error(const struct txn_check *check, enum err err)
{
    if (err == ERR_PRODUCER_FENCED)
        return ERR_INVALID_PRODUCER_EPOCH;
    if (err == ERR_TRANSACTION_ABORTABLE && check->support == TXN_SUPPORT_OLD)
        return ERR_INVALID_TXN_STATE;
    return err;
}

static void try_again(struct loop_timer *timer)
{
    start_round(LIST_ITEM(timer, struct txn_check, timer));
}

/* The transaction before this one is being ended: it is quicker to wait a moment here than to have
 * the client send all again. */
static bool wait_a_moment(struct txn_check *check)
{
    struct api_context *context = check->request->context;
    bool concurrent = false;
    for (int32_t i = 0; i < check->count; i++)
        concurrent |= check->items[i].err == ERR_CONCURRENT_TRANSACTIONS;
    if (!check->patient || !concurrent || io_mono_ms(context->io) >= check->give_up_ms)
        return false;
    int64_t pause_ms =
        config_int(context->config, BROKER_KEY_ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MS);
    check->timer.expired = try_again;
    loop_timer_set(check->request->loop, &check->timer,
                   io_mono_ns(context->io) + pause_ms * 1000000);
    return true;
}

static void answered(struct txn_check_call *call)
{
    struct txn_check *check = call->check;
    int32_t at = 0;
    for (int32_t t = 0; t < call->answer.topic_results_count; t++) {
        const struct add_partitions_to_txn_response_add_partitions_to_txn_topic_result *topic =
            &call->answer.topic_results[t];
        for (int32_t i = 0; i < topic->results_by_partition_count; i++) {
            while (at < check->count && !is_asked(&check->items[at]))
                at++;
            if (at == check->count)
                break;
            enum err err = err_from_wire(topic->results_by_partition[i].partition_error_code);
            check->items[at++].err = answer_error(check, err);
        }
    }
    if (!wait_a_moment(check))
        check->done(check);
}

static void answered_later(struct loop_task *task)
{
    answered(LIST_ITEM(task, struct txn_check_call, task));
}

static void reply_done(struct coord_reply *reply)
{
    struct txn_check_call *call = LIST_ITEM(reply, struct txn_check_call, reply);
    if (loop_is_current(call->check->request->loop))
        answered(call);
    else
        loop_post(call->check->request->loop, &call->task);
}

/* ---- the question ---- */

static void fill_question(struct txn_check_call *call)
{
    struct txn_check *check = call->check;
    struct arena *arena = &check->request->arena;
    call->question = (struct add_partitions_to_txn_request_add_partitions_to_txn_transaction){
        .transactional_id = check->transactional_id,
        .producer_id = check->producer_id,
        .producer_epoch = check->producer_epoch,
        .verify_only = check->support != TXN_SUPPORT_ADDING,
        .topics = arena_array(arena, (size_t)check->count, sizeof *call->question.topics),
    };
    int32_t *partitions = arena_array(arena, (size_t)check->count, sizeof *partitions);
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic *topic = NULL;
    for (int32_t i = 0; i < check->count; i++) {
        const struct partition *partition = check->items[i].partition;
        if (!is_asked(&check->items[i]))
            continue;
        if (!topic || !slice_eq(topic->name, partition->topic)) {
            topic = &call->question.topics[call->question.topics_count++];
            topic->name = partition->topic;
            topic->partitions = partitions;
        }
        *partitions++ = partition->index;
        topic->partitions_count++;
    }
}

static void refuse(struct txn_check *check, enum err err)
{
    for (int32_t i = 0; i < check->count; i++) {
        if (is_asked(&check->items[i]))
            check->items[i].err = err;
    }
    check->done(check);
}

static void ask(struct txn_check *check)
{
    struct coordinators *coordinators = check->request->context->transactions;
    struct coordinator_call call;
    enum err err = coordinators_enter(coordinators, check->transactional_id, NULL, &call);
    if (err) {
        refuse(check, coordinators_partition_count(coordinators) ? ERR_NOT_COORDINATOR
                                                                 : ERR_COORDINATOR_NOT_AVAILABLE);
        return;
    }
    call.event.version = ADD_PARTITIONS_VERSION;
    struct txn_check_call *state = check->call;
    fill_question(state);
    state->reply = (struct coord_reply){
        .arena = &check->request->arena, .response = &state->answer, .done = reply_done};
    list_init(&state->reply.link);
    coord_txn_add_partitions(call.shard, &call.event, &state->question, &state->reply,
                             &call.update);
    coordinators_leave(&call);
}

static void start_round(struct txn_check *check)
{
    bool asked = false;
    for (int32_t i = 0; i < check->count; i++) {
        struct txn_check_item *item = &check->items[i];
        item->guard = 0;
        item->err = partition_verify_begin(item->partition, check->producer_id,
                                           check->producer_epoch, item->sequence,
                                           check->support == TXN_SUPPORT_ADDING, &item->guard);
        asked |= is_asked(item);
    }
    if (asked)
        ask(check);
    else
        check->done(check);
}

void txn_check_start(struct txn_check *check)
{
    struct api_context *context = check->request->context;
    if (check->support != TXN_SUPPORT_ADDING &&
        !config_bool(context->config, BROKER_KEY_TRANSACTION_PARTITION_VERIFICATION_ENABLE)) {
        check->done(check);
        return;
    }
    check->call = arena_alloc(&check->request->arena, sizeof *check->call);
    check->call->check = check;
    check->call->task.run = answered_later;
    list_init(&check->call->task.link);
    int64_t patience_ms =
        config_int(context->config, BROKER_KEY_ADD_PARTITIONS_TO_TXN_RETRY_BACKOFF_MAX_MS);
    int64_t timeout_ms = context->request_timeout_ms;
    check->give_up_ms =
        io_mono_ms(context->io) + (patience_ms < timeout_ms ? patience_ms : timeout_ms);
    start_round(check);
}
