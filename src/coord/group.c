/* A group as the coordinator knows it: its members, who leads, which protocols all support.
 *
 * States of a classic group and what moves it (join.c, rebalance.c, sync.c):
 *   Empty -> PreparingRebalance                       first member joins
 *   PreparingRebalance -> CompletingRebalance         all joined, or the time is over
 *   PreparingRebalance -> Empty                       nobody is left
 *   CompletingRebalance -> Stable                     the leader's assignment is committed
 *   CompletingRebalance, Stable -> PreparingRebalance a member joins, leaves, expires or changes
 *   any -> Dead                                       deleted, or the shard is unloaded
 * Consumer, share and streams groups are known from their records only: that they exist, and
 * whether they have members. They are never changed here.
 * Called under the shard holder's lock. */
#include "coord/group.h"

#include "base/cursor.h"
#include "base/ensure.h"
#include "base/hash.h"
#include "base/mem.h"

struct group_protocol {
    struct slice name;
    size_t supporters;
    size_t votes;
};

struct foreign_member {
    struct slice id;
};

struct group *group_new(struct slice id, enum group_kind kind)
{
    struct group *group = mem_zalloc(sizeof *group);
    group->references = 1;
    group->id = slice_dup(id);
    group->kind = kind;
    group->created_offset = INT64_MAX;
    group->deleted_offset = INT64_MAX;
    list_init(&group->ghost_link);
    group->state = GROUP_EMPTY;
    group->state_before = GROUP_DEAD;
    group->state_timestamp_ms = -1;
    map_init(&group->members);
    map_init(&group->static_members);
    map_init(&group->pending_members);
    map_init(&group->protocols);
    map_init(&group->foreign_members);
    shard_timer_init(&group->join_timer, SHARD_TIMER_JOIN, group);
    shard_timer_init(&group->sync_timer, SHARD_TIMER_SYNC, group);
    return group;
}

struct group *group_ref(struct group *group)
{
    group->references++;
    return group;
}

void group_unref(struct group *group)
{
    if (!group || --group->references > 0)
        return;
    ENSURE(map_count(&group->members) == 0 && map_count(&group->pending_members) == 0);
    for (size_t i = map_count(&group->foreign_members); i-- > 0;) {
        struct foreign_member *member = map_at(&group->foreign_members, i);
        slice_free(&member->id);
        mem_free(member);
    }
    for (size_t i = 0; i < map_count(&group->protocols); i++) {
        struct group_protocol *protocol = map_at(&group->protocols, i);
        slice_free(&protocol->name);
        mem_free(protocol);
    }
    map_fini(&group->members);
    map_fini(&group->static_members);
    map_fini(&group->pending_members);
    map_fini(&group->protocols);
    map_fini(&group->foreign_members);
    list_remove(&group->ghost_link);
    slice_free(&group->protocol_type);
    slice_free(&group->protocol_name);
    slice_free(&group->leader);
    slice_free(&group->id);
    mem_free(group);
}

const char *group_state_name(enum group_state state)
{
    switch (state) {
    case GROUP_EMPTY: return "Empty";
    case GROUP_PREPARING_REBALANCE: return "PreparingRebalance";
    case GROUP_COMPLETING_REBALANCE: return "CompletingRebalance";
    case GROUP_STABLE: return "Stable";
    case GROUP_DEAD: break;
    }
    return "Dead";
}

const char *group_kind_name(enum group_kind kind)
{
    switch (kind) {
    case GROUP_CLASSIC: return "classic";
    case GROUP_CONSUMER: return "consumer";
    case GROUP_SHARE: return "share";
    case GROUP_STREAMS: break;
    }
    return "streams";
}

const char *group_state_text(const struct group *group)
{
    if (group->kind == GROUP_CLASSIC)
        return group_state_name(group->state);
    return map_count(&group->foreign_members) == 0 ? "Empty" : "Stable";
}

void group_transition(struct group *group, enum group_state state, int64_t wall_ms)
{
    group->state_before = group->state;
    group->state = state;
    group->state_timestamp_ms = wall_ms;
}

void group_set_text(struct slice *field, struct slice value)
{
    struct slice copy = slice_dup(value);
    slice_free(field);
    *field = copy;
}

bool group_is_leader(const struct group *group, struct slice member_id)
{
    return !slice_is_null(group->leader) && slice_eq(group->leader, member_id);
}

bool group_all_joined(const struct group *group)
{
    return map_count(&group->members) == (size_t)group->awaiting_join &&
           map_count(&group->pending_members) == 0;
}

