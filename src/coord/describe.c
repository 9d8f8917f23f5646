/* DescribeGroups and ListGroups: reads of committed state, answered at once.
 *
 * Kafka behaviour: a group that is not there, or is not a classic one, is described as Dead (but
 * see describe_consumer_group); from version 6 (KIP-1043) with GROUP_ID_NOT_FOUND and a message.
 * Protocol and metadata are shown while the group is Stable. ListGroups compares states and types
 * without regard to case; an unknown state matches nothing. Consumer, share and streams groups are
 * listed with their type; here they know the states Empty and Stable alone. */
#include "coord/answers.h"
#include "coord/group.h"
#include "coord/groups.h"
#include "coord/shard.h"
#include "wire/codec.h"
#include "wire_describe_groups.h"
#include "wire_list_groups.h"

enum { DESCRIBE_NOT_FOUND_SINCE = 6 };

static void describe_absent(const struct group *group, int16_t version, struct slice group_id,
                            struct arena *arena,
                            struct describe_groups_response_described_group *ret_group)
{
    coord_answer_describe(ERR_NONE, group_id, ret_group);
    ret_group->group_state = SLICE_LIT("Dead");
    if (version < DESCRIBE_NOT_FOUND_SINCE)
        return;
    ret_group->error_code = err_to_wire(ERR_GROUP_ID_NOT_FOUND);
    ret_group->error_message =
        group ? arena_printf(arena, "Group %.*s is not a classic group.", SLICE_FMT(group_id))
              : arena_printf(arena, "Group %.*s not found.", SLICE_FMT(group_id));
}

static struct slice text_or_empty(struct arena *arena, struct slice text)
{
    return slice_is_null(text) ? SLICE_LIT("") : arena_dup(arena, text);
}

static void describe_members(const struct group *group, struct arena *arena,
                             struct describe_groups_response_described_group *ret_group)
{
    struct describe_groups_response parent;
    struct describe_groups_response_described_group *preset =
        describe_groups_response_groups_new(arena, &parent, 1);
    int32_t count = (int32_t)map_count(&group->members);
    struct describe_groups_response_described_group_member *items =
        describe_groups_response_described_group_members_new(arena, preset, count);
    for (int32_t i = 0; i < count; i++) {
        const struct member *member = map_at(&group->members, (size_t)i);
        items[i].member_id = arena_dup(arena, member->id);
        items[i].group_instance_id = arena_dup(arena, member->instance_id);
        items[i].client_id = arena_dup(arena, member->client_id);
        items[i].client_host = text_or_empty(arena, member->client_host);
        items[i].member_assignment = arena_dup(arena, member->assignment);
        if (group->state == GROUP_STABLE)
            items[i].member_metadata =
                text_or_empty(arena, member_metadata(member, group->protocol_name));
    }
    ret_group->members = items;
    ret_group->members_count = count;
}

/* A group of the consumer protocol (KIP-848), from a folder that was taken over. Apache Kafka has
 * another API for it, which is not served here, and answers as if it were not there; then Kafka's
 * tools give up on all groups for it. So it is shown as far as it is known. */
static void describe_consumer_group(const struct group *group, struct slice group_id,
                                    struct describe_groups_response_described_group *ret_group)
{
    coord_answer_describe(ERR_NONE, group_id, ret_group);
    ret_group->group_state = slice_str(group_state_text(group));
    ret_group->protocol_type = SLICE_LIT("consumer");
}

void coord_groups_describe(const struct coord_shard *shard, const struct coord_event *event,
                           struct slice group_id, struct arena *arena,
                           struct describe_groups_response_described_group *ret_group)
{
    enum err err = coord_shard_state(shard);
    if (err) {
        coord_answer_describe(err, group_id, ret_group);
        return;
    }
    const struct group *group = shard_group_committed(shard, group_id);
    if (group && group->kind == GROUP_CONSUMER) {
        describe_consumer_group(group, group_id, ret_group);
        return;
    }
    if (!group || group->kind != GROUP_CLASSIC || group->state == GROUP_DEAD) {
        describe_absent(group && group->kind != GROUP_CLASSIC ? group : NULL, event->version,
                        group_id, arena, ret_group);
        return;
    }
    coord_answer_describe(ERR_NONE, group_id, ret_group);
    ret_group->group_state = slice_str(group_state_name(group->state));
    ret_group->protocol_type = text_or_empty(arena, group->protocol_type);
    if (group->state == GROUP_STABLE)
        ret_group->protocol_data = text_or_empty(arena, group->protocol_name);
    describe_members(group, arena, ret_group);
}

