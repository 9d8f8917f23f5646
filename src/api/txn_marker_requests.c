/* WriteTxnMarkers: the coordinator of another node, or an operator who ends a hanging transaction,
 * has markers written to partitions that this node leads. Answered when all are replicated.
 *
 * The markers are written in turn on the connection's loop; each tells when it is done, from any
 * thread, and the last one answers. Results stand under the id of their producer, once for each. */
#include "api/context.h"
#include "api/families.h"
#include "api/held.h"
#include "api/request.h"
#include "api/txn_markers.h"
#include "base/map.h"
#include "record/batch.h"
#include "wire/api.h"
#include "wire_write_txn_markers.h"

struct marker_request {
    struct request *request;
    struct marker_write *writes; /* one for each marker of the request */
    atomic_int pending;
};

struct marker_write {
    struct txn_markers markers;
    struct marker_request *owner;
    struct write_txn_markers_response_writable_txn_marker_result *result;
};

/* ---- the answer ---- */

static void add_topic(struct request *request, struct marker_write *write,
                      const struct write_txn_markers_request_writable_txn_marker_topic *from,
                      const struct txn_markers_item *items)
{
    struct write_txn_markers_response_writable_txn_marker_topic_result *to =
        &write->result->topics[write->result->topics_count++];
    to->name = from->name;
    struct write_txn_markers_response_writable_txn_marker_partition_result *partitions =
        write_txn_markers_response_writable_txn_marker_topic_result_partitions_new(
            &request->arena, to, from->partition_indexes_count);
    for (int32_t i = 0; i < from->partition_indexes_count; i++) {
        partitions[i].partition_index = items[i].index;
        partitions[i].error_code = err_to_wire(items[i].err);
    }
}

/* Places for the results: of markers that name a partition, one for each producer. */
static void make_results(struct marker_request *state, struct write_txn_markers_response *response)
{
    struct request *request = state->request;
    const struct write_txn_markers_request *body = request->body;
    struct write_txn_markers_response_writable_txn_marker_result *results =
        write_txn_markers_response_markers_new(&request->arena, response, body->markers_count);
    struct map known;
    map_init(&known);
    response->markers_count = 0;
    for (int32_t m = 0; m < body->markers_count; m++) {
        struct slice key = MAP_KEY(body->markers[m].producer_id);
        struct write_txn_markers_response_writable_txn_marker_result *result = map_get(&known, key);
        if (!state->writes[m].markers.count)
            continue;
        if (!result) {
            result = &results[response->markers_count++];
            result->producer_id = body->markers[m].producer_id;
            map_put(&known, key, result);
        }
        result->topics_count += body->markers[m].topics_count;
        state->writes[m].result = result;
    }
    map_fini(&known);
    for (int32_t i = 0; i < response->markers_count; i++) {
        write_txn_markers_response_writable_txn_marker_result_topics_new(
            &request->arena, &results[i], results[i].topics_count);
        results[i].topics_count = 0;
    }
}

static void answer(struct marker_request *state)
{
    struct request *request = state->request;
    const struct write_txn_markers_request *body = request->body;
    struct write_txn_markers_response *response = request_response(request);
    make_results(state, response);
    for (int32_t m = 0; m < body->markers_count; m++) {
        const struct txn_markers_item *items = state->writes[m].markers.items;
        for (int32_t t = 0; state->writes[m].result && t < body->markers[m].topics_count; t++) {
            add_topic(request, &state->writes[m], &body->markers[m].topics[t], items);
            items += body->markers[m].topics[t].partition_indexes_count;
        }
    }
    request_reply(request, response);
}

/* ---- writing ---- */

static void finish_one(struct marker_request *state)
{
    if (atomic_fetch_sub(&state->pending, 1) == 1)
        answer(state);
}

static void written(struct txn_markers *markers)
{
    finish_one(LIST_ITEM(markers, struct marker_write, markers)->owner);
}

static void prepare(struct request *request,
                    const struct write_txn_markers_request_writable_txn_marker *from,
                    struct txn_markers *to)
{
    size_t count = 0;
    for (int32_t t = 0; t < from->topics_count; t++)
        count += (size_t)from->topics[t].partition_indexes_count;
    *to = (struct txn_markers){
        .context = request->context,
        .loop = request->loop,
        .marker = {.producer_id = from->producer_id,
                   .producer_epoch = from->producer_epoch,
                   .coordinator_epoch = from->coordinator_epoch,
                   .is_commit = from->transaction_result},
        .transaction_version = from->transaction_version,
        .items = arena_array(&request->arena, count, sizeof *to->items),
        .waits = arena_array(&request->arena, count, sizeof *to->waits),
        .done = written,
    };
    for (int32_t t = 0; t < from->topics_count; t++) {
        for (int32_t i = 0; i < from->topics[t].partition_indexes_count; i++) {
            to->items[to->count].topic = from->topics[t].name;
            to->items[to->count++].index = from->topics[t].partition_indexes[i];
        }
    }
}

/* A batch of nobody is not a marker: no log may get one. */
static bool names_producers(const struct write_txn_markers_request *body)
{
    for (int32_t m = 0; m < body->markers_count; m++) {
        if (body->markers[m].producer_id == BATCH_NO_PRODUCER_ID ||
            body->markers[m].producer_epoch == BATCH_NO_PRODUCER_EPOCH)
            return false;
    }
    return true;
}

static enum err find(const struct txn_markers *markers, const struct txn_markers_item *item)
{
    struct partition *partition;
    enum err err = held_find(markers->context, item->topic, NULL, item->index, &partition);
    if (!err)
        partition_unref(partition);
    return err;
}

/* Kafka fails when it would write such a marker, which answers all of the request; where there is
 * no partition to write to it says just that. */
static void refuse(struct marker_request *state, int32_t count)
{
    bool fails = false;
    for (int32_t m = 0; m < count; m++) {
        struct txn_markers *markers = &state->writes[m].markers;
        for (int32_t i = 0; i < markers->count; i++) {
            markers->items[i].err = find(markers, &markers->items[i]);
            fails = fails || !markers->items[i].err;
        }
    }
    for (int32_t m = 0; m < count; m++) {
        struct txn_markers *markers = &state->writes[m].markers;
        for (int32_t i = 0; fails && i < markers->count; i++)
            markers->items[i].err = ERR_UNKNOWN_SERVER_ERROR;
        written(markers);
    }
}

static void write_txn_markers(struct request *request)
{
    const struct write_txn_markers_request *body = request->body;
    struct marker_request *state = arena_alloc(&request->arena, sizeof *state);
    state->request = request;
    state->writes =
        arena_array(&request->arena, (size_t)body->markers_count, sizeof *state->writes);
    atomic_init(&state->pending, body->markers_count + 1);
    for (int32_t m = 0; m < body->markers_count; m++) {
        state->writes[m].owner = state;
        prepare(request, &body->markers[m], &state->writes[m].markers);
    }
    if (!names_producers(body))
        refuse(state, body->markers_count);
    else
        for (int32_t m = 0; m < body->markers_count; m++)
            txn_markers_write(&state->writes[m].markers);
    finish_one(state);
}

API_FAMILY(api_txn_marker_requests, {WIRE_API_WRITE_TXN_MARKERS, API_BROKER, write_txn_markers});
