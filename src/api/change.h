/* One request that changes metadata: decided by the controller, answered when it is committed and
 * in effect on this node. The timeout of such requests is not waited for: the commit of one node
 * takes as long as one flush. */
#ifndef KLAMM_API_CHANGE_H
#define KLAMM_API_CHANGE_H

#include "meta/controller.h"
#include "repl/quorum.h"

struct request;

struct change;

struct change_calls {
    /* Under the controller lock: asks the controller, which fills the response. */
    void (*decide)(struct change *change, struct controller *controller);
    /* On the request's loop when it is committed; completes the response. NULL: nothing to do. */
    void (*decided)(struct change *change);
    /* The same when the metadata log refused: fills the response, a fresh one. */
    void (*refused)(struct change *change, enum err err);
    /* It helps a full disk, and may use what is kept there for that. */
    bool makes_room;
};

struct change {
    struct quorum_op op;
    const struct change_calls *calls;
    struct request *request;
    void *response; /* in the request's arena, with the schema's defaults */
    void *state;    /* the handler's own */
};

/* Takes the request; it ends with change->response. */
void change_submit(struct request *request, const struct change_calls *calls, void *state);

/* The same for a request that is not let through to the controller: ends it with what `refused`
 * makes of `err`. */
void change_refuse(struct request *request, const struct change_calls *calls, enum err err);

#endif
