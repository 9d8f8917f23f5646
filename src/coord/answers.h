/* Whole-request answers of the group and offset APIs with one error, for a handler that cannot or
 * may not ask a shard: coordinator not here (NOT_COORDINATOR), loading, not authorized, no group
 * id. Every function initialises *response and gives `error` the form that Kafka gives it in that
 * API and version. Pieces go into `arena`; names are views into the request. */
#ifndef KLAMM_COORD_ANSWERS_H
#define KLAMM_COORD_ANSWERS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/slice.h"

struct join_group_response;
struct sync_group_response;
struct heartbeat_response;
struct leave_group_request;
struct leave_group_response;
struct delete_groups_response;
struct describe_groups_response_described_group;
struct offset_commit_request;
struct offset_commit_response;
struct offset_delete_response;
struct offset_fetch_request_offset_fetch_request_group;
struct offset_fetch_response_offset_fetch_response_group;
struct txn_offset_commit_request;
struct txn_offset_commit_response;

void coord_answer_join(int16_t version, enum err error, struct slice member_id,
                       struct join_group_response *response);
void coord_answer_sync(enum err error, struct sync_group_response *response);
void coord_answer_heartbeat(enum err error, struct heartbeat_response *response);
void coord_answer_leave(enum err error, struct leave_group_response *response);
void coord_answer_delete_groups(enum err error, const struct slice *group_ids,
                                int32_t group_id_count, struct arena *arena,
                                struct delete_groups_response *response);
void coord_answer_describe(enum err error, struct slice group_id,
                           struct describe_groups_response_described_group *ret_group);
/* Every partition of the request gets `error`. */
void coord_answer_offset_commit(enum err error, const struct offset_commit_request *request,
                                struct arena *arena, struct offset_commit_response *response);
/* Every partition gets `error`; producers that know version 0 or 1 only take a loading coordinator
 * for one that is not available. */
void coord_answer_txn_offset_commit(int16_t version, enum err error,
                                    const struct txn_offset_commit_request *request,
                                    struct arena *arena,
                                    struct txn_offset_commit_response *response);
void coord_answer_offset_delete(enum err error, struct offset_delete_response *response);
/* Versions below 2 have no error at group level: there each partition carries it. */
void coord_answer_offset_fetch(
    int16_t version, enum err error,
    const struct offset_fetch_request_offset_fetch_request_group *request, struct arena *arena,
    struct offset_fetch_response_offset_fetch_response_group *ret_group);

#endif
