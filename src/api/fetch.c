/* Fetch: read what is there, or park until enough is.
 *
 * Walk: plan (session or own partitions) -> read every partition once, each bounded by the high
 * watermark or, for read_committed, the last stable offset -> reply when there is enough, an error,
 * or nothing to wait for; else give the ranges and the frame back, watch every partition from where
 * it was seen to stand, and park until fetch.max.wait. What ends the wait is followed by a second
 * read, whose outcome is the answer whatever it is, as in Kafka. Record bytes stay in their files:
 * a reply carries ranges, each pinning its segment until sent.
 *
 * The first partition with records always gives at least one whole batch, however small the limits
 * (KIP-74). Versions below 10 get zstd like any other bytes: 4.x no longer refuses it to them. */
#include "api/context.h"
#include "api/endpoints.h"
#include "api/families.h"
#include "api/fetch_plan.h"
#include "api/held.h"
#include "api/request.h"
#include "base/mem.h"
#include "conf/config.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "store/log_dirs.h"
#include "wire/api.h"
#include "wire_fetch.h"

enum { READ_UNCOMMITTED = 0, READ_COMMITTED = 1 };

/* The size of a frame has 31 bits, and there is more in it than records. */
#define RECORDS_SIZE_MAX (INT32_MAX - (64 << 20))

struct fetch {
    struct parked parked;
    struct fetch_session_waiter waiter;
    struct request *request;
    const struct fetch_request *body;
    struct fetch_plan plan;
    enum partition_bound bound;
    int64_t size_max, size_min;
    int64_t size; /* read so far */
    int32_t known_count;
    bool must_answer; /* an error or a diverging epoch ends the wait */
    bool hints_leader;
};

/* ---- reading ---- */

static void read_one(struct fetch *fetch, struct fetch_partition *item)
{
    struct fetch_result *result = item->result;
    *result = (struct fetch_result){0};
    if (!item->partition) {
        result->err = held_find(fetch->request->context, item->topic, &item->topic_id, item->index,
                                &item->partition);
        result->is_unknown = result->err && result->err != ERR_NOT_LEADER_OR_FOLLOWER;
    }
    if (result->err) {
        fetch->must_answer |= !result->is_unknown;
        return;
    }
    fetch->known_count++;
    int64_t left = fetch->size_max - fetch->size;
    int64_t size_max = item->size_max < left ? item->size_max : left;
    result->read = (struct partition_read){
        .offset = item->offset,
        .current_epoch = item->current_epoch,
        .last_fetched_epoch = item->last_fetched_epoch,
        .size_max = size_max > 0 ? (size_t)size_max : 0,
        .whole_first = fetch->size == 0,
        .bound = fetch->bound,
        .arena = &fetch->request->arena,
    };
    /* Each range holds a file open until it is sent. With few descriptors an answer does with the
     * first ones, and the partitions behind come with the next fetch. */
    bool can_wait = fetch->size > 0;
    if (can_wait && log_dirs_files_short(fetch->request->context->log_dirs))
        result->read.size_max = 0;
    result->err = partition_read(item->partition, &result->read);
    if (can_wait && result->err == ERR_TOO_MANY_FILES)
        result->err = ERR_NONE;
    if (fetch->bound == PARTITION_TO_LEO &&
        (!result->err || result->err == ERR_OFFSET_OUT_OF_RANGE)) {
        /* No partition has a follower as yet: who says that it is one is not known here. One that
         * names the leader's epoch may have been added just now, and is told to come again. */
        log_range_release(&result->read.read.range);
        result->read.read.range = (struct log_range){0};
        result->err =
            item->current_epoch >= 0 ? ERR_UNKNOWN_LEADER_EPOCH : ERR_NOT_LEADER_OR_FOLLOWER;
    }
    fetch->size += (int64_t)result->read.read.range.size;
    fetch->must_answer |= result->err || result->read.diverging_epoch >= 0;
}

static void read_all(struct fetch *fetch)
{
    fetch->size = 0;
    fetch->must_answer = false;
    fetch->known_count = 0;
    LIST_FOREACH(node, fetch->plan.partitions)
    read_one(fetch, LIST_ITEM(node, struct fetch_partition, link));
}

static void drop_ranges(struct fetch *fetch)
{
    LIST_FOREACH(node, fetch->plan.partitions)
    {
        struct fetch_result *result = LIST_ITEM(node, struct fetch_partition, link)->result;
        log_range_release(&result->read.read.range);
        result->read.read.range = (struct log_range){0};
    }
}

