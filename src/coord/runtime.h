/* The coordinator runtime: one `struct coord_shard` for each partition of __consumer_offsets (kind
 * COORD_GROUPS: coord/groups.h, coord/offsets.h) and of __transaction_state (COORD_TRANSACTIONS:
 * coord/txns.h) that this node leads. A shard is pure: an event (time, randomness, who
 * asks) and a request go in; the batch to append leaves through `struct coord_writer`, answers come
 * back as completed replies, and what transactions want done elsewhere as duties.
 *
 * Threads: a shard is NOT locked. Its holder (one per shard) owns the coordinator lock:
 *     lock; coord_..._(shard, event, ..., reply, &update); unlock; coord_update_deliver(&update);
 * The same for coord_shard_committed and coord_shard_tick. `writer.append` is called inside, with
 * that lock held (the partition lock comes after the coordinator lock). No reply's `done` runs
 * before coord_update_deliver.
 *
 * Life: coord_shard_new (loading) -> coord_shard_load for all batches of the partition, in order ->
 * coord_shard_activate -> requests, commits, ticks -> coord_shard_unload (leadership lost, stop) ->
 * coord_shard_free. Requests to a loading shard get COORDINATOR_LOAD_IN_PROGRESS, to an unloaded
 * one NOT_COORDINATOR, in the form that each API gives it. When there is no shard at all, the
 * handler uses coord/answers.h for the same. */
#ifndef KLAMM_COORD_RUNTIME_H
#define KLAMM_COORD_RUNTIME_H

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/slice.h"

struct coord_shard;
struct coord_reply;

enum coord_kind { COORD_GROUPS, COORD_TRANSACTIONS };

/* Settings that the coordinators obey; the shard copies the struct, each kind reads its part.
 * coord_config_init gives Kafka's defaults. The names of the broker settings stand beside. */
struct coord_config {
    int32_t session_timeout_min_ms;     /* group.min.session.timeout.ms */
    int32_t session_timeout_max_ms;     /* group.max.session.timeout.ms */
    int32_t initial_rebalance_delay_ms; /* group.initial.rebalance.delay.ms */
    int32_t group_size_max;             /* group.max.size */
    int32_t offset_metadata_size_max;   /* offset.metadata.max.bytes */
    int32_t commit_timeout_ms;          /* offsets.commit.timeout.ms */
    int64_t offsets_retention_ms;       /* offsets.retention.minutes */
    int64_t retention_check_ms;         /* offsets.retention.check.interval.ms */
    int32_t batch_size_max;             /* max.message.bytes of the shard's topic */
    int8_t compression;                 /* offsets.topic.compression.codec: 0 none ... 4 zstd */
    /* Transactions. */
    int32_t transaction_timeout_max_ms;     /* transaction.max.timeout.ms */
    int32_t transaction_abort_check_ms;     /* transaction.abort.timed.out.transaction.cleanup.
                                               interval.ms */
    int64_t transactional_id_expiration_ms; /* transactional.id.expiration.ms */
    int32_t transaction_expiry_check_ms;    /* transaction.remove.expired.transaction.cleanup.
                                               interval.ms */
    bool two_phase_commit_enable;           /* transaction.two.phase.commit.enable */
    int16_t transaction_version;            /* finalized level of the feature, 0 to 2 */
    /* Of producer ids below this one records may be lost that gave out an epoch (a power cut): of
     * them no further epoch is given out. 0 = nothing is lost. */
    int64_t producer_id_trusted;
};
void coord_config_init(struct coord_config *config);

/* How a shard writes. Called with the holder's coordinator lock held. */
struct coord_writer {
    void *ctx;
    /* Appends one complete batch (base offset 0, partition leader epoch -1: the log sets both and
     * needs no other change) to partition `partition` of the shard's topic. On success
     * *ret_offset_next is the log end offset after it and *ret_committed the high watermark now (so
     * that one node completes the reply at once). On failure nothing was appended; the error is a
     * Kafka or a local one. */
    enum err (*append)(void *ctx, int32_t partition, struct slice batch, int64_t *ret_offset_next,
                       int64_t *ret_committed);
};

