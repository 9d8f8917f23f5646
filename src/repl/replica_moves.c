/* Moves of replicas between log folders, see the header. Answers to Kafka's
 * ReplicaAlterLogDirsThread and to the part of Partition that puts the future log in place.
 *
 * Life of a move: waiting -> one of `threads` slots -> turns, each a job that copies one piece (and
 * with nothing left flushes the copy) -> the controller is told of the new folder (first, as in
 * Kafka: a node that comes back after a crash finds the replica in the folder it names, or goes on
 * moving it there) -> a turn that replaces the log. A full disk costs the slot, and the move comes
 * back after a while. A move that was cancelled ends when its job does.
 *
 * The state of a move is of the metadata loop; a turn's results are handed over by its `done`. */
#include "repl/replica_moves.h"

#include "base/deadline.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "os/lock.h"
#include "repl/partition.h"
#include "repl/quorum.h"
#include "store/log_copy.h"
#include "store/log_dirs.h"

#include <stdatomic.h>

enum { PIECE_SIZE = 1 << 20, RETRY_MS = 1000 };
#define NS_PER_S INT64_C(1000000000)

struct replica_moves {
    struct replica_moves_options options;
    struct replica_moves_config config;
    struct list all, waiting;
    int active;      /* slots taken */
    int64_t next_ns; /* no piece is copied before: the rate */
    bool stopping;
};

struct replica_move {
    struct list link;    /* all */
    struct list waiting; /* linked while it waits for a slot */
    struct replica_moves *moves;
    struct partition *partition; /* referenced */
    struct log *future;
    struct log_dir *to;
    struct lock lock; /* covers the future */
    struct loop_timer timer;
    bool has_slot, busy; /* busy: a job or a change is under way */
    bool begun;          /* the future holds a part of the log */
    bool assigned;       /* the controller knows the new folder */
    bool cancelled, keep;
    bool told;
    uint32_t truncations;

    /* One turn: the job's until `done`. */
    struct io_job job;
    size_t piece;
    bool replaces;
    enum err err;
    size_t copied;
    bool caught_up;
    struct log *replaced; /* the partition has `future` for its log, which is to be settled */
};

/* ---- a turn: on a worker ----------------------------------------------------------------------
 */

static enum err begin_again(struct replica_move *move)
{
    enum err err = partition_copy_begin(move->partition, move->future);
    move->begun = !err;
    return err;
}

static enum err copy_piece(struct replica_move *move)
{
    enum err err = move->begun ? ERR_NONE : begin_again(move);
    if (err)
        return err;
    struct log_copy copy;
    err = partition_copy_prepare(move->partition, move->future, log_end(move->future), move->piece,
                                 &copy);
    bool cut = !err && copy.truncations != move->truncations;
    if (cut) {
        move->truncations = copy.truncations;
        log_copy_end(&copy);
    }
    if (cut || err == ERR_OFFSET_OUT_OF_RANGE)
        return begin_again(move);
    if (err)
        return err;
    if (copy.range.size) /* the last bytes are for those who cannot wait */
        err = log_dir_admits(move->to, LOG_CLIENT);
    if (!err)
        err = log_copy_run(&copy);
    move->copied = copy.size;
    if (!err) {
        lock_take(&move->lock);
        err = log_copy_finish(move->future, &copy);
        lock_release(&move->lock);
        /* Rewritten by the cleaner: batches lie otherwise there. */
        if (err == ERR_OFFSET_OUT_OF_RANGE)
            err = begin_again(move);
    }
    move->caught_up = !err && log_end(move->future) >= copy.end;
    log_copy_end(&copy);
    return err;
}

static enum err flush(struct replica_move *move)
{
    enum err err = ERR_NONE;
    for (;;) {
        struct log_flush work;
        lock_take(&move->lock);
        bool any = log_recovery_point(move->future) < log_end(move->future) &&
                   log_flush_prepare(move->future, &work);
        lock_release(&move->lock);
        if (!any)
            return err;
        log_flush_run(&work);
        lock_take(&move->lock);
        err = log_flush_finish(move->future, &work);
        lock_release(&move->lock);
        if (err)
            return err;
    }
}

