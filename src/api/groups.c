/* The group APIs: each finds the shard of its group, lets it decide, and answers when it says so.
 *
 * A request keeps its frame until the answer, for the shard may hold on to the request's strings
 * while it is parked. Requests that name several groups visit their shards one after the other. */
#include "coord/groups.h"
#include "api/context.h"
#include "api/coordinators.h"
#include "api/families.h"
#include "api/named.h"
#include "api/operations.h"
#include "api/request.h"
#include "coord/answers.h"
#include "wire/api.h"
#include "wire_delete_groups.h"
#include "wire_describe_groups.h"
#include "wire_heartbeat.h"
#include "wire_join_group.h"
#include "wire_leave_group.h"
#include "wire_list_groups.h"
#include "wire_sync_group.h"

#include <stdatomic.h>

enum { SYNC_PROTOCOL_SINCE = 5 };

/* One answer of a shard that is the whole answer of the request. */
struct group_reply {
    struct coord_reply reply;
    struct request *request;
};

static void reply_done(struct coord_reply *reply)
{
    struct group_reply *group_reply = LIST_ITEM(reply, struct group_reply, reply);
    request_reply(group_reply->request, reply->response);
}

static struct coord_reply *new_reply(struct request *request)
{
    struct group_reply *group_reply = arena_alloc(&request->arena, sizeof *group_reply);
    group_reply->request = request;
    group_reply->reply.arena = &request->arena;
    group_reply->reply.response = request_response(request);
    group_reply->reply.done = reply_done;
    list_init(&group_reply->reply.link);
    return &group_reply->reply;
}

static enum err enter(struct request *request, struct slice group_id, struct coordinator_call *call)
{
    if (!group_id.size)
        return ERR_INVALID_GROUP_ID;
    return coordinators_enter(request->context->groups, group_id, request, call);
}

/* ---- one group ---- */

static void join_group(struct request *request)
{
    const struct join_group_request *body = request->body;
    struct coordinator_call call;
    struct coord_config config = coordinators_config(request->context->groups);
    enum err err = coord_groups_join_check(&config, body);
    if (!err)
        err = enter(request, body->group_id, &call);
    if (err) {
        struct join_group_response *response = request_response(request);
        coord_answer_join(request->version, err, body->member_id, response);
        request_reply(request, response);
        return;
    }
    request->peer_closed = request_abandon;
    coord_groups_join(call.shard, &call.event, body, new_reply(request), &call.update);
    coordinators_leave(&call);
}

static void sync_group(struct request *request)
{
    const struct sync_group_request *body = request->body;
    struct coordinator_call call;
    /* Kafka looks for the protocol before it looks at the group's name. */
    enum err err = request->version >= SYNC_PROTOCOL_SINCE &&
                           (!body->protocol_type.data || !body->protocol_name.data)
                       ? ERR_INCONSISTENT_GROUP_PROTOCOL
                       : enter(request, body->group_id, &call);
    if (err) {
        struct sync_group_response *response = request_response(request);
        coord_answer_sync(err, response);
        request_reply(request, response);
        return;
    }
    request->peer_closed = request_abandon;
    coord_groups_sync(call.shard, &call.event, body, new_reply(request), &call.update);
    coordinators_leave(&call);
}

static void heartbeat(struct request *request)
{
    const struct heartbeat_request *body = request->body;
    struct coordinator_call call;
    enum err err = enter(request, body->group_id, &call);
    if (err) {
        struct heartbeat_response *response = request_response(request);
        coord_answer_heartbeat(err, response);
        request_reply(request, response);
        return;
    }
    coord_groups_heartbeat(call.shard, &call.event, body, new_reply(request), &call.update);
    coordinators_leave(&call);
}

static void leave_group(struct request *request)
{
    const struct leave_group_request *body = request->body;
    struct coordinator_call call;
    enum err err = enter(request, body->group_id, &call);
    if (err) {
        struct leave_group_response *response = request_response(request);
        coord_answer_leave(err, response);
        request_reply(request, response);
        return;
    }
    coord_groups_leave(call.shard, &call.event, body, new_reply(request), &call.update);
    coordinators_leave(&call);
}

/* ---- several groups ---- */

static void describe_groups(struct request *request)
{
    const struct describe_groups_request *body = request->body;
    struct describe_groups_response *response = request_response(request);
    struct describe_groups_response_described_group *items =
        describe_groups_response_groups_new(&request->arena, response, body->groups_count);
    for (int32_t i = 0; i < body->groups_count; i++) {
        struct coordinator_call call;
        enum err err =
            coordinators_enter(request->context->groups, body->groups[i], request, &call);
        if (err) {
            coord_answer_describe(err, body->groups[i], &items[i]);
            continue;
        }
        coord_groups_describe(call.shard, &call.event, body->groups[i], &request->arena, &items[i]);
        coordinators_leave(&call);
        if (body->include_authorized_operations && !items[i].error_code)
            items[i].authorized_operations = OPERATIONS_OF_GROUP;
    }
    request_reply(request, response);
}

