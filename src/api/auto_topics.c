/* One quorum operation for all topics that a request brings into being. The operation lives in the
 * request's arena; its decision runs on the request's loop inside quorum_submit, its end is posted
 * there after the new image was published, so partitions are leading by then. */
#include "api/auto_topics.h"

#include "api/context.h"
#include "api/request.h"
#include "os/diag.h"
#include "repl/quorum.h"
#include "store/log_dirs.h"

#include <stdatomic.h>

struct creation {
    struct quorum_op op;
    struct request *request;
    const struct slice *names;
    int32_t count;
    enum err *errors;
    struct slice *texts;
    void (*done)(struct request *request);
};

static void decide(struct quorum_op *op, struct controller *controller)
{
    struct creation *creation = LIST_ITEM(op, struct creation, op);
    /* As in topics.c: no new partitions on a nearly full disk. */
    const struct log_dir *metadata = log_dirs_metadata(creation->request->context->log_dirs);
    enum err room = log_dir_admits(metadata, LOG_COORDINATOR);
    for (int32_t i = 0; i < creation->count; i++)
        creation->errors[i] = room ? room
                                   : controller_auto_create_topic(controller, creation->names[i],
                                                                  &creation->texts[i]);
}

/* An impossible default (three replicas on one node) is told once, clearly. */
static void explain(const struct creation *creation, int32_t i)
{
    static atomic_bool told;
    if (creation->errors[i] != ERR_INVALID_REPLICATION_FACTOR || atomic_exchange(&told, true))
        return;
    diag(DIAG_API, DIAG_WARN, "topic %.*s cannot be created: %.*s", SLICE_FMT(creation->names[i]),
         SLICE_FMT(creation->texts[i]));
}

static void done(struct quorum_op *op)
{
    struct creation *creation = LIST_ITEM(op, struct creation, op);
    for (int32_t i = 0; i < creation->count; i++) {
        if (op->error)
            creation->errors[i] = op->error;
        explain(creation, i);
    }
    creation->done(creation->request);
}

void auto_topics_create(struct request *request, const struct slice *names, int32_t count,
                        enum err *errors, void (*then)(struct request *request))
{
    struct creation *creation = arena_alloc(&request->arena, sizeof *creation);
    *creation = (struct creation){
        .op = {.decide = decide, .done = done, .loop = request->loop, .arena = &request->arena},
        .request = request,
        .names = names,
        .count = count,
        .errors = errors,
        .texts = arena_array(&request->arena, (size_t)count, sizeof(struct slice)),
        .done = then,
    };
    quorum_submit(request->context->quorum, &creation->op);
}
