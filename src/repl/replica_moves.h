/* Replicas on their way to another log folder (AlterReplicaLogDirs): a copier for the node.
 *
 * A move copies the partition's log into a future log in the wanted folder, piece by piece on
 * workers, follows it while it grows, tells the controller of the new folder and then puts the
 * future in the place of the log. A start goes on with the futures that it finds. At most
 * `threads` moves are under way at once, the others wait their turn; together they keep to a rate.
 *
 * Everything runs on the metadata loop unless it says otherwise. */
#ifndef KLAMM_REPL_REPLICA_MOVES_H
#define KLAMM_REPL_REPLICA_MOVES_H

#include "os/io.h"

struct log;
struct log_dir;
struct log_dirs;
struct partition;
struct quorum;
struct replica_moves;

struct replica_moves_options {
    struct io *io;
    struct loop *loop;
    struct log_dirs *dirs;
    struct quorum *quorum; /* told of new folders; NULL: nobody is */
    int32_t node_id;
    _Atomic int64_t *busy_count; /* jobs and changes under way are counted here */
};
struct replica_moves *replica_moves_new(const struct replica_moves_options *options);
/* After replica_moves_stop, and once busy_count is down. Accepts NULL. */
void replica_moves_free(struct replica_moves *moves);

struct replica_moves_config {
    int threads;          /* num.replica.alter.log.dirs.threads; 0: as many as there are folders */
    int64_t rate;         /* replica.alter.log.dirs.io.max.bytes.per.second; INT64_MAX: no limit */
    int64_t pause_ms_max; /* no pause is longer: the windows of the quota, after which it forgets */
};
void replica_moves_configure(struct replica_moves *moves,
                             const struct replica_moves_config *config);

/* Asks that replicas move to folders. Any thread; `done` is called on the metadata loop. */
struct replica_moves_item {
    struct partition *partition; /* the caller's reference */
    struct log_dir *dir;         /* online when the caller looked */
    enum err err;                /* result: KAFKA_STORAGE_ERROR, or of the disk */
};
struct replica_moves_op {
    struct replica_moves_item *items;
    int32_t count;
    void (*done)(struct replica_moves_op *op);
    struct replica_moves *moves; /* private */
    struct loop_task task;       /* private */
};
/* A replica that is in the folder already stays there, and a move of it to another one ends. One
 * that is on its way to the folder goes on. */
void replica_moves_submit(struct replica_moves *moves, struct replica_moves_op *op);

/* Goes on with a future that a start found. */
void replica_moves_resume(struct replica_moves *moves, struct partition *partition,
                          struct log *future);
/* The partition goes: its move ends and the future is deleted. */
void replica_moves_forget(struct replica_moves *moves, struct partition *partition);
/* Ends all moves; futures stay on disk, for the next start. */
void replica_moves_stop(struct replica_moves *moves);

#endif