/* What every call is given: time and randomness are arguments. */
struct coord_event {
    int64_t now_ms;           /* monotonic clock: timers, timeouts */
    int64_t wall_ms;          /* wall clock: timestamps in records */
    int16_t version;          /* API version of the request */
    struct slice client_id;   /* "" when the header has none (null counts as "") */
    struct slice client_host; /* as Kafka prints it: "/127.0.0.1" */
    uint8_t random[16];       /* used by JoinGroup only: the suffix of a new member id */
};

/* A request on its way. Embedded in the caller's request; stable in memory until `done`.
 * The request struct given with it and all it points to must live until `done`, too. `response` is
 * the caller's response struct of that API, initialised by the coordinator (wire_init) and
 * complete when `done` runs; its pieces are in `arena` (used by the coordinator, under its lock,
 * until then, and by OffsetCommit, OffsetDelete, DeleteGroups only before the call returns).
 * ThrottleTimeMs is left 0. Every reply is completed exactly once. A client that has
 * gone away does not take its parked reply back: `done` still comes. */
struct coord_reply {
    struct arena *arena;
    void *response;
    void (*done)(struct coord_reply *reply); /* from coord_update_deliver, no lock held */
    /* Private to coord. */
    struct list link;
    int16_t version;
    bool completed;
};

/* What a call brought about. coord_update_init before, coord_update_deliver after unlock. */
struct coord_update {
    struct list replies; /* completed, in order of completion */
    struct list markers; /* struct coord_txn_markers (coord/txns.h): duties that the
                            holder takes out before delivering. Groups have none. */
    int64_t deadline_ms; /* coord_shard_tick is wanted then (monotonic); INT64_MAX = never. Set by
                            every call; replaces the earlier deadline of that shard. */
};
void coord_update_init(struct coord_update *update);
/* Runs `done` of each completed reply. Its markers must have been taken. */
void coord_update_deliver(struct coord_update *update);

struct coord_shard *coord_shard_new(enum coord_kind kind, const struct coord_config *config,
                                    const struct coord_writer *writer, int32_t partition);
/* All replies must have been completed: unload first. */
void coord_shard_free(struct coord_shard *shard);

/* Feeds whole record batches as they are in the log, in offset order, several at a time. Control
 * batches and transactional batches included. Errors: CORRUPT for bytes that are no batches or for
 * a record that cannot be understood (the shard stays as it was before that record and the load
 * must be given up); Kafka fails the load likewise. */
enum err coord_shard_load(struct coord_shard *shard, struct slice batches);

/* Ends loading: `offset_next` is the log end that was loaded, `epoch` the partition's leader epoch
 * (the coordinator epoch in markers). Sessions of all members found start now; the markers of
 * transactions found on their way to an end come out. Requests are served from here on. */
void coord_shard_activate(struct coord_shard *shard, const struct coord_event *event,
                          int64_t offset_next, int32_t epoch, struct coord_update *update);

/* Leadership lost or node stopping: completes every parked reply with NOT_COORDINATOR, forgets its
 * state and refuses from now on. */
void coord_shard_unload(struct coord_shard *shard, struct coord_update *update);

/* NONE when it serves, else COORDINATOR_LOAD_IN_PROGRESS or NOT_COORDINATOR. */
enum err coord_shard_state(const struct coord_shard *shard);

/* The high watermark of the shard's partition is now `committed` (offset after the last committed
 * record). Going back is ignored. */
void coord_shard_committed(struct coord_shard *shard, const struct coord_event *event,
                           int64_t committed, struct coord_update *update);

/* Runs what is due: sessions, rebalances, write timeouts, expiry of offsets and groups; timeouts of
 * transactions, expiry of transactional ids. */
void coord_shard_tick(struct coord_shard *shard, const struct coord_event *event,
                      struct coord_update *update);

/* A new setting (dynamic configuration). */
void coord_shard_configure(struct coord_shard *shard, const struct coord_config *config);

#endif
