/* Inside coord only: one group, its members, and the questions asked of them. Functions here change
 * memory only: they complete no reply, set no timer and write no record (rebalance.h does). */
#ifndef KLAMM_COORD_GROUP_H
#define KLAMM_COORD_GROUP_H

#include "coord/shard_group.h"

enum group_kind { GROUP_CLASSIC, GROUP_CONSUMER, GROUP_SHARE, GROUP_STREAMS };

enum group_state {
    GROUP_EMPTY,
    GROUP_PREPARING_REBALANCE,
    GROUP_COMPLETING_REBALANCE,
    GROUP_STABLE,
    GROUP_DEAD,
};

struct member_protocol {
    struct slice name, metadata;
};

struct member {
    struct group *group;
    struct slice id;
    struct slice instance_id; /* null = dynamic member */
    struct slice client_id, client_host;
    int32_t session_timeout_ms, rebalance_timeout_ms;
    struct member_protocol *protocols; /* by preference, names differ; one allocation */
    int32_t protocol_count;
    struct slice assignment;      /* size 0 = none */
    struct slice assignment_next; /* from the leader's sync, until its record is committed */
    bool is_new;                  /* its first JoinGroup is still parked */
    bool sync_pending;            /* joined this generation, has not synced yet */
    struct coord_reply *join_reply, *sync_reply; /* parked */
    struct shard_timer session;
};

/* A member id handed out with MEMBER_ID_REQUIRED, not used yet. */
struct pending_member {
    struct group *group;
    struct slice id;
    struct shard_timer timer;
};

struct group {
    int references; /* the shard's map, each write that waits */
    struct slice id;
    enum group_kind kind;
    int64_t created_offset; /* of its first record; committed reads see it from there */
    int64_t deleted_offset; /* of its tombstone, while a ghost */
    bool removed;           /* no longer in the shard's map */
    struct list ghost_link;
    /* Classic. */
    enum group_state state, state_before;
    int64_t state_timestamp_ms; /* -1 = unknown (old records) */
    int32_t generation;
    struct slice protocol_type, protocol_name, leader; /* owned; null = none */
    struct map members;                                /* member id -> struct member */
    struct map static_members;                         /* instance id -> struct member */
    struct map pending_members;                        /* member id -> struct pending_member */
    struct map protocols;  /* name -> struct group_protocol: how many members support it */
    int32_t awaiting_join; /* members with join_reply */
    int32_t sync_pending;  /* members with sync_pending */
    bool new_member_added;
    struct shard_timer join_timer, sync_timer;
    bool join_is_initial; /* join_timer counts the initial rebalance delay */
    int64_t initial_delay_ms, initial_remaining_ms;
    /* Other kinds: known by its records alone. */
    struct map foreign_members; /* member id -> struct foreign_member */
};

struct group *group_new(struct slice id, enum group_kind kind);
struct group *group_ref(struct group *group);
void group_unref(struct group *group);

const char *group_state_name(enum group_state state);
const char *group_kind_name(enum group_kind kind); /* "classic", "consumer", "share", "streams" */

/* Sets the state, the one before, and the time of the change. */
void group_transition(struct group *group, enum group_state state, int64_t wall_ms);
void group_set_text(struct slice *field, struct slice value);

static inline struct member *group_member(const struct group *group, struct slice id)
{
    return map_get(&group->members, id);
}

static inline struct pending_member *group_pending_member(const struct group *group,
                                                          struct slice id)
{
    return map_get(&group->pending_members, id);
}

bool group_is_leader(const struct group *group, struct slice member_id);
bool group_all_joined(const struct group *group);
int32_t group_rebalance_timeout_ms(const struct group *group); /* the longest of its members */
bool group_uses_consumer_protocol(const struct group *group);

/* NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. */
enum err group_check_member(const struct group *group, struct slice member_id,
                            struct slice instance_id);

/* What a JoinGroup brings about its protocols; `items` need not outlive the call. */
struct group_offer {
    struct slice type;
    const struct member_protocol *items;
    int32_t count;
};
bool group_supports(const struct group *group, const struct group_offer *offer);
/* The protocol most members vote for among those that all support. Members must not be empty. */
struct slice group_select_protocol(struct group *group);

struct member *member_new(struct group *group, struct slice id, struct slice instance_id);
/* Copies the offer; protocol names given twice count once, as in Kafka's collection. */
void member_set_protocols(struct member *member, const struct group_offer *offer);
bool member_matches(const struct member *member, const struct group_offer *offer);
/* Null slice when it does not support the protocol. */
struct slice member_metadata(const struct member *member, struct slice protocol);
void member_set_assignment(struct member *member, struct slice assignment);

/* Adds a complete member; the first one gives the group its protocol type, and a group without a
 * leader takes it. Forgets a pending member of that id. */
void group_add_member(struct coord_shard *shard, struct group *group, struct member *member,
                      struct slice protocol_type);
/* Unlinks and frees; its replies must have been completed. The leader's place goes on. */
void group_remove_member(struct coord_shard *shard, struct group *group, struct member *member);
/* Gives a static member a new id in place. */
void group_rename_member(struct group *group, struct member *member, struct slice id);
void group_update_protocols(struct group *group, struct member *member,
                            const struct group_offer *offer);

struct pending_member *group_add_pending(struct group *group, struct slice id);
void group_remove_pending(struct coord_shard *shard, struct group *group,
                          struct pending_member *pending);
/* Frees all members and pending members, timers included. */
void group_clear(struct coord_shard *shard, struct group *group);

/* True when the members' subscriptions (consumer protocol) could be read: *topics then has them as
 * keys, views into the members. */
bool group_subscription(const struct group *group, struct map *topics);

/* Members of the kinds that are not served here. */
void group_foreign_add(struct group *group, struct slice member_id);
void group_foreign_remove(struct group *group, struct slice member_id);

/* Text of the state for ListGroups, for all kinds. */
const char *group_state_text(const struct group *group);

#endif
