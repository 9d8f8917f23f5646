/* OffsetCommit and OffsetDelete: topics that do not exist are answered here, the others by the
 * group's shard; both go into one answer in the order of the request. OffsetFetch is in
 * offset_fetch.c. */
#include "coord/offsets.h"
#include "api/context.h"
#include "api/coordinators.h"
#include "api/families.h"
#include "api/offset_topics.h"
#include "api/request.h"
#include "coord/answers.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_offset_commit.h"
#include "wire_offset_delete.h"

/* ---- commit ---- */

struct commit {
    struct coord_reply reply;
    struct request *request;
    struct offset_commit_response *response; /* the whole one */
    struct offset_commit_request known;      /* what the shard is asked */
    struct offset_topics asked;              /* where its answers go */
};

enum { TOPIC_IDS_SINCE = 10 };

/* Takes the topic's partitions that exist over into what the shard is asked. */
static void split_commit(struct commit *commit,
                         const struct offset_commit_request_offset_commit_request_topic *from,
                         struct offset_commit_response_offset_commit_response_topic *answer)
{
    struct arena *arena = &commit->request->arena;
    const struct meta_topic *topic =
        offset_topics_find(&commit->asked, from->name, &from->topic_id);
    struct offset_commit_request_offset_commit_request_topic *to =
        &commit->known.topics[commit->known.topics_count];
    struct offset_commit_response_offset_commit_response_partition *answers =
        offset_commit_response_offset_commit_response_topic_partitions_new(arena, answer,
                                                                           from->partitions_count);
    answer->name = from->name;
    answer->topic_id = from->topic_id;
    *to = *from;
    to->partitions = arena_array(arena, (size_t)from->partitions_count, sizeof *to->partitions);
    to->partitions_count = 0;
    for (int32_t i = 0; i < from->partitions_count; i++) {
        answers[i].partition_index = from->partitions[i].partition_index;
        if (offset_topics_keep(&commit->asked, topic, answers[i].partition_index,
                               &answers[i].error_code))
            to->partitions[to->partitions_count++] = from->partitions[i];
    }
    if (!to->partitions_count)
        return;
    to->name = arena_dup(arena, topic->name);
    to->topic_id = topic->id;
    commit->known.topics_count++;
}

static void merge_commit(struct commit *commit, const struct offset_commit_response *from)
{
    for (int32_t t = 0; t < from->topics_count; t++) {
        for (int32_t i = 0; i < from->topics[t].partitions_count; i++)
            offset_topics_answer(&commit->asked, from->topics[t].partitions[i].error_code);
    }
    request_reply(commit->request, commit->response);
}

static void commit_done(struct coord_reply *reply)
{
    merge_commit(LIST_ITEM(reply, struct commit, reply), reply->response);
}

static void split_all(struct commit *commit)
{
    struct request *request = commit->request;
    const struct offset_commit_request *body = request->body;
    size_t count = 0;
    for (int32_t t = 0; t < body->topics_count; t++)
        count += (size_t)body->topics[t].partitions_count;
    commit->known = *body;
    commit->known.topics =
        arena_array(&request->arena, (size_t)body->topics_count,
                    sizeof(struct offset_commit_request_offset_commit_request_topic));
    commit->known.topics_count = 0;
    struct offset_commit_response_offset_commit_response_topic *answers =
        offset_commit_response_topics_new(&request->arena, commit->response, body->topics_count);
    struct meta_image *image = quorum_image(request->context->quorum);
    commit->asked =
        offset_topics_of(image, request->version >= TOPIC_IDS_SINCE, count, &request->arena);
    for (int32_t t = 0; t < body->topics_count; t++)
        split_commit(commit, &body->topics[t], &answers[t]);
    meta_image_unref(image);
}

static void offset_commit(struct request *request)
{
    struct commit *commit = arena_alloc(&request->arena, sizeof *commit);
    commit->request = request;
    commit->response = request_response(request);
    split_all(commit);
    if (!commit->asked.count) {
        request_reply(request, commit->response);
        return;
    }
    struct offset_commit_response *part = request_response(request);
    struct coordinator_call call;
    enum err err =
        coordinators_enter(request->context->groups, commit->known.group_id, request, &call);
    if (err) {
        coord_answer_offset_commit(err, &commit->known, &request->arena, part);
        merge_commit(commit, part);
        return;
    }
    commit->reply.arena = &request->arena;
    commit->reply.response = part;
    commit->reply.done = commit_done;
    list_init(&commit->reply.link);
    coord_offsets_commit(call.shard, &call.event, &commit->known, &commit->reply, &call.update);
    coordinators_leave(&call);
}

