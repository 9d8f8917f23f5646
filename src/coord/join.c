/* JoinGroup. A member is told its id first (KIP-394, version 4 and later: MEMBER_ID_REQUIRED), then
 * joins with it and is parked until the rebalance is complete; a static member (KIP-345) joins
 * without one and takes over its instance's place: the id before is fenced.
 *
 * A group begins with the first JoinGroup that has no member id: a record of the empty group is
 * written, so that the group is there for readers. When that write fails the group goes again.
 * A static member that comes back to a Stable group with the same protocol does not disturb it
 * (KIP-814: the leader is told to skip the assignment); its new id is written first and its answer
 * waits for the commit. Called under the shard holder's lock. */
#include <stdio.h>

#include "base/mem.h"
#include "coord/answers.h"
#include "coord/group_record.h"
#include "coord/groups.h"
#include "coord/rebalance.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_join_group.h"

enum {
    JOIN_MEMBER_ID_REQUIRED_SINCE = 4,
    JOIN_SKIP_ASSIGNMENT_SINCE = 9,
    JOIN_NEW_MEMBER_TIMEOUT_MS = 5 * 60 * 1000, /* of a first JoinGroup that is parked */
    JOIN_ID_SUFFIX_SIZE = 37,                   /* '-' and a UUID's text */
};

_Static_assert(sizeof(struct member_protocol) ==
                   sizeof(struct join_group_request_join_group_request_protocol),
               "offers are made of request items");
_Static_assert(offsetof(struct member_protocol, metadata) ==
                   offsetof(struct join_group_request_join_group_request_protocol, metadata),
               "offers are made of request items");

/* One JoinGroup on its way. */
struct join {
    struct coord_shard *shard;
    const struct join_group_request *request;
    struct coord_reply *reply;
    struct group *group;
    struct group_offer offer;
    int32_t rebalance_timeout_ms;
};

static void refuse(struct join *join, enum err error, struct slice member_id)
{
    coord_answer_join(join->reply->version, error, arena_dup(join->reply->arena, member_id),
                      join->reply->response);
    shard_reply_complete(join->shard, join->reply);
}

/* "<client id or instance id>-<uuid>", in the reply's arena. */
static struct slice make_member_id(struct join *join)
{
    const struct coord_event *event = join->shard->event;
    struct slice prefix = slice_is_null(join->request->group_instance_id)
                              ? event->client_id
                              : join->request->group_instance_id;
    uint8_t u[16];
    memcpy(u, event->random, sizeof u);
    u[6] = (uint8_t)((u[6] & 0x0f) | 0x40);
    u[8] = (uint8_t)((u[8] & 0x3f) | 0x80);
    uint8_t *text = arena_alloc(join->reply->arena, prefix.size + JOIN_ID_SUFFIX_SIZE + 1);
    if (prefix.size > 0)
        memcpy(text, prefix.data, prefix.size);
    snprintf((char *)text + prefix.size, JOIN_ID_SUFFIX_SIZE + 1,
             "-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", u[0], u[1],
             u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13], u[14],
             u[15]);
    return slice_of(text, prefix.size + JOIN_ID_SUFFIX_SIZE);
}

/* Whether group.max.size lets this member in. While a rebalance is prepared those who wait count,
 * so that of too many members the last to rejoin are refused. */
static bool has_room(const struct join *join)
{
    const struct group *group = join->group;
    const struct member *member = group_member(group, join->request->member_id);
    int32_t size_max = join->shard->config.group_size_max;
    switch (group->state) {
    case GROUP_PREPARING_REBALANCE:
        return (member && member->join_reply) || group->awaiting_join < size_max;
    case GROUP_COMPLETING_REBALANCE:
    case GROUP_STABLE: return member || map_count(&group->members) < (size_t)size_max;
    case GROUP_EMPTY:
    case GROUP_DEAD: break;
    }
    return true;
}

