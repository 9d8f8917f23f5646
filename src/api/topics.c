/* CreateTopics, DeleteTopics, CreatePartitions: decided by the controller, answered when the change
 * is committed and in effect on this node, so that a client may use a new topic at once. */
#include "api/change.h"
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "store/log_dirs.h"
#include "wire/api.h"
#include "wire_create_partitions.h"
#include "wire_create_topics.h"
#include "wire_delete_topics.h"

static void decide_create(struct change *change, struct controller *controller)
{
    controller_create_topics(controller, change->request->body, change->response);
}

static void decide_delete(struct change *change, struct controller *controller)
{
    controller_delete_topics(controller, change->request->body, change->request->version,
                             change->response);
}

static void decide_partitions(struct change *change, struct controller *controller)
{
    controller_create_partitions(controller, change->request->body, change->response);
}

/* The metadata log refused: every topic gets the error. */
static void refuse_create(struct change *change, enum err err)
{
    const struct create_topics_request *body = change->request->body;
    struct create_topics_response *response = change->response;
    struct create_topics_response_creatable_topic_result *items =
        create_topics_response_topics_new(&change->request->arena, response, body->topics_count);
    for (int32_t i = 0; i < body->topics_count; i++) {
        items[i].name = body->topics[i].name;
        items[i].error_code = err_to_wire(err);
    }
}

static void refuse_delete(struct change *change, enum err err)
{
    const struct delete_topics_request *body = change->request->body;
    struct delete_topics_response *response = change->response;
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

static void refuse_partitions(struct change *change, enum err err)
{
    const struct create_partitions_request *body = change->request->body;
    struct create_partitions_response *response = change->response;
    struct create_partitions_response_create_partitions_topic_result *items =
        create_partitions_response_results_new(&change->request->arena, response,
                                               body->topics_count);
    for (int32_t i = 0; i < body->topics_count; i++) {
        items[i].name = body->topics[i].name;
        items[i].error_code = err_to_wire(err);
    }
}

/* New partitions take files and records: what a nearly full disk has left is for the metadata log,
 * without which the node could not start again. */
static void submit_growth(struct request *request, const struct change_calls *calls)
{
    const struct log_dir *metadata = log_dirs_metadata(request->context->log_dirs);
    if (log_dir_admits(metadata, LOG_COORDINATOR))
        change_refuse(request, calls, ERR_DISK_FULL);
    else
        change_submit(request, calls, NULL);
}

static void create_topics(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_create, .refused = refuse_create};
    submit_growth(request, &calls);
}

static void delete_topics(struct request *request)
{
    static const struct change_calls calls = {
        .decide = decide_delete, .refused = refuse_delete, .makes_room = true};
    change_submit(request, &calls, NULL);
}

static void create_partitions(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_partitions,
                                              .refused = refuse_partitions};
    submit_growth(request, &calls);
}

API_FAMILY(api_topics, {WIRE_API_CREATE_TOPICS, API_BROKER | API_CONTROLLER, create_topics},
           {WIRE_API_DELETE_TOPICS, API_BROKER | API_CONTROLLER, delete_topics},
           {WIRE_API_CREATE_PARTITIONS, API_BROKER | API_CONTROLLER, create_partitions});
