/* DescribeTopicPartitions (KIP-966): topics in pages, in the order of their names, with the
 * replicas that may be elected although they left the ISR.
 *
 * A page ends after the asked number of partitions (max.request.partition.size.limit at most); the
 * cursor returned names the next partition. A cursor that comes in skips all topics before its own.
 * No names: all topics; one that disappeared meanwhile is then no error. */
#include "api/context.h"
#include "api/families.h"
#include "api/operations.h"
#include "api/request.h"
#include "conf/config.h"
#include "meta/image.h"
#include "meta/topic_name.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_describe_topic_partitions.h"

#include <stdlib.h>

struct page {
    struct request *request;
    const struct meta_image *image;
    struct describe_topic_partitions_response *response;
    int32_t room; /* partitions that fit yet */
};

static bool is_alive(const struct page *page, int32_t broker_id)
{
    const struct meta_broker *broker = meta_image_broker(page->image, broker_id);
    return broker && !broker->fenced;
}

static void copy_ids(int32_t *to, const int32_t *from, int32_t count)
{
    if (count > 0)
        memcpy(to, from, (size_t)count * sizeof *to);
}

static void add_partition(
    struct page *page, int32_t index, const struct meta_partition *from,
    struct describe_topic_partitions_response_describe_topic_partitions_response_partition *to)
{
    struct arena *arena = &page->request->arena;
    to->partition_index = index;
    to->leader_id = is_alive(page, from->leader) ? from->leader : META_NO_LEADER;
    to->leader_epoch = from->leader_epoch;
    to->replica_nodes = arena_array(arena, (size_t)from->replica_count, sizeof(int32_t));
    to->replica_nodes_count = from->replica_count;
    copy_ids(to->replica_nodes, from->replicas, from->replica_count);
    to->isr_nodes = arena_array(arena, (size_t)from->isr_count, sizeof(int32_t));
    to->isr_nodes_count = from->isr_count;
    copy_ids(to->isr_nodes, from->isr, from->isr_count);
    to->eligible_leader_replicas = arena_array(arena, (size_t)from->elr_count, sizeof(int32_t));
    to->eligible_leader_replicas_count = from->elr_count;
    copy_ids(to->eligible_leader_replicas, from->elr, from->elr_count);
    to->last_known_elr = arena_array(arena, (size_t)from->last_elr_count, sizeof(int32_t));
    to->last_known_elr_count = from->last_elr_count;
    copy_ids(to->last_known_elr, from->last_elr, from->last_elr_count);
    to->offline_replicas = arena_array(arena, (size_t)from->replica_count, sizeof(int32_t));
    for (int32_t i = 0; i < from->replica_count; i++) {
        if (meta_image_replica_is_offline(page->image, from, from->replicas[i]))
            to->offline_replicas[to->offline_replicas_count++] = from->replicas[i];
    }
}

static void set_next(struct page *page, struct slice topic, int32_t index)
{
    struct describe_topic_partitions_response_cursor *cursor =
        arena_alloc(&page->request->arena, sizeof *cursor);
    cursor->topic_name = topic;
    cursor->partition_index = index;
    page->response->next_cursor = cursor;
}

/* From partition `first` on, as many as there is room for. */
static void add_topic(
    struct page *page, const struct meta_topic *from, int32_t first,
    struct describe_topic_partitions_response_describe_topic_partitions_response_topic *to)
{
    to->name = from->name;
    to->topic_id = from->id;
    to->is_internal = topic_name_is_internal(from->name);
    to->topic_authorized_operations = OPERATIONS_OF_TOPIC;
    int32_t end = from->partition_count;
    if (first > end)
        first = end;
    if (end - first > page->room)
        end = first + page->room;
    struct describe_topic_partitions_response_describe_topic_partitions_response_partition *items =
        describe_topic_partitions_response_describe_topic_partitions_response_topic_partitions_new(
            &page->request->arena, to, end - first);
    int32_t count = 0;
    for (int32_t i = first; i < end; i++) {
        const struct meta_partition *partition = meta_topic_partition(from, i);
        if (partition)
            add_partition(page, i, partition, &items[count++]);
    }
    to->partitions_count = count;
    page->room -= end - first;
    if (end < from->partition_count)
        set_next(page, from->name, end);
}