static void add_member(struct join *join, struct slice member_id)
{
    struct coord_shard *shard = join->shard;
    struct group *group = join->group;
    struct member *member = member_new(group, member_id, join->request->group_instance_id);
    member->client_id =
        slice_dup(shard->event->client_id.data ? shard->event->client_id : SLICE_LIT(""));
    member->client_host = slice_dup(shard->event->client_host);
    member->session_timeout_ms = join->request->session_timeout_ms;
    member->rebalance_timeout_ms = join->rebalance_timeout_ms;
    member->is_new = true;
    member_set_protocols(member, &join->offer);
    if (group->state == GROUP_PREPARING_REBALANCE && group->state_before == GROUP_EMPTY)
        group->new_member_added = true;
    group_add_member(shard, group, member, join->offer.type);
    rebalance_park_join(shard, member, join->reply);
    shard_timer_set(shard, &member->session, JOIN_NEW_MEMBER_TIMEOUT_MS);
    rebalance_start_or_complete(shard, group);
}

static void update_member(struct join *join, struct member *member)
{
    group_update_protocols(join->group, member, &join->offer);
    member->rebalance_timeout_ms = join->rebalance_timeout_ms;
    member->session_timeout_ms = join->request->session_timeout_ms;
    rebalance_park_join(join->shard, member, join->reply);
}

/* ---- static members ---------------------------------------------------------------------- */

/* What a static member was, until its new id is committed. */
struct join_undo {
    struct slice id_before, leader_before;
    struct member_protocol *protocols;
    int32_t protocol_count;
    int32_t session_timeout_ms, rebalance_timeout_ms;
    struct slice id; /* the new one */
};

static struct join_undo *undo_new(const struct member *member, struct slice id)
{
    struct join_undo *undo = mem_zalloc(sizeof *undo);
    undo->id_before = slice_dup(member->id);
    undo->leader_before = slice_dup(member->group->leader);
    undo->session_timeout_ms = member->session_timeout_ms;
    undo->rebalance_timeout_ms = member->rebalance_timeout_ms;
    undo->id = slice_dup(id);
    struct member copy = {0};
    struct group_offer offer = {SLICE_NULL, member->protocols, member->protocol_count};
    member_set_protocols(&copy, &offer);
    undo->protocols = copy.protocols;
    undo->protocol_count = copy.protocol_count;
    return undo;
}

static void undo_free(struct join_undo *undo)
{
    slice_free(&undo->id_before);
    slice_free(&undo->leader_before);
    slice_free(&undo->id);
    mem_free(undo->protocols);
    mem_free(undo);
}

static void revert_static(struct coord_shard *shard, struct shard_write *write,
                          struct member *member, enum err error)
{
    struct join_undo *undo = write->undo;
    struct group *group = write->group;
    struct group_offer offer = {group->protocol_type, undo->protocols, undo->protocol_count};
    struct coord_reply *reply = member->join_reply;
    group_update_protocols(group, member, &offer);
    member->session_timeout_ms = undo->session_timeout_ms;
    member->rebalance_timeout_ms = undo->rebalance_timeout_ms;
    group_rename_member(group, member, undo->id_before);
    rebalance_touch(shard, member);
    if (reply) {
        member->join_reply = NULL;
        group->awaiting_join--;
        rebalance_answer_join(shard, reply, member, false, undo->leader_before, false);
        struct join_group_response *response = reply->response;
        response->member_id = SLICE_LIT("");
        response->error_code = err_to_wire(error);
    }
}

static void static_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct join_undo *undo = write->undo;
    struct group *group = write->group;
    struct member *member = group->removed ? NULL : group_member(group, undo->id);
    if (member && group->state != GROUP_DEAD) {
        struct coord_reply *reply = member->join_reply;
        if (error) {
            revert_static(shard, write, member, error);
        } else if (reply && group->state == GROUP_STABLE) {
            bool leads = group_is_leader(group, member->id);
            bool skip = reply->version >= JOIN_SKIP_ASSIGNMENT_SINCE;
            member->join_reply = NULL;
            group->awaiting_join--;
            rebalance_answer_join(shard, reply, member, skip && leads,
                                  skip ? group->leader : undo->leader_before, skip && leads);
        }
    }
    undo_free(undo);
}

