/* The content of the file quorum-state: what a voter must not forget over a restart. JSON as Kafka
 * writes it, data_version 1 with kraft.version 1, data_version 0 with static voters. Pure. */
#ifndef KLAMM_RAFT_QUORUM_STATE_H
#define KLAMM_RAFT_QUORUM_STATE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/uuid.h"

struct raft_voters;

struct raft_quorum_state {
    int32_t leader_id; /* -1 = none */
    int32_t leader_epoch;
    int32_t voted_id;            /* -1 = none */
    struct uuid voted_directory; /* zero = none */
};

/* What a node without the file starts from. */
void raft_quorum_state_init(struct raft_quorum_state *state);
/* ERR_MALFORMED with a text from `arena`. Both versions. */
enum err raft_quorum_state_parse(struct slice json, struct arena *arena,
                                 struct raft_quorum_state *ret_state, struct slice *ret_text);
/* voters: for data_version 0, else NULL. */
void raft_quorum_state_format(const struct raft_quorum_state *state, int version,
                              const struct raft_voters *voters, struct buf *out);

#endif
