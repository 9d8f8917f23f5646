/* The driver of the metadata log `__cluster_metadata-0`: recovery, appends, commits, snapshots.
 *
 * One quorum per node. Walk of a change: quorum_submit takes the controller lock, runs
 * op->decide on the newest root, replays the decision's records, appends them in one write and
 * returns; a worker fsyncs the log once for all batches that wait (group commit); then the raft
 * step commits, the new committed image is published to the subscriber, and op->done is posted to
 * op->loop. An op without records completes when everything appended before it is committed.
 *
 * Threads: quorum_submit, quorum_image and the quorum_describe_* calls may be used from any thread.
 * The subscriber and all commit work run on the loop given in the options, one at a time and in the
 * order of offsets; `done` callbacks are posted after the subscriber has returned, so a client that
 * reads its answer finds the change in effect. Reads use quorum_image (the committed root). */
#ifndef KLAMM_REPL_QUORUM_H
#define KLAMM_REPL_QUORUM_H

#include "base/arena.h"
#include "meta/controller.h"
#include "os/io.h"

struct quorum;

struct quorum_op {
    /* Runs on the submitting thread under the controller lock: short, no I/O, no other lock. The
     * controller's arena is `arena` below. */
    void (*decide)(struct quorum_op *op, struct controller *controller);
    /* The image that decide looked at is kept until done returns, so that responses may hold views
     * into it, of a topic that they delete for instance.
     * Posted to `loop` when committed (error == ERR_NONE) or refused. The response that decide
     * filled counts only with ERR_NONE. ERR_NOT_CONTROLLER: this node does not lead (yet, any
     * more); a storage error: the metadata log could not be written. */
    void (*done)(struct quorum_op *op);
    struct loop *loop;
    struct arena *arena;
    bool makes_room; /* what it changes frees disk space, or may: the reserve is there for it */
    enum err error;
    int64_t offset_next; /* the log end offset that this op waited for */

    /* private */
    struct meta_image *base;
    struct loop_task task;
    struct list link;
};

/* Told of every new committed image, starting with the one that recovery found (`old` is the empty
 * image then). Both are borrowed for the call. Runs on the quorum's loop. */
struct quorum_subscriber {
    void (*published)(void *context, const struct meta_image *old, const struct meta_image *new);
    void *context;
};

struct quorum_options {
    struct io *io;
    struct loop *loop;           /* where commits and publishing run */
    const struct config *config; /* node.id, controller.quorum.*, metadata.log.* ... */
    struct slice cluster_id;
    struct uuid directory_id; /* of the folder that holds the metadata log */
    struct slice log_dir;     /* that folder: metadata.log.dir, else the first of log.dirs */
    /* Told once when the metadata log cannot be written: nothing can be changed any more, and what
     * was answered last may not be what a restart finds. Under the controller lock: it may only
     * post. NULL = nobody asks. */
    void (*failed)(void *context);
    void *failed_context;
    /* The disk of the log is full: true when something was set free and the append should be tried
     * again. Under the controller lock, from any thread; while starting for every append, then for
     * those of ops with makes_room. NULL = nothing can be done. */
    bool (*make_room)(void *context, bool starting);
    void *make_room_context;
    struct quorum_subscriber subscriber;
};

/* Whether the folder's metadata log has anything in it: false in one that is new, or lost it. One
 * that cannot be looked at counts: quorum_open tells why. Writes nothing. Start-up only. */
bool quorum_has_history(struct io *io, struct slice log_dir);

/* Recovers the log: newest snapshot, then the records behind it; a log that is not there is made.
 * Blocks; start-up only. ret_text (mem_free) says what is wrong on failure. ERR_NOT_CONTROLLER: the
 * voters are none, or others than this node; then no log is made. */
enum err quorum_open(const struct quorum_options *options, struct quorum **ret_quorum,
                     char **ret_text);

/* Becomes leader of a new epoch, writes what a new cluster needs (bootstrap records), registers
 * this node as controller and broker and unfences it: one append and one fsync. Blocks; start-up
 * only, before the loop serves anybody. The subscriber is called from here, once, with the image
 * that results. */
enum err quorum_start(struct quorum *quorum, const struct controller_registration *self,
                      char **ret_text);

void quorum_submit(struct quorum *quorum, struct quorum_op *op);

/* The committed image, referenced (meta_image_unref it). Any thread. */
struct meta_image *quorum_image(struct quorum *quorum);

/* The same with what is not committed yet, referenced. Before quorum_start, when nothing counts as
 * committed, this is what the folder holds: the configs that logs are loaded with. */
struct meta_image *quorum_image_newest(struct quorum *quorum);

/* Epoch and identity of this node as broker and controller. Any thread. */
int64_t quorum_broker_epoch(struct quorum *quorum);
int32_t quorum_leader(struct quorum *quorum, int32_t *ret_epoch);

/* 1: the voters live in the log, 0: in the configuration. It only rises. Any thread. */
int16_t quorum_kraft_version(struct quorum *quorum);

/* DescribeQuorum of the metadata partition. */
struct describe_quorum_request;
struct describe_quorum_response;
void quorum_describe(struct quorum *quorum, const struct describe_quorum_request *request,
                     int16_t version, struct arena *arena,
                     struct describe_quorum_response *response);

/* Controlled shutdown: the fencing records are the last change; what comes after is refused. `op`
 * ends as any other does, once they are committed or with the reason why not; its decide is set
 * here. From now on the subscriber is told of no image: it is being taken down. Any thread. */
void quorum_shutdown(struct quorum *quorum, struct quorum_op *op);
/* True when no fsync and no snapshot of it is on a worker: ask (from a timer) after quorum_shutdown
 * and before the loop is stopped. */
bool quorum_idle(struct quorum *quorum);
/* Closes the log and frees; what is still on a worker frees the rest when it ends on the loop. No
 * op may be under way. Accepts NULL. */
void quorum_close(struct quorum *quorum);

#endif
