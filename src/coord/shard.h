/* Inside coord only: the shard's own state, its timers and its writes. Everything here runs under
 * the holder's lock. */
#ifndef KLAMM_COORD_SHARD_H
#define KLAMM_COORD_SHARD_H

#include "base/buf.h"
#include "base/heap.h"
#include "base/map.h"
#include "coord/runtime.h"

struct group;

enum shard_phase { SHARD_LOADING, SHARD_ACTIVE, SHARD_UNLOADED };

enum shard_timer_kind {
    SHARD_TIMER_SESSION,        /* owner: struct member */
    SHARD_TIMER_PENDING_MEMBER, /* owner: struct pending_member */
    SHARD_TIMER_JOIN,           /* owner: struct group */
    SHARD_TIMER_SYNC,           /* owner: struct group */
    SHARD_TIMER_WRITE,          /* owner: struct shard_write */
    SHARD_TIMER_EXPIRY,         /* owner: the shard */
};

struct shard_timer {
    struct heap_node node;
    enum shard_timer_kind kind;
    void *owner;
};

struct coord_shard {
    struct coord_config config;
    struct coord_writer writer;
    int32_t partition;
    enum shard_phase phase;
    int64_t committed;       /* offset after the last committed record */
    int64_t offset_next;     /* log end as far as this shard knows */
    struct map groups;       /* group id -> struct group, newest view */
    struct list ghosts;      /* struct group whose tombstone is not committed yet */
    struct map offsets;      /* group id -> struct offset_group */
    struct list sweeps;      /* struct offset_group with tombstones to be dropped once committed */
    struct map transactions; /* producer id -> struct offset_txn */
    struct heap timers;
    struct list writes; /* struct shard_write, by offset_next */
    struct shard_timer expiry;
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
 * else with the mapped error: from the append itself, the commit timeout, or the unload. */
struct shard_write {
    struct list link;
    struct shard_timer timer;
    int64_t offset_next;
    void (*done)(struct coord_shard *shard, struct shard_write *write, enum err error);
    struct coord_reply *reply; /* NULL = nobody waits */
    struct group *group;       /* referenced; NULL = none */
    int32_t generation;
    void *undo; /* owned by `done` */
};

/* Appends `records` as one batch, replays it, and calls write->done when it is committed or has
 * failed, possibly before it returns. `write` is a template (reply, group, generation, done and
 * undo); it is copied and takes no reference of the caller's. No records: done(NONE) when all that
 * was appended before is committed. */
void shard_append(struct coord_shard *shard, const struct shard_records *records,
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

/* The group in the newest view; NULL when absent. */
struct group *shard_group(const struct coord_shard *shard, struct slice group_id);
/* The group as committed reads see it; NULL when absent. */
struct group *shard_group_committed(const struct coord_shard *shard, struct slice group_id);
void shard_add_group(struct coord_shard *shard, struct group *group);
/* Takes the group out of the newest view (the map's reference goes): `offset` is that of its
 * tombstone, INT64_MAX when nothing was ever written. */
void shard_remove_group(struct coord_shard *shard, struct group *group, int64_t offset);

/* Kafka's mapping of an append or commit error to what a group request is answered with. */
enum err shard_append_error(enum err error);

#endif