/* A known instance without a member id: the newcomer takes the place of the member before. */
static void replace_static(struct join *join, struct member *member, struct slice member_id)
{
    struct coord_shard *shard = join->shard;
    struct group *group = join->group;
    struct join_undo *undo = undo_new(member, member_id);
    rebalance_fence(shard, member);
    group_rename_member(group, member, member_id);
    member->is_new = false;
    rebalance_touch(shard, member);
    update_member(join, member);
    if (group->state == GROUP_STABLE) {
        if (slice_eq(group->protocol_name, group_select_protocol(group))) {
            struct shard_records records;
            shard_records_init(&records);
            group_record_metadata(&records, group, false);
            shard_group_append(
                shard, &records,
                &(struct shard_write){.done = static_done, .group = group, .undo = undo});
            shard_records_fini(&records);
            return;
        }
        rebalance_start_or_complete(shard, group);
    } else if (group->state == GROUP_COMPLETING_REBALANCE) {
        /* The leader may be assigning to the id before: begin again. */
        rebalance_start(shard, group);
    } else {
        rebalance_maybe_complete_join(shard, group);
    }
    undo_free(undo);
}

/* ---- who joins --------------------------------------------------------------------------- */

static void join_unknown(struct join *join)
{
    const struct join_group_request *request = join->request;
    struct group *group = join->group;
    if (!group_supports(group, &join->offer)) {
        refuse(join, ERR_INCONSISTENT_GROUP_PROTOCOL, SLICE_LIT(""));
        return;
    }
    struct slice member_id = make_member_id(join);
    if (!slice_is_null(request->group_instance_id)) {
        struct member *member = map_get(&group->static_members, request->group_instance_id);
        if (member)
            replace_static(join, member, member_id);
        else
            add_member(join, member_id);
    } else if (join->reply->version >= JOIN_MEMBER_ID_REQUIRED_SINCE) {
        struct pending_member *pending = group_add_pending(group, member_id);
        shard_timer_set(join->shard, &pending->timer, request->session_timeout_ms);
        refuse(join, ERR_MEMBER_ID_REQUIRED, member_id);
    } else {
        add_member(join, member_id);
    }
}

static void rejoin(struct join *join, struct member *member)
{
    struct group *group = join->group;
    bool leads = group_is_leader(group, member->id);
    bool matches = member_matches(member, &join->offer);
    if (group->state == GROUP_COMPLETING_REBALANCE && matches) {
        /* It did not get the answer of this generation. */
        rebalance_answer_join(join->shard, join->reply, member, leads, group->leader, false);
    } else if (group->state == GROUP_STABLE && matches && !leads) {
        rebalance_answer_join(join->shard, join->reply, member, false, group->leader, false);
    } else if (group->state == GROUP_EMPTY || group->state == GROUP_DEAD) {
        refuse(join, ERR_UNKNOWN_MEMBER_ID, join->request->member_id);
    } else {
        update_member(join, member);
        rebalance_start_or_complete(join->shard, group);
    }
}

static void join_known(struct join *join)
{
    const struct join_group_request *request = join->request;
    struct group *group = join->group;
    if (!group_supports(group, &join->offer)) {
        refuse(join, ERR_INCONSISTENT_GROUP_PROTOCOL, request->member_id);
        return;
    }
    struct pending_member *pending = group_pending_member(group, request->member_id);
    if (pending && slice_is_null(request->group_instance_id)) {
        add_member(join, request->member_id);
        return;
    }
    if (pending) {
        /* An id that was handed out to a dynamic member: a client's mistake, Kafka's bug check. */
        refuse(join, ERR_UNKNOWN_SERVER_ERROR, SLICE_LIT(""));
        return;
    }
    enum err err = group_check_member(group, request->member_id, request->group_instance_id);
    if (err) {
        refuse(join, err, request->member_id);
        return;
    }
    rejoin(join, group_member(group, request->member_id));
}

/* ---- a new group ------------------------------------------------------------------------- */

