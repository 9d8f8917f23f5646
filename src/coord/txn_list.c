/* What operators ask: DescribeTransactions and ListTransactions, from committed state.
 *
 * Kafka behaviour: filters of ListTransactions narrow one another. States that Kafka does not know
 * are named in the answer; with none but such nothing matches. The duration filter takes what began
 * longer ago than that, so that ids without a transaction, whose start is -1, always match. The
 * pattern of version 2 must match the whole transactional id (RE2 syntax, KIP-1152); an empty one
 * is none. Called under the shard holder's lock. */
#include "base/map.h"
#include "base/pattern.h"
#include "coord/shard_txn.h"
#include "coord/txns.h"
#include "wire/codec.h"
#include "wire_describe_transactions.h"
#include "wire_list_transactions.h"

static void describe_partitions(const struct partition_set *set, struct arena *arena,
                                struct describe_transactions_response_transaction_state *ret_state)
{
    struct describe_transactions_response_topic_data *topics =
        describe_transactions_response_transaction_state_topics_new(arena, ret_state,
                                                                    (int32_t)set->topic_count);
    for (size_t t = 0; t < set->topic_count; t++) {
        const struct partition_set_topic *topic = &set->topics[t];
        topics[t].topic = arena_dup(arena, topic->name);
        int32_t *items = describe_transactions_response_topic_data_partitions_new(
            arena, &topics[t], (int32_t)topic->count);
        memcpy(items, topic->partitions, topic->count * sizeof *items);
    }
}

void coord_txn_describe(const struct coord_shard *shard, const struct coord_event *event,
                        struct slice transactional_id, struct arena *arena,
                        struct describe_transactions_response_transaction_state *ret_state)
{
    (void)event;
    const struct txn *txn = NULL;
    enum err err = ERR_INVALID_REQUEST;
    if (transactional_id.size > 0) {
        err = coord_shard_state(shard);
        txn = err ? NULL : shard_txn(shard, transactional_id);
        if (!err && (!txn || !txn->view))
            err = ERR_TRANSACTIONAL_ID_NOT_FOUND;
    }
    coord_txn_answer_describe(err, transactional_id, ret_state);
    if (err)
        return;
    const struct txn_view *view = txn->view;
    ret_state->transaction_state = slice_str(txn_status_name(view->status));
    ret_state->transaction_timeout_ms = view->timeout_ms;
    ret_state->transaction_start_time_ms = view->start_ms;
    ret_state->producer_id = view->producer_id;
    ret_state->producer_epoch = view->epoch;
    describe_partitions(&view->partitions, arena, ret_state);
}

void coord_txn_list_begin(const struct list_transactions_request *request, struct arena *arena,
                          struct list_transactions_response *response, struct pattern **ret_pattern)
{
    wire_init(&wire_list_transactions_response, response);
    *ret_pattern = NULL;
    if (request->transactional_id_pattern.size > 0 &&
        pattern_new(request->transactional_id_pattern, ret_pattern)) {
        response->error_code = err_to_wire(ERR_INVALID_REGULAR_EXPRESSION);
        return;
    }
    struct slice *unknown = list_transactions_response_unknown_state_filters_new(
        arena, response, request->state_filters_count > 0 ? request->state_filters_count : 0);
    int32_t count = 0;
    struct map named;
    map_init(&named);
    for (int32_t i = 0; i < request->state_filters_count; i++) {
        struct slice name = request->state_filters[i];
        if (txn_status_of(name) < 0 && !map_put(&named, name, &named))
            unknown[count++] = name;
    }
    map_fini(&named);
    response->unknown_state_filters_count = count;
}

/* The states asked for as bits: filters may be many more than states. */
static unsigned states_of(const struct list_transactions_request *request)
{
    unsigned all = (1U << TXN_STATUS_COUNT) - 1;
    unsigned states = request->state_filters_count <= 0 ? all : 0;
    for (int32_t i = 0; i < request->state_filters_count && states != all; i++) {
        int status = txn_status_of(request->state_filters[i]);
        states |= status < 0 ? 0 : 1U << status;
    }
    return states;
}

static bool matches(const struct txn *txn, const struct list_transactions_request *request,
                    unsigned states, struct pattern *pattern, int64_t now_ms)
{
    const struct txn_view *view = txn->view;
    if (!(states & 1U << view->status))
        return false;
    bool by_producer = request->producer_id_filters_count <= 0;
    for (int32_t i = 0; !by_producer && i < request->producer_id_filters_count; i++)
        by_producer = request->producer_id_filters[i] == view->producer_id;
    int64_t age_ms;
    bool by_duration =
        request->duration_filter < 0 || (!__builtin_sub_overflow(now_ms, view->start_ms, &age_ms) &&
                                         age_ms > request->duration_filter);
    return by_producer && by_duration && (!pattern || pattern_matches(pattern, txn->id));
}

/* One more at the end. There is room up to the next power of two: whatever the number of shards, an
 * answer takes no more than twice the memory of its items. */
static struct list_transactions_response_transaction_state *add_item(
    struct list_transactions_response *response, struct arena *arena)
{
    enum { ROOM_MIN = 16 };
    int32_t count = response->transaction_states_count;
    if (count == 0 || (count >= ROOM_MIN && (count & (count - 1)) == 0)) {
        struct list_transactions_response_transaction_state *before = response->transaction_states;
        list_transactions_response_transaction_states_new(arena, response,
                                                          count == 0 ? ROOM_MIN : 2 * count);
        if (count > 0)
            memcpy(response->transaction_states, before, (size_t)count * sizeof *before);
    }
    response->transaction_states_count = count + 1;
    return &response->transaction_states[count];
}

void coord_txn_list(const struct coord_shard *shard, const struct coord_event *event,
                    const struct list_transactions_request *request, struct pattern *pattern,
                    struct arena *arena, struct list_transactions_response *response)
{
    enum err err = coord_shard_state(shard);
    if (err == ERR_COORDINATOR_LOAD_IN_PROGRESS) {
        response->error_code = err_to_wire(err);
        response->transaction_states_count = 0;
    }
    if (err || response->error_code)
        return;
    const struct map *txns = &shard_txns(shard)->txns;
    unsigned states = map_count(txns) ? states_of(request) : 0;
    for (size_t i = 0; i < map_count(txns); i++) {
        const struct txn *txn = map_at(txns, i);
        if (!txn->view || !matches(txn, request, states, pattern, event->wall_ms))
            continue;
        struct list_transactions_response_transaction_state *item = add_item(response, arena);
        item->transactional_id = arena_dup(arena, txn->id);
        item->producer_id = txn->view->producer_id;
        item->transaction_state = slice_str(txn_status_name(txn->view->status));
    }
}
