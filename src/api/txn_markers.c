/* A marker is appended on the caller's thread, partition by partition. `pending` counts the caller
 * itself, each answer of the group coordinator that is due, and the wait for high watermarks; who
 * takes off the last one calls `done`. */
#include "api/txn_markers.h"

#include "api/context.h"
#include "api/coordinators.h"
#include "api/held.h"

static void finish_one(struct txn_markers *markers)
{
    if (atomic_fetch_sub(&markers->pending, 1) == 1)
        markers->done(markers);
}

/* ---- __consumer_offsets ---- */

/* What says that the shard does not serve has another name among leaders of partitions. */
static enum err group_error(enum err err)
{
    switch (err_to_wire(err)) {
    case ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case ERR_NOT_COORDINATOR: return ERR_NOT_LEADER_OR_FOLLOWER;
    default: return err;
    }
}

static void group_done(struct coord_reply *reply)
{
    struct txn_markers_item *item = LIST_ITEM(reply, struct txn_markers_item, reply);
    item->err = group_error(item->group_err);
    finish_one(item->markers);
}

static void write_to_group(struct txn_markers *markers, struct txn_markers_item *item)
{
    struct coordinator_call call;
    enum err err = coordinators_enter_at(markers->context->groups, item->index, NULL, &call);
    if (err) {
        item->err = group_error(err);
        return;
    }
    atomic_fetch_add(&markers->pending, 1);
    call.transaction_version = markers->transaction_version;
    item->reply = (struct coord_reply){.response = &item->group_err, .done = group_done};
    list_init(&item->reply.link);
    coord_offsets_end_txn(call.shard, &call.event, &markers->marker, &item->reply, &call.update);
    coordinators_leave(&call);
}

/* ---- partitions ---- */

static enum err append(struct txn_markers *markers, struct partition *partition,
                       struct txn_markers_item *item)
{
    struct partition_marker marker = {
        .producer_id = markers->marker.producer_id,
        .producer_epoch = markers->marker.producer_epoch,
        .coordinator_epoch = markers->marker.coordinator_epoch,
        .commit = markers->marker.is_commit,
        .transaction_version = markers->transaction_version,
    };
    struct partition_append append;
    enum err err = partition_append_marker(partition, &marker, &append);
    if (!err && append.high_watermark < append.offset_next)
        append_waits_add(&markers->waiting, partition, &append, item);
    return err;
}

static void write_to_partition(struct txn_markers *markers, struct txn_markers_item *item)
{
    struct partition *partition;
    item->err = held_find(markers->context, item->topic, NULL, item->index, &partition);
    if (item->err)
        return;
    if (slice_eq(partition->topic, coordinators_topic(markers->context->groups)))
        write_to_group(markers, item);
    else
        item->err = append(markers, partition, item);
    partition_unref(partition);
}

/* ---- waiting ---- */

static void waited(struct append_waits *waits)
{
    struct txn_markers *markers = LIST_ITEM(waits, struct txn_markers, waiting);
    for (int32_t i = 0; i < waits->count; i++)
        ((struct txn_markers_item *)waits->items[i].owner)->err = waits->items[i].err;
    finish_one(markers);
}

static void start_waiting(struct loop_task *task)
{
    struct txn_markers *markers = LIST_ITEM(task, struct txn_markers, task);
    append_waits_start(&markers->waiting, markers->loop,
                       io_mono_ns(markers->context->io) + markers->marker.timeout_ms * 1000000);
}

void txn_markers_write(struct txn_markers *markers)
{
    atomic_init(&markers->pending, 1);
    markers->marker.timeout_ms = markers->context->request_timeout_ms;
    markers->waiting = (struct append_waits){.items = markers->waits, .done = waited};
    for (int32_t i = 0; i < markers->count; i++) {
        markers->items[i].markers = markers;
        write_to_partition(markers, &markers->items[i]);
    }
    if (markers->waiting.count) {
        atomic_fetch_add(&markers->pending, 1);
        markers->task = (struct loop_task){.run = start_waiting};
        list_init(&markers->task.link);
        loop_post(markers->loop, &markers->task);
    }
    finish_one(markers);
}
