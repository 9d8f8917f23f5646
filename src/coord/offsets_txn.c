/* Offsets in transactions: TxnOffsetCommit, and the end of a transaction on the shard's partition.
 *
 * A commit is one transactional batch of the producer; replay.c makes its offsets pending ones. The
 * marker is a control batch; its replay makes them committed, or drops them. Both go through the
 * shard's writer, so that the log keeps what it promises of producers: epochs, open transactions.
 *
 * Kafka behaviour: member and generation count only when one of them is given, for old versions
 * have neither; a group without a member may be committed to, also in the middle of a rebalance; a
 * member's session is not prolonged. An unknown group with a generation is ILLEGAL_GENERATION, from
 * version 6 GROUP_ID_NOT_FOUND. No retention of its own (KIP-447, KIP-98).
 * Called under the shard holder's lock. */
#include "coord/answers.h"
#include "coord/group.h"
#include "coord/group_record.h"
#include "coord/offsets.h"
#include "record/control.h"
#include "wire/codec.h"
#include "wire_txn_offset_commit.h"

enum {
    GROUP_NOT_FOUND_SINCE = 6, /* of TxnOffsetCommit: the error that old clients do not know */
};

static enum err check_commit(const struct group *group, int16_t version,
                             const struct txn_offset_commit_request *request)
{
    int32_t generation = request->generation_id_or_member_epoch;
    if (!group) {
        if (generation < 0)
            return ERR_NONE;
        return version >= GROUP_NOT_FOUND_SINCE ? ERR_GROUP_ID_NOT_FOUND : ERR_ILLEGAL_GENERATION;
    }
    if (group->kind == GROUP_SHARE)
        return ERR_GROUP_ID_NOT_FOUND;
    if (generation < 0 && request->member_id.size == 0 && slice_is_null(request->group_instance_id))
        return ERR_NONE;
    if (group->kind != GROUP_CLASSIC)
        return generation < 0 && map_count(&group->foreign_members) == 0 ? ERR_NONE
                                                                         : ERR_UNKNOWN_MEMBER_ID;
    if (generation < 0 && group->state == GROUP_EMPTY)
        return ERR_NONE;
    enum err err = group_check_member(group, request->member_id, request->group_instance_id);
    if (err)
        return err;
    return generation == group->generation ? ERR_NONE : ERR_ILLEGAL_GENERATION;
}

/* Writes the topic's records and fills its answers. */
static void commit_topic(struct coord_shard *shard, const struct txn_offset_commit_request *request,
                         int32_t index, struct txn_offset_commit_response *response,
                         struct shard_records *records)
{
    const struct txn_offset_commit_request_txn_offset_commit_request_topic *topic =
        &request->topics[index];
    struct offset_value value = {
        .commit_timestamp_ms = shard->event->wall_ms,
        .expire_timestamp_ms = -1,
        .topic_id = topic->topic_id,
    };
    for (int32_t p = 0; p < topic->partitions_count; p++) {
        const struct txn_offset_commit_request_txn_offset_commit_request_partition *asked =
            &topic->partitions[p];
        value.offset = asked->committed_offset;
        value.leader_epoch = asked->committed_leader_epoch;
        enum err err = group_record_commit(
            records, request->group_id, topic->name, asked->partition_index, &value,
            asked->committed_metadata, shard->config.offset_metadata_size_max);
        if (err)
            response->topics[index].partitions[p].error_code = err_to_wire(err);
    }
}

static void commit_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct txn_offset_commit_response *response = write->reply->response;
    for (int32_t t = 0; error && t < response->topics_count; t++) {
        for (int32_t p = 0; p < response->topics[t].partitions_count; p++)
            response->topics[t].partitions[p].error_code = err_to_wire(error);
    }
    shard_reply_complete(shard, write->reply);
}

void coord_offsets_txn_commit(struct coord_shard *shard, const struct coord_event *event,
                              const struct txn_offset_commit_request *request,
                              struct coord_reply *reply, struct coord_update *update)
{
    enum err err;
    if (shard_enter(shard, event, update, &err))
        err = check_commit(shard_group(shard, request->group_id), event->version, request);
    shard_reply_begin(shard, reply);
    coord_answer_txn_offset_commit(event->version, err, request, reply->arena, reply->response);
    if (err) {
        shard_reply_complete(shard, reply);
    } else {
        struct shard_records records;
        shard_records_init(&records);
        records.producer_id = request->producer_id;
        records.producer_epoch = request->producer_epoch;
        for (int32_t t = 0; t < request->topics_count; t++)
            commit_topic(shard, request, t, reply->response, &records);
        shard_append(shard, &records, &(struct shard_write){.done = commit_done, .reply = reply});
        shard_records_fini(&records);
    }
    shard_leave(shard);
}

/* ---- the end ----------------------------------------------------------------------------- */

static void end_done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    *(enum err *)write->reply->response = error;
    shard_reply_complete(shard, write->reply);
}

void coord_offsets_end_txn(struct coord_shard *shard, const struct coord_event *event,
                           const struct coord_marker *marker, struct coord_reply *reply,
                           struct coord_update *update)
{
    enum err err;
    bool serves = shard_enter(shard, event, update, &err);
    struct control_end_txn end = {marker->is_commit, marker->coordinator_epoch};
    shard_reply_begin(shard, reply);
    if (serves) {
        buf_clear(&shard->scratch);
        err = control_build_end_txn(&shard->scratch, 0, BATCH_NO_LEADER_EPOCH, event->wall_ms,
                                    marker->producer_id, marker->producer_epoch, &end);
    }
    if (err) {
        *(enum err *)reply->response = err;
        shard_reply_complete(shard, reply);
    } else {
        shard_append_batch(shard, buf_slice(&shard->scratch), 1,
                           &(struct shard_write){.done = end_done,
                                                 .reply = reply,
                                                 .timeout_ms = marker->timeout_ms,
                                                 .for_partition = true});
    }
    shard_leave(shard);
}