/* ---- answering ---- */

static void release_range(void *owner)
{
    log_range_release(owner);
    mem_free(owner);
}

/* The range goes over to the reply. */
static void attach_range(struct fetch *fetch, struct log_range *range,
                         struct fetch_response_partition_data *to)
{
    struct log_range *owned = mem_alloc(sizeof *owned);
    *owned = *range;
    *range = (struct log_range){0};
    struct outq_item *item = arena_alloc(&fetch->request->arena, sizeof *item);
    *item = outq_file((struct outq_range){owned->fd, owned->position, owned->size}, release_range,
                      owned);
    to->records.ext = request_attach(fetch->request, item, 1);
    to->records.ext_size = owned->size;
}

static void add_aborted(struct fetch *fetch, const struct partition_read *read,
                        struct fetch_response_partition_data *to)
{
    if (fetch->body->isolation_level != READ_COMMITTED) {
        to->aborted_transactions_count = -1;
        return;
    }
    struct fetch_response_aborted_transaction *items =
        fetch_response_partition_data_aborted_transactions_new(&fetch->request->arena, to,
                                                               read->aborted_count);
    for (int32_t i = 0; i < read->aborted_count; i++) {
        items[i].producer_id = read->aborted[i].producer_id;
        items[i].first_offset = read->aborted[i].offset_first;
    }
}

static void answer_error(struct fetch *fetch, const struct fetch_result *result,
                         struct fetch_response_partition_data *to)
{
    to->error_code = err_to_wire(result->err);
    to->high_watermark = to->last_stable_offset = to->log_start_offset = -1;
    if (!result->is_unknown)
        to->aborted_transactions_count = -1;
    if (fetch->request->version >= 16 &&
        (result->err == ERR_NOT_LEADER_OR_FOLLOWER || result->err == ERR_FENCED_LEADER_EPOCH)) {
        to->current_leader.leader_id = result->read.leader_id;
        to->current_leader.leader_epoch = result->read.leader_epoch;
        fetch->hints_leader = fetch->bound != PARTITION_TO_LEO; /* a follower knows the address */
    }
}

static void answer_one(struct fetch *fetch, struct fetch_partition *item,
                       struct fetch_response_partition_data *to)
{
    struct fetch_result *result = item->result;
    struct partition_read *read = &result->read;
    to->partition_index = item->index;
    to->records.bytes = slice_str("");
    if (result->err) {
        answer_error(fetch, result, to);
        return;
    }
    to->high_watermark = read->high_watermark;
    to->last_stable_offset = read->last_stable;
    to->log_start_offset = read->log_start;
    to->diverging_epoch.epoch = read->diverging_epoch;
    to->diverging_epoch.end_offset = read->diverging_end;
    add_aborted(fetch, read, to);
    if (read->read.range.size)
        attach_range(fetch, &read->read.range, to);
}

static bool same_topic(const struct fetch_partition *a, const struct fetch_partition *b)
{
    return a->topic.data ? slice_eq(a->topic, b->topic) : uuid_eq(&a->topic_id, &b->topic_id);
}

/* Neighbours of one topic share an entry. */
static void answer_all(struct fetch *fetch, struct fetch_response *response)
{
    struct arena *arena = &fetch->request->arena;
    int32_t count = fetch->plan.count, topic_count = 0;
    struct fetch_response_fetchable_topic_response *topics =
        fetch_response_responses_new(arena, response, count);
    /* One array for all partitions: topics take consecutive parts of it. */
    struct fetch_response_fetchable_topic_response all;
    struct fetch_response_partition_data *next =
        fetch_response_fetchable_topic_response_partitions_new(arena, &all, count);
    const struct fetch_partition *before = NULL;
    struct list rotated;
    list_init(&rotated);
    LIST_FOREACH(node, fetch->plan.partitions)
    {
        struct fetch_partition *item = LIST_ITEM(node, struct fetch_partition, link);
        bool has_records = item->result->read.read.range.size > 0;
        if (!fetch_plan_has_news(&fetch->plan, item))
            continue;
        if (!before || !same_topic(before, item)) {
            topics[topic_count].topic = item->topic;
            topics[topic_count].topic_id = item->topic_id;
            topics[topic_count].partitions = next;
            topics[topic_count++].partitions_count = 0;
        }
        before = item;
        answer_one(fetch, item, next++);
        topics[topic_count - 1].partitions_count++;
        if (fetch->plan.session && has_records) {
            list_remove(&item->link);
            list_push_back(&rotated, &item->link);
        }
    }
    /* Served ones go last, so that the tail of a long session does not starve. */
    list_move_all(fetch->plan.partitions, &rotated);
    response->responses_count = topic_count;
}