static bool is_listed(struct slice text, const struct slice *filter, int32_t filter_count)
{
    for (int32_t i = 0; i < filter_count; i++) {
        if (slice_eq_nocase(text, slice_trim(filter[i])))
            return true;
    }
    return filter_count == 0;
}

/* The type's filter is not trimmed. */
static bool has_listed_type(const struct group *group, const struct list_groups_request *request)
{
    for (int32_t i = 0; i < request->types_filter_count; i++) {
        if (slice_eq_nocase(slice_str(group_kind_name(group->kind)), request->types_filter[i]))
            return true;
    }
    return request->types_filter_count == 0;
}

static struct slice protocol_type_of(const struct group *group, struct arena *arena)
{
    if (group->kind == GROUP_CLASSIC)
        return text_or_empty(arena, group->protocol_type);
    if (group->kind == GROUP_CONSUMER)
        return SLICE_LIT("consumer");
    return group->kind == GROUP_SHARE ? SLICE_LIT("share") : SLICE_LIT("streams");
}

/* 1 when the group is committed and matches, and *item is filled; else 0. */
static int32_t list_group(const struct coord_shard *shard, const struct group *group,
                          const struct list_groups_request *request, struct arena *arena,
                          struct list_groups_response_listed_group *item)
{
    struct slice state = slice_str(group_state_text(group));
    if (group->created_offset >= shard->committed ||
        !is_listed(state, request->states_filter, request->states_filter_count) ||
        !has_listed_type(group, request))
        return 0;
    item->group_id = arena_dup(arena, group->id);
    item->protocol_type = protocol_type_of(group, arena);
    item->group_state = state;
    item->group_type = slice_str(group_kind_name(group->kind));
    return 1;
}

/* Items that an array of `count` of them has room for; a list that one shard after the other adds
 * to is copied seldom. */
static int32_t list_room(int32_t count)
{
    int32_t room = count > 0 ? 16 : 0;
    while (room < count && room <= INT32_MAX / 2)
        room *= 2;
    return room > count ? room : count;
}

void coord_groups_list(const struct coord_shard *shard, const struct coord_event *event,
                       const struct list_groups_request *request, struct arena *arena,
                       struct list_groups_response *response)
{
    (void)event;
    enum err err = coord_shard_state(shard);
    if (err == ERR_COORDINATOR_LOAD_IN_PROGRESS) {
        response->error_code = err_to_wire(err);
        response->groups_count = 0;
    }
    if (err)
        return;
    /* Room for all: what the earlier shards gave, and at most every group of this one. */
    int32_t before = response->groups_count > 0 ? response->groups_count : 0;
    size_t most = map_count(&shard_groups(shard)->groups);
    LIST_FOREACH(node, &shard_groups(shard)->ghosts)
    {
        most++;
    }
    if (most == 0)
        return;
    struct list_groups_response_listed_group *items = response->groups;
    if (before + (int32_t)most > list_room(before)) {
        struct list_groups_response grown;
        items = list_groups_response_groups_new(arena, &grown, list_room(before + (int32_t)most));
        if (before > 0)
            memcpy(items, response->groups, (size_t)before * sizeof *items);
    }
    int32_t count = before;
    for (size_t i = 0; i < map_count(&shard_groups(shard)->groups); i++)
        count += list_group(shard, map_at(&shard_groups(shard)->groups, i), request, arena,
                            &items[count]);
    LIST_FOREACH(node, &shard_groups(shard)->ghosts)
    {
        const struct group *ghost = LIST_ITEM(node, struct group, ghost_link);
        count += list_group(shard, ghost, request, arena, &items[count]);
    }
    response->groups = items;
    response->groups_count = count;
}