static void list_groups(struct request *request)
{
    struct list_groups_response *response = request_response(request);
    struct coordinators *coordinators = request->context->groups;
    int32_t count = coordinators_partition_count(coordinators);
    for (int32_t i = 0; i < count && !response->error_code; i++) {
        struct coordinator_call call;
        enum err err = coordinators_enter_at(coordinators, i, request, &call);
        if (err == ERR_COORDINATOR_LOAD_IN_PROGRESS) {
            response->error_code = err_to_wire(err);
            response->groups_count = 0;
        }
        if (err)
            continue;
        coord_groups_list(call.shard, &call.event, request->body, &request->arena, response);
        coordinators_leave(&call);
    }
    request_reply(request, response);
}

/* DeleteGroups goes group by group; the last shard that answers ends the request. */
struct group_deletion {
    struct request *request;
    struct delete_groups_response *response;
    atomic_int pending;
};

struct group_deletion_part {
    struct coord_reply reply;
    struct group_deletion *deletion;
    struct delete_groups_response part;
    int32_t index;
};

static void deletion_done(struct coord_reply *reply)
{
    struct group_deletion_part *part = LIST_ITEM(reply, struct group_deletion_part, reply);
    struct group_deletion *deletion = part->deletion;
    struct delete_groups_response_deletable_group_result *to =
        &deletion->response->results[part->index];
    if (part->part.results_count == 1) {
        to->error_code = part->part.results[0].error_code;
        to->error_message = part->part.results[0].error_message;
    }
    if (atomic_fetch_sub(&deletion->pending, 1) == 1)
        request_reply(deletion->request, deletion->response);
}

/* A group named again is answered once. */
static void drop_repeated(struct request *request, struct delete_groups_request *body)
{
    struct named named;
    named_init(&named, &request->arena);
    int32_t kept = 0;
    for (int32_t i = 0; i < body->groups_names_count; i++) {
        if (!(*named_count(&named, body->groups_names[i], NULL, 0))++)
            body->groups_names[kept++] = body->groups_names[i];
    }
    body->groups_names_count = kept;
    named_fini(&named);
}

static void delete_groups(struct request *request)
{
    struct delete_groups_request *body = request->body;
    drop_repeated(request, body);
    struct group_deletion *deletion = arena_alloc(&request->arena, sizeof *deletion);
    deletion->request = request;
    deletion->response = request_response(request);
    atomic_init(&deletion->pending, body->groups_names_count + 1);
    struct delete_groups_response_deletable_group_result *items =
        delete_groups_response_results_new(&request->arena, deletion->response,
                                           body->groups_names_count);
    struct group_deletion_part *parts =
        arena_array(&request->arena, (size_t)body->groups_names_count, sizeof *parts);
    for (int32_t i = 0; i < body->groups_names_count; i++)
        items[i].group_id = body->groups_names[i];
    for (int32_t i = 0; i < body->groups_names_count; i++) {
        struct coordinator_call call;
        enum err err =
            coordinators_enter(request->context->groups, body->groups_names[i], request, &call);
        if (err) {
            items[i].error_code = err_to_wire(err);
            atomic_fetch_sub(&deletion->pending, 1);
            continue;
        }
        parts[i].deletion = deletion;
        parts[i].index = i;
        parts[i].reply.arena = &request->arena;
        parts[i].reply.response = &parts[i].part;
        parts[i].reply.done = deletion_done;
        list_init(&parts[i].reply.link);
        coord_groups_delete(call.shard, &call.event, &body->groups_names[i], 1, &parts[i].reply,
                            &call.update);
        coordinators_leave(&call);
    }
    if (atomic_fetch_sub(&deletion->pending, 1) == 1)
        request_reply(request, deletion->response);
}

API_FAMILY(api_groups, {WIRE_API_JOIN_GROUP, API_BROKER, join_group},
           {WIRE_API_SYNC_GROUP, API_BROKER, sync_group},
           {WIRE_API_HEARTBEAT, API_BROKER, heartbeat},
           {WIRE_API_LEAVE_GROUP, API_BROKER, leave_group},
           {WIRE_API_DESCRIBE_GROUPS, API_BROKER, describe_groups},
           {WIRE_API_LIST_GROUPS, API_BROKER, list_groups},
           {WIRE_API_DELETE_GROUPS, API_BROKER, delete_groups});
