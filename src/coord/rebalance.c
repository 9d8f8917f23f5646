/* The rebalance of a classic group: who is waited for, how long, and what everybody is told. The
 * states and their moves are listed in group.c. Called under the shard holder's lock, by the APIs
 * (join.c, sync.c, leave.c) and by timers.
 *
 * Timers, as in Kafka: the join timer is the initial delay of an Empty group (extended while
 * members arrive, up to the rebalance timeout), else the rebalance timeout; the sync timer removes
 * members that joined but never sync (rebalance timeout from the end of the join phase); a session
 * timer per member, ignored while its JoinGroup or SyncGroup is parked, except for new members:
 * these go after 5 minutes, for a client that gave up may have rejoined under another id.
 *
 * Where Kafka drops a parked answer silently (a retry that replaces it, a member that leaves by
 * another connection), it is completed here with an error that makes a client rejoin. */
#include "coord/rebalance.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "coord/answers.h"
#include "coord/group_record.h"
#include "wire/codec.h"
#include "wire_join_group.h"
#include "wire_sync_group.h"

static void start(struct coord_shard *shard, struct group *group);
static void complete_join(struct coord_shard *shard, struct group *group);

void rebalance_touch(struct coord_shard *shard, struct member *member)
{
    shard_timer_set(shard, &member->session, member->session_timeout_ms);
}

/* ---- parked replies ---------------------------------------------------------------------- */

void rebalance_fail_join(struct coord_shard *shard, struct member *member, enum err error,
                         struct slice member_id)
{
    struct coord_reply *reply = member->join_reply;
    if (!reply)
        return;
    member->join_reply = NULL;
    member->group->awaiting_join--;
    coord_answer_join(reply->version, error, arena_dup(reply->arena, member_id), reply->response);
    shard_reply_complete(shard, reply);
}

static void fail_sync(struct coord_shard *shard, struct member *member, enum err error)
{
    struct coord_reply *reply = member->sync_reply;
    if (!reply)
        return;
    member->sync_reply = NULL;
    coord_answer_sync(error, reply->response);
    shard_reply_complete(shard, reply);
}

void rebalance_fence(struct coord_shard *shard, struct member *member)
{
    rebalance_fail_join(shard, member, ERR_FENCED_INSTANCE_ID, member->id);
    fail_sync(shard, member, ERR_FENCED_INSTANCE_ID);
}

void rebalance_park_join(struct coord_shard *shard, struct member *member,
                         struct coord_reply *reply)
{
    rebalance_fail_join(shard, member, ERR_REBALANCE_IN_PROGRESS, member->id);
    member->join_reply = reply;
    member->group->awaiting_join++;
}

/* Null where the version has no null. */
static struct slice text_of(struct coord_reply *reply, struct slice text, int16_t null_since)
{
    if (slice_is_null(text))
        return reply->version >= null_since ? SLICE_NULL : SLICE_LIT("");
    return arena_dup(reply->arena, text);
}

static void list_members(struct coord_reply *reply, const struct group *group)
{
    struct join_group_response *response = reply->response;
    int32_t count = (int32_t)map_count(&group->members);
    struct join_group_response_join_group_response_member *items =
        join_group_response_members_new(reply->arena, response, count);
    for (int32_t i = 0; i < count; i++) {
        const struct member *member = map_at(&group->members, (size_t)i);
        items[i].member_id = arena_dup(reply->arena, member->id);
        items[i].group_instance_id = arena_dup(reply->arena, member->instance_id);
        items[i].metadata =
            text_of(reply, member_metadata(member, group->protocol_name), INT16_MAX);
    }
}

void rebalance_answer_join(struct coord_shard *shard, struct coord_reply *reply,
                           const struct member *member, bool with_members, struct slice leader,
                           bool skip_assignment)
{
    const struct group *group = member->group;
    struct join_group_response *response = reply->response;
    wire_init(&wire_join_group_response, response);
    response->generation_id = group->generation;
    response->protocol_type = text_of(reply, group->protocol_type, 0);
    response->protocol_name = text_of(reply, group->protocol_name, 7);
    response->leader = text_of(reply, leader, INT16_MAX);
    response->skip_assignment = skip_assignment;
    response->member_id = arena_dup(reply->arena, member->id);
    if (with_members)
        list_members(reply, group);
    shard_reply_complete(shard, reply);
}

void rebalance_answer_sync(struct coord_shard *shard, struct coord_reply *reply,
                           const struct member *member)
{
    const struct group *group = member->group;
    struct sync_group_response *response = reply->response;
    wire_init(&wire_sync_group_response, response);
    response->protocol_type = text_of(reply, group->protocol_type, 0);
    response->protocol_name = text_of(reply, group->protocol_name, 0);
    response->assignment = arena_dup(reply->arena, member->assignment);
    shard_reply_complete(shard, reply);
}

/* ---- members that sync, or do not -------------------------------------------------------- */

