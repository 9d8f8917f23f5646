/* CreateTopics, DeleteTopics, CreatePartitions: decided by the controller, answered when the change
 * is committed and in effect on this node, so that a client may use a new topic at once. The
 * timeout of the request is not waited for: the commit of one node takes as long as one flush. */
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "repl/quorum.h"
#include "store/log_dirs.h"
#include "wire/api.h"
#include "wire_create_partitions.h"
#include "wire_create_topics.h"
#include "wire_delete_topics.h"

struct change {
    struct quorum_op op;
    struct request *request;
    void *response;
};

static void decide_create(struct quorum_op *op, struct controller *controller)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    controller_create_topics(controller, change->request->body, change->response);
}

static void decide_delete(struct quorum_op *op, struct controller *controller)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    controller_delete_topics(controller, change->request->body, change->request->version,
                             change->response);
}

static void decide_partitions(struct quorum_op *op, struct controller *controller)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    controller_create_partitions(controller, change->request->body, change->response);
}

/* The metadata log refused: every topic gets the error. */
static void fail_create(struct change *change, enum err err)
{
    const struct create_topics_request *body = change->request->body;
    struct create_topics_response *response = change->response = request_response(change->request);
    struct create_topics_response_creatable_topic_result *items =
        create_topics_response_topics_new(&change->request->arena, response, body->topics_count);
    for (int32_t i = 0; i < body->topics_count; i++) {
        items[i].name = body->topics[i].name;
        items[i].error_code = err_to_wire(err);
    }
}

static void fail_delete(struct change *change, enum err err)
{
    const struct delete_topics_request *body = change->request->body;
    struct delete_topics_response *response = change->response = request_response(change->request);
    int32_t count = change->request->version >= 6 ? body->topics_count : body->topic_names_count;
    struct delete_topics_response_deletable_topic_result *items =
        delete_topics_response_responses_new(&change->request->arena, response, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].name = change->request->version >= 6 ? body->topics[i].name : body->topic_names[i];
        if (change->request->version >= 6)
            items[i].topic_id = body->topics[i].topic_id;
        items[i].error_code = err_to_wire(err);
    }
}

static void fail_partitions(struct change *change, enum err err)
{
    const struct create_partitions_request *body = change->request->body;
    struct create_partitions_response *response = change->response =
        request_response(change->request);
    struct create_partitions_response_create_partitions_topic_result *items =
        create_partitions_response_results_new(&change->request->arena, response,
                                               body->topics_count);
    for (int32_t i = 0; i < body->topics_count; i++) {
        items[i].name = body->topics[i].name;
        items[i].error_code = err_to_wire(err);
    }
}

static void done(struct quorum_op *op)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    if (op->error && change->request->api->key == WIRE_API_CREATE_TOPICS)
        fail_create(change, op->error);
    else if (op->error && change->request->api->key == WIRE_API_DELETE_TOPICS)
        fail_delete(change, op->error);
    else if (op->error)
        fail_partitions(change, op->error);
    request_reply(change->request, change->response);
}

static bool is_growth(const struct request *request)
{
    return request->api->key != WIRE_API_DELETE_TOPICS;
}

static void submit(struct request *request, void (*decide)(struct quorum_op *, struct controller *))
{
    struct change *change = arena_alloc(&request->arena, sizeof *change);
    *change = (struct change){
        .op = {.decide = decide,
               .done = done,
               .loop = request->loop,
               .arena = &request->arena,
               .makes_room = !is_growth(request)},
        .request = request,
        .response = request_response(request),
    };
    /* New partitions take files and records: what a nearly full disk has left is for the metadata
     * log, without which the node could not start again. */
    const struct log_dir *metadata = log_dirs_metadata(request->context->log_dirs);
    if (is_growth(request) && log_dir_admits(metadata, LOG_COORDINATOR)) {
        change->op.error = ERR_DISK_FULL;
        done(&change->op);
        return;
    }
    quorum_submit(request->context->quorum, &change->op);
}

static void create_topics(struct request *request)
{
    submit(request, decide_create);
}

static void delete_topics(struct request *request)
{
    submit(request, decide_delete);
}

static void create_partitions(struct request *request)
{
    submit(request, decide_partitions);
}

API_FAMILY(api_topics, {WIRE_API_CREATE_TOPICS, API_BROKER | API_CONTROLLER, create_topics},
           {WIRE_API_DELETE_TOPICS, API_BROKER | API_CONTROLLER, delete_topics},
           {WIRE_API_CREATE_PARTITIONS, API_BROKER | API_CONTROLLER, create_partitions});
