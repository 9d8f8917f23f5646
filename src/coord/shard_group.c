/* The machine of a __consumer_offsets partition: it ties groups (group.c, rebalance.c, the API
 * files) and offsets (offset_store.c) to the plumbing of a shard. Called under the shard holder's
 * lock. */
#include "coord/shard_group.h"

#include "base/ensure.h"
#include "coord/expiry.h"
#include "coord/group.h"
#include "coord/offset_store.h"
#include "coord/rebalance.h"
#include "coord/replay.h"

static void init(struct coord_shard *shard)
{
    struct shard_groups *state = shard_groups(shard);
    map_init(&state->groups);
    map_init(&state->offsets);
    map_init(&state->transactions);
    list_init(&state->ghosts);
    list_init(&state->sweeps);
    shard_timer_init(&state->expiry, SHARD_TIMER_EXPIRY, shard);
}

/* Drops all groups and offsets; their replies have been completed. */
static void forget(struct coord_shard *shard)
{
    struct shard_groups *state = shard_groups(shard);
    for (size_t i = map_count(&state->groups); i-- > 0;)
        shard_group_remove(shard, map_at(&state->groups, i), INT64_MAX);
    struct list *node;
    while ((node = list_pop_front(&state->ghosts)))
        group_unref(LIST_ITEM(node, struct group, ghost_link));
    offset_store_clear(shard);
    shard_timer_cancel(shard, &state->expiry);
}

static void fini(struct coord_shard *shard)
{
    struct shard_groups *state = shard_groups(shard);
    map_fini(&state->groups);
    map_fini(&state->offsets);
    map_fini(&state->transactions);
}

static void activated(struct coord_shard *shard)
{
    struct shard_groups *state = shard_groups(shard);
    shard_timer_set(shard, &state->expiry, shard->config.retention_check_ms);
    for (size_t i = 0; i < map_count(&state->groups); i++)
        rebalance_loaded(shard, map_at(&state->groups, i));
}

static void unloading(struct coord_shard *shard)
{
    struct shard_groups *state = shard_groups(shard);
    for (size_t i = 0; i < map_count(&state->groups); i++)
        rebalance_unload(shard, map_at(&state->groups, i));
}

static void committed(struct coord_shard *shard)
{
    offset_store_sweep(shard);
    LIST_FOREACH(node, &shard_groups(shard)->ghosts)
    {
        struct group *group = LIST_ITEM(node, struct group, ghost_link);
        if (group->deleted_offset < shard->committed) {
            list_remove(&group->ghost_link);
            group_unref(group);
        }
    }
}

static void fire(struct coord_shard *shard, struct shard_timer *timer)
{
    switch (timer->kind) {
    case SHARD_TIMER_SESSION: rebalance_session_expired(shard, timer->owner); break;
    case SHARD_TIMER_PENDING_MEMBER: rebalance_pending_expired(shard, timer->owner); break;
    case SHARD_TIMER_JOIN: rebalance_join_expired(shard, timer->owner); break;
    case SHARD_TIMER_SYNC: rebalance_sync_expired(shard, timer->owner); break;
    case SHARD_TIMER_EXPIRY:
        expiry_run(shard);
        shard_timer_set(shard, timer, shard->config.retention_check_ms);
        break;
    case SHARD_TIMER_WRITE:
    case SHARD_TIMER_TXN_TIMEOUTS:
    case SHARD_TIMER_TXN_EXPIRY:
    case SHARD_TIMER_TXN_RETRY: ENSURE(false);
    }
}

const struct shard_machine shard_group_machine = {
    .state_size = sizeof(struct shard_groups),
    .base_sequence = 0,
    .compresses = true,
    .init = init,
    .fini = fini,
    .replay = replay_record,
    .activated = activated,
    .unloading = unloading,
    .forget = forget,
    .committed = committed,
    .fire = fire,
};

struct group *shard_group(struct coord_shard *shard, struct slice group_id)
{
    struct shard_groups *state = shard_groups(shard);
    if (!state->group_before || !slice_eq(state->group_before->id, group_id))
        state->group_before = map_get(&state->groups, group_id);
    return state->group_before;
}

struct group *shard_group_committed(const struct coord_shard *shard, struct slice group_id)
{
    struct group *group = map_get(&shard_groups(shard)->groups, group_id);
    if (group && group->created_offset < shard->committed)
        return group;
    LIST_FOREACH(node, &shard_groups(shard)->ghosts)
    {
        struct group *ghost = LIST_ITEM(node, struct group, ghost_link);
        if (ghost->created_offset < shard->committed && slice_eq(ghost->id, group_id))
            return ghost;
    }
    return NULL;
}

void shard_group_add(struct coord_shard *shard, struct group *group)
{
    map_put(&shard_groups(shard)->groups, group->id, group);
    shard_groups(shard)->group_before = group;
}

void shard_group_remove(struct coord_shard *shard, struct group *group, int64_t offset)
{
    map_remove(&shard_groups(shard)->groups, group->id);
    shard_groups(shard)->group_before = NULL;
    group_clear(shard, group);
    group->removed = true;
    if (offset != INT64_MAX && offset >= shard->committed) {
        group->deleted_offset = offset;
        list_push_back(&shard_groups(shard)->ghosts, &group->ghost_link);
        return;
    }
    group_unref(group);
}

static void release_group(struct shard_write *write)
{
    group_unref(write->group);
}

void shard_group_append(struct coord_shard *shard, const struct shard_records *records,
                        const struct shard_write *template)
{
    struct shard_write write = *template;
    group_ref(write.group);
    write.release = release_group;
    shard_append(shard, records, &write);
}