static void clear_all_sync_pending(struct coord_shard *shard, struct group *group)
{
    for (size_t i = 0; i < map_count(&group->members); i++)
        ((struct member *)map_at(&group->members, i))->sync_pending = false;
    group->sync_pending = 0;
    shard_timer_cancel(shard, &group->sync_timer);
}

void rebalance_clear_sync_pending(struct coord_shard *shard, struct member *member)
{
    struct group *group = member->group;
    if (member->sync_pending) {
        member->sync_pending = false;
        group->sync_pending--;
    }
    if (group->sync_pending == 0)
        shard_timer_cancel(shard, &group->sync_timer);
}

void rebalance_assigned(struct coord_shard *shard, struct group *group)
{
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct member *member = map_at(&group->members, i);
        member_set_assignment(member, member->assignment_next);
        slice_free(&member->assignment_next);
        struct coord_reply *reply = member->sync_reply;
        if (!reply)
            continue;
        member->sync_reply = NULL;
        rebalance_answer_sync(shard, reply, member);
        rebalance_touch(shard, member); /* what ran out while it was parked did not count */
    }
    group_transition(group, GROUP_STABLE, shard->event->wall_ms);
}

void rebalance_assign_failed(struct coord_shard *shard, struct group *group, enum err error)
{
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct member *member = map_at(&group->members, i);
        member_set_assignment(member, SLICE_NULL);
        slice_free(&member->assignment_next);
        if (!member->sync_reply)
            continue;
        fail_sync(shard, member, error);
        rebalance_touch(shard, member);
    }
}

/* ---- start ------------------------------------------------------------------------------- */

void rebalance_start(struct coord_shard *shard, struct group *group)
{
    start(shard, group);
}

static void schedule_join(struct coord_shard *shard, struct group *group)
{
    /* A client may ask for a timeout of 0: with nobody but silent static members the timer would
     * fire, find nothing to do and be due again within one tick, for ever. */
    int32_t timeout_ms = group_rebalance_timeout_ms(group);
    group->join_is_initial = false;
    shard_timer_set(shard, &group->join_timer, timeout_ms > 0 ? timeout_ms : 1);
}

static void start(struct coord_shard *shard, struct group *group)
{
    if (group->state == GROUP_COMPLETING_REBALANCE)
        rebalance_assign_failed(shard, group, ERR_REBALANCE_IN_PROGRESS);
    clear_all_sync_pending(shard, group);
    bool initial = group->state == GROUP_EMPTY;
    group_transition(group, GROUP_PREPARING_REBALANCE, shard->event->wall_ms);
    if (initial) {
        int64_t delay_ms = shard->config.initial_rebalance_delay_ms;
        int64_t remaining_ms = group_rebalance_timeout_ms(group) - delay_ms;
        group->join_is_initial = true;
        group->initial_delay_ms = delay_ms;
        group->initial_remaining_ms = remaining_ms > 0 ? remaining_ms : 0;
        shard_timer_set(shard, &group->join_timer, delay_ms);
    } else if (group_all_joined(group)) {
        complete_join(shard, group);
    } else {
        schedule_join(shard, group);
    }
}

void rebalance_maybe_complete_join(struct coord_shard *shard, struct group *group)
{
    if (group->state == GROUP_PREPARING_REBALANCE && group->state_before != GROUP_EMPTY &&
        group_all_joined(group))
        complete_join(shard, group);
}

void rebalance_start_or_complete(struct coord_shard *shard, struct group *group)
{
    if (group->state == GROUP_STABLE || group->state == GROUP_COMPLETING_REBALANCE ||
        group->state == GROUP_EMPTY)
        start(shard, group);
    else
        rebalance_maybe_complete_join(shard, group);
}

/* ---- end of the join phase --------------------------------------------------------------- */

static void remove_member(struct coord_shard *shard, struct member *member)
{
    rebalance_fail_join(shard, member, ERR_UNKNOWN_MEMBER_ID, SLICE_LIT(""));
    fail_sync(shard, member, ERR_UNKNOWN_MEMBER_ID);
    group_remove_member(shard, member->group, member);
}

void rebalance_expel(struct coord_shard *shard, struct group *group, struct slice member_id)
{
    struct member *member = group_member(group, member_id);
    struct pending_member *pending = group_pending_member(group, member_id);
    if (member)
        remove_member(shard, member);
    if (pending)
        group_remove_pending(shard, group, pending);
}

/* False when nobody joined in time. */
static bool elect_joined_leader(struct group *group)
{
    if (slice_is_null(group->leader))
        return false;
    const struct member *leader = group_member(group, group->leader);
    if (leader && leader->join_reply)
        return true;
    for (size_t i = 0; i < map_count(&group->members); i++) {
        const struct member *member = map_at(&group->members, i);
        if (member->join_reply) {
            group_set_text(&group->leader, member->id);
            return true;
        }
    }
    return false;
}

