/* The group APIs of the classic protocol, one function for each. All take the shard of the group
 * (partition coordinator_partition(group id, count) of __consumer_offsets) under its holder's lock:
 * see coord/runtime.h for the walk, the life of `reply` and the threads.
 *
 * Functions with a reply never fail: what is wrong is in the response, in Kafka's form. Functions
 * without one are reads: they answer at once from committed state. Authorization, and splitting a
 * request over several groups' shards, is the handler's. */
#ifndef KLAMM_COORD_GROUPS_H
#define KLAMM_COORD_GROUPS_H

#include "coord/runtime.h"

struct join_group_request;
struct sync_group_request;
struct heartbeat_request;
struct leave_group_request;
struct delete_groups_request;
struct describe_groups_response_described_group;
struct list_groups_request;
struct list_groups_response;

/* What is wrong with the request whoever coordinates the group: Kafka looks at this before it looks
 * for the shard. Pure. */
enum err coord_groups_join_check(const struct coord_config *config,
                                 const struct join_group_request *request);
/* reply->response: struct join_group_response. Parks until the rebalance is complete. */
void coord_groups_join(struct coord_shard *shard, const struct coord_event *event,
                       const struct join_group_request *request, struct coord_reply *reply,
                       struct coord_update *update);
/* reply->response: struct sync_group_response. Parks until the leader has synced. */
void coord_groups_sync(struct coord_shard *shard, const struct coord_event *event,
                       const struct sync_group_request *request, struct coord_reply *reply,
                       struct coord_update *update);
/* reply->response: struct heartbeat_response. Completes at once. */
void coord_groups_heartbeat(struct coord_shard *shard, const struct coord_event *event,
                            const struct heartbeat_request *request, struct coord_reply *reply,
                            struct coord_update *update);
/* reply->response: struct leave_group_response. All versions: members[] or member_id (0-2). */
void coord_groups_leave(struct coord_shard *shard, const struct coord_event *event,
                        const struct leave_group_request *request, struct coord_reply *reply,
                        struct coord_update *update);
/* reply->response: struct delete_groups_response with one result for each of `group_ids`, which
 * all belong to this shard (the handler merges the shards' results, keeping request order). */
void coord_groups_delete(struct coord_shard *shard, const struct coord_event *event,
                         const struct slice *group_ids, int32_t group_id_count,
                         struct coord_reply *reply, struct coord_update *update);

/* Describes one group into *ret_group (initialised here, authorized_operations left at its
 * default). Bytes are copied into `arena`. */
void coord_groups_describe(const struct coord_shard *shard, const struct coord_event *event,
                           struct slice group_id, struct arena *arena,
                           struct describe_groups_response_described_group *ret_group);

/* Appends the shard's groups that match to response->groups (grown in `arena`); start with a
 * response from wire_init and call it for every shard of this node. A shard that loads sets
 * response->error_code and empties the list, as in Kafka; one that is unloaded adds nothing. */
void coord_groups_list(const struct coord_shard *shard, const struct coord_event *event,
                       const struct list_groups_request *request, struct arena *arena,
                       struct list_groups_response *response);

#endif
