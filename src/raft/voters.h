/* The voter set of a quorum: from VotersRecord (kraft.version 1) or from the configuration
 * (controller.quorum.voters, kraft.version 0: no directory ids). Owns its texts. */
#ifndef KLAMM_RAFT_VOTERS_H
#define KLAMM_RAFT_VOTERS_H

#include "base/arena.h"
#include "base/uuid.h"

struct voters_record;

struct raft_endpoint {
    struct slice name; /* listener */
    struct slice host;
    uint16_t port;
};

struct raft_voter {
    int32_t id;
    struct uuid directory_id; /* zero: not known (static voters) */
    struct raft_endpoint *endpoints;
    int32_t endpoint_count;
    int16_t kraft_min, kraft_max; /* supported kraft.version */
};

struct raft_voters {
    struct arena arena;
    struct raft_voter *voters;
    int32_t count;
};

void raft_voters_init(struct raft_voters *voters); /* empty */
void raft_voters_fini(struct raft_voters *voters);
/* Replace what was there; copies. */
void raft_voters_from_record(struct raft_voters *voters, const struct voters_record *record);
void raft_voters_set_one(struct raft_voters *voters, int32_t id, struct uuid directory_id,
                         const struct raft_endpoint *endpoints, int32_t endpoint_count);
void raft_voters_add_static(struct raft_voters *voters, int32_t id, struct raft_endpoint endpoint);
bool raft_voters_eq(const struct raft_voters *a, const struct raft_voters *b);
/* The record that says the same; its arrays are in `arena`, its texts are views. */
void raft_voters_to_record(const struct raft_voters *voters, struct arena *arena,
                           struct voters_record *ret_record);

/* True when this node is the only voter (a voter without directory id matches any). */
bool raft_voters_only(const struct raft_voters *voters, int32_t id,
                      const struct uuid *directory_id);

#endif
