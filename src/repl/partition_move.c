/* A partition whose replica moves to another folder: its future log, and the moment when that takes
 * the place of the log. Called by the copier (repl/replica_moves), on workers.
 *
 * Locks: the partition, then the future. Nothing is synced with one of them held. The future takes
 * the place in these steps, on the disk in the order that store/log_future.c explains:
 *
 *   hold    the rest is copied; flushes of the log wait, so that what is durable stays as it is
 *   flush   the future is made as durable                                          (no lock)
 *   swap    what came since is copied, the old folder gets its -delete name, and the partition has
 *           the future for its log; flushes of that wait
 *   settle  the old name is synced (no lock), the new folder gets its name, flushes go on, and that
 *           name is synced (no lock)
 *
 * A power cut before the first sync may bring back the old log: it has all that anybody was told is
 * durable. */
#include "base/ensure.h"
#include "repl/partition_internal.h"
#include "store/log_copy.h"
#include "store/log_dirs.h"

/* What may be left to copy with the partition locked. */
enum { REST_MAX = 256 << 10 };

void partition_set_future(struct partition *partition, struct log *future, struct lock *lock)
{
    lock_take(&partition->lock);
    partition->future = future;
    partition->future_lock = lock;
    lock_release(&partition->lock);
}

bool partition_future(struct partition *partition, struct partition_future *ret_future)
{
    lock_take(&partition->lock);
    struct log *future = partition->future;
    if (future) {
        lock_take(partition->future_lock);
        *ret_future = (struct partition_future){
            .size = log_size(future), .lag = -1, .dir = log_dir_of(future)};
        if (partition->log)
            ret_future->lag = log_end(partition->log) - log_end(future);
        lock_release(partition->future_lock);
    }
    lock_release(&partition->lock);
    return future;
}

/* Lock held. */
static enum err check(const struct partition *partition, const struct log *future)
{
    if (partition->future != future)
        return ERR_CLOSED;
    return partition->log ? ERR_NONE : ERR_KAFKA_STORAGE_ERROR;
}

enum err partition_copy_begin(struct partition *partition, struct log *future)
{
    lock_take(&partition->lock);
    enum err err = check(partition, future);
    if (!err) {
        lock_take(partition->future_lock);
        err = log_copy_begin(partition->log, future);
        lock_release(partition->future_lock);
    }
    lock_release(&partition->lock);
    return err;
}

enum err partition_copy_prepare(struct partition *partition, struct log *future, int64_t offset,
                                size_t size_max, struct log_copy *ret_copy)
{
    lock_take(&partition->lock);
    enum err err = check(partition, future);
    if (!err)
        err = log_copy_prepare(partition->log, offset, size_max, ret_copy);
    lock_release(&partition->lock);
    return err;
}

bool partition_copy_agrees(struct partition *partition, struct log *future)
{
    bool agrees = false;
    lock_take(&partition->lock);
    if (!check(partition, future)) {
        lock_take(partition->future_lock);
        int32_t epoch = log_epoch_latest(future), epoch_here = -1;
        int64_t end_here = -1;
        log_epoch_end(partition->log, epoch, &epoch_here, &end_here);
        agrees = epoch >= 0 && epoch_here == epoch && log_end(future) <= end_here;
        lock_release(partition->future_lock);
    }
    lock_release(&partition->lock);
    return agrees;
}

/* ---- taking the place -------------------------------------------------------------------------
 */

/* Both locks held. */
static enum err copy_rest(struct log *log, struct log *future)
{
    if (log_bytes_between(log, log_end(future), log_end(log)) > REST_MAX)
        return ERR_AGAIN;
    enum err err = ERR_NONE;
    while (!err && log_end(future) < log_end(log)) {
        struct log_copy copy;
        err = log_copy_prepare(log, log_end(future), REST_MAX, &copy);
        if (err)
            break;
        err = log_copy_run(&copy);
        if (!err)
            err = log_copy_finish(future, &copy);
        log_copy_end(&copy);
    }
    return err;
}

/* As far as a move may go on with both locks held: the future has all that the log has. */
static enum err catch_up(struct partition *partition, struct log *future)
{
    enum err err = check(partition, future);
    if (!err && (log_failed(partition->log) || log_failed(future)))
        err = ERR_KAFKA_STORAGE_ERROR;
    if (!err)
        err = copy_rest(partition->log, future);
    if (!err && log_end(future) != log_end(partition->log)) /* it was truncated */
        err = ERR_AGAIN;
    return err;
}

