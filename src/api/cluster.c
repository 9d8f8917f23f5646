/* DescribeCluster: the nodes of one kind, brokers or controllers.
 *
 * A broker's listener serves endpoint type 1 (brokers), a controller's type 2: the other one gets
 * MISMATCHED_ENDPOINT_TYPE, an unknown one UNSUPPORTED_ENDPOINT_TYPE. */
#include "api/context.h"
#include "api/endpoints.h"
#include "api/families.h"
#include "api/operations.h"
#include "api/request.h"
#include "meta/image.h"
#include "net/conn.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_describe_cluster.h"

enum { ENDPOINT_BROKERS = 1, ENDPOINT_CONTROLLERS = 2 };

static void add_brokers(struct request *request, const struct meta_image *image,
                        struct describe_cluster_response *response)
{
    const struct describe_cluster_request *body = request->body;
    const struct endpoint *from;
    int32_t count = endpoints_all(request, image, body->include_fenced_brokers, &from);
    struct describe_cluster_response_describe_cluster_broker *items =
        describe_cluster_response_brokers_new(&request->arena, response, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].broker_id = from[i].node_id;
        items[i].host = from[i].host;
        items[i].port = from[i].port;
        items[i].rack = from[i].rack;
        items[i].is_fenced = from[i].is_fenced;
    }
    response->controller_id = request->context->node_id;
}

static void add_controllers(struct request *request, const struct meta_image *image,
                            struct describe_cluster_response *response)
{
    size_t known = meta_image_controller_count(image);
    struct describe_cluster_response_describe_cluster_broker *items =
        describe_cluster_response_brokers_new(&request->arena, response, (int32_t)known);
    int32_t count = 0;
    struct slice listener = slice_str(conn_listener(request->conn)->name);
    for (size_t i = 0; i < known; i++) {
        const struct meta_controller_node *node = meta_image_controller_at(image, i);
        for (int32_t e = 0; e < node->endpoint_count; e++) {
            if (!slice_eq(node->endpoints[e].name, listener))
                continue;
            items[count].broker_id = node->id;
            items[count].host = node->endpoints[e].host;
            items[count++].port = node->endpoints[e].port;
            break;
        }
    }
    response->brokers_count = count;
    int32_t epoch;
    response->controller_id = quorum_leader(request->context->quorum, &epoch);
}

static void refuse(struct request *request, int8_t served,
                   struct describe_cluster_response *response)
{
    const struct describe_cluster_request *body = request->body;
    static const char *const names[] = {
        [ENDPOINT_BROKERS] = "BROKER", [ENDPOINT_CONTROLLERS] = "CONTROLLER"};
    if (body->endpoint_type != ENDPOINT_BROKERS && body->endpoint_type != ENDPOINT_CONTROLLERS) {
        response->error_code = ERR_UNSUPPORTED_ENDPOINT_TYPE;
        response->error_message =
            arena_printf(&request->arena, "Unsupported endpoint type %d", body->endpoint_type);
        return;
    }
    /* Version 0 knows neither endpoint types nor their errors. */
    response->error_code = request->version ? ERR_MISMATCHED_ENDPOINT_TYPE : ERR_INVALID_REQUEST;
    response->error_message =
        arena_printf(&request->arena,
                     "The request was sent to an endpoint of type %s, but we wanted an endpoint of "
                     "type %s",
                     names[served], names[body->endpoint_type]);
}

static void describe_cluster(struct request *request)
{
    const struct describe_cluster_request *body = request->body;
    struct describe_cluster_response *response = request_response(request);
    int8_t wanted = request->listener == API_CONTROLLER ? ENDPOINT_CONTROLLERS : ENDPOINT_BROKERS;
    response->cluster_id = slice_str("");
    if (body->endpoint_type != wanted) {
        refuse(request, wanted, response);
        request_reply(request, response);
        return;
    }
    response->endpoint_type = wanted;
    struct meta_image *image = quorum_image(request->context->quorum);
    response->cluster_id = request->context->cluster_id;
    if (body->include_cluster_authorized_operations)
        response->cluster_authorized_operations = OPERATIONS_OF_CLUSTER;
    if (wanted == ENDPOINT_BROKERS)
        add_brokers(request, image, response);
    else
        add_controllers(request, image, response);
    request_reply(request, response);
    meta_image_unref(image);
}

API_FAMILY(api_cluster, {WIRE_API_DESCRIBE_CLUSTER, API_BROKER | API_CONTROLLER, describe_cluster});