static void empty_group_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    /* Nobody waits. If it failed, the generation before may come back after a restart, and expire
     * again. */
    (void)shard;
    (void)write;
    (void)error;
}

static void write_empty(struct coord_shard *shard, struct group *group)
{
    struct shard_records records;
    shard_records_init(&records);
    group_record_metadata(&records, group, false);
    shard_group_append(shard, &records,
                       &(struct shard_write){.done = empty_group_done, .group = group});
    shard_records_fini(&records);
}

static void next_generation(struct coord_shard *shard, struct group *group)
{
    group->generation = group->generation == INT32_MAX ? 0 : group->generation + 1;
    bool empty = map_count(&group->members) == 0;
    group_set_text(&group->protocol_name, empty ? SLICE_NULL : group_select_protocol(group));
    group_transition(group, empty ? GROUP_EMPTY : GROUP_COMPLETING_REBALANCE,
                     shard->event->wall_ms);
    clear_all_sync_pending(shard, group);
}

static void complete_join(struct coord_shard *shard, struct group *group)
{
    shard_timer_cancel(shard, &group->join_timer);
    for (size_t i = map_count(&group->members); i-- > 0;) {
        struct member *member = map_at(&group->members, i);
        if (!member->join_reply && slice_is_null(member->instance_id))
            remove_member(shard, member);
    }
    if (!elect_joined_leader(group) && map_count(&group->members) > 0) {
        schedule_join(shard, group); /* static members alone, none rejoined: wait on */
        return;
    }
    next_generation(shard, group);
    if (group->state == GROUP_EMPTY) {
        write_empty(shard, group);
        return;
    }
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct member *member = map_at(&group->members, i);
        struct coord_reply *reply = member->join_reply;
        if (reply) {
            member->join_reply = NULL;
            group->awaiting_join--;
            rebalance_answer_join(shard, reply, member, group_is_leader(group, member->id),
                                  group->leader, false);
        }
        rebalance_touch(shard, member);
        member->is_new = false;
        member->sync_pending = true;
        group->sync_pending++;
    }
    shard_timer_set(shard, &group->sync_timer, group_rebalance_timeout_ms(group));
}

/* ---- by time ----------------------------------------------------------------------------- */

void rebalance_session_expired(struct coord_shard *shard, struct member *member)
{
    if (!member->is_new && (member->join_reply || member->sync_reply))
        return; /* it is we who keep it waiting */
    struct group *group = member->group;
    remove_member(shard, member);
    if (group->state == GROUP_STABLE || group->state == GROUP_COMPLETING_REBALANCE)
        start(shard, group);
    else if (group->state == GROUP_PREPARING_REBALANCE && group_all_joined(group))
        complete_join(shard, group);
}

void rebalance_pending_expired(struct coord_shard *shard, struct pending_member *pending)
{
    struct group *group = pending->group;
    group_remove_pending(shard, group, pending);
    if (group->state == GROUP_PREPARING_REBALANCE && group_all_joined(group))
        complete_join(shard, group);
}

void rebalance_join_expired(struct coord_shard *shard, struct group *group)
{
    if (group->join_is_initial && group->new_member_added && group->initial_remaining_ms != 0) {
        int64_t delay_ms = shard->config.initial_rebalance_delay_ms;
        int64_t remaining_ms = group->initial_remaining_ms - group->initial_delay_ms;
        group->new_member_added = false;
        if (delay_ms > group->initial_remaining_ms)
            delay_ms = group->initial_remaining_ms;
        group->initial_delay_ms = delay_ms;
        group->initial_remaining_ms = remaining_ms > 0 ? remaining_ms : 0;
        shard_timer_set(shard, &group->join_timer, delay_ms);
        return;
    }
    if (group->state == GROUP_PREPARING_REBALANCE)
        complete_join(shard, group);
}

void rebalance_sync_expired(struct coord_shard *shard, struct group *group)
{
    if (group->state != GROUP_COMPLETING_REBALANCE && group->state != GROUP_STABLE)
        return;
    if (group->sync_pending == 0)
        return;
    for (size_t i = map_count(&group->members); i-- > 0;) {
        struct member *member = map_at(&group->members, i);
        if (member->sync_pending)
            remove_member(shard, member);
    }
    start(shard, group);
}

/* ---- life of the shard ------------------------------------------------------------------- */

void rebalance_loaded(struct coord_shard *shard, struct group *group)
{
    for (size_t i = 0; i < map_count(&group->members); i++)
        rebalance_touch(shard, map_at(&group->members, i));
    if (map_count(&group->members) > (size_t)shard->config.group_size_max)
        start(shard, group);
}

void rebalance_unload(struct coord_shard *shard, struct group *group)
{
    group->state = GROUP_DEAD;
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct member *member = map_at(&group->members, i);
        rebalance_fail_join(shard, member, ERR_NOT_COORDINATOR, member->id);
        fail_sync(shard, member, ERR_NOT_COORDINATOR);
    }
}
