/* DescribeQuorum, UpdateFeatures, UnregisterBroker: what the tools ask of the controller, on either
 * kind of listener. */
#include "api/change.h"
#include "api/context.h"
#include "api/families.h"
#include "api/request.h"
#include "wire/api.h"
#include "wire_describe_quorum.h"
#include "wire_unregister_broker.h"
#include "wire_update_features.h"

static void describe_quorum(struct request *request)
{
    struct describe_quorum_response *response = request_response(request);
    quorum_describe(request->context->quorum, request->body, request->version, &request->arena,
                    response);
    request_reply(request, response);
}

static void decide_features(struct change *change, struct controller *controller)
{
    controller_update_features(controller, change->request->body, change->request->version,
                               change->response);
}

static void refuse_features(struct change *change, enum err err)
{
    struct update_features_response *response = change->response;
    response->error_code = err_to_wire(err);
}

static void update_features(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_features,
                                              .refused = refuse_features};
    change_submit(request, &calls, NULL);
}

static void decide_unregister(struct change *change, struct controller *controller)
{
    controller_unregister_broker(controller, change->request->body, change->response);
}

static void refuse_unregister(struct change *change, enum err err)
{
    struct unregister_broker_response *response = change->response;
    response->error_code = err_to_wire(err);
}

static void unregister_broker(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_unregister,
                                              .refused = refuse_unregister};
    change_submit(request, &calls, NULL);
}

API_FAMILY(api_quorum_requests,
           {WIRE_API_DESCRIBE_QUORUM, API_BROKER | API_CONTROLLER, describe_quorum},
           {WIRE_API_UPDATE_FEATURES, API_BROKER | API_CONTROLLER, update_features},
           {WIRE_API_UNREGISTER_BROKER, API_BROKER | API_CONTROLLER, unregister_broker});
