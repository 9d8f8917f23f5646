/* Inside coord only: what all shards have in common: phase, writer, committed offset, writes that
 * wait for their commit, timers, and the way of records into the log and back into the state. What
 * a kind of shard keeps and knows is its machine (shard_group.h, shard_txn.h). Everything here runs
 * under the holder's lock. */
#ifndef KLAMM_COORD_SHARD_H
#define KLAMM_COORD_SHARD_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/map.h"
#include "coord/runtime.h"

struct group;
struct record;

enum shard_phase { SHARD_LOADING, SHARD_ACTIVE, SHARD_UNLOADED };

enum shard_timer_kind {
    SHARD_TIMER_WRITE, /* owner: struct shard_write */
    /* Groups. */
    SHARD_TIMER_SESSION,        /* owner: struct member */
    SHARD_TIMER_PENDING_MEMBER, /* owner: struct pending_member */
    SHARD_TIMER_JOIN,           /* owner: struct group */
    SHARD_TIMER_SYNC,           /* owner: struct group */
    SHARD_TIMER_EXPIRY,         /* owner: the shard */
    /* Transactions; owner: the shard. */
    SHARD_TIMER_TXN_TIMEOUTS,
    SHARD_TIMER_TXN_EXPIRY,
    SHARD_TIMER_TXN_RETRY,
};

struct shard_timer {
    struct heap_node node;
    enum shard_timer_kind kind;
    void *owner;
};

/* One record on its way into the state. */
struct shard_record {
    const struct record *record;
    int64_t offset;
    int64_t producer_id; /* of its batch; -1 = none */
    bool control;
    bool live; /* appended by this shard a moment ago; else loading */
};

/* A kind of shard. Functions may be NULL where nothing is to be done, but for init, fini, replay
 * and fire. */
struct shard_machine {
    size_t state_size;
    int32_t base_sequence;                   /* of the batches it appends, as Kafka writes them */
    bool compresses;                         /* by config.compression; else never */
    void (*init)(struct coord_shard *shard); /* shard->state is zeroed memory */
    void (*fini)(struct coord_shard *shard); /* after forget */
    /* The only writer of durable state. CORRUPT for what cannot be understood. */
    enum err (*replay)(struct coord_shard *shard, const struct shard_record *record);
    void (*activated)(struct coord_shard *shard);
    void (*unloading)(struct coord_shard *shard); /* completes what is parked */
    void (*forget)(struct coord_shard *shard);    /* drops everything */
    /* shard->committed has advanced; the writes below it complete after this. */
    void (*committed)(struct coord_shard *shard);
    void (*fire)(struct coord_shard *shard, struct shard_timer *timer);
};

struct coord_shard {
    const struct shard_machine *machine;
    void *state; /* the machine's */
    struct coord_config config;
    struct coord_writer writer;
    int32_t partition;
    int32_t epoch; /* leader epoch of the partition, told by coord_shard_activate */
    enum shard_phase phase;
    int64_t committed;   /* offset after the last committed record */
    int64_t offset_next; /* log end as far as this shard knows */
    struct heap timers;
    struct list writes; /* struct shard_write, by offset_next */
    struct buf scratch; /* the batch being built */
    /* The call that runs now. */
    const struct coord_event *event;
    struct coord_update *update;
};

/* Records that one decision wants written, in order. Keys and values are copied. */
struct shard_records {
    struct buf bytes;
    struct buf spans; /* struct shard_span */
    size_t count;
    int64_t producer_id; /* >= 0: the batch is part of this producer's transaction */
    int16_t producer_epoch;
};

struct shard_span {
    size_t key_size;
    size_t value_size; /* SIZE_MAX = null: a tombstone */
};

void shard_records_init(struct shard_records *records);
void shard_records_fini(struct shard_records *records);
/* Ends the record whose key and value were appended to records->bytes: `start` is where the key
 * began, `key_end` where the value began; tombstone = no value. */
void shard_records_close(struct shard_records *records, size_t start, size_t key_end,
                         bool tombstone);

/* What waits for the commit of one append. `done` runs exactly once: with NONE after the commit,
 * else with the mapped error (but see for_partition): from the append itself, the commit timeout,
 * or the unload. */
struct shard_write {
    struct list link;
    struct shard_timer timer;
    int64_t offset_next;
    void (*done)(struct coord_shard *shard, struct shard_write *write, enum err error);
    void (*release)(struct shard_write *write); /* after `done`; NULL = nothing is held */
    struct coord_reply *reply;                  /* NULL = nobody waits */
    struct group *group;                        /* NULL = none */
    int32_t generation;
    int64_t timeout_ms; /* 0 = the configured one; INT64_MAX = never */
    bool for_partition; /* `done` gets the error as the log gave it, and REQUEST_TIMED_OUT: who
                           waits writes to a partition, and does not ask a coordinator */
    void *undo;         /* owned by `done` */
};

/* Appends `records` as one batch, replays it, and calls write->done when it is committed or has
 * failed, possibly before it returns. `write` is a template; it is copied. No records: done(NONE)
 * when all that was appended before is committed. */
void shard_append(struct coord_shard *shard, const struct shard_records *records,
                  const struct shard_write *write);
/* The same with one batch that the caller has built (control batches), `count` records in it. It
 * may be in shard->scratch. */
void shard_append_batch(struct coord_shard *shard, struct slice batch, int32_t count,
                        const struct shard_write *write);
/* Appends in as many batches as batch_size_max asks for; nobody waits. Stops at the first error. */
void shard_append_split(struct coord_shard *shard, const struct shard_records *records);

/* Sets the current call. Returns false after completing nothing when the shard does not serve;
 * *ret_error says why. */
bool shard_enter(struct coord_shard *shard, const struct coord_event *event,
                 struct coord_update *update, enum err *ret_error);
/* Ends the current call: tells the next deadline. */
void shard_leave(struct coord_shard *shard);

/* Prepares a reply for this call; the response struct is the caller's to fill. */
void shard_reply_begin(struct coord_shard *shard, struct coord_reply *reply);
/* Hands it over to the update. */
void shard_reply_complete(struct coord_shard *shard, struct coord_reply *reply);

void shard_timer_init(struct shard_timer *timer, enum shard_timer_kind kind, void *owner);
/* Fires delay_ms from now; replaces an earlier setting. */
void shard_timer_set(struct coord_shard *shard, struct shard_timer *timer, int64_t delay_ms);
void shard_timer_cancel(struct coord_shard *shard, struct shard_timer *timer);

/* Advances the committed offset and completes what waited for it. */
void shard_commit(struct coord_shard *shard, int64_t committed);
/* Completes all writes that wait with `error`. */
void shard_fail_writes(struct coord_shard *shard, enum err error);
/* The write whose timeout is over. */
void shard_write_expired(struct coord_shard *shard, struct shard_write *write);

/* Batches of the log, in order, with their offsets, into the machine. CORRUPT where they cannot be
 * understood. */
enum err shard_load(struct coord_shard *shard, struct slice batches);

/* Kafka's mapping of an append or commit error to what a coordinator request is answered with. */
enum err shard_append_error(enum err error);

#endif