static void add_endpoints(struct fetch *fetch, struct meta_image *image,
                          struct fetch_response *response)
{
    const struct endpoint *from;
    int32_t count = endpoints_all(fetch->request, image, false, &from);
    struct fetch_response_node_endpoint *items =
        fetch_response_node_endpoints_new(&fetch->request->arena, response, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].node_id = from[i].node_id;
        items[i].host = from[i].host;
        items[i].port = from[i].port;
        items[i].rack = from[i].rack;
    }
}

static void finish(struct fetch *fetch)
{
    struct request *request = fetch->request;
    struct fetch_response *response = request_response(request);
    answer_all(fetch, response);
    response->session_id = fetch_plan_keep(request, &fetch->plan);
    struct meta_image *image = NULL;
    if (fetch->hints_leader) {
        image = quorum_image(request->context->quorum);
        add_endpoints(fetch, image, response);
    }
    /* What was read and not sent (no news, or an error came on top) is given back. */
    drop_ranges(fetch);
    /* request_reply encodes here and now, then frees the request's arena: what the plan holds there
     * is given back first, while names in the reply, which lie in the session, are kept until after
     * by ending the session last. */
    struct fetch_sessions *sessions = request->context->sessions;
    struct fetch_session *session = fetch->plan.session;
    fetch->plan.session = NULL;
    fetch_plan_end(request, &fetch->plan);
    request_reply(request, response);
    if (session)
        fetch_session_end(sessions, session);
    meta_image_unref(image);
}

/* ---- waiting ---- */

static enum watch_class watch_class_of(const struct fetch *fetch)
{
    switch (fetch->bound) {
    case PARTITION_TO_HW: return WATCH_HW;
    case PARTITION_TO_LSO: return WATCH_LSO;
    case PARTITION_TO_LEO: return WATCH_LEO;
    }
    return WATCH_HW;
}

static void resume(struct parked *parked)
{
    struct fetch *fetch = LIST_ITEM(parked, struct fetch, parked);
    if (fetch->plan.session)
        fetch_session_hold(fetch->plan.session, NULL);
    LIST_FOREACH(node, fetch->plan.partitions)
    {
        struct fetch_partition *item = LIST_ITEM(node, struct fetch_partition, link);
        if (item->watched)
            partition_unwatch(item->partition, &item->watch);
        item->watched = false;
    }
    read_all(fetch);
    finish(fetch);
}

static void cancel(struct request *request)
{
    struct fetch *fetch = request->parked;
    parked_cancel(&fetch->parked);
}

static bool watch_one(struct fetch *fetch, struct fetch_partition *item)
{
    const struct partition_read *read = &item->result->read;
    int64_t seen = fetch->bound == PARTITION_TO_HW    ? read->high_watermark
                   : fetch->bound == PARTITION_TO_LSO ? read->last_stable
                                                      : read->log_end;
    item->watch = (struct watch){.parked = &fetch->parked, .offset = WATCH_BYTES};
    list_init(&item->watch.link);
    item->watched = partition_watch(item->partition, watch_class_of(fetch), &item->watch, seen,
                                    read->leader_epoch);
    return item->watched;
}

/* Names of a fetch without session are views into the frame, which goes back to the net now. */
static void keep_names(struct fetch *fetch)
{
    LIST_FOREACH(node, &fetch->plan.own)
    {
        struct fetch_partition *item = LIST_ITEM(node, struct fetch_partition, link);
        item->topic = arena_dup(&fetch->request->arena, item->topic);
    }
    request_free_frame(fetch->request);
}

static void park(struct fetch *fetch)
{
    struct request *request = fetch->request;
    drop_ranges(fetch);
    keep_names(fetch);
    request_charge(request);
    request->parked = fetch;
    request->cancel = request->peer_closed = cancel; /* who still listens is answered early */
    parked_init(&fetch->parked, request->loop, fetch->size_min - fetch->size, resume);
    bool moved = false;
    LIST_FOREACH(node, fetch->plan.partitions)
    {
        struct fetch_partition *item = LIST_ITEM(node, struct fetch_partition, link);
        if (item->partition && !watch_one(fetch, item))
            moved = true;
    }
    if (moved)
        parked_wake(&fetch->parked);
    if (fetch->plan.session)
        fetch_session_hold(fetch->plan.session, &fetch->parked);
    parked_arm(&fetch->parked, request->received_ns + (int64_t)fetch->body->max_wait_ms * 1000000);
}

