/* Full and incremental fetches, as Kafka tells them apart by session epoch: 0 starts a session
 * (full request), -1 ends it, a positive epoch goes on with it: partitions named are added or
 * changed, forgotten ones dropped, all the others are as before. A session that has nothing left is
 * closed.
 *
 * An incremental answer names a partition when it has records, an error, a diverging epoch, or a
 * high watermark or log start that the client has not been told. */
#include "api/fetch_plan.h"

#include "api/context.h"
#include "api/named.h"
#include "api/request.h"
#include "base/mem.h"
#include "wire_fetch.h"

enum { EPOCH_INITIAL = 0, EPOCH_FINAL = -1 };

static bool is_by_id(const struct request *request)
{
    return request->version >= 13;
}

static struct fetch_partition from_wire(const struct request *request,
                                        const struct fetch_request_fetch_topic *topic,
                                        const struct fetch_request_fetch_partition *from)
{
    struct fetch_partition partition = {
        .index = from->partition,
        .offset = from->fetch_offset,
        .current_epoch = from->current_leader_epoch < 0 ? -1 : from->current_leader_epoch,
        .last_fetched_epoch = from->last_fetched_epoch,
        .size_max = from->partition_max_bytes,
        .told_watermark = -1,
        .told_log_start = -1,
    };
    if (is_by_id(request))
        partition.topic_id = topic->topic_id;
    else
        partition.topic = topic->topic;
    return partition;
}

/* Of a partition named again counts what was said last. */
static void drop_repeated(struct request *request, const struct fetch_request *body)
{
    struct named named;
    named_init(&named, &request->arena);
    for (int32_t t = body->topics_count - 1; t >= 0; t--) {
        struct fetch_request_fetch_topic *topic = &body->topics[t];
        struct slice name = is_by_id(request) ? SLICE_NULL : topic->topic;
        int32_t kept = topic->partitions_count;
        for (int32_t i = topic->partitions_count - 1; i >= 0; i--) {
            int32_t index = topic->partitions[i].partition;
            if (!(*named_count(&named, name, &topic->topic_id, index))++)
                topic->partitions[--kept] = topic->partitions[i];
        }
        if (kept) /* an empty array is NULL */
            topic->partitions += kept;
        topic->partitions_count -= kept;
    }
    named_fini(&named);
}

static void plan_own(struct request *request, struct fetch_plan *plan)
{
    const struct fetch_request *body = request->body;
    if (body->topics_count > 1 || (body->topics_count && body->topics[0].partitions_count > 1))
        drop_repeated(request, body);
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct fetch_request_fetch_topic *topic = &body->topics[t];
        struct fetch_partition *items = arena_array(
            &request->arena, (size_t)topic->partitions_count, sizeof(struct fetch_partition));
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            items[i] = from_wire(request, topic, &topic->partitions[i]);
            list_push_back(&plan->own, &items[i].link);
        }
    }
    plan->partitions = &plan->own;
}

static void update_session(struct request *request, struct fetch_session *session)
{
    const struct fetch_request *body = request->body;
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct fetch_request_fetch_topic *topic = &body->topics[t];
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            struct fetch_partition from = from_wire(request, topic, &topic->partitions[i]);
            struct fetch_partition *to = fetch_session_put(session, &from);
            to->offset = from.offset;
            to->current_epoch = from.current_epoch;
            to->last_fetched_epoch = from.last_fetched_epoch;
            to->size_max = from.size_max;
        }
    }
    for (int32_t t = 0; t < body->forgotten_topics_data_count; t++) {
        const struct fetch_request_forgotten_topic *topic = &body->forgotten_topics_data[t];
        struct slice name = is_by_id(request) ? SLICE_NULL : topic->topic;
        for (int32_t i = 0; i < topic->partitions_count; i++)
            fetch_session_drop(session, name, &topic->topic_id, topic->partitions[i]);
    }
}

