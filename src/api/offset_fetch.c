/* OffsetFetch: committed offsets of one group (below version 8) or several. Always answered at
 * once, from what is committed.
 *
 * Version 10 names topics by id: an id that is unknown gets UNKNOWN_TOPIC_ID for each partition,
 * and an answer for all topics leaves out those that are gone. */
#include "api/context.h"
#include "api/coordinators.h"
#include "api/families.h"
#include "api/request.h"
#include "coord/answers.h"
#include "coord/offsets.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_offset_fetch.h"

static void ask(struct request *request,
                const struct offset_fetch_request_offset_fetch_request_group *group,
                struct offset_fetch_response_offset_fetch_response_group *answer)
{
    const struct offset_fetch_request *body = request->body;
    struct coordinator_call call;
    enum err err = coordinators_enter(request->context->groups, group->group_id, request, &call);
    if (err) {
        coord_answer_offset_fetch(request->version, err, group, &request->arena, answer);
        return;
    }
    coord_offsets_fetch(call.shard, &call.event, group, body->require_stable, &request->arena,
                        answer);
    coordinators_leave(&call);
}

/* ---- version 10: ids ---- */

static void answer_unknown(struct request *request,
                           const struct offset_fetch_request_offset_fetch_request_topics *topic,
                           struct offset_fetch_response_offset_fetch_response_topics *answer)
{
    answer->topic_id = topic->topic_id;
    struct offset_fetch_response_offset_fetch_response_partitions *items =
        offset_fetch_response_offset_fetch_response_topics_partitions_new(
            &request->arena, answer, topic->partition_indexes_count);
    for (int32_t i = 0; i < topic->partition_indexes_count; i++) {
        items[i].partition_index = topic->partition_indexes[i];
        items[i].committed_offset = -1;
        items[i].metadata = slice_str("");
        items[i].error_code = ERR_UNKNOWN_TOPIC_ID;
    }
}

/* Ids of an answer for all topics come from the image; topics that are gone are left out. */
static void add_ids(const struct meta_image *image,
                    struct offset_fetch_response_offset_fetch_response_group *answer)
{
    int32_t count = 0;
    for (int32_t i = 0; i < answer->topics_count; i++) {
        const struct meta_topic *topic = meta_image_topic(image, answer->topics[i].name);
        if (!topic)
            continue;
        answer->topics[count] = answer->topics[i];
        answer->topics[count++].topic_id = topic->id;
    }
    answer->topics_count = count;
}

static void ask_by_id(struct request *request, const struct meta_image *image,
                      const struct offset_fetch_request_offset_fetch_request_group *group,
                      struct offset_fetch_response_offset_fetch_response_group *answer)
{
    if (group->topics_count < 0) {
        ask(request, group, answer);
        add_ids(image, answer);
        return;
    }
    struct arena *arena = &request->arena;
    struct offset_fetch_request_offset_fetch_request_group known = *group;
    known.topics = arena_array(arena, (size_t)group->topics_count, sizeof *known.topics);
    known.topics_count = 0;
    for (int32_t i = 0; i < group->topics_count; i++) {
        const struct meta_topic *topic = meta_image_topic_by_id(image, &group->topics[i].topic_id);
        if (!topic)
            continue;
        known.topics[known.topics_count] = group->topics[i];
        known.topics[known.topics_count++].name = arena_dup(arena, topic->name);
    }
    ask(request, &known, answer);
    if (known.topics_count == group->topics_count || answer->error_code)
        return;
    struct offset_fetch_response_offset_fetch_response_group found = *answer;
    struct offset_fetch_response_offset_fetch_response_topics *items =
        offset_fetch_response_offset_fetch_response_group_topics_new(arena, answer,
                                                                     group->topics_count);
    int32_t next = 0;
    for (int32_t i = 0; i < group->topics_count; i++) {
        if (meta_image_topic_by_id(image, &group->topics[i].topic_id) && next < found.topics_count)
            items[i] = found.topics[next++];
        else
            answer_unknown(request, &group->topics[i], &items[i]);
    }
}

static void fetch_groups(struct request *request)
{
    const struct offset_fetch_request *body = request->body;
    struct offset_fetch_response *response = request_response(request);
    struct offset_fetch_response_offset_fetch_response_group *answers =
        offset_fetch_response_groups_new(&request->arena, response, body->groups_count);
    struct meta_image *image =
        request->version >= 10 ? quorum_image(request->context->quorum) : NULL;
    for (int32_t i = 0; i < body->groups_count; i++) {
        if (image)
            ask_by_id(request, image, &body->groups[i], &answers[i]);
        else
            ask(request, &body->groups[i], &answers[i]);
        answers[i].group_id = body->groups[i].group_id;
    }
    request_reply(request, response);
    meta_image_unref(image);
}

/* ---- below version 8: one group ---- */

static struct offset_fetch_request_offset_fetch_request_group group_of(struct request *request)
{
    const struct offset_fetch_request *body = request->body;
    struct offset_fetch_request_offset_fetch_request_group group = {.group_id = body->group_id,
                                                                    .member_epoch = -1};
    group.topics_count = body->topics_count;
    if (body->topics_count < 0)
        return group;
    group.topics = arena_array(&request->arena, (size_t)body->topics_count, sizeof *group.topics);
    for (int32_t i = 0; i < body->topics_count; i++) {
        group.topics[i].name = body->topics[i].name;
        group.topics[i].partition_indexes = body->topics[i].partition_indexes;
        group.topics[i].partition_indexes_count = body->topics[i].partition_indexes_count;
    }
    return group;
}

static void fetch_one(struct request *request)
{
    struct offset_fetch_request_offset_fetch_request_group group = group_of(request);
    struct offset_fetch_response_offset_fetch_response_group answer = {0};
    ask(request, &group, &answer);
    struct offset_fetch_response *response = request_response(request);
    response->error_code = answer.error_code;
    struct offset_fetch_response_offset_fetch_response_topic *topics =
        offset_fetch_response_topics_new(&request->arena, response, answer.topics_count);
    for (int32_t t = 0; t < answer.topics_count; t++) {
        const struct offset_fetch_response_offset_fetch_response_topics *from = &answer.topics[t];
        topics[t].name = from->name;
        struct offset_fetch_response_offset_fetch_response_partition *items =
            offset_fetch_response_offset_fetch_response_topic_partitions_new(
                &request->arena, &topics[t], from->partitions_count);
        for (int32_t i = 0; i < from->partitions_count; i++) {
            items[i].partition_index = from->partitions[i].partition_index;
            items[i].committed_offset = from->partitions[i].committed_offset;
            items[i].committed_leader_epoch = from->partitions[i].committed_leader_epoch;
            items[i].metadata = from->partitions[i].metadata;
            items[i].error_code = from->partitions[i].error_code;
        }
    }
    request_reply(request, response);
}

static void offset_fetch(struct request *request)
{
    if (request->version >= 8)
        fetch_groups(request);
    else
        fetch_one(request);
}

API_FAMILY(api_offset_fetch, {WIRE_API_OFFSET_FETCH, API_BROKER, offset_fetch});