int32_t group_rebalance_timeout_ms(const struct group *group)
{
    int32_t longest = 0;
    for (size_t i = 0; i < map_count(&group->members); i++) {
        const struct member *member = map_at(&group->members, i);
        if (member->rebalance_timeout_ms > longest)
            longest = member->rebalance_timeout_ms;
    }
    return longest;
}

bool group_uses_consumer_protocol(const struct group *group)
{
    return slice_eq_str(group->protocol_type, "consumer");
}

enum err group_check_member(const struct group *group, struct slice member_id,
                            struct slice instance_id)
{
    if (!slice_is_null(instance_id)) {
        const struct member *member = map_get(&group->static_members, instance_id);
        if (!member)
            return ERR_UNKNOWN_MEMBER_ID;
        if (!slice_eq(member->id, member_id))
            return ERR_FENCED_INSTANCE_ID;
    }
    return group_member(group, member_id) ? ERR_NONE : ERR_UNKNOWN_MEMBER_ID;
}

static size_t supporters(const struct group *group, struct slice name)
{
    const struct group_protocol *protocol = map_get(&group->protocols, name);
    return protocol ? protocol->supporters : 0;
}

bool group_supports(const struct group *group, const struct group_offer *offer)
{
    if (group->state == GROUP_EMPTY)
        return offer->type.size > 0 && offer->count > 0;
    if (slice_is_null(group->protocol_type) || !slice_eq(group->protocol_type, offer->type))
        return false;
    for (int32_t i = 0; i < offer->count; i++) {
        if (supporters(group, offer->items[i].name) == map_count(&group->members))
            return true;
    }
    return false;
}

/* Kafka counts votes in a Java hash map and takes the first of those with most; its walk order (for
 * up to 12 names) decides ties. */
static uint32_t tie_rank(struct slice name)
{
    uint32_t hash = (uint32_t)java_hash(name);
    return (hash ^ hash >> 16) & 15;
}

struct slice group_select_protocol(struct group *group)
{
    ENSURE(map_count(&group->members) > 0);
    size_t member_count = map_count(&group->members);
    for (size_t i = 0; i < map_count(&group->protocols); i++)
        ((struct group_protocol *)map_at(&group->protocols, i))->votes = 0;
    struct group_protocol *best = NULL;
    for (size_t i = 0; i < member_count; i++) {
        const struct member *member = map_at(&group->members, i);
        for (int32_t p = 0; p < member->protocol_count; p++) {
            struct group_protocol *protocol = map_get(&group->protocols, member->protocols[p].name);
            if (protocol->supporters == member_count) {
                protocol->votes++;
                break;
            }
        }
    }
    for (size_t i = 0; i < map_count(&group->protocols); i++) {
        struct group_protocol *protocol = map_at(&group->protocols, i);
        if (protocol->votes == 0)
            continue;
        if (!best || protocol->votes > best->votes ||
            (protocol->votes == best->votes && tie_rank(protocol->name) < tie_rank(best->name)))
            best = protocol;
    }
    ENSURE(best); /* group_supports let every member in */
    return best->name;
}

static void count_protocols(struct group *group, const struct member *member, int change)
{
    for (int32_t i = 0; i < member->protocol_count; i++) {
        struct slice name = member->protocols[i].name;
        struct group_protocol *protocol = map_get(&group->protocols, name);
        if (!protocol) {
            ENSURE(change > 0);
            protocol = mem_zalloc(sizeof *protocol);
            protocol->name = slice_dup(name);
            map_put(&group->protocols, protocol->name, protocol);
        }
        protocol->supporters = change > 0 ? protocol->supporters + 1 : protocol->supporters - 1;
        if (protocol->supporters == 0) {
            map_remove(&group->protocols, protocol->name);
            slice_free(&protocol->name);
            mem_free(protocol);
        }
    }
}

void group_add_member(struct coord_shard *shard, struct group *group, struct member *member,
                      struct slice protocol_type)
{
    if (map_count(&group->members) == 0)
        group_set_text(&group->protocol_type, protocol_type);
    if (slice_is_null(group->leader))
        group_set_text(&group->leader, member->id);
    map_put(&group->members, member->id, member);
    if (!slice_is_null(member->instance_id))
        map_put(&group->static_members, member->instance_id, member);
    count_protocols(group, member, 1);
    struct pending_member *pending = group_pending_member(group, member->id);
    if (pending)
        group_remove_pending(shard, group, pending);
}

