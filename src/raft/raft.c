/* The KRaft step machine; see raft.h. Called by repl/quorum under the controller lock. */
#include "raft/raft.h"

#include "base/ensure.h"

void raft_init(struct raft *raft, int32_t id, struct uuid directory_id,
               const struct raft_voters *voters, const struct raft_quorum_state *state)
{
    *raft = (struct raft){
        .id = id,
        .directory_id = directory_id,
        .role = RAFT_UNATTACHED,
        .state = *state,
        .voters = voters,
    };
}

/* An election among one voter: it grants itself the epoch after every epoch that it has seen. The
 * vote need not be persisted by itself, as the state that names the leader of the same epoch is. */
static void start(struct raft *raft, const struct raft_event *event, struct raft_update *update)
{
    ENSURE_CMP(raft->role, ==, RAFT_UNATTACHED);
    raft->log_end = raft->flushed = event->log_end;
    if (!raft_voters_only(raft->voters, raft->id, &raft->directory_id))
        return;
    int32_t epoch = raft->state.leader_epoch;
    if (event->epoch > epoch)
        epoch = event->epoch;
    raft->state.leader_epoch = (epoch < 0 ? 0 : epoch) + 1;
    raft->state.leader_id = raft->id;
    raft->state.voted_id = -1;
    raft->state.voted_directory = UUID_ZERO;
    raft->role = RAFT_LEADER;
    raft->epoch_start = event->log_end;
    update->persist = true;
    update->became_leader = true;
}

static void flushed(struct raft *raft, int64_t log_end, struct raft_update *update)
{
    ENSURE_CMP(log_end, <=, raft->log_end);
    if (log_end > raft->flushed)
        raft->flushed = log_end;
    if (raft->role != RAFT_LEADER || raft->flushed <= raft->epoch_start ||
        raft->flushed <= raft->high_watermark)
        return;
    raft->high_watermark = raft->flushed;
    update->watermark_moved = true;
}

void raft_step(struct raft *raft, const struct raft_event *event, struct raft_update *ret_update)
{
    *ret_update = (struct raft_update){false, false, false};
    switch (event->kind) {
    case RAFT_START: start(raft, event, ret_update); break;
    case RAFT_APPENDED:
        ENSURE_CMP(event->log_end, >=, raft->log_end);
        raft->log_end = event->log_end;
        break;
    case RAFT_FLUSHED: flushed(raft, event->log_end, ret_update); break;
    case RAFT_RESIGN: raft->role = RAFT_RESIGNED; break;
    }
}
