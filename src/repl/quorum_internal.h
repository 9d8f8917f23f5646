/* The insides of the quorum driver; for the quorum*.c files only. */
#ifndef KLAMM_REPL_QUORUM_INTERNAL_H
#define KLAMM_REPL_QUORUM_INTERNAL_H

#include "meta/loader.h"
#include "os/lock.h"
#include "raft/raft.h"
#include "record/builder.h"
#include "repl/quorum.h"
#include "store/log.h"

/* A root that waits for its commit. */
struct quorum_root {
    struct list link;
    int64_t offset_next; /* committed when the high watermark reaches this */
    struct meta_image *image;
};

struct quorum_flush_job {
    struct io_job job;
    struct log_flush flush;
    struct quorum *quorum;
    bool running;
};

struct quorum_snapshot_job {
    struct io_job job;
    struct quorum *quorum;
    struct meta_image *image;
    int64_t offset; /* exclusive */
    int32_t epoch;
    bool kraft_dynamic; /* at that offset */
    enum err err;
    bool running;
};

struct quorum {
    struct io *io;
    struct loop *loop;
    struct config *config;
    struct slice cluster_id;
    char *path; /* .../__cluster_metadata-0 */
    struct quorum_subscriber subscriber;
    void (*told_failed)(void *context);
    void *failed_context;
    bool (*make_room)(void *context, bool starting);
    void *make_room_context;
    struct controller_settings settings;

    struct lock lock; /* LOCK_CONTROLLER; covers what follows */
    struct log *log;
    struct raft raft;
    struct raft_voters voters;
    bool voters_in_log;     /* else they come from a 0-0 snapshot or the configuration */
    struct raft_voters own; /* this node as the only voter, as it would stand in the log */
    struct raft_quorum_state recovered_state;
    struct meta_loader loader;     /* at start only */
    struct meta_records bootstrap; /* of the 0-0 snapshot */
    bool bootstrap_is_old;         /* from bootstrap.checkpoint, or the defaults */
    struct meta_image *newest;     /* root that the next decision sees */
    struct list roots;             /* struct quorum_root, rising offsets */
    struct list ops;               /* waiting struct quorum_op, rising offset_next */
    int64_t broker_epoch;
    enum err failed; /* the metadata log cannot be written: no op is taken */
    bool started;    /* quorum_start is over */
    bool makes_room; /* of the op that is decided */
    bool publishing; /* a commit is being told: no operation ends before the subscriber knows */
    bool closing;
    bool closed; /* quorum_close was called: the last job that ends frees */
    struct quorum_flush_job flush;

    int64_t snapshot_offset; /* end of the newest snapshot */
    int64_t snapshot_ms;     /* when it was made */
    int64_t bytes_since;     /* appended since then */
    struct quorum_snapshot_job snapshot;
    struct io_lane lane;

    struct lock image_lock; /* LOCK_LEAF; covers what follows */
    struct meta_image *committed;
    int16_t kraft_version; /* for those who do not wait for the controller lock */
};

/* ---- quorum.c: all under the lock ---- */
/* A decision's context on the newest root. */
void quorum_controller(struct quorum *q, struct arena *arena, struct meta_records *records,
                       struct controller *ret_controller);
/* Appends finished batches in one write. */
enum err quorum_append(struct quorum *q, struct slice batches);
/* Appends the records of a decision, if any, in one write; the root that has them is the newest
 * from now on. On an error nothing changed. */
enum err quorum_append_decision(struct quorum *q, struct controller *c);
/* The newest root below the high watermark, or NULL; the reference is the caller's. */
struct meta_image *quorum_take_committed(struct quorum *q);
/* Takes over the reference on `next`, gives the old one. Not under the lock. */
struct meta_image *quorum_swap_committed(struct quorum *q, struct meta_image *next);

/* A job or a commit is under way that comes back to `q`. Under the lock. */
static inline bool quorum_busy(const struct quorum *q)
{
    return q->flush.running || q->snapshot.running || q->publishing;
}

/* ---- quorum_start.c ---- */
/* Frees what quorum_close left to the jobs. */
void quorum_destroy(struct quorum *q);

/* ---- quorum_voters.c: who votes, and how the log tells it ---- */
/* The voters of the configuration; the log's take their place. */
void quorum_static_voters(struct quorum *q);
/* KRaftVersion and Voters: this many records at the end of an open control batch. */
enum { QUORUM_VOTERS_RECORDS = 2 };
enum err quorum_add_voters(const struct raft_voters *voters, struct builder *b, int64_t now_ms);
/* What the log would say of this node as a voter; at start, before the election. */
void quorum_set_own(struct quorum *q, const struct controller_registration *self);
/* The log's voters are not those it should have: the leader's first batch mends them. */
bool quorum_voters_stale(const struct quorum *q);
/* The control batch of the step from static voters to those of the log (KIP-853). Under the lock.
 */
enum err quorum_build_upgrade(const struct quorum *q, int64_t now_ms, struct buf *out);
/* The log was given this node as its voter. Under the lock. */
void quorum_voters_written(struct quorum *q);

/* ---- quorum_files.c: quorum-state and the names of snapshots ---- */
enum err quorum_read_state(struct quorum *q, char **ret_text);
enum err quorum_write_state(struct quorum *q);
/* Snapshots in the folder, oldest first; mem_free the array. Leftovers (.part, .deleted) go. */
struct quorum_snapshot_name {
    int64_t offset;
    int32_t epoch;
};
enum err quorum_list_snapshots(struct io *io, const char *path,
                               struct quorum_snapshot_name **ret_list, size_t *ret_count);
char *quorum_snapshot_path(const char *folder, int64_t offset, int32_t epoch);

/* ---- quorum_recover.c ---- */
/* quorum-state, snapshots and the bootstrap records; the log need not be open. */
enum err quorum_recover_files(struct quorum *q, char **ret_text);
/* Before the first of them is written: can this release replay the bootstrap records? */
enum err quorum_check_bootstrap(struct quorum *q, char **ret_text);
/* What the log has behind them. */
enum err quorum_recover_log(struct quorum *q, char **ret_text);

/* ---- quorum_snapshot.c ---- */
/* Under the lock, after a commit or a snapshot: starts a snapshot when one is due. */
void quorum_snapshot_maybe(struct quorum *q);

#endif
