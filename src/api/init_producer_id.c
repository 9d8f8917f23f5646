/* InitProducerId for idempotent producers: a fresh id with epoch 0. A transactional id is refused
 * with TRANSACTIONAL_ID_AUTHORIZATION_FAILED while transactions are not served. */
#include "api/context.h"
#include "api/families.h"
#include "api/producer_ids.h"
#include "api/request.h"
#include "wire/api.h"
#include "wire_init_producer_id.h"

struct id_request {
    struct producer_id_call call;
    struct request *request;
    struct init_producer_id_response *response;
};

static void done(struct producer_id_call *call)
{
    struct id_request *id_request = LIST_ITEM(call, struct id_request, call);
    struct init_producer_id_response *response = id_request->response;
    response->error_code = err_to_wire(call->error);
    if (call->error) {
        response->producer_id = -1;
        response->producer_epoch = -1;
    } else {
        response->producer_id = call->producer_id;
        response->producer_epoch = 0;
    }
    request_reply(id_request->request, response);
}

static enum err check(const struct init_producer_id_request *body)
{
    if ((body->producer_id == -1) != (body->producer_epoch == -1))
        return ERR_INVALID_REQUEST; /* KIP-360: both or none */
    if (!body->transactional_id.data)
        return ERR_NONE;
    /* Kafka: a transactional id may not be empty. */
    return body->transactional_id.size ? ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED
                                       : ERR_INVALID_REQUEST;
}

static void handle(struct request *request)
{
    struct id_request *id_request = arena_alloc(&request->arena, sizeof *id_request);
    id_request->request = request;
    id_request->response = request_response(request);
    id_request->call.done = done;
    id_request->call.error = check(request->body);
    if (id_request->call.error)
        done(&id_request->call);
    else
        producer_ids_next(request->context->producer_ids, &id_request->call);
}

API_FAMILY(api_init_producer_id, {WIRE_API_INIT_PRODUCER_ID, API_BROKER, handle});
