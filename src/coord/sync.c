/* SyncGroup and Heartbeat. The leader's SyncGroup brings the assignments: they are written with the
 * whole group as one record, and when it is committed every member that waits gets its own (KIP-345
 * and before: members the leader left out get none). Others park until then. When the write fails
 * all get Kafka's mapped error and the group rebalances.
 * Called under the shard holder's lock. */
#include "coord/answers.h"
#include "coord/group_record.h"
#include "coord/groups.h"
#include "coord/rebalance.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_heartbeat.h"
#include "wire_sync_group.h"

enum { SYNC_PROTOCOL_SINCE = 5 }; /* protocol type and name must be given (KIP-559) */

static void refuse_sync(struct coord_shard *shard, struct coord_reply *reply, enum err error)
{
    coord_answer_sync(error, reply->response);
    shard_reply_complete(shard, reply);
}

/* Both must be given for a contradiction. */
static bool contradicts(struct slice asked, struct slice is)
{
    return !slice_is_null(asked) && !slice_is_null(is) && !slice_eq(asked, is);
}

static enum err check_sync(const struct group *group, const struct sync_group_request *request)
{
    enum err err = group_check_member(group, request->member_id, request->group_instance_id);
    if (err)
        return err;
    if (request->generation_id != group->generation)
        return ERR_ILLEGAL_GENERATION;
    if (contradicts(request->protocol_type, group->protocol_type) ||
        contradicts(request->protocol_name, group->protocol_name))
        return ERR_INCONSISTENT_GROUP_PROTOCOL;
    return ERR_NONE;
}

static void assignment_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct group *group = write->group;
    if (group->removed || group->state != GROUP_COMPLETING_REBALANCE ||
        group->generation != write->generation)
        return; /* a newer rebalance has told everybody */
    if (error) {
        rebalance_assign_failed(shard, group, error);
        rebalance_start_or_complete(shard, group);
        return;
    }
    rebalance_assigned(shard, group);
}

static void take_assignments(struct group *group, const struct sync_group_request *request)
{
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct member *member = map_at(&group->members, i);
        slice_free(&member->assignment_next);
    }
    for (int32_t i = 0; i < request->assignments_count; i++) {
        struct member *member = group_member(group, request->assignments[i].member_id);
        if (member)
            group_set_text(&member->assignment_next, request->assignments[i].assignment);
    }
}

static void sync_leader(struct coord_shard *shard, struct group *group,
                        const struct sync_group_request *request)
{
    take_assignments(group, request);
    struct shard_records records;
    shard_records_init(&records);
    group_record_metadata(&records, group, true);
    shard_group_append(shard, &records,
                       &(struct shard_write){.done = assignment_done,
                                             .group = group,
                                             .generation = group->generation});
    shard_records_fini(&records);
}

static void sync_group(struct coord_shard *shard, const struct sync_group_request *request,
                       struct coord_reply *reply)
{
    struct group *group = shard_group(shard, request->group_id);
    if (!group || group->kind != GROUP_CLASSIC || group->state == GROUP_EMPTY) {
        refuse_sync(shard, reply, ERR_UNKNOWN_MEMBER_ID);
        return;
    }
    enum err err = check_sync(group, request);
    if (!err && group->state == GROUP_PREPARING_REBALANCE)
        err = ERR_REBALANCE_IN_PROGRESS;
    if (err) {
        refuse_sync(shard, reply, err);
        return;
    }
    struct member *member = group_member(group, request->member_id);
    rebalance_clear_sync_pending(shard, member);
    if (group->state == GROUP_STABLE) {
        rebalance_answer_sync(shard, reply, member);
        return;
    }
    if (member->sync_reply) /* a retry: the answer that was waited for before is not wanted */
        refuse_sync(shard, member->sync_reply, ERR_REBALANCE_IN_PROGRESS);
    member->sync_reply = reply;
    if (group_is_leader(group, member->id))
        sync_leader(shard, group, request);
}

void coord_groups_sync(struct coord_shard *shard, const struct coord_event *event,
                       const struct sync_group_request *request, struct coord_reply *reply,
                       struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    if (request->group_id.size == 0)
        err = ERR_INVALID_GROUP_ID;
    if (event->version >= SYNC_PROTOCOL_SINCE &&
        (slice_is_null(request->protocol_type) || slice_is_null(request->protocol_name)))
        err = ERR_INCONSISTENT_GROUP_PROTOCOL;
    if (err)
        refuse_sync(shard, reply, err);
    else
        sync_group(shard, request, reply);
    shard_leave(shard);
}

static enum err heartbeat(struct coord_shard *shard, const struct heartbeat_request *request)
{
    struct group *group = shard_group(shard, request->group_id);
    if (!group || group->kind != GROUP_CLASSIC)
        return ERR_UNKNOWN_MEMBER_ID;
    enum err err = group_check_member(group, request->member_id, request->group_instance_id);
    if (err)
        return err;
    if (request->generation_id != group->generation)
        return ERR_ILLEGAL_GENERATION;
    rebalance_touch(shard, group_member(group, request->member_id));
    return group->state == GROUP_PREPARING_REBALANCE ? ERR_REBALANCE_IN_PROGRESS : ERR_NONE;
}

void coord_groups_heartbeat(struct coord_shard *shard, const struct coord_event *event,
                            const struct heartbeat_request *request, struct coord_reply *reply,
                            struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    if (request->group_id.size == 0)
        err = ERR_INVALID_GROUP_ID;
    else if (!err)
        err = heartbeat(shard, request);
    coord_answer_heartbeat(err, reply->response);
    shard_reply_complete(shard, reply);
    shard_leave(shard);
}
