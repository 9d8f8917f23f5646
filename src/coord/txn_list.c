/* What operators ask: DescribeTransactions and ListTransactions, from committed state.
 *
 * Kafka behaviour: filters of ListTransactions narrow one another. States that Kafka does not know
 * are named in the answer; with none but such nothing matches. The duration filter takes what began
 * longer ago than that, so that ids without a transaction, whose start is -1, always match. The
 * pattern of version 2 must match the whole transactional id (RE2 syntax, KIP-1152); an empty one
 * is none. Called under the shard holder's lock, but for what txns.h says of coord_txn_list. */
#include "base/map.h"
#include "base/mem.h"
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

struct coord_txn_list {
    const struct list_transactions_request *request;
    struct list_transactions_response *response;
    struct arena *arena;
    unsigned states;         /* asked for, as bits: filters may be many more than states */
    struct map producer_ids; /* asked for; the keys are the request's */
    struct pattern *pattern; /* NULL = all ids */
    /* With a pattern: what the other filters left of the shard before `match`. */
    struct list_transactions_response taken;
    struct arena taken_arena;
    int32_t matched; /* of them */
};

static void digest_states(struct coord_txn_list *list)
{
    const struct list_transactions_request *request = list->request;
    int32_t asked = request->state_filters_count > 0 ? request->state_filters_count : 0;
    struct slice *unknown =
        list_transactions_response_unknown_state_filters_new(list->arena, list->response, asked);
    int32_t count = 0;
    struct map named;
    map_init(&named);
    list->states = asked ? 0 : (1U << TXN_STATUS_COUNT) - 1;
    for (int32_t i = 0; i < asked; i++) {
        struct slice name = request->state_filters[i];
        int status = txn_status_of(name);
        if (status >= 0)
            list->states |= 1U << status;
        else if (!map_put(&named, name, &named))
            unknown[count++] = name;
    }
    map_fini(&named);
    list->response->unknown_state_filters_count = count;
}

struct coord_txn_list *coord_txn_list_begin(const struct list_transactions_request *request,
                                            struct arena *arena,
                                            struct list_transactions_response *response)
{
    wire_init(&wire_list_transactions_response, response);
    struct coord_txn_list *list = mem_zalloc(sizeof *list);
    list->request = request;
    list->response = response;
    list->arena = arena;
    map_init(&list->producer_ids);
    arena_init(&list->taken_arena);
    if (request->transactional_id_pattern.size > 0 &&
        pattern_new(request->transactional_id_pattern, &list->pattern)) {
        response->error_code = err_to_wire(ERR_INVALID_REGULAR_EXPRESSION);
        return list;
    }
    digest_states(list);
    for (int32_t i = 0; i < request->producer_id_filters_count; i++)
        map_put(&list->producer_ids, MAP_KEY(request->producer_id_filters[i]), list);
    return list;
}

void coord_txn_list_end(struct coord_txn_list *list)
{
    map_fini(&list->producer_ids);
    pattern_free(list->pattern);
    arena_fini(&list->taken_arena);
    mem_free(list);
}

/* All filters but the pattern. */
static bool is_wanted(const struct coord_txn_list *list, const struct txn_view *view,
                      int64_t now_ms)
{
    if (!(list->states & 1U << view->status))
        return false;
    if (map_count(&list->producer_ids) > 0 &&
        !map_get(&list->producer_ids, MAP_KEY(view->producer_id)))
        return false;
    int64_t age_ms, least_ms = list->request->duration_filter;
    return least_ms < 0 ||
           (!__builtin_sub_overflow(now_ms, view->start_ms, &age_ms) && age_ms > least_ms);
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

void coord_txn_list_take(struct coord_txn_list *list, const struct coord_shard *shard,
                         const struct coord_event *event)
{
    enum err err = coord_shard_state(shard);
    if (err == ERR_COORDINATOR_LOAD_IN_PROGRESS) {
        list->response->error_code = err_to_wire(err);
        list->response->transaction_states_count = 0;
    }
    if (err || list->response->error_code)
        return;
    struct list_transactions_response *to = list->pattern ? &list->taken : list->response;
    struct arena *arena = list->pattern ? &list->taken_arena : list->arena;
    const struct map *txns = &shard_txns(shard)->txns;
    for (size_t i = 0; i < map_count(txns); i++) {
        const struct txn *txn = map_at(txns, i);
        if (!txn->view || !is_wanted(list, txn->view, event->wall_ms))
            continue;
        struct list_transactions_response_transaction_state *item = add_item(to, arena);
        item->transactional_id = arena_dup(arena, txn->id);
        item->producer_id = txn->view->producer_id;
        item->transaction_state = slice_str(txn_status_name(txn->view->status));
    }
}

bool coord_txn_list_match(struct coord_txn_list *list)
{
    if (list->matched == list->taken.transaction_states_count) {
        list->matched = list->taken.transaction_states_count = 0;
        arena_fini(&list->taken_arena);
        arena_init(&list->taken_arena);
        return false;
    }
    const struct list_transactions_response_transaction_state *from =
        &list->taken.transaction_states[list->matched++];
    if (pattern_matches(list->pattern, from->transactional_id)) {
        struct list_transactions_response_transaction_state *item =
            add_item(list->response, list->arena);
        *item = *from;
        item->transactional_id = arena_dup(list->arena, from->transactional_id);
    }
    return true;
}
