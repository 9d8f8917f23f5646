/* Committed offsets: the offset APIs, one function for each. Shard, reply and threads as in
 * coord/runtime.h.
 *
 * Topics: the handler resolves them first. Every topic in a request given to these functions has
 * both `name` and (where the topic exists and the API has the field) `topic_id` set, whatever the
 * version; topics and partitions that do not exist (OffsetCommit: UNKNOWN_TOPIC_ID from v10, else
 * UNKNOWN_TOPIC_OR_PARTITION) or may not be seen have been taken out, and the handler adds their
 * answers to the response afterwards. Responses come back with both fields set. */
#ifndef KLAMM_COORD_OFFSETS_H
#define KLAMM_COORD_OFFSETS_H

#include "coord/runtime.h"

struct offset_commit_request;
struct offset_delete_request;
struct txn_offset_commit_request;
struct offset_fetch_request_offset_fetch_request_group;
struct offset_fetch_response_offset_fetch_response_group;

/* reply->response: struct offset_commit_response. Completes when the records are committed. */
void coord_offsets_commit(struct coord_shard *shard, const struct coord_event *event,
                          const struct offset_commit_request *request, struct coord_reply *reply,
                          struct coord_update *update);

/* reply->response: struct txn_offset_commit_response. Writes one transactional batch with the
 * request's producer id and epoch; the offsets are seen when the producer's marker commits them.
 * Completes when the batch is committed. Not done here: the empty group id (INVALID_GROUP_ID), and
 * that the transaction is open on this partition. For the latter the holder verifies the shard's
 * partition first and hands what it got (struct coordinator_call: verification) to
 * its own writer, which gives it to the log with the batch. */
void coord_offsets_txn_commit(struct coord_shard *shard, const struct coord_event *event,
                              const struct txn_offset_commit_request *request,
                              struct coord_reply *reply, struct coord_update *update);

/* The end of a producer's transaction on this shard's partition. */
struct coord_marker {
    int64_t producer_id;
    int16_t producer_epoch;
    int32_t coordinator_epoch; /* of the transaction coordinator; goes into the marker */
    bool is_commit;
    int64_t timeout_ms; /* for its replication; 0 = that of commits */
};
/* Appends the marker's control batch and makes the producer's pending offsets committed ones, or
 * drops them; a producer without pending offsets here gets its marker, too. reply->response: an
 * enum err, set before `done`; the arena is not used (may be NULL); `marker` is copied. NONE once
 * the marker is committed; COORDINATOR_LOAD_IN_PROGRESS and NOT_COORDINATOR, of the shard, are what
 * WriteTxnMarkers answers as NOT_LEADER_OR_FOLLOWER; REQUEST_TIMED_OUT: it was not committed in
 * time, but still may be; others are of the log and nothing was changed. The
 * transaction.version of the marker is, as the verification above, a matter of the holder and its
 * writer. */
void coord_offsets_end_txn(struct coord_shard *shard, const struct coord_event *event,
                           const struct coord_marker *marker, struct coord_reply *reply,
                           struct coord_update *update);

/* reply->response: struct offset_delete_response. */
void coord_offsets_delete(struct coord_shard *shard, const struct coord_event *event,
                          const struct offset_delete_request *request, struct coord_reply *reply,
                          struct coord_update *update);

/* Answers for one group, in the shape of version 8 and later (for older ones the handler makes the
 * group struct from the request's top level and copies the topics and error back). request->topics
 * null = all topics. `require_stable` true: UNSTABLE_OFFSET_COMMIT for a partition with a pending
 * transactional commit. From committed state, at once; strings are copied into `arena`. With all
 * topics asked for, topic ids are those of the commit (zero when unknown): the handler of v10
 * resolves names through the image and drops what is gone. */
void coord_offsets_fetch(struct coord_shard *shard, const struct coord_event *event,
                         const struct offset_fetch_request_offset_fetch_request_group *request,
                         bool require_stable, struct arena *arena,
                         struct offset_fetch_response_offset_fetch_response_group *ret_group);

/* The topics of these names were deleted: writes tombstones for all their offsets. */
void coord_offsets_topics_deleted(struct coord_shard *shard, const struct coord_event *event,
                                  const struct slice *names, size_t name_count,
                                  struct coord_update *update);

#endif
