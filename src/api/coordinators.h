/* The coordinators of this node: the group coordinator over __consumer_offsets and the transaction
 * coordinator over __transaction_state, two instances of the same. Each has one shard
 * (coord/runtime.h) for each partition of its topic that this node leads, under its own lock,
 * loaded from the partition's log, writing through the partition, with its timer on one loop.
 *
 * Handlers go in and out:
 *     if (coordinators_enter(coordinators, group_id, request, &call) == ERR_NONE) {
 *         coord_groups_...(call.shard, &call.event, ..., &call.update);
 *         coordinators_leave(&call);
 *     }
 * Between, the shard's lock is held: memory work and the append. Replies complete in
 * coordinators_leave or later, from any thread. What transactions want written to other partitions
 * (api/txn_duties.h) is done in coordinators_leave, too, and before the replies: a producer that is
 * told of the end of its transaction mostly finds it ended. */
#ifndef KLAMM_API_COORDINATORS_H
#define KLAMM_API_COORDINATORS_H

#include "coord/runtime.h"
#include "os/io.h"

struct api_context;
struct coordinator_shard;
struct coordinators;
struct partition;
struct request;

struct coordinator_call {
    struct coord_shard *shard;
    struct coord_event event;
    struct coord_update update;
    /* For what is appended inside: of api/txn_check.h, and the rules for a marker's epoch. */
    int64_t guard;
    int16_t transaction_version;
    struct coordinator_shard *held; /* private */
};

/* `loops` outlive it. The topic is __consumer_offsets or __transaction_state. */
struct coordinators *coordinators_new(enum coord_kind kind, struct api_context *context,
                                      struct loop *const *loops, int loop_count,
                                      const struct coord_config *config);
/* All shards must have been resigned. Accepts NULL. */
void coordinators_free(struct coordinators *coordinators);
void coordinators_configure(struct coordinators *coordinators, const struct coord_config *config);
struct coord_config coordinators_config(struct coordinators *coordinators);

struct slice coordinators_topic(const struct coordinators *coordinators);

/* How many partitions the topic has; 0 = it does not exist. From the publisher. */
void coordinators_set_partition_count(struct coordinators *coordinators, int32_t count);
int32_t coordinators_partition_count(struct coordinators *coordinators);
/* The partition of a group or transactional id; -1 while the topic does not exist. */
int32_t coordinators_partition_of(struct coordinators *coordinators, struct slice key);

/* This node leads the partition: a new shard loads. An empty partition serves on return, others
 * when a worker has read them. From the publisher. */
void coordinators_lead(struct coordinators *coordinators, struct partition *partition);
/* The leader epoch in which the shard of a partition serves; -1 = it does not (yet, any more). */
int32_t coordinators_epoch(struct coordinators *coordinators, int32_t index);
/* Shards that are still being loaded: a node is ready when there are none. */
int coordinators_loading(struct coordinators *coordinators);
/* It does not lead it any more, or stops: parked replies end with NOT_COORDINATOR. */
void coordinators_resign(struct coordinators *coordinators, int32_t index);
void coordinators_resign_all(struct coordinators *coordinators);
/* Offsets of deleted topics go (of the group coordinator). */
void coordinators_topics_deleted(struct coordinators *coordinators, const struct slice *names,
                                 size_t count);

/* NOT_COORDINATOR: no shard here; COORDINATOR_LOAD_IN_PROGRESS: it is being loaded. Then there is
 * nothing to leave, and nothing was waited for. */
enum err coordinators_enter(struct coordinators *coordinators, struct slice key,
                            struct request *request, struct coordinator_call *ret_call);
/* The same by partition, for walks over all shards: 0 <= index < partition count. */
enum err coordinators_enter_at(struct coordinators *coordinators, int32_t index,
                               struct request *request, struct coordinator_call *ret_call);
void coordinators_leave(struct coordinator_call *call);

#endif
