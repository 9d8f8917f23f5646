/* The life of a shard: loading, serving, ticking, unloading. See coord/runtime.h for threads and
 * the walk; shard.c has the plumbing, shard_group.c and shard_txn.c what is particular to a kind,
 * the other files one API each.
 *
 * Loading replays whole batches, markers and transactional commits included. While it loads,
 * everything read counts as committed: a load ends at the high watermark. */
#include "coord/runtime.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "coord/shard_group.h"
#include "coord/shard_txn.h"

void coord_config_init(struct coord_config *config)
{
    *config = (struct coord_config){
        .session_timeout_min_ms = 6000,
        .session_timeout_max_ms = 1800000,
        .initial_rebalance_delay_ms = 3000,
        .group_size_max = INT32_MAX,
        .offset_metadata_size_max = 4096,
        .commit_timeout_ms = 5000,
        .offsets_retention_ms = INT64_C(10080) * 60 * 1000,
        .retention_check_ms = 600000,
        .batch_size_max = 1048588,
        .compression = 0,
        .transaction_timeout_max_ms = 900000,
        .transaction_abort_check_ms = 10000,
        .transactional_id_expiration_ms = INT64_C(7) * 24 * 3600 * 1000,
        .transaction_expiry_check_ms = 3600000,
        .two_phase_commit_enable = false,
        .transaction_version = 2,
    };
}

void coord_update_init(struct coord_update *update)
{
    list_init(&update->replies);
    list_init(&update->markers);
    update->deadline_ms = INT64_MAX;
}

void coord_update_deliver(struct coord_update *update)
{
    ENSURE(list_empty(&update->markers));
    struct list *node;
    while ((node = list_pop_front(&update->replies))) {
        struct coord_reply *reply = LIST_ITEM(node, struct coord_reply, link);
        reply->done(reply);
    }
}

struct coord_shard *coord_shard_new(enum coord_kind kind, const struct coord_config *config,
                                    const struct coord_writer *writer, int32_t partition)
{
    struct coord_shard *shard = mem_zalloc(sizeof *shard);
    shard->machine = kind == COORD_GROUPS ? &shard_group_machine : &shard_txn_machine;
    shard->state = mem_zalloc(shard->machine->state_size);
    shard->config = *config;
    shard->writer = *writer;
    shard->partition = partition;
    shard->phase = SHARD_LOADING;
    list_init(&shard->writes);
    heap_init(&shard->timers);
    buf_init(&shard->scratch);
    shard->machine->init(shard);
    return shard;
}

void coord_shard_free(struct coord_shard *shard)
{
    if (!shard)
        return;
    ENSURE(list_empty(&shard->writes));
    shard->machine->forget(shard);
    shard->machine->fini(shard);
    heap_fini(&shard->timers);
    buf_fini(&shard->scratch);
    mem_free(shard->state);
    mem_free(shard);
}

enum err coord_shard_load(struct coord_shard *shard, struct slice batches)
{
    ENSURE(shard->phase == SHARD_LOADING);
    return shard_load(shard, batches);
}

void coord_shard_activate(struct coord_shard *shard, const struct coord_event *event,
                          int64_t offset_next, int32_t epoch, struct coord_update *update)
{
    ENSURE(shard->phase == SHARD_LOADING);
    shard->phase = SHARD_ACTIVE;
    shard->epoch = epoch;
    shard->offset_next = offset_next;
    shard->committed = offset_next;
    shard->event = event;
    shard->update = update;
    shard->machine->activated(shard);
    shard_leave(shard);
}

void coord_shard_unload(struct coord_shard *shard, struct coord_update *update)
{
    static const struct coord_event nothing;
    if (shard->phase == SHARD_UNLOADED)
        return;
    shard->phase = SHARD_UNLOADED;
    shard->event = &nothing;
    shard->update = update;
    if (shard->machine->unloading)
        shard->machine->unloading(shard);
    shard_fail_writes(shard, ERR_NOT_COORDINATOR);
    shard->machine->forget(shard);
    shard_leave(shard);
}

enum err coord_shard_state(const struct coord_shard *shard)
{
    switch (shard->phase) {
    case SHARD_ACTIVE: return ERR_NONE;
    case SHARD_LOADING: return ERR_COORDINATOR_LOAD_IN_PROGRESS;
    case SHARD_UNLOADED: break;
    }
    return ERR_NOT_COORDINATOR;
}

void coord_shard_configure(struct coord_shard *shard, const struct coord_config *config)
{
    shard->config = *config;
}

void coord_shard_committed(struct coord_shard *shard, const struct coord_event *event,
                           int64_t committed, struct coord_update *update)
{
    enum err err;
    if (shard_enter(shard, event, update, &err))
        shard_commit(shard, committed);
    shard_leave(shard);
}

void coord_shard_tick(struct coord_shard *shard, const struct coord_event *event,
                      struct coord_update *update)
{
    enum err err;
    if (shard_enter(shard, event, update, &err)) {
        struct heap_node *node;
        while ((node = heap_min(&shard->timers)) && node->key <= event->now_ms) {
            heap_remove(&shard->timers, node);
            struct shard_timer *timer = LIST_ITEM(node, struct shard_timer, node);
            if (timer->kind == SHARD_TIMER_WRITE)
                shard_write_expired(shard, timer->owner);
            else
                shard->machine->fire(shard, timer);
        }
    }
    shard_leave(shard);
}
