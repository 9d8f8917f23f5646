/* Inside coord only: the rebalance of a classic group. */
#ifndef KLAMM_COORD_REBALANCE_H
#define KLAMM_COORD_REBALANCE_H

#include "coord/group.h"

struct join_group_response;

/* A group found by loading: sessions start; one above group.max.size is rebalanced. */
void rebalance_loaded(struct coord_shard *shard, struct group *group);
/* Completes all parked replies with NOT_COORDINATOR. */
void rebalance_unload(struct coord_shard *shard, struct group *group);

/* What is due by time. */
void rebalance_session_expired(struct coord_shard *shard, struct member *member);
void rebalance_pending_expired(struct coord_shard *shard, struct pending_member *pending);
void rebalance_join_expired(struct coord_shard *shard, struct group *group);
void rebalance_sync_expired(struct coord_shard *shard, struct group *group);

/* Starts a rebalance where the state allows one, else completes the join phase if all are there. */
void rebalance_start_or_complete(struct coord_shard *shard, struct group *group);
/* Starts one. */
void rebalance_start(struct coord_shard *shard, struct group *group);
/* Completes the join phase if nobody is missing and no initial delay runs. */
void rebalance_maybe_complete_join(struct coord_shard *shard, struct group *group);

/* The session timer of a member, from now on. */
void rebalance_touch(struct coord_shard *shard, struct member *member);

/* The member has synced this generation, or has gone. */
void rebalance_clear_sync_pending(struct coord_shard *shard, struct member *member);

/* Completes the member's parked JoinGroup, if any, with an error and `member_id`. */
void rebalance_fail_join(struct coord_shard *shard, struct member *member, enum err error,
                         struct slice member_id);
/* Answers of the current generation to one member: with the member list if `with_members`. */
void rebalance_answer_join(struct coord_shard *shard, struct coord_reply *reply,
                           const struct member *member, bool with_members, struct slice leader,
                           bool skip_assignment);
/* Another client has taken the static member's place: what it has parked gets FENCED_INSTANCE_ID.
 */
void rebalance_fence(struct coord_shard *shard, struct member *member);
/* Removes a member or pending member of that id, if there is one, as it leaves or is refused: what
 * it has parked gets UNKNOWN_MEMBER_ID. Does not start a rebalance. */
void rebalance_expel(struct coord_shard *shard, struct group *group, struct slice member_id);
/* Parks a JoinGroup at the member, in place of an earlier one. */
void rebalance_park_join(struct coord_shard *shard, struct member *member,
                         struct coord_reply *reply);

/* Hands out the assignments of the leader's sync (committed), or an error to all who wait. */
void rebalance_assigned(struct coord_shard *shard, struct group *group);
void rebalance_assign_failed(struct coord_shard *shard, struct group *group, enum err error);
/* Completes a parked or new SyncGroup with the member's assignment. */
void rebalance_answer_sync(struct coord_shard *shard, struct coord_reply *reply,
                           const struct member *member);

#endif