/* ---- delete ---- */

struct deletion {
    struct coord_reply reply;
    struct request *request;
    struct offset_delete_response *response;
    struct offset_delete_request known;
    struct offset_topics asked;
};

static void split_deletion(struct deletion *deletion,
                           const struct offset_delete_request_offset_delete_request_topic *from,
                           struct offset_delete_response_offset_delete_response_topic *answer)
{
    struct arena *arena = &deletion->request->arena;
    const struct meta_topic *topic = offset_topics_find(&deletion->asked, from->name, NULL);
    struct offset_delete_request_offset_delete_request_topic *to =
        &deletion->known.topics[deletion->known.topics_count];
    struct offset_delete_response_offset_delete_response_partition *answers =
        offset_delete_response_offset_delete_response_topic_partitions_new(arena, answer,
                                                                           from->partitions_count);
    answer->name = from->name;
    *to = *from;
    to->partitions = arena_array(arena, (size_t)from->partitions_count, sizeof *to->partitions);
    to->partitions_count = 0;
    for (int32_t i = 0; i < from->partitions_count; i++) {
        answers[i].partition_index = from->partitions[i].partition_index;
        if (offset_topics_keep(&deletion->asked, topic, answers[i].partition_index,
                               &answers[i].error_code))
            to->partitions[to->partitions_count++] = from->partitions[i];
    }
    if (to->partitions_count)
        deletion->known.topics_count++;
}

static void merge_deletion(struct deletion *deletion, const struct offset_delete_response *from)
{
    struct offset_delete_response *response = deletion->response;
    response->error_code = from->error_code;
    if (from->error_code)
        response->topics_count = 0;
    for (int32_t t = 0; t < from->topics_count; t++) {
        for (int32_t i = 0; i < from->topics[t].partitions_count; i++)
            offset_topics_answer(&deletion->asked, from->topics[t].partitions[i].error_code);
    }
    request_reply(deletion->request, response);
}

static void deletion_done(struct coord_reply *reply)
{
    merge_deletion(LIST_ITEM(reply, struct deletion, reply), reply->response);
}

static void offset_delete(struct request *request)
{
    const struct offset_delete_request *body = request->body;
    struct deletion *deletion = arena_alloc(&request->arena, sizeof *deletion);
    deletion->request = request;
    deletion->response = request_response(request);
    size_t count = 0;
    for (int32_t t = 0; t < body->topics_count; t++)
        count += (size_t)body->topics[t].partitions_count;
    deletion->known = *body;
    deletion->known.topics =
        arena_array(&request->arena, (size_t)body->topics_count,
                    sizeof(struct offset_delete_request_offset_delete_request_topic));
    deletion->known.topics_count = 0;
    struct offset_delete_response_offset_delete_response_topic *answers =
        offset_delete_response_topics_new(&request->arena, deletion->response, body->topics_count);
    struct meta_image *image = quorum_image(request->context->quorum);
    deletion->asked = offset_topics_of(image, false, count, &request->arena);
    for (int32_t t = 0; t < body->topics_count; t++)
        split_deletion(deletion, &body->topics[t], &answers[t]);
    meta_image_unref(image);

    struct offset_delete_response *part = request_response(request);
    struct coordinator_call call;
    enum err err = body->group_id.size ? coordinators_enter(request->context->groups,
                                                            body->group_id, request, &call)
                                       : ERR_INVALID_GROUP_ID;
    if (err) {
        coord_answer_offset_delete(err, part);
        merge_deletion(deletion, part);
        return;
    }
    deletion->reply.arena = &request->arena;
    deletion->reply.response = part;
    deletion->reply.done = deletion_done;
    list_init(&deletion->reply.link);
    coord_offsets_delete(call.shard, &call.event, &deletion->known, &deletion->reply, &call.update);
    coordinators_leave(&call);
}

API_FAMILY(api_offsets, {WIRE_API_OFFSET_COMMIT, API_BROKER, offset_commit},
           {WIRE_API_OFFSET_DELETE, API_BROKER, offset_delete});
