/* One duty is one ended transaction. A round writes its marker to every partition that misses it
 * (api/txn_markers.h) and tells the shard which have it now. What could not be written, for the
 * disk is full or a partition is not led yet, is tried again after a while that grows, on the
 * shard's loop. A duty has one owner at any time: the round, then its timer.
 *
 * It ends with the last marker, or when its shard is gone or has been loaded anew: then a new duty
 * came out of that. A partition that was deleted counts as done, and so does one whose log knows a
 * newer epoch of the producer: the transaction is not open there. A marker that was fenced by a
 * newer coordinator is that one's business. */
#include "api/txn_duties.h"

#include "api/context.h"
#include "api/coordinators.h"
#include "api/txn_markers.h"
#include "base/mem.h"
#include "coord/txns.h"
#include "os/diag.h"

enum {
    PAUSE_MIN_MS = 20,
    PAUSE_MAX_MS = 500,
    PAUSE_TOLD_MS = 160, /* shorter trouble is that of a start, say */
};

struct duty {
    struct txn_markers writing;
    struct coord_txn_markers *markers;
    struct api_context *context;
    struct loop *loop;
    int32_t index;
    int32_t pause_ms;
    bool fenced;
    size_t *wanted; /* places in markers->partitions, writing.count of them */
    struct loop_task task;
    struct loop_timer timer;
};

static void duty_free(struct duty *duty)
{
    struct api_context *context = duty->context;
    coord_txn_markers_free(duty->markers);
    mem_free(duty->writing.items);
    mem_free(duty->writing.waits);
    mem_free(duty->wanted);
    mem_free(duty);
    atomic_fetch_sub(&context->duty_count, 1);
}

static bool is_current(const struct duty *duty)
{
    return coordinators_epoch(duty->context->transactions, duty->index) ==
           duty->markers->coordinator_epoch;
}

/* ---- trying again ---- */

static void again(struct loop_timer *timer)
{
    struct duty *duty = LIST_ITEM(timer, struct duty, timer);
    if (is_current(duty))
        txn_markers_write(&duty->writing);
    else
        duty_free(duty);
}

static void start_timer(struct loop_task *task)
{
    struct duty *duty = LIST_ITEM(task, struct duty, task);
    duty->pause_ms = duty->pause_ms ? duty->pause_ms * 2 : PAUSE_MIN_MS;
    if (duty->pause_ms > PAUSE_MAX_MS)
        duty->pause_ms = PAUSE_MAX_MS;
    duty->timer.expired = again;
    loop_timer_set(duty->loop, &duty->timer,
                   io_mono_ns(duty->context->io) + (int64_t)duty->pause_ms * 1000000);
}

/* ---- a round ---- */

static bool is_done(struct duty *duty, const struct txn_markers_item *item)
{
    switch (err_to_wire(item->err)) {
    case ERR_NONE:
    case ERR_UNKNOWN_TOPIC_OR_PARTITION:
    case ERR_INVALID_PRODUCER_EPOCH: return true;
    case ERR_TRANSACTION_COORDINATOR_FENCED: duty->fenced = true; break;
    default: break;
    }
    if (duty->fenced || duty->pause_ms == PAUSE_TOLD_MS)
        diag(DIAG_COORD, DIAG_WARN,
             "the end of a transaction of %.*s could not be written to %.*s-%d: %s%s",
             SLICE_FMT(duty->markers->transactional_id), SLICE_FMT(item->topic), item->index,
             err_name(item->err), duty->fenced ? "" : "; tried again");
    return false;
}

/* Keeps what is still missing; true when there is something. */
static bool keep_missing(struct duty *duty, bool *told)
{
    int32_t count = duty->writing.count;
    duty->writing.count = 0;
    for (int32_t i = 0; i < count; i++) {
        if (told[i])
            continue;
        duty->wanted[duty->writing.count] = duty->wanted[i];
        duty->writing.items[duty->writing.count++] = (struct txn_markers_item){
            .topic = duty->writing.items[i].topic, .index = duty->writing.items[i].index};
    }
    return duty->writing.count > 0;
}

static void round_done(struct txn_markers *writing)
{
    struct duty *duty = LIST_ITEM(writing, struct duty, writing);
    bool *told = mem_array((size_t)writing->count, sizeof *told);
    for (int32_t i = 0; i < writing->count; i++)
        told[i] = is_done(duty, &writing->items[i]);
    struct coordinator_call call;
    bool serves = is_current(duty) &&
                  !coordinators_enter_at(duty->context->transactions, duty->index, NULL, &call);
    if (serves) {
        for (int32_t i = 0; i < writing->count; i++) {
            if (told[i])
                coord_txn_markers_done(call.shard, &call.event, duty->markers, duty->wanted[i],
                                       &call.update);
        }
        coordinators_leave(&call);
    }
    bool more = serves && keep_missing(duty, told) && !duty->fenced;
    mem_free(told);
    if (!more) {
        duty_free(duty);
        return;
    }
    duty->task.run = start_timer;
    list_init(&duty->task.link);
    loop_post(duty->loop, &duty->task);
}

static void start(struct api_context *context, struct loop *loop, int32_t index,
                  struct coord_txn_markers *markers)
{
    struct duty *duty = mem_zalloc(sizeof *duty);
    duty->markers = markers;
    duty->context = context;
    duty->loop = loop;
    duty->index = index;
    duty->wanted = mem_array(markers->count, sizeof *duty->wanted);
    duty->writing = (struct txn_markers){
        .context = context,
        .loop = loop,
        .marker = {.producer_id = markers->producer_id,
                   .producer_epoch = markers->producer_epoch,
                   .coordinator_epoch = markers->coordinator_epoch,
                   .is_commit = markers->commit},
        .transaction_version = markers->transaction_version,
        .items = mem_array(markers->count, sizeof *duty->writing.items),
        .waits = mem_array(markers->count, sizeof *duty->writing.waits),
        .count = (int32_t)markers->count,
        .done = round_done,
    };
    for (size_t i = 0; i < markers->count; i++) {
        duty->wanted[i] = i;
        duty->writing.items[i] = (struct txn_markers_item){
            .topic = markers->partitions[i].topic, .index = markers->partitions[i].partition};
    }
    atomic_fetch_add(&context->duty_count, 1);
    txn_markers_write(&duty->writing);
}

void txn_duties_run(struct api_context *context, struct loop *loop, int32_t index,
                    struct list *markers)
{
    struct list *node;
    while ((node = list_pop_front(markers)))
        start(context, loop, index, LIST_ITEM(node, struct coord_txn_markers, link));
}