static enum err settle(struct replica_move *move)
{
    enum err err = partition_settle_log(move->partition, move->future, move->to, move->replaced);
    if (err)
        return err;
    log_dir_checkpoint(move->to);
    log_dir_checkpoint(log_dir_of(move->replaced));
    return ERR_NONE;
}

/* The checkpoints come first: the log start must not be forgotten in the new folder. */
static enum err replace(struct replica_move *move)
{
    enum err err = log_dir_checkpoint(move->to);
    if (!err)
        err = partition_replace_log(move->partition, move->moves->options.dirs, move->future,
                                    &move->lock, &move->replaced);
    if (err == ERR_AGAIN) {
        move->caught_up = false;
        return ERR_NONE;
    }
    return err ? err : settle(move);
}

static void run_turn(struct io_job *job)
{
    struct replica_move *move = LIST_ITEM(job, struct replica_move, job);
    if (move->replaced) {
        move->err = settle(move);
        return;
    }
    enum err err = copy_piece(move);
    if (!err && move->caught_up)
        err = flush(move);
    if (!err && move->caught_up && move->replaces)
        err = replace(move);
    move->err = err;
}

/* ---- ends -------------------------------------------------------------------------------------
 */

static void count(struct replica_moves *moves, int change)
{
    if (moves->options.busy_count)
        atomic_fetch_add(moves->options.busy_count, change);
}

static void start_some(struct replica_moves *moves);

static void free_move(struct replica_move *move)
{
    list_remove(&move->link);
    if (move->replaced)
        partition_await_reattached(move->partition, move->future);
    partition_unref(move->partition);
    lock_fini(&move->lock);
    mem_free(move);
}

static void give_slot_back(struct replica_move *move)
{
    if (move->has_slot)
        move->moves->active--;
    move->has_slot = false;
}

static void assign(struct replica_moves *moves, const struct partition *partition,
                   const struct log_dir *dir, struct replica_move *move);

/* The controller, if it was told of the folder to be, hears of the one that is. */
static void take_back_assignment(struct replica_move *move)
{
    int64_t size;
    struct log_dir *dir;
    if (move->assigned && partition_size(move->partition, &size, &dir))
        assign(move->moves, move->partition, dir, NULL);
}

/* Nothing is under way any more. */
static void end_cancelled(struct replica_move *move)
{
    struct replica_moves *moves = move->moves;
    if (move->replaced) {
        partition_settle_never(move->partition, move->future);
        log_dirs_discard(moves->options.dirs, move->replaced, false);
        free_move(move);
        start_some(moves);
        return;
    }
    log_detach(move->future);
    if (!move->keep) {
        take_back_assignment(move);
        enum err err = log_dirs_delete(moves->options.dirs, move->future, false);
        if (err)
            diag(DIAG_STORE, DIAG_WARN, "a copy of %.*s-%d could not be deleted: %s",
                 SLICE_FMT(move->partition->topic), move->partition->index, err_text(err));
    }
    free_move(move);
    start_some(moves);
}

/* `keep`: the future stays, for a later start. */
static void cancel(struct replica_move *move, bool keep)
{
    struct replica_moves *moves = move->moves;
    partition_set_future(move->partition, NULL, NULL);
    if (move->partition->move == move)
        move->partition->move = NULL;
    move->cancelled = true;
    move->keep = keep;
    list_remove(&move->waiting);
    give_slot_back(move);
    if (loop_timer_is_set(&move->timer))
        loop_timer_cancel(moves->options.loop, &move->timer);
    if (!move->busy)
        end_cancelled(move);
}