static void refuse(struct request *request, enum err err)
{
    struct fetch_response *response = request_response(request);
    response->error_code = err_to_wire(err);
    request_reply(request, response);
}

/* An isolation level that does not exist fails the request once there is something to read; before
 * topic ids it is said at each partition. */
static void refuse_isolation(struct fetch *fetch)
{
    struct request *request = fetch->request;
    drop_ranges(fetch);
    fetch_plan_end(request, &fetch->plan);
    const struct fetch_request *body = request->body;
    struct fetch_response *response = request_response(request);
    enum err err = ERR_UNKNOWN_SERVER_ERROR;
    response->error_code = err_to_wire(err);
    response->session_id = body->session_id;
    int32_t count = request->version < 13 ? body->topics_count : 0;
    struct fetch_response_fetchable_topic_response *topics =
        fetch_response_responses_new(&request->arena, response, count);
    for (int32_t t = 0; t < count; t++) {
        topics[t].topic = body->topics[t].topic;
        struct fetch_response_partition_data *items =
            fetch_response_fetchable_topic_response_partitions_new(
                &request->arena, &topics[t], body->topics[t].partitions_count);
        for (int32_t i = 0; i < topics[t].partitions_count; i++) {
            items[i].partition_index = body->topics[t].partitions[i].partition;
            items[i].error_code = err_to_wire(err);
            items[i].high_watermark = -1;
            items[i].records.bytes = slice_str("");
        }
    }
    request_reply(request, response);
}

/* ---- waiting for the session ---- */

static void begin(struct request *request);

static void session_ready(struct fetch_session_waiter *waiter)
{
    request_post(LIST_ITEM(waiter, struct fetch, waiter)->request, begin);
}

static void wait_no_more(struct request *request)
{
    struct fetch *fetch = request->parked;
    if (fetch_sessions_leave(request->context->sessions, &fetch->waiter))
        refuse(request, ERR_INVALID_FETCH_SESSION_EPOCH);
}

static int32_t replica_id(const struct request *request)
{
    const struct fetch_request *body = request->body;
    return request->version >= 15 ? body->replica_state.replica_id : body->replica_id;
}

static void begin(struct request *request)
{
    struct fetch *fetch = request->parked;
    request->cancel = request->peer_closed = NULL;
    enum err err = fetch_plan_begin(request, &fetch->waiter, &fetch->plan);
    if (err == ERR_AGAIN) {
        request->cancel = request->peer_closed = wait_no_more;
        return;
    }
    if (err) {
        refuse(request, err);
        return;
    }
    fetch->bound = replica_id(request) >= 0                         ? PARTITION_TO_LEO
                   : fetch->body->isolation_level == READ_COMMITTED ? PARTITION_TO_LSO
                                                                    : PARTITION_TO_HW;
    int64_t limit = config_int(request->context->config, BROKER_KEY_FETCH_MAX_BYTES);
    if (limit > RECORDS_SIZE_MAX)
        limit = RECORDS_SIZE_MAX;
    fetch->size_max = fetch->body->max_bytes < limit ? fetch->body->max_bytes : limit;
    fetch->size_min =
        fetch->body->min_bytes < fetch->size_max ? fetch->body->min_bytes : fetch->size_max;
    read_all(fetch);
    int8_t isolation = fetch->body->isolation_level;
    if (isolation != READ_UNCOMMITTED && isolation != READ_COMMITTED && fetch->known_count)
        refuse_isolation(fetch);
    else if (fetch->body->max_wait_ms <= 0 || !fetch->known_count ||
             fetch->size >= fetch->size_min || fetch->must_answer)
        finish(fetch);
    else
        park(fetch);
}

static void handle(struct request *request)
{
    struct fetch *fetch = arena_alloc(&request->arena, sizeof *fetch);
    fetch->request = request;
    fetch->body = request->body;
    fetch->waiter.ready = session_ready;
    list_init(&fetch->waiter.link);
    request->parked = fetch;
    begin(request);
}

API_FAMILY(api_fetch, {WIRE_API_FETCH, API_BROKER, handle});
