/* KRaft as a pure step machine: an event goes in, the state moves, and an update says what the
 * driver has to do. No I/O, no clock: time and the log's ends come with the events.
 *
 * This step runs quorums of one voter: a node whose voter set is itself leads each new epoch at
 * once. Roles and events are those of the full protocol, so that fetching voters, votes and
 * followers come as further events; a node that is not the only voter stays unattached.
 *
 * Roles: unattached -> (start as only voter) leader -> (resign) resigned.
 *
 * Order of a driver's duties: what `update` asks to persist must be durable before the records of
 * the new epoch are appended for good; the high watermark moves only by flushed records, and from
 * the first record of the own epoch on (its LeaderChange). */
#ifndef KLAMM_RAFT_RAFT_H
#define KLAMM_RAFT_RAFT_H

#include "raft/quorum_state.h"
#include "raft/voters.h"

enum raft_role {
    RAFT_UNATTACHED,
    RAFT_LEADER,
    RAFT_RESIGNED,
};

struct raft {
    int32_t id;
    struct uuid directory_id;
    enum raft_role role;
    struct raft_quorum_state state; /* as last persisted or to be persisted */
    const struct raft_voters *voters;
    int64_t epoch_start;    /* offset of the own epoch's first record */
    int64_t log_end;        /* appended */
    int64_t flushed;        /* durable */
    int64_t high_watermark; /* committed */
};

enum raft_event_kind {
    RAFT_START,    /* log_end, epoch of the last record in `epoch` */
    RAFT_APPENDED, /* log_end */
    RAFT_FLUSHED,  /* log_end = durable up to here */
    RAFT_RESIGN,   /* the node stops */
};

struct raft_event {
    enum raft_event_kind kind;
    int64_t log_end;
    int32_t epoch;
};

struct raft_update {
    bool persist;       /* write raft->state, durably */
    bool became_leader; /* append a LeaderChange as first record of raft->state.leader_epoch */
    bool watermark_moved;
};

void raft_init(struct raft *raft, int32_t id, struct uuid directory_id,
               const struct raft_voters *voters, const struct raft_quorum_state *state);
void raft_step(struct raft *raft, const struct raft_event *event, struct raft_update *ret_update);

#endif
