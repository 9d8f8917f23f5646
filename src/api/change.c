/* The way of a change to the controller and back to its request's loop. */
#include "api/change.h"

#include "api/context.h"
#include "api/request.h"
#include "wire/api.h"

static void decide(struct quorum_op *op, struct controller *controller)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    change->calls->decide(change, controller);
}

static void done(struct quorum_op *op)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    if (op->error) {
        change->response = request_response(change->request);
        change->calls->refused(change, op->error);
    } else if (change->calls->decided) {
        change->calls->decided(change);
    }
    request_reply(change->request, change->response);
}

/* A smaller retention is what helps a full disk; it must not fail for want of space. */
static bool may_make_room(const struct request *request)
{
    return request->api->key == WIRE_API_INCREMENTAL_ALTER_CONFIGS ||
           request->api->key == WIRE_API_ALTER_CONFIGS;
}

void change_submit(struct request *request, const struct change_calls *calls, void *state)
{
    struct change *change = arena_alloc(&request->arena, sizeof *change);
    *change = (struct change){
        .op = {.decide = decide,
               .done = done,
               .loop = request->loop,
               .arena = &request->arena,
               .makes_room = may_make_room(request)},
        .calls = calls,
        .request = request,
        .response = request_response(request),
        .state = state,
    };
    quorum_submit(request->context->quorum, &change->op);
}