static void finish(struct replica_move *move)
{
    struct replica_moves *moves = move->moves;
    if (move->err)
        diag(DIAG_STORE, DIAG_WARN, "the move of %.*s-%d from %s to %s ended as a folder failed",
             SLICE_FMT(move->partition->topic), move->partition->index,
             log_dir_path(log_dir_of(move->replaced)), log_dir_path(move->to));
    else
        diag(DIAG_STORE, DIAG_INFO, "%.*s-%d has moved from %s to %s",
             SLICE_FMT(move->partition->topic), move->partition->index,
             log_dir_path(log_dir_of(move->replaced)), log_dir_path(move->to));
    log_dirs_discard(moves->options.dirs, move->replaced, !move->err);
    if (move->partition->move == move)
        move->partition->move = NULL;
    give_slot_back(move);
    free_move(move);
    start_some(moves);
}

/* ---- telling the controller -------------------------------------------------------------------
 */

struct assign_op {
    struct quorum_op op;
    struct arena arena;
    struct replica_moves *moves;
    struct replica_move *move; /* NULL: nobody waits */
    struct controller_assignment assignment;
};

static void go_on(struct replica_move *move);

static void retry_later(struct replica_move *move);

static void decide_assignment(struct quorum_op *op, struct controller *controller)
{
    struct assign_op *assignment = LIST_ITEM(op, struct assign_op, op);
    controller_assign_dirs(controller, assignment->moves->options.node_id, &assignment->assignment,
                           1);
}

static void assigned(struct replica_move *move, enum err err)
{
    move->busy = false;
    move->assigned = !err;
    if (move->cancelled)
        end_cancelled(move);
    else if (err)
        retry_later(move);
    else
        go_on(move);
}

static void assignment_done(struct quorum_op *op)
{
    struct assign_op *assignment = LIST_ITEM(op, struct assign_op, op);
    if (op->error)
        diag(DIAG_STORE, DIAG_WARN, "the folder of a replica could not be recorded: %s",
             err_text(op->error));
    count(assignment->moves, -1);
    if (assignment->move)
        assigned(assignment->move, op->error);
    arena_fini(&assignment->arena);
    mem_free(assignment);
}

static void assign(struct replica_moves *moves, const struct partition *partition,
                   const struct log_dir *dir, struct replica_move *move)
{
    if (!moves->options.quorum) {
        if (move)
            assigned(move, ERR_NONE);
        return;
    }
    struct assign_op *assignment = mem_zalloc(sizeof *assignment);
    arena_init(&assignment->arena);
    assignment->moves = moves;
    assignment->move = move;
    assignment->assignment =
        (struct controller_assignment){partition->topic_id, partition->index, *log_dir_id(dir)};
    assignment->op = (struct quorum_op){.decide = decide_assignment,
                                        .done = assignment_done,
                                        .loop = moves->options.loop,
                                        .arena = &assignment->arena};
    if (move)
        move->busy = true;
    count(moves, 1);
    quorum_submit(moves->options.quorum, &assignment->op);
}

/* ---- between turns ----------------------------------------------------------------------------
 */

static void turn_done(struct io_job *job);

static void submit_turn(struct replica_move *move)
{
    struct replica_moves *moves = move->moves;
    int64_t rate = moves->config.rate;
    move->piece = rate < PIECE_SIZE ? (size_t)(rate > 0 ? rate : 1) : PIECE_SIZE;
    move->replaces = move->assigned;
    move->err = ERR_NONE;
    move->copied = 0;
    move->caught_up = false;
    move->busy = true;
    move->job = (struct io_job){.run = run_turn, .done = turn_done, .loop = moves->options.loop};
    count(moves, 1);
    io_submit(moves->options.io, &move->job);
}

static void paused(struct loop_timer *timer)
{
    go_on(LIST_ITEM(timer, struct replica_move, timer));
}

/* The next turn, when the rate allows. */
static void go_on(struct replica_move *move)
{
    struct replica_moves *moves = move->moves;
    if (moves->next_ns > io_mono_ns(moves->options.io)) {
        move->timer.expired = paused;
        loop_timer_set(moves->options.loop, &move->timer, moves->next_ns);
        return;
    }
    submit_turn(move);
}

/* Kafka's quota lets a piece through and then waits until the mean over its windows is below the
 * rate, at the latest when the piece has left them. */
