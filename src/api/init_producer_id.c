/* InitProducerId and AllocateProducerIds.
 *
 * Without a transactional id: a fresh id with epoch 0. With one, its coordinator decides; when that
 * needs a fresh id, one is fetched with no lock held and the coordinator is asked again. The steps
 * may go from thread to thread, one at a time. */
#include "api/change.h"
#include "api/context.h"
#include "api/coordinators.h"
#include "api/families.h"
#include "api/producer_ids.h"
#include "api/request.h"
#include "coord/txns.h"
#include "wire/api.h"
#include "wire_allocate_producer_ids.h"
#include "wire_init_producer_id.h"

/* ---- InitProducerId ---- */

struct id_request {
    struct producer_id_call call;
    struct coord_reply reply;
    struct request *request;
    struct init_producer_id_response *response;
};

static void refuse(struct id_request *id_request, enum err err)
{
    coord_txn_answer_init(id_request->request->version, err, id_request->response);
    request_reply(id_request->request, id_request->response);
}

static void fresh_id(struct producer_id_call *call)
{
    struct id_request *id_request = LIST_ITEM(call, struct id_request, call);
    if (call->error) {
        refuse(id_request, call->error);
        return;
    }
    id_request->response->producer_id = call->producer_id;
    id_request->response->producer_epoch = 0;
    request_reply(id_request->request, id_request->response);
}

static void decided(struct coord_reply *reply)
{
    request_reply(LIST_ITEM(reply, struct id_request, reply)->request, reply->response);
}

static void fetched(struct producer_id_call *call);

static void ask_coordinator(struct id_request *id_request, int64_t producer_id)
{
    struct request *request = id_request->request;
    const struct init_producer_id_request *body = request->body;
    struct coordinator_call call;
    enum err err =
        coordinators_enter(request->context->transactions, body->transactional_id, request, &call);
    if (err) {
        refuse(id_request, err);
        return;
    }
    bool decides = coord_txn_init(call.shard, &call.event, body, producer_id, &id_request->reply,
                                  &call.update);
    coordinators_leave(&call);
    if (decides)
        return;
    id_request->call.done = fetched;
    producer_ids_next(request->context->producer_ids, &id_request->call);
}

static void fetched(struct producer_id_call *call)
{
    struct id_request *id_request = LIST_ITEM(call, struct id_request, call);
    if (call->error)
        refuse(id_request, call->error);
    else
        ask_coordinator(id_request, call->producer_id);
}

static void init_transactional(struct id_request *id_request)
{
    struct request *request = id_request->request;
    struct coord_config config = coordinators_config(request->context->transactions);
    enum err err = coord_txn_init_check(&config, request->body);
    if (err) {
        refuse(id_request, err);
        return;
    }
    id_request->reply = (struct coord_reply){
        .arena = &request->arena, .response = id_request->response, .done = decided};
    list_init(&id_request->reply.link);
    ask_coordinator(id_request, -1);
}

static void init_producer_id(struct request *request)
{
    const struct init_producer_id_request *body = request->body;
    struct id_request *id_request = arena_alloc(&request->arena, sizeof *id_request);
    id_request->request = request;
    id_request->response = request_response(request);
    if (body->transactional_id.data) {
        init_transactional(id_request);
    } else if ((body->producer_id == -1) != (body->producer_epoch == -1)) {
        refuse(id_request, ERR_INVALID_REQUEST); /* KIP-360: both or none */
    } else {
        id_request->call.done = fresh_id;
        producer_ids_next(request->context->producer_ids, &id_request->call);
    }
}

/* ---- AllocateProducerIds ---- */

static void decide_block(struct change *change, struct controller *controller)
{
    const struct allocate_producer_ids_request *body = change->request->body;
    struct allocate_producer_ids_response *response = change->response;
    response->error_code = err_to_wire(
        controller_allocate_producer_ids(controller, body->broker_id, body->broker_epoch,
                                         &response->producer_id_start, &response->producer_id_len));
}

static void refuse_block(struct change *change, enum err err)
{
    struct allocate_producer_ids_response *response = change->response;
    response->error_code = err_to_wire(err);
}

static void allocate_producer_ids(struct request *request)
{
    static const struct change_calls calls = {.decide = decide_block, .refused = refuse_block};
    change_submit(request, &calls, NULL);
}

API_FAMILY(api_init_producer_id, {WIRE_API_INIT_PRODUCER_ID, API_BROKER, init_producer_id},
           {WIRE_API_ALLOCATE_PRODUCER_IDS, API_CONTROLLER, allocate_producer_ids});
