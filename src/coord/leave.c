/* LeaveGroup: several members at once (version 3 and later, KIP-345), by member id or, for static
 * members, by instance id alone; one member before. Who leaves is gone at once; the others
 * rebalance. Kafka answers without waiting for the record of an emptied group, and so does this.
 * Called under the shard holder's lock. */
#include "coord/answers.h"
#include "coord/groups.h"
#include "coord/rebalance.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_leave_group.h"

enum { LEAVE_MEMBERS_SINCE = 3 };

static enum err leave_one(struct coord_shard *shard, struct group *group,
                          const struct leave_group_request_member_identity *who)
{
    if (who->member_id.size == 0) {
        const struct member *member = slice_is_null(who->group_instance_id)
                                          ? NULL
                                          : map_get(&group->static_members, who->group_instance_id);
        if (!member)
            return ERR_UNKNOWN_MEMBER_ID;
        rebalance_expel(shard, group, member->id);
        return ERR_NONE;
    }
    if (!group_pending_member(group, who->member_id)) {
        enum err err = group_check_member(group, who->member_id, who->group_instance_id);
        if (err)
            return err;
    }
    rebalance_expel(shard, group, who->member_id);
    return ERR_NONE;
}

static void leave(struct coord_shard *shard, struct slice group_id,
                  const struct leave_group_request_member_identity *members, int32_t count,
                  struct coord_reply *reply)
{
    struct group *group = shard_group(shard, group_id);
    bool known = group && group->kind == GROUP_CLASSIC;
    bool somebody_left = false;
    struct leave_group_response *response = reply->response;
    struct leave_group_response_member_response *items =
        leave_group_response_members_new(reply->arena, response, count);
    for (int32_t i = 0; i < count; i++) {
        enum err err = known ? leave_one(shard, group, &members[i]) : ERR_UNKNOWN_MEMBER_ID;
        items[i].member_id = members[i].member_id;
        items[i].group_instance_id = members[i].group_instance_id;
        items[i].error_code = err_to_wire(err);
        somebody_left |= err == ERR_NONE;
    }
    if (!somebody_left)
        return;
    if (group->state == GROUP_STABLE || group->state == GROUP_COMPLETING_REBALANCE)
        rebalance_start(shard, group);
    else
        rebalance_maybe_complete_join(shard, group);
}

void coord_groups_leave(struct coord_shard *shard, const struct coord_event *event,
                        const struct leave_group_request *request, struct coord_reply *reply,
                        struct coord_update *update)
{
    enum err err;
    shard_enter(shard, event, update, &err);
    shard_reply_begin(shard, reply);
    if (request->group_id.size == 0)
        err = ERR_INVALID_GROUP_ID;
    struct leave_group_response *response = reply->response;
    coord_answer_leave(err, response);
    if (!err && event->version >= LEAVE_MEMBERS_SINCE) {
        leave(shard, request->group_id, request->members, request->members_count, reply);
    } else if (!err) {
        struct leave_group_request_member_identity who = {.member_id = request->member_id};
        leave(shard, request->group_id, &who, 1, reply);
        response->error_code = response->members[0].error_code;
        response->members_count = 0; /* has no place in these versions */
    }
    shard_reply_complete(shard, reply);
    shard_leave(shard);
}
