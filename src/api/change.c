/* The way of a change to the controller and back to its request's loop. */
#include "api/change.h"

#include "api/context.h"
#include "api/request.h"

static void decide(struct quorum_op *op, struct controller *controller)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    change->calls->decide(change, controller);
}

static void refuse(struct change *change, enum err err)
{
    change->response = request_response(change->request); /* decide may have begun to fill it */
    change->calls->refused(change, err);
}

static void done(struct quorum_op *op)
{
    struct change *change = LIST_ITEM(op, struct change, op);
    if (op->error)
        refuse(change, op->error);
    else if (change->calls->decided)
        change->calls->decided(change);
    request_reply(change->request, change->response);
}

void change_submit(struct request *request, const struct change_calls *calls, void *state)
{
    struct change *change = arena_alloc(&request->arena, sizeof *change);
    *change = (struct change){
        .op = {.decide = decide,
               .done = done,
               .loop = request->loop,
               .arena = &request->arena,
               .makes_room = calls->makes_room},
        .calls = calls,
        .request = request,
        .response = request_response(request),
        .state = state,
    };
    quorum_submit(request->context->quorum, &change->op);
}

void change_refuse(struct request *request, const struct change_calls *calls, enum err err)
{
    struct change change = {.calls = calls, .request = request};
    refuse(&change, err);
    request_reply(request, change.response);
}
