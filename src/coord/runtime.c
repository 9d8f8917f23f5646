/* The life of a shard: loading, serving, ticking, unloading. See coord/runtime.h for threads and
 * the walk; shard.c has the plumbing, the other files one API each.
 *
 * Loading replays whole batches, markers and transactional commits included. While it loads,
 * everything read counts as committed: a load ends at the high watermark. */
#include "coord/runtime.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "coord/expiry.h"
#include "coord/group.h"
#include "coord/offset_store.h"
#include "coord/rebalance.h"
#include "coord/replay.h"
#include "coord/shard.h"

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
    };
}

void coord_update_init(struct coord_update *update)
{
    list_init(&update->replies);
    update->deadline_ms = INT64_MAX;
}

void coord_update_deliver(struct coord_update *update)
{
    struct list *node;
    while ((node = list_pop_front(&update->replies))) {
        struct coord_reply *reply = LIST_ITEM(node, struct coord_reply, link);
        reply->done(reply);
    }
}

struct coord_shard *coord_shard_new(const struct coord_config *config,
                                    const struct coord_writer *writer, int32_t partition)
{
    struct coord_shard *shard = mem_zalloc(sizeof *shard);
    shard->config = *config;
    shard->writer = *writer;
    shard->partition = partition;
    shard->phase = SHARD_LOADING;
    map_init(&shard->groups);
    map_init(&shard->offsets);
    map_init(&shard->transactions);
    list_init(&shard->ghosts);
    list_init(&shard->sweeps);
    list_init(&shard->writes);
    heap_init(&shard->timers);
    buf_init(&shard->scratch);
    shard_timer_init(&shard->expiry, SHARD_TIMER_EXPIRY, shard);
    return shard;
}

/* Drops all groups and offsets; their replies have been completed. */
static void forget(struct coord_shard *shard)
{
    for (size_t i = map_count(&shard->groups); i-- > 0;)
        shard_remove_group(shard, map_at(&shard->groups, i), INT64_MAX);
    struct list *node;
    while ((node = list_pop_front(&shard->ghosts)))
        group_unref(LIST_ITEM(node, struct group, ghost_link));
    offset_store_clear(shard);
    shard_timer_cancel(shard, &shard->expiry);
}

void coord_shard_free(struct coord_shard *shard)
{
    if (!shard)
        return;
    ENSURE(list_empty(&shard->writes));
    forget(shard);
    map_fini(&shard->groups);
    map_fini(&shard->offsets);
    map_fini(&shard->transactions);
    heap_fini(&shard->timers);
    buf_fini(&shard->scratch);
    mem_free(shard);
}

enum err coord_shard_load(struct coord_shard *shard, struct slice batches)
{
    ENSURE(shard->phase == SHARD_LOADING);
    return replay_loaded(shard, batches);
}

void coord_shard_activate(struct coord_shard *shard, const struct coord_event *event,
                          int64_t offset_next, struct coord_update *update)
{
    ENSURE(shard->phase == SHARD_LOADING);
    shard->phase = SHARD_ACTIVE;
    shard->offset_next = offset_next;
    shard->committed = offset_next;
    shard->event = event;
    shard->update = update;
    shard_timer_set(shard, &shard->expiry, shard->config.retention_check_ms);
    for (size_t i = 0; i < map_count(&shard->groups); i++)
        rebalance_loaded(shard, map_at(&shard->groups, i));
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
    for (size_t i = 0; i < map_count(&shard->groups); i++)
        rebalance_unload(shard, map_at(&shard->groups, i));
    shard_fail_writes(shard, ERR_NOT_COORDINATOR);
    forget(shard);
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

int32_t coord_shard_partition(const struct coord_shard *shard)
{
    return shard->partition;
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

static void fire(struct coord_shard *shard, struct shard_timer *timer)
{
    switch (timer->kind) {
    case SHARD_TIMER_SESSION: rebalance_session_expired(shard, timer->owner); break;
    case SHARD_TIMER_PENDING_MEMBER: rebalance_pending_expired(shard, timer->owner); break;
    case SHARD_TIMER_JOIN: rebalance_join_expired(shard, timer->owner); break;
    case SHARD_TIMER_SYNC: rebalance_sync_expired(shard, timer->owner); break;
    case SHARD_TIMER_WRITE: shard_write_expired(shard, timer->owner); break;
    case SHARD_TIMER_EXPIRY:
        expiry_run(shard);
        shard_timer_set(shard, &shard->expiry, shard->config.retention_check_ms);
        break;
    }
}

void coord_shard_tick(struct coord_shard *shard, const struct coord_event *event,
                      struct coord_update *update)
{
    enum err err;
    if (shard_enter(shard, event, update, &err)) {
        struct heap_node *node;
        while ((node = heap_min(&shard->timers)) && node->key <= event->now_ms) {
            heap_remove(&shard->timers, node);
            fire(shard, LIST_ITEM(node, struct shard_timer, node));
        }
    }
    shard_leave(shard);
}