static void free_member(struct coord_shard *shard, struct member *member)
{
    ENSURE(!member->join_reply && !member->sync_reply);
    shard_timer_cancel(shard, &member->session);
    mem_free(member->protocols);
    slice_free(&member->assignment);
    slice_free(&member->assignment_next);
    slice_free(&member->client_id);
    slice_free(&member->client_host);
    slice_free(&member->instance_id);
    slice_free(&member->id);
    mem_free(member);
}

void group_remove_member(struct coord_shard *shard, struct group *group, struct member *member)
{
    count_protocols(group, member, -1);
    map_remove(&group->members, member->id);
    if (!slice_is_null(member->instance_id))
        map_remove(&group->static_members, member->instance_id);
    if (member->sync_pending)
        group->sync_pending--;
    if (group_is_leader(group, member->id)) {
        const struct member *first =
            map_count(&group->members) > 0 ? map_at(&group->members, 0) : NULL;
        group_set_text(&group->leader, first ? first->id : SLICE_NULL);
    }
    free_member(shard, member);
}

void group_rename_member(struct group *group, struct member *member, struct slice id)
{
    map_remove(&group->members, member->id);
    if (group_is_leader(group, member->id))
        group_set_text(&group->leader, id);
    group_set_text(&member->id, id);
    map_put(&group->members, member->id, member);
}

void group_update_protocols(struct group *group, struct member *member,
                            const struct group_offer *offer)
{
    count_protocols(group, member, -1);
    member_set_protocols(member, offer);
    count_protocols(group, member, 1);
}

struct pending_member *group_add_pending(struct group *group, struct slice id)
{
    struct pending_member *pending = mem_zalloc(sizeof *pending);
    pending->group = group;
    pending->id = slice_dup(id);
    shard_timer_init(&pending->timer, SHARD_TIMER_PENDING_MEMBER, pending);
    map_put(&group->pending_members, pending->id, pending);
    return pending;
}

void group_remove_pending(struct coord_shard *shard, struct group *group,
                          struct pending_member *pending)
{
    shard_timer_cancel(shard, &pending->timer);
    map_remove(&group->pending_members, pending->id);
    slice_free(&pending->id);
    mem_free(pending);
}

void group_clear(struct coord_shard *shard, struct group *group)
{
    for (size_t i = map_count(&group->members); i-- > 0;)
        group_remove_member(shard, group, map_at(&group->members, i));
    for (size_t i = map_count(&group->pending_members); i-- > 0;)
        group_remove_pending(shard, group, map_at(&group->pending_members, i));
    shard_timer_cancel(shard, &group->join_timer);
    shard_timer_cancel(shard, &group->sync_timer);
}

/* Reads the topics of a ConsumerProtocolSubscription: int16 version, then version 0's fields, which
 * begin every later version. */
static bool read_subscription(struct slice metadata, struct map *topics)
{
    struct cursor c = cursor_of(metadata);
    int16_t version = cursor_i16(&c);
    int32_t count = cursor_i32(&c);
    if (c.failed || version < 0 || count < 0 || (size_t)count > cursor_left(&c) / 2)
        return false;
    for (int32_t i = 0; i < count; i++) {
        int16_t size = cursor_i16(&c);
        if (size < 0)
            return false;
        struct slice name = cursor_slice(&c, (size_t)size);
        if (c.failed)
            return false;
        map_put(topics, name, (void *)(uintptr_t)1);
    }
    int32_t user_data_size = cursor_i32(&c);
    if (user_data_size > 0)
        cursor_slice(&c, (size_t)user_data_size);
    return !c.failed;
}

bool group_subscription(const struct group *group, struct map *topics)
{
    if (!group_uses_consumer_protocol(group))
        return false;
    if (map_count(&group->members) == 0)
        return true;
    if (slice_is_null(group->protocol_name))
        return false;
    for (size_t i = 0; i < map_count(&group->members); i++) {
        struct slice metadata = member_metadata(map_at(&group->members, i), group->protocol_name);
        if (!slice_is_null(metadata) && !read_subscription(metadata, topics))
            return false;
    }
    return true;
}

void group_foreign_add(struct group *group, struct slice member_id)
{
    if (map_get(&group->foreign_members, member_id))
        return;
    struct foreign_member *member = mem_zalloc(sizeof *member);
    member->id = slice_dup(member_id);
    map_put(&group->foreign_members, member->id, member);
}

void group_foreign_remove(struct group *group, struct slice member_id)
{
    struct foreign_member *member = map_remove(&group->foreign_members, member_id);
    if (!member)
        return;
    slice_free(&member->id);
    mem_free(member);
}
