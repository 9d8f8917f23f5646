/* One quorum operation for all topics that a request brings into being. Its decision runs on the
 * request's loop inside quorum_submit, its end is posted there after the new image was published,
 * so partitions are leading by then. A request waits a second at most, then it is answered as Kafka
 * answers while a topic is being made; the operation has memory of its own and ends when it ends.
 */
#include "api/auto_topics.h"

#include "api/context.h"
#include "api/request.h"
#include "api/topic_names.h"
#include "base/mem.h"
#include "conf/config.h"
#include "conf/table.h"
#include "meta/image.h"
#include "os/diag.h"
#include "repl/quorum.h"
#include "store/log_dirs.h"

#include <stdatomic.h>

enum { WAIT_MS = 1000 };

struct creation {
    struct quorum_op op;
    struct arena arena;
    struct loop_timer timer;
    struct api_context *context;
    struct request *request; /* NULL once it waits no more */
    struct slice *names;
    int32_t count;
    enum err *errors;
    struct slice *texts;
    enum err *request_errors; /* the caller's */
    void (*done)(struct request *request);
};

static void decide(struct quorum_op *op, struct controller *controller)
{
    struct creation *creation = LIST_ITEM(op, struct creation, op);
    /* As in topics.c: no new partitions on a nearly full disk. */
    const struct log_dir *metadata = log_dirs_metadata(creation->request->context->log_dirs);
    enum err room = log_dir_admits(metadata, LOG_COORDINATOR);
    if (!room && !controller_auto_create_fits(controller, creation->names, creation->count))
        room = ERR_POLICY_VIOLATION;
    for (int32_t i = 0; i < creation->count; i++)
        creation->errors[i] = room ? room
                                   : controller_auto_create_topic(controller, creation->names[i],
                                                                  &creation->texts[i]);
}

static int32_t alive_brokers(struct quorum *quorum)
{
    int32_t alive = 0;
    struct meta_image *image = quorum_image(quorum);
    for (size_t i = 0; i < meta_image_broker_count(image); i++)
        alive += !meta_image_broker_at(image, i)->fenced;
    meta_image_unref(image);
    return alive;
}

/* An impossible default (three replicas on one node) is told once for each key, with what to write
 * instead. */
static void explain(const struct creation *creation, int32_t i)
{
    static atomic_bool told_default, told_offsets, told_transactions;
    if (creation->errors[i] != ERR_INVALID_REPLICATION_FACTOR)
        return;
    enum broker_key key = BROKER_KEY_DEFAULT_REPLICATION_FACTOR;
    atomic_bool *told = &told_default;
    if (slice_eq_str(creation->names[i], TOPIC_CONSUMER_OFFSETS)) {
        key = BROKER_KEY_OFFSETS_TOPIC_REPLICATION_FACTOR;
        told = &told_offsets;
    } else if (slice_eq_str(creation->names[i], TOPIC_TRANSACTION_STATE)) {
        key = BROKER_KEY_TRANSACTION_STATE_LOG_REPLICATION_FACTOR;
        told = &told_transactions;
    }
    if (atomic_exchange(told, true))
        return;
    const char *name = conf_key(CONF_KIND_BROKER, (int)key)->name;
    int32_t alive = alive_brokers(creation->context->quorum);
    diag(DIAG_API, DIAG_WARN,
         "topic %.*s cannot be created: %s is %lld, but %d broker%s alive; set %s=%d in the "
         "properties file and start again, or start more brokers",
         SLICE_FMT(creation->names[i]), name, (long long)config_int(creation->context->config, key),
         alive, alive == 1 ? " is" : "s are", name, alive);
}

/* Lets the request go on. */
static void answer(struct creation *creation, const enum err *errors)
{
    struct request *request = creation->request;
    creation->request = NULL;
    for (int32_t i = 0; i < creation->count; i++)
        creation->request_errors[i] = errors ? errors[i] : ERR_UNKNOWN_TOPIC_OR_PARTITION;
    creation->done(request);
}

static void waited_enough(struct loop_timer *timer)
{
    answer(LIST_ITEM(timer, struct creation, timer), NULL);
}

static void done(struct quorum_op *op)
{
    struct creation *creation = LIST_ITEM(op, struct creation, op);
    struct api_context *context = creation->context;
    for (int32_t i = 0; i < creation->count; i++) {
        if (op->error)
            creation->errors[i] = op->error;
        explain(creation, i);
    }
    loop_timer_cancel(op->loop, &creation->timer);
    if (creation->request)
        answer(creation, creation->errors);
    arena_fini(&creation->arena);
    mem_free(creation);
    atomic_fetch_sub(&context->request_count, 1);
}

void auto_topics_create(struct request *request, const struct slice *names, int32_t count,
                        enum err *errors, void (*then)(struct request *request))
{
    struct creation *creation = mem_zalloc(sizeof *creation);
    struct arena *arena = &creation->arena;
    arena_init(arena);
    creation->context = request->context;
    creation->request = request;
    creation->count = count;
    creation->names = arena_array(arena, (size_t)count, sizeof *creation->names);
    for (int32_t i = 0; i < count; i++)
        creation->names[i] = arena_dup(arena, names[i]);
    creation->errors = arena_array(arena, (size_t)count, sizeof *creation->errors);
    creation->texts = arena_array(arena, (size_t)count, sizeof *creation->texts);
    creation->request_errors = errors;
    creation->done = then;
    creation->timer.expired = waited_enough;
    creation->op =
        (struct quorum_op){.decide = decide, .done = done, .loop = request->loop, .arena = arena};
    /* It may outlive its request: a stop waits for it, too. */
    atomic_fetch_add(&request->context->request_count, 1);
    loop_timer_set(request->loop, &creation->timer,
                   io_mono_ns(request->context->io) + (int64_t)WAIT_MS * 1000000);
    quorum_submit(request->context->quorum, &creation->op);
}