/* From here on nothing more of the log becomes durable, until it is replaced, or let go. */
static enum err hold(struct partition *partition, struct log *future, struct log **ret_log)
{
    lock_take(&partition->lock);
    enum err err = check(partition, future);
    if (!err) {
        lock_take(partition->future_lock);
        err = catch_up(partition, future);
        lock_release(partition->future_lock);
    }
    if (!err) {
        *ret_log = partition->log;
        log_flush_hold(partition->log, true);
    }
    lock_release(&partition->lock);
    return err;
}

/* Lock held. */
static void go_on_flushing(struct partition *partition)
{
    log_flush_hold(partition->log, false);
    if (log_flush_due(partition->log))
        partition_flush(partition);
}

static void let_go(struct partition *partition, const struct log *log)
{
    lock_take(&partition->lock);
    if (partition->log == log)
        go_on_flushing(partition);
    lock_release(&partition->lock);
}

/* What is durable in the old log must be in the new one before that counts. */
static enum err flush(struct log *future, struct lock *lock)
{
    for (;;) {
        struct log_flush work;
        lock_take(lock);
        bool any = log_recovery_point(future) < log_end(future) && log_flush_prepare(future, &work);
        lock_release(lock);
        if (!any)
            return ERR_NONE;
        log_flush_run(&work);
        lock_take(lock);
        enum err err = log_flush_finish(future, &work);
        lock_release(lock);
        if (err)
            return err;
    }
}

/* Both locks held. */
static enum err replace(struct partition *partition, struct log_dirs *dirs, struct log *future)
{
    enum err err = catch_up(partition, future);
    if (!err && log_recovery_point(future) < log_durable_end(partition->log))
        err = ERR_AGAIN;
    if (!err)
        err = log_dirs_replace_begin(dirs, partition->topic, partition->log, future);
    if (err)
        return err;
    log_copy_take_over(future, partition->log);
    log_on_flushed(future, partition_flushed, partition);
    log_reattach(future, &partition->lock);
    partition->log = future;
    partition->future = NULL;
    partition->flush_stale = partition->flushing;
    return ERR_NONE;
}

static enum err swap(struct partition *partition, struct log_dirs *dirs, struct log *future,
                     const struct log *log)
{
    lock_take(&partition->lock);
    struct lock *future_lock = partition->future_lock;
    enum err err = check(partition, future);
    if (!err && partition->log != log)
        err = ERR_CLOSED;
    if (!err) {
        lock_take(future_lock);
        err = replace(partition, dirs, future);
        lock_release(future_lock);
    }
    if (!err)
        partition->future_lock = NULL;
    lock_release(&partition->lock);
    return err;
}

enum err partition_replace_log(struct partition *partition, struct log_dirs *dirs,
                               struct log *future, struct lock *lock, struct log **ret_replaced)
{
    struct log *log;
    enum err err = hold(partition, future, &log);
    if (err)
        return err;
    err = flush(future, lock);
    if (!err)
        err = swap(partition, dirs, future, log);
    if (err) {
        let_go(partition, log);
        return err;
    }
    *ret_replaced = log; /* not a look at `future`: its topic may have been deleted */
    return ERR_NONE;
}

void partition_await_reattached(struct partition *partition, struct log *log)
{
    lock_take(&partition->lock);
    bool has_it = partition->log == log;
    lock_release(&partition->lock);
    if (has_it)
        log_reattached(log);
}

/* Lock held: it has the log still, which may be gone otherwise. */
static enum err settle(struct partition *partition, struct log *log, enum err synced)
{
    if (partition->log != log)
        return ERR_NONE;
    if (synced == ERR_IO)
        log_fail(log);
    if (synced)
        return synced;
    enum err err = log_dirs_replace_end(log);
    go_on_flushing(partition);
    return err;
}

enum err partition_settle_log(struct partition *partition, struct log *log, struct log_dir *dir,
                              const struct log *replaced)
{
    struct list woken;
    list_init(&woken);
    enum err synced = log_dir_sync(log_dir_of(replaced));
    lock_take(&partition->lock);
    enum err err = settle(partition, log, synced);
    if (synced == ERR_IO)
        watch_all(&partition->watches, &woken); /* nobody is told that this became durable */
    lock_release(&partition->lock);
    parked_post(&woken);
    return err ? err : log_dir_sync(dir);
}

void partition_settle_never(struct partition *partition, const struct log *log)
{
    let_go(partition, log);
}