static void charge(struct replica_moves *moves, size_t size)
{
    if (moves->config.rate == INT64_MAX || !size)
        return;
    int64_t now_ns = io_mono_ns(moves->options.io);
    int64_t pause_max_ns = deadline_ns_of_ms(moves->config.pause_ms_max);
    int64_t pause_ns = pause_max_ns;
    if (moves->config.rate > 0 && (int64_t)size / moves->config.rate < pause_max_ns / NS_PER_S)
        pause_ns = (int64_t)((double)size * (double)NS_PER_S / (double)moves->config.rate);
    if (moves->next_ns < now_ns)
        moves->next_ns = now_ns;
    int64_t latest_ns = deadline_after(now_ns, pause_max_ns);
    moves->next_ns = deadline_after(moves->next_ns, pause_ns);
    if (moves->next_ns > latest_ns)
        moves->next_ns = latest_ns;
}

static void wait_for_slot(struct replica_move *move)
{
    list_push_back(&move->moves->waiting, &move->waiting);
    start_some(move->moves);
}

static void retry_expired(struct loop_timer *timer)
{
    wait_for_slot(LIST_ITEM(timer, struct replica_move, timer));
}

static void retry_later(struct replica_move *move)
{
    struct replica_moves *moves = move->moves;
    give_slot_back(move);
    move->timer.expired = retry_expired;
    loop_timer_set(moves->options.loop, &move->timer,
                   io_mono_ns(moves->options.io) + RETRY_MS * INT64_C(1000000));
    start_some(moves);
}

static bool may_pass(enum err err)
{
    return err == ERR_DISK_FULL || err == ERR_TOO_MANY_FILES || err == ERR_NO_MEMORY;
}

static void turn_failed(struct replica_move *move)
{
    enum err err = move->err;
    bool passes = may_pass(err);
    if (!passes || !move->told)
        diag(DIAG_STORE, DIAG_WARN, "%.*s-%d %s to %s: %s", SLICE_FMT(move->partition->topic),
             move->partition->index, passes ? "waits on its move" : "is not moved",
             log_dir_path(move->to), err_text(err));
    move->told = true;
    if (passes) {
        retry_later(move);
        return;
    }
    /* When the folder that it comes from failed, a later start may go on. */
    cancel(move, log_dir_online(move->to) && (err == ERR_KAFKA_STORAGE_ERROR || err == ERR_IO));
}

static void turn_done(struct io_job *job)
{
    struct replica_move *move = LIST_ITEM(job, struct replica_move, job);
    struct replica_moves *moves = move->moves;
    move->busy = false;
    charge(moves, move->copied);
    if (move->replaced && !may_pass(move->err))
        finish(move);
    else if (move->cancelled)
        end_cancelled(move);
    else if (move->err)
        turn_failed(move);
    else if (move->caught_up && !move->assigned)
        assign(moves, move->partition, move->to, move);
    else
        go_on(move);
    count(moves, -1); /* last: who waits for nothing under way frees all of it */
}

static int slot_count(const struct replica_moves *moves)
{
    return moves->config.threads > 0 ? moves->config.threads : log_dirs_count(moves->options.dirs);
}

static void start_some(struct replica_moves *moves)
{
    while (!moves->stopping && moves->active < slot_count(moves) && !list_empty(&moves->waiting)) {
        struct replica_move *move =
            LIST_ITEM(list_pop_front(&moves->waiting), struct replica_move, waiting);
        move->has_slot = true;
        moves->active++;
        go_on(move);
    }
}

/* ---- from outside -----------------------------------------------------------------------------
 */

struct replica_moves *replica_moves_new(const struct replica_moves_options *options)
{
    struct replica_moves *moves = mem_zalloc(sizeof *moves);
    moves->options = *options;
    moves->config.rate = INT64_MAX;
    list_init(&moves->all);
    list_init(&moves->waiting);
    return moves;
}

void replica_moves_free(struct replica_moves *moves)
{
    if (!moves)
        return;
    ENSURE(list_empty(&moves->all));
    mem_free(moves);
}

