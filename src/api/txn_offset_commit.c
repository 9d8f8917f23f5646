/* TxnOffsetCommit: offsets that are committed with a transaction.
 *
 * Topics that do not exist are answered here. For the others the group's partition of
 * __consumer_offsets must be a part of the transaction (api/txn_check.h); then the group's shard
 * decides, and writes with the guard that the check gave. Both go into one answer in the order of
 * the request. */
#include "api/context.h"
#include "api/coordinators.h"
#include "api/families.h"
#include "api/held.h"
#include "api/offset_topics.h"
#include "api/request.h"
#include "api/txn_check.h"
#include "coord/answers.h"
#include "coord/offsets.h"
#include "meta/image.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_txn_offset_commit.h"

enum { TOPIC_IDS_SINCE = 6, ADDING_SINCE = 5, ABORTABLE_SINCE = 4 };

struct txn_commit {
    struct coord_reply reply;
    struct txn_check check;
    struct txn_check_item item;
    struct request *request;
    struct txn_offset_commit_response *response; /* the whole one */
    struct txn_offset_commit_response *part;     /* the shard's */
    struct txn_offset_commit_request known;      /* what the shard is asked */
    struct offset_topics asked;                  /* where its answers go */
};

/* ---- topics ---- */

/* Takes the topic's partitions that exist over into what the shard is asked. */
static void split(struct txn_commit *commit,
                  const struct txn_offset_commit_request_txn_offset_commit_request_topic *from,
                  struct txn_offset_commit_response_txn_offset_commit_response_topic *answer)
{
    struct arena *arena = &commit->request->arena;
    const struct meta_topic *topic =
        offset_topics_find(&commit->asked, from->name, &from->topic_id);
    struct txn_offset_commit_request_txn_offset_commit_request_topic *to =
        &commit->known.topics[commit->known.topics_count];
    struct txn_offset_commit_response_txn_offset_commit_response_partition *answers =
        txn_offset_commit_response_txn_offset_commit_response_topic_partitions_new(
            arena, answer, from->partitions_count);
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

static void split_all(struct txn_commit *commit)
{
    struct request *request = commit->request;
    const struct txn_offset_commit_request *body = request->body;
    size_t count = 0;
    for (int32_t t = 0; t < body->topics_count; t++)
        count += (size_t)body->topics[t].partitions_count;
    commit->known = *body;
    commit->known.topics =
        arena_array(&request->arena, (size_t)body->topics_count, sizeof *commit->known.topics);
    commit->known.topics_count = 0;
    struct txn_offset_commit_response_txn_offset_commit_response_topic *answers =
        txn_offset_commit_response_topics_new(&request->arena, commit->response,
                                              body->topics_count);
    struct meta_image *image = quorum_image(request->context->quorum);
    commit->asked =
        offset_topics_of(image, request->version >= TOPIC_IDS_SINCE, count, &request->arena);
    for (int32_t t = 0; t < body->topics_count; t++)
        split(commit, &body->topics[t], &answers[t]);
    meta_image_unref(image);
}

/* ---- answers ---- */

static void merge(struct txn_commit *commit)
{
    const struct txn_offset_commit_response *from = commit->part;
    for (int32_t t = 0; t < from->topics_count; t++) {
        for (int32_t i = 0; i < from->topics[t].partitions_count; i++)
            offset_topics_answer(&commit->asked, from->topics[t].partitions[i].error_code);
    }
    request_reply(commit->request, commit->response);
}

static void refuse(struct txn_commit *commit, enum err err)
{
    coord_answer_txn_offset_commit(commit->request->version, err, &commit->known,
                                   &commit->request->arena, commit->part);
    merge(commit);
}

static void committed(struct coord_reply *reply)
{
    merge(LIST_ITEM(reply, struct txn_commit, reply));
}

/* ---- the way ---- */

/* An error of the check as the coordinator of a group tells it. */
static enum err check_error(enum err err)
{
    switch (err_to_wire(err)) {
    case ERR_NETWORK_EXCEPTION: return ERR_COORDINATOR_LOAD_IN_PROGRESS;
    case ERR_UNKNOWN_TOPIC_OR_PARTITION:
    case ERR_NOT_ENOUGH_REPLICAS:
    case ERR_REQUEST_TIMED_OUT: return ERR_COORDINATOR_NOT_AVAILABLE;
    case ERR_NOT_LEADER_OR_FOLLOWER:
    case ERR_KAFKA_STORAGE_ERROR: return ERR_NOT_COORDINATOR;
    default: return err;
    }
}

static void checked(struct txn_check *check)
{
    struct txn_commit *commit = LIST_ITEM(check, struct txn_commit, check);
    struct request *request = commit->request;
    partition_unref(commit->item.partition);
    if (commit->item.err) {
        refuse(commit, check_error(commit->item.err));
        return;
    }
    struct coordinator_call call;
    enum err err =
        coordinators_enter(request->context->groups, commit->known.group_id, request, &call);
    if (err) {
        refuse(commit, err);
        return;
    }
    call.guard = commit->item.guard;
    commit->reply =
        (struct coord_reply){.arena = &request->arena, .response = commit->part, .done = committed};
    list_init(&commit->reply.link);
    coord_offsets_txn_commit(call.shard, &call.event, &commit->known, &commit->reply, &call.update);
    coordinators_leave(&call);
}

static void start_check(struct txn_commit *commit)
{
    struct request *request = commit->request;
    struct coordinators *groups = request->context->groups;
    int32_t index = coordinators_partition_of(groups, commit->known.group_id);
    enum err err = index < 0 ? ERR_UNKNOWN_TOPIC_OR_PARTITION
                             : held_find(request->context, coordinators_topic(groups), NULL, index,
                                         &commit->item.partition);
    if (err) {
        refuse(commit, check_error(err));
        return;
    }
    commit->item.sequence = -1;
    commit->check = (struct txn_check){
        .request = request,
        .transactional_id = commit->known.transactional_id,
        .producer_id = commit->known.producer_id,
        .producer_epoch = commit->known.producer_epoch,
        .support = request->version >= ADDING_SINCE      ? TXN_SUPPORT_ADDING
                   : request->version >= ABORTABLE_SINCE ? TXN_SUPPORT_ABORTABLE
                                                         : TXN_SUPPORT_OLD,
        .items = &commit->item,
        .count = 1,
        .done = checked,
    };
    txn_check_start(&commit->check);
}

static void txn_offset_commit(struct request *request)
{
    struct txn_commit *commit = arena_alloc(&request->arena, sizeof *commit);
    commit->request = request;
    commit->response = request_response(request);
    split_all(commit);
    if (!commit->asked.count) {
        request_reply(request, commit->response);
        return;
    }
    commit->part = request_response(request);
    if (commit->known.group_id.size)
        start_check(commit);
    else
        refuse(commit, ERR_INVALID_GROUP_ID);
}

API_FAMILY(api_txn_offset_commit, {WIRE_API_TXN_OFFSET_COMMIT, API_BROKER, txn_offset_commit});
