/* DescribeAcls, CreateAcls, DeleteAcls on a node without an authorizer: SECURITY_DISABLED for what
 * was asked. As in Kafka a request that names an unknown kind of anything is malformed and closes
 * the connection, also here. */
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "wire/api.h"
#include "wire_create_acls.h"
#include "wire_delete_acls.h"
#include "wire_describe_acls.h"

/* 0 is Kafka's UNKNOWN. Numbers that Kafka does not have are UNKNOWN to it only later, in the
 * authorizer, which there is none of. */
static bool are_known(int8_t resource, int8_t pattern, int8_t operation, int8_t permission)
{
    return resource && pattern && operation && permission;
}

static void describe_acls(struct request *request)
{
    const struct describe_acls_request *body = request->body;
    if (!are_known(body->resource_type_filter, body->pattern_type_filter, body->operation,
                   body->permission_type)) {
        request_close(request);
        return;
    }
    struct describe_acls_response *response = request_response(request);
    response->error_code = ERR_SECURITY_DISABLED;
    response->error_message = SLICE_LIT("No Authorizer is configured on the broker");
    request_reply(request, response);
}

static void create_acls(struct request *request)
{
    const struct create_acls_request *body = request->body;
    struct create_acls_response *response = request_response(request);
    struct create_acls_response_acl_creation_result *results =
        create_acls_response_results_new(&request->arena, response, body->creations_count);
    for (int32_t i = 0; i < body->creations_count; i++) {
        const struct create_acls_request_acl_creation *from = &body->creations[i];
        if (!are_known(from->resource_type, from->resource_pattern_type, from->operation,
                       from->permission_type)) {
            request_close(request);
            return;
        }
        results[i].error_code = ERR_SECURITY_DISABLED;
        results[i].error_message = SLICE_LIT("No Authorizer is configured.");
    }
    request_reply(request, response);
}

static void delete_acls(struct request *request)
{
    const struct delete_acls_request *body = request->body;
    struct delete_acls_response *response = request_response(request);
    struct delete_acls_response_delete_acls_filter_result *results =
        delete_acls_response_filter_results_new(&request->arena, response, body->filters_count);
    for (int32_t i = 0; i < body->filters_count; i++) {
        const struct delete_acls_request_delete_acls_filter *from = &body->filters[i];
        if (!are_known(from->resource_type_filter, from->pattern_type_filter, from->operation,
                       from->permission_type)) {
            request_close(request);
            return;
        }
        results[i].error_code = ERR_SECURITY_DISABLED;
        results[i].error_message = SLICE_LIT("No Authorizer is configured.");
    }
    request_reply(request, response);
}

API_FAMILY(api_acls, {WIRE_API_DESCRIBE_ACLS, API_BROKER | API_CONTROLLER, describe_acls},
           {WIRE_API_CREATE_ACLS, API_BROKER | API_CONTROLLER, create_acls},
           {WIRE_API_DELETE_ACLS, API_BROKER | API_CONTROLLER, delete_acls});
