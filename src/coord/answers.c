/* Answers that carry one error for a whole request, in the form each API gives it. Used by the
 * handlers, and by the coordinator itself for a shard that does not serve. Pure.
 *
 * Kafka behaviour: an error of JoinGroup has a null protocol name where the version has null. A
 * Heartbeat to a coordinator that still loads is answered with success, as there
 * is nobody to tell otherwise. OffsetFetch and OffsetCommit clients do not all know the newer
 * errors: version 1 of OffsetFetch has errors on partitions only. */
#include "coord/answers.h"

#include "wire/codec.h"
#include "wire_delete_groups.h"
#include "wire_describe_groups.h"
#include "wire_heartbeat.h"
#include "wire_join_group.h"
#include "wire_leave_group.h"
#include "wire_offset_commit.h"
#include "wire_offset_delete.h"
#include "wire_offset_fetch.h"
#include "wire_sync_group.h"
#include "wire_txn_offset_commit.h"

enum {
    TXN_COMMIT_LOADING_SINCE = 2, /* of TxnOffsetCommit: clients that know the error */
};

void coord_answer_join(int16_t version, enum err error, struct slice member_id,
                       struct join_group_response *response)
{
    wire_init(&wire_join_group_response, response);
    if (version >= 7)
        response->protocol_name = SLICE_NULL;
    response->error_code = err_to_wire(error);
    response->member_id = member_id;
}

void coord_answer_sync(enum err error, struct sync_group_response *response)
{
    wire_init(&wire_sync_group_response, response);
    response->error_code = err_to_wire(error);
}

void coord_answer_heartbeat(enum err error, struct heartbeat_response *response)
{
    wire_init(&wire_heartbeat_response, response);
    if (error != ERR_COORDINATOR_LOAD_IN_PROGRESS)
        response->error_code = err_to_wire(error);
}

void coord_answer_leave(enum err error, struct leave_group_response *response)
{
    wire_init(&wire_leave_group_response, response);
    response->error_code = err_to_wire(error);
}

void coord_answer_delete_groups(enum err error, const struct slice *group_ids,
                                int32_t group_id_count, struct arena *arena,
                                struct delete_groups_response *response)
{
    wire_init(&wire_delete_groups_response, response);
    struct delete_groups_response_deletable_group_result *items =
        delete_groups_response_results_new(arena, response, group_id_count);
    for (int32_t i = 0; i < group_id_count; i++) {
        items[i].group_id = group_ids[i];
        items[i].error_code = err_to_wire(error);
    }
}

void coord_answer_describe(enum err error, struct slice group_id,
                           struct describe_groups_response_described_group *ret_group)
{
    struct slice empty = SLICE_LIT("");
    *ret_group = (struct describe_groups_response_described_group){
        .error_code = err_to_wire(error),
        .group_id = group_id,
        .group_state = empty,
        .protocol_type = empty,
        .protocol_data = empty,
        .authorized_operations = INT32_MIN,
    };
}

void coord_answer_offset_commit(enum err error, const struct offset_commit_request *request,
                                struct arena *arena, struct offset_commit_response *response)
{
    wire_init(&wire_offset_commit_response, response);
    struct offset_commit_response_offset_commit_response_topic *topics =
        offset_commit_response_topics_new(arena, response, request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct offset_commit_request_offset_commit_request_topic *asked = &request->topics[t];
        topics[t].name = asked->name;
        topics[t].topic_id = asked->topic_id;
        struct offset_commit_response_offset_commit_response_partition *items =
            offset_commit_response_offset_commit_response_topic_partitions_new(
                arena, &topics[t], asked->partitions_count);
        for (int32_t p = 0; p < asked->partitions_count; p++) {
            items[p].partition_index = asked->partitions[p].partition_index;
            items[p].error_code = err_to_wire(error);
        }
    }
}

void coord_answer_txn_offset_commit(int16_t version, enum err error,
                                    const struct txn_offset_commit_request *request,
                                    struct arena *arena,
                                    struct txn_offset_commit_response *response)
{
    if (version < TXN_COMMIT_LOADING_SINCE && error == ERR_COORDINATOR_LOAD_IN_PROGRESS)
        error = ERR_COORDINATOR_NOT_AVAILABLE;
    wire_init(&wire_txn_offset_commit_response, response);
    struct txn_offset_commit_response_txn_offset_commit_response_topic *topics =
        txn_offset_commit_response_topics_new(arena, response, request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct txn_offset_commit_request_txn_offset_commit_request_topic *asked =
            &request->topics[t];
        topics[t].name = asked->name;
        topics[t].topic_id = asked->topic_id;
        struct txn_offset_commit_response_txn_offset_commit_response_partition *items =
            txn_offset_commit_response_txn_offset_commit_response_topic_partitions_new(
                arena, &topics[t], asked->partitions_count);
        for (int32_t p = 0; p < asked->partitions_count; p++) {
            items[p].partition_index = asked->partitions[p].partition_index;
            items[p].error_code = err_to_wire(error);
        }
    }
}

void coord_answer_offset_delete(enum err error, struct offset_delete_response *response)
{
    wire_init(&wire_offset_delete_response, response);
    response->error_code = err_to_wire(error);
}

void coord_answer_offset_fetch(
    int16_t version, enum err error,
    const struct offset_fetch_request_offset_fetch_request_group *request, struct arena *arena,
    struct offset_fetch_response_offset_fetch_response_group *ret_group)
{
    *ret_group = (struct offset_fetch_response_offset_fetch_response_group){
        .group_id = request->group_id, .error_code = err_to_wire(error)};
    if (version >= 2 || request->topics_count <= 0)
        return;
    struct offset_fetch_response_offset_fetch_response_topics *topics =
        offset_fetch_response_offset_fetch_response_group_topics_new(arena, ret_group,
                                                                     request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct offset_fetch_request_offset_fetch_request_topics *asked = &request->topics[t];
        topics[t].name = asked->name;
        topics[t].topic_id = asked->topic_id;
        struct offset_fetch_response_offset_fetch_response_partitions *items =
            offset_fetch_response_offset_fetch_response_topics_partitions_new(
                arena, &topics[t], asked->partition_indexes_count);
        for (int32_t p = 0; p < asked->partition_indexes_count; p++) {
            items[p].partition_index = asked->partition_indexes[p];
            items[p].committed_offset = -1;
            items[p].metadata = SLICE_LIT("");
            items[p].error_code = err_to_wire(error);
        }
    }
}