void replica_moves_configure(struct replica_moves *moves, const struct replica_moves_config *config)
{
    moves->config = *config;
    moves->next_ns = 0;
    LIST_FOREACH(node, &moves->all)
    {
        struct replica_move *move = LIST_ITEM(node, struct replica_move, link);
        if (!move->has_slot || !loop_timer_is_set(&move->timer))
            continue;
        loop_timer_cancel(moves->options.loop, &move->timer);
        submit_turn(move); /* at the new rate */
    }
    start_some(moves);
}

static struct replica_move *add(struct replica_moves *moves, struct partition *partition,
                                struct log *future)
{
    struct replica_move *move = mem_zalloc(sizeof *move);
    move->moves = moves;
    move->partition = partition_ref(partition);
    move->future = future;
    move->to = log_dir_of(future);
    lock_init(&move->lock, LOCK_FUTURE);
    list_init(&move->waiting);
    list_push_back(&moves->all, &move->link);
    log_attach(future, &move->lock);
    partition->move = move;
    partition_set_future(partition, future, &move->lock);
    return move;
}

/* What a new future needs to know of the log. */
static enum err look(struct partition *partition, struct log_dir **ret_dir,
                     struct log_config *ret_config, int64_t *ret_base)
{
    lock_take(&partition->lock);
    enum err err =
        partition->log && !log_failed(partition->log) ? ERR_NONE : ERR_KAFKA_STORAGE_ERROR;
    if (!err) {
        *ret_dir = log_dir_of(partition->log);
        *ret_config = *log_config_of(partition->log);
        *ret_base = log_base(partition->log);
    }
    if (partition->offline == ERR_NOT_LEADER_OR_FOLLOWER) /* not here, as far as is known */
        err = ERR_REPLICA_NOT_AVAILABLE;
    lock_release(&partition->lock);
    return err;
}

static enum err move_to(struct replica_moves *moves, struct partition *partition,
                        struct log_dir *dir)
{
    struct replica_move *move = partition->move;
    if (move && move->to == dir)
        return ERR_NONE;
    if (move && !move->busy && move->replaced) /* waits for the old folder's disk to have room */
        return ERR_KAFKA_STORAGE_ERROR;
    if (move)
        cancel(move, false);
    struct log_dir *now;
    struct log_config config;
    int64_t base;
    enum err err = look(partition, &now, &config, &base);
    if (err || now == dir)
        return err;
    struct log *future;
    err = log_dirs_create_future(moves->options.dirs, dir, partition->topic, partition->index,
                                 &partition->topic_id, &config, base, &future);
    if (err)
        return err;
    wait_for_slot(add(moves, partition, future));
    return ERR_NONE;
}

static void run_op(struct loop_task *task)
{
    struct replica_moves_op *op = LIST_ITEM(task, struct replica_moves_op, task);
    struct replica_moves *moves = op->moves;
    for (int32_t i = 0; i < op->count; i++) {
        struct replica_moves_item *item = &op->items[i];
        bool gone = moves->stopping || atomic_load(&item->partition->gone);
        item->err = gone ? ERR_REPLICA_NOT_AVAILABLE : move_to(moves, item->partition, item->dir);
    }
    op->done(op);
}

void replica_moves_submit(struct replica_moves *moves, struct replica_moves_op *op)
{
    op->moves = moves;
    op->task.run = run_op;
    list_init(&op->task.link);
    loop_post(moves->options.loop, &op->task);
}

void replica_moves_resume(struct replica_moves *moves, struct partition *partition,
                          struct log *future)
{
    if (partition->move || moves->stopping)
        return;
    struct replica_move *move = add(moves, partition, future);
    move->begun = partition_copy_agrees(partition, future);
    wait_for_slot(move);
}

void replica_moves_forget(struct replica_moves *moves, struct partition *partition)
{
    if (moves && partition->move)
        cancel(partition->move, false);
}

void replica_moves_stop(struct replica_moves *moves)
{
    moves->stopping = true;
    for (struct list *node = moves->all.next, *next; node != &moves->all; node = next) {
        next = node->next;
        struct replica_move *move = LIST_ITEM(node, struct replica_move, link);
        if (!move->cancelled)
            cancel(move, true);
    }
}