/* The append failed: the group goes again. The commit took too long: the record is there, the group
 * stays, and its first member is told to come back. `opener` of undo is that JoinGroup, which may
 * have been answered since: it is looked for, never followed. */
static void new_group_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct group *group = write->group;
    if (!error || group->removed || group->state == GROUP_DEAD)
        return;
    bool written = group->created_offset != INT64_MAX;
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct member *member = map_at(&group->members, i);
        if (!written || member->join_reply == write->undo)
            rebalance_fail_join(shard, member, error, SLICE_LIT(""));
    }
    if (!written)
        shard_group_remove(shard, group, INT64_MAX);
}

static void write_new_group(struct coord_shard *shard, struct group *group,
                            struct coord_reply *opener)
{
    struct shard_records records;
    shard_records_init(&records);
    group_record_new(&records, group);
    shard_group_append(
        shard, &records,
        &(struct shard_write){.done = new_group_done, .group = group, .undo = opener});
    shard_records_fini(&records);
}

static void join_group(struct join *join)
{
    struct coord_shard *shard = join->shard;
    const struct join_group_request *request = join->request;
    bool unknown = request->member_id.size == 0;
    join->group = shard_group(shard, request->group_id);
    if (!join->group && !unknown) {
        refuse(join, ERR_UNKNOWN_MEMBER_ID, request->member_id);
        return;
    }
    if (join->group && join->group->kind != GROUP_CLASSIC) {
        refuse(join, ERR_INCONSISTENT_GROUP_PROTOCOL, SLICE_LIT(""));
        return;
    }
    bool new_group = !join->group;
    if (new_group) {
        join->group = group_new(request->group_id, GROUP_CLASSIC);
        join->group->state_timestamp_ms = shard->event->wall_ms;
        shard_group_add(shard, join->group);
    }
    struct group *group = group_ref(join->group);
    if (!has_room(join)) {
        rebalance_expel(shard, group, request->member_id);
        refuse(join, ERR_GROUP_MAX_SIZE_REACHED, SLICE_LIT(""));
    } else if (unknown) {
        join_unknown(join);
    } else {
        join_known(join);
    }
    if (new_group)
        write_new_group(shard, group, join->reply);
    group_unref(group);
}

enum err coord_groups_join_check(const struct coord_config *config,
                                 const struct join_group_request *request)
{
    if (request->group_id.size == 0)
        return ERR_INVALID_GROUP_ID;
    bool in_range = request->session_timeout_ms >= config->session_timeout_min_ms &&
                    request->session_timeout_ms <= config->session_timeout_max_ms;
    return in_range ? ERR_NONE : ERR_INVALID_SESSION_TIMEOUT;
}

static enum err check_request(const struct coord_shard *shard,
                              const struct join_group_request *request, enum err state)
{
    enum err err = coord_groups_join_check(&shard->config, request);
    if (err || state)
        return err ? err : state;
    size_t size_max = GROUP_RECORD_STRING_MAX - JOIN_ID_SUFFIX_SIZE;
    if (request->group_instance_id.size > size_max || shard->event->client_id.size > size_max)
        return ERR_UNKNOWN_SERVER_ERROR; /* no record could hold the member's id */
    return ERR_NONE;
}

void coord_groups_join(struct coord_shard *shard, const struct coord_event *event,
                       const struct join_group_request *request, struct coord_reply *reply,
                       struct coord_update *update)
{
    enum err state;
    shard_enter(shard, event, update, &state);
    shard_reply_begin(shard, reply);
    struct join join = {
        .shard = shard,
        .request = request,
        .reply = reply,
        .offer = {request->protocol_type,
                  (const struct member_protocol *)(const void *)request->protocols,
                  request->protocols_count},
        /* Version 0 has no rebalance timeout: the session's counts for both. */
        .rebalance_timeout_ms =
            event->version == 0 ? request->session_timeout_ms : request->rebalance_timeout_ms,
    };
    enum err err = check_request(shard, request, state);
    if (err)
        refuse(&join, err, err == state ? SLICE_LIT("") : request->member_id);
    else
        join_group(&join);
    shard_leave(shard);
}