static enum err plan_session(struct request *request, struct fetch_session_waiter *waiter,
                             struct fetch_plan *plan)
{
    const struct fetch_request *body = request->body;
    struct fetch_sessions *sessions = request->context->sessions;
    enum err err = fetch_sessions_use(sessions, body->session_id, body->session_epoch,
                                      is_by_id(request), waiter, &plan->session);
    if (err)
        return err;
    update_session(request, plan->session);
    plan->partitions = &plan->session->partitions;
    plan->incremental = true;
    if (list_empty(plan->partitions)) {
        fetch_sessions_remove(sessions, body->session_id);
        fetch_session_end(sessions, plan->session);
        plan->session = NULL;
        plan->partitions = &plan->own;
        plan->incremental = false;
    }
    return ERR_NONE;
}

/* The partitions themselves; those of a session stay known from request to request. */
static void resolve(struct request *request, struct fetch_plan *plan)
{
    struct partition_table *table = request->context->partitions;
    plan->count = 0;
    LIST_FOREACH(node, plan->partitions)
    {
        struct fetch_partition *item = LIST_ITEM(node, struct fetch_partition, link);
        plan->count++;
        if (item->partition && !atomic_load(&item->partition->gone))
            continue;
        partition_unref(item->partition);
        item->partition = item->topic.data
                              ? partition_table_get(table, item->topic, item->index)
                              : partition_table_get_id(table, &item->topic_id, item->index);
    }
}

enum err fetch_plan_begin(struct request *request, struct fetch_session_waiter *waiter,
                          struct fetch_plan *ret_plan)
{
    const struct fetch_request *body = request->body;
    struct fetch_plan *plan = ret_plan;
    *plan = (struct fetch_plan){0};
    list_init(&plan->own);
    plan->partitions = &plan->own;
    if (body->session_epoch == EPOCH_INITIAL || body->session_epoch == EPOCH_FINAL) {
        if (body->session_id)
            fetch_sessions_remove(request->context->sessions, body->session_id);
        plan->wants_session = body->session_epoch == EPOCH_INITIAL && request->version >= 7;
        plan_own(request, plan);
    } else {
        enum err err = plan_session(request, waiter, plan);
        if (err)
            return err;
    }
    resolve(request, plan);
    struct fetch_result *results =
        arena_array(&request->arena, (size_t)plan->count, sizeof *results);
    LIST_FOREACH(node, plan->partitions)
    LIST_ITEM(node, struct fetch_partition, link)->result = results++;
    return ERR_NONE;
}

bool fetch_plan_has_news(const struct fetch_plan *plan, struct fetch_partition *partition)
{
    const struct fetch_result *result = partition->result;
    bool news = !plan->incremental || result->err || result->read.read.range.size > 0 ||
                result->read.diverging_epoch >= 0 ||
                partition->told_watermark != result->read.high_watermark ||
                partition->told_log_start != result->read.log_start;
    /* After an error the next success is news in any case. */
    partition->told_watermark = result->err ? -1 : result->read.high_watermark;
    partition->told_log_start = result->err ? -1 : result->read.log_start;
    return news;
}

int32_t fetch_plan_keep(struct request *request, struct fetch_plan *plan)
{
    if (plan->session)
        return plan->session->id;
    if (!plan->wants_session || !plan->count)
        return 0;
    struct fetch_sessions *sessions = request->context->sessions;
    struct fetch_session *session = fetch_sessions_create(sessions, is_by_id(request));
    if (!session)
        return 0;
    LIST_FOREACH(node, plan->partitions)
    {
        struct fetch_partition *from = LIST_ITEM(node, struct fetch_partition, link);
        struct fetch_partition *to = fetch_session_put(session, from);
        to->offset = from->offset;
        to->current_epoch = from->current_epoch;
        to->last_fetched_epoch = from->last_fetched_epoch;
        to->size_max = from->size_max;
        to->told_watermark = from->told_watermark;
        to->told_log_start = from->told_log_start;
        if (from->partition && !to->partition)
            to->partition = partition_ref(from->partition);
    }
    int32_t id = session->id;
    fetch_session_end(sessions, session);
    return id;
}

void fetch_plan_end(struct request *request, struct fetch_plan *plan)
{
    LIST_FOREACH(node, &plan->own)
    {
        struct fetch_partition *item = LIST_ITEM(node, struct fetch_partition, link);
        partition_unref(item->partition);
        item->partition = NULL;
    }
    if (plan->session)
        fetch_session_end(request->context->sessions, plan->session);
    plan->session = NULL;
}
