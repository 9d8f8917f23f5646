/* A watch on each partition's high watermark; the operation ends when all have moved far enough, or
 * when one changes its leader, is deleted, or the deadline comes. Then every append is judged by
 * where its partition stands, whatever woke the operation. */
#include "api/append_waits.h"

void append_waits_add(struct append_waits *waits, struct partition *partition,
                      const struct partition_append *append, void *owner)
{
    waits->items[waits->count++] = (struct append_wait){
        .partition = partition_ref(partition),
        .offset_next = append->offset_next,
        .leader_epoch = append->leader_epoch,
        .owner = owner,
    };
}

static void judge(struct append_wait *wait)
{
    struct partition_ends ends;
    wait->err = partition_ends(wait->partition, -1, &ends);
    if (!wait->err && ends.leader_epoch != wait->leader_epoch)
        wait->err = ERR_NOT_LEADER_OR_FOLLOWER;
    if (!wait->err && ends.high_watermark < wait->offset_next)
        wait->err = ERR_REQUEST_TIMED_OUT;
}

static void resume(struct parked *parked)
{
    struct append_waits *waits = LIST_ITEM(parked, struct append_waits, parked);
    for (int32_t i = 0; i < waits->count; i++) {
        struct append_wait *wait = &waits->items[i];
        if (wait->watched)
            partition_unwatch(wait->partition, &wait->watch);
        judge(wait);
        partition_unref(wait->partition);
    }
    waits->done(waits);
}

void append_waits_start(struct append_waits *waits, struct loop *loop, int64_t deadline_ns)
{
    parked_init(&waits->parked, loop, waits->count, resume);
    int32_t passed = 0;
    for (int32_t i = 0; i < waits->count; i++) {
        struct append_wait *wait = &waits->items[i];
        wait->watch.parked = &waits->parked;
        wait->watch.offset = wait->offset_next;
        list_init(&wait->watch.link);
        wait->watched =
            partition_watch(wait->partition, WATCH_HW, &wait->watch, 0, wait->leader_epoch);
        passed += !wait->watched;
    }
    parked_found(&waits->parked, passed);
    parked_arm(&waits->parked, deadline_ns);
}

void append_waits_cancel(struct append_waits *waits)
{
    parked_cancel(&waits->parked);
}