static void add_unknown(
    struct page *page, struct slice name,
    struct describe_topic_partitions_response_describe_topic_partitions_response_topic *to)
{
    struct slice text;
    enum err err = topic_name_check(name, &page->request->arena, &text);
    to->error_code = err_to_wire(err ? err : ERR_UNKNOWN_TOPIC_OR_PARTITION);
    to->name = name;
    to->is_internal = topic_name_is_internal(name);
    to->topic_authorized_operations = OPERATIONS_OF_TOPIC;
}

static int compare_names(const void *a, const void *b)
{
    return slice_cmp(*(const struct slice *)a, *(const struct slice *)b);
}

/* The names to answer, sorted, each once, from the cursor's on. */
static struct slice *wanted_names(const struct page *page, int32_t *ret_count)
{
    const struct describe_topic_partitions_request *body = page->request->body;
    struct slice from = body->cursor ? body->cursor->topic_name : SLICE_NULL;
    struct arena *arena = &page->request->arena;
    int32_t count = 0;
    struct slice *names;
    if (body->topics_count == 0) {
        /* One more than a page holds shows whether there is a next one. */
        names = arena_array(arena, (size_t)page->room + 1, sizeof *names);
        const struct meta_topic *topic = meta_image_topic_seek(page->image, from, false);
        for (; topic && count <= page->room;
             topic = meta_image_topic_seek(page->image, topic->name, true))
            names[count++] = topic->name;
        *ret_count = count;
        return names;
    }
    names = arena_array(arena, (size_t)body->topics_count, sizeof *names);
    for (int32_t i = 0; i < body->topics_count; i++) {
        if (slice_cmp(body->topics[i].name, from) >= 0)
            names[count++] = body->topics[i].name;
    }
    qsort(names, (size_t)count, sizeof *names, compare_names);
    int32_t kept = 0;
    for (int32_t i = 0; i < count; i++) {
        if (i == 0 || !slice_eq(names[i], names[kept - 1]))
            names[kept++] = names[i];
    }
    *ret_count = kept;
    return names;
}

static void fill_page(struct page *page)
{
    const struct describe_topic_partitions_request *body = page->request->body;
    int32_t count;
    struct slice *names = wanted_names(page, &count);
    struct describe_topic_partitions_response_describe_topic_partitions_response_topic *items =
        describe_topic_partitions_response_topics_new(&page->request->arena, page->response, count);
    int32_t filled = 0;
    for (int32_t i = 0; i < count && !page->response->next_cursor; i++) {
        if (page->room == 0) {
            set_next(page, names[i], 0);
            break;
        }
        bool is_cursor = body->cursor && slice_eq(body->cursor->topic_name, names[i]);
        const struct meta_topic *topic = meta_image_topic(page->image, names[i]);
        if (topic)
            add_topic(page, topic, is_cursor ? body->cursor->partition_index : 0, &items[filled++]);
        else
            add_unknown(page, names[i], &items[filled++]);
    }
    page->response->topics_count = filled;
}

static void refuse(struct request *request, struct describe_topic_partitions_response *response)
{
    const struct describe_topic_partitions_request *body = request->body;
    struct describe_topic_partitions_response_describe_topic_partitions_response_topic *items =
        describe_topic_partitions_response_topics_new(&request->arena, response,
                                                      body->topics_count);
    for (int32_t i = 0; i < body->topics_count; i++) {
        items[i].name = body->topics[i].name;
        items[i].error_code = ERR_INVALID_REQUEST;
    }
}

/* Where names are given the cursor must be one of them. */
static bool cursor_is_named(const struct describe_topic_partitions_request *body)
{
    for (int32_t i = 0; i < body->topics_count; i++) {
        if (slice_eq(body->topics[i].name, body->cursor->topic_name))
            return true;
    }
    return body->topics_count == 0;
}

static void describe(struct request *request)
{
    const struct describe_topic_partitions_request *body = request->body;
    struct describe_topic_partitions_response *response = request_response(request);
    if (body->cursor && (body->cursor->partition_index < 0 || !cursor_is_named(body))) {
        refuse(request, response);
        request_reply(request, response);
        return;
    }
    int64_t limit =
        config_int(request->context->config, BROKER_KEY_MAX_REQUEST_PARTITION_SIZE_LIMIT);
    if (body->response_partition_limit < limit)
        limit = body->response_partition_limit;
    struct meta_image *image = quorum_image(request->context->quorum);
    struct page page = {request, image, response, limit < 1 ? 1 : (int32_t)limit};
    fill_page(&page);
    request_reply(request, response);
    meta_image_unref(image);
}

API_FAMILY(api_topic_partitions, {WIRE_API_DESCRIBE_TOPIC_PARTITIONS, API_BROKER, describe});
