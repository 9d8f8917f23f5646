/* ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments: the controller decides,
 * the handlers only carry. With the metadata log out of reach every partition named gets the error,
 * as in Kafka. */
#include "api/change.h"
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "wire/api.h"
#include "wire_alter_partition_reassignments.h"
#include "wire_elect_leaders.h"
#include "wire_list_partition_reassignments.h"

/* ---- ElectLeaders ---- */

static void decide_elections(struct change *change, struct controller *controller)
{
    controller_elect_leaders(controller, change->request->body, change->response);
}

static void refuse_elections(struct change *change, enum err err)
{
    const struct elect_leaders_request *body = change->request->body;
    struct elect_leaders_response *response = change->response;
    struct arena *arena = &change->request->arena;
    response->error_code = err_to_wire(err);
    int32_t count = body->topic_partitions_count > 0 ? body->topic_partitions_count : 0;
    struct elect_leaders_response_replica_election_result *topics =
        elect_leaders_response_replica_election_results_new(arena, response, count);
    for (int32_t t = 0; t < count; t++) {
        const struct elect_leaders_request_topic_partitions *from = &body->topic_partitions[t];
        topics[t].topic = from->topic;
        struct elect_leaders_response_partition_result *items =
            elect_leaders_response_replica_election_result_partition_result_new(
                arena, &topics[t], from->partitions_count);
        for (int32_t i = 0; i < from->partitions_count; i++) {
            items[i].partition_id = from->partitions[i];
            items[i].error_code = err_to_wire(err);
        }
    }
}

static void elect_leaders(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_elections,
                                              .refused = refuse_elections};
    change_submit(request, &calls, NULL);
}

/* ---- AlterPartitionReassignments ---- */

static void decide_reassignments(struct change *change, struct controller *controller)
{
    controller_alter_reassignments(controller, change->request->body, change->response);
}

static void refuse_reassignments(struct change *change, enum err err)
{
    const struct alter_partition_reassignments_request *body = change->request->body;
    struct alter_partition_reassignments_response *response = change->response;
    struct arena *arena = &change->request->arena;
    response->error_code = err_to_wire(err);
    struct alter_partition_reassignments_response_reassignable_topic_response *topics =
        alter_partition_reassignments_response_responses_new(arena, response, body->topics_count);
    for (int32_t t = 0; t < body->topics_count; t++) {
        const struct alter_partition_reassignments_request_reassignable_topic *from =
            &body->topics[t];
        topics[t].name = from->name;
        struct alter_partition_reassignments_response_reassignable_partition_response *items =
            alter_partition_reassignments_response_reassignable_topic_response_partitions_new(
                arena, &topics[t], from->partitions_count);
        for (int32_t i = 0; i < from->partitions_count; i++) {
            items[i].partition_index = from->partitions[i].partition_index;
            items[i].error_code = err_to_wire(err);
        }
    }
}

static void alter_reassignments(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_reassignments,
                                              .refused = refuse_reassignments};
    change_submit(request, &calls, NULL);
}

/* ---- ListPartitionReassignments ---- */

static void decide_list(struct change *change, struct controller *controller)
{
    controller_list_reassignments(controller, change->request->body, change->response);
}

static void refuse_list(struct change *change, enum err err)
{
    struct list_partition_reassignments_response *response = change->response;
    response->error_code = err_to_wire(err);
}

static void list_reassignments(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_list, .refused = refuse_list};
    change_submit(request, &calls, NULL);
}

API_FAMILY(api_replicas, {WIRE_API_ELECT_LEADERS, API_BROKER | API_CONTROLLER, elect_leaders},
           {WIRE_API_ALTER_PARTITION_REASSIGNMENTS, API_BROKER | API_CONTROLLER,
            alter_reassignments},
           {WIRE_API_LIST_PARTITION_REASSIGNMENTS, API_BROKER | API_CONTROLLER,
            list_reassignments});
