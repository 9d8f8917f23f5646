/* A partition whose replica moves to another folder: its future log, and the moment when that takes
 * the place of the log. Called by the copier (repl/replica_moves), on workers.
 *
 * Locks: the partition, then the future. The last step holds both while the last bytes are copied
 * and two folders are renamed and synced: nothing can be appended in between, and no crash can show
 * a state that never was. */
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

/* What is durable in the old log must be in the new one before that counts. */
static enum err flush_rest(const struct log *log, struct log *future)
{
    enum err err = ERR_NONE;
    struct log_flush flush;
    while (!err && log_recovery_point(future) < log_recovery_point(log) &&
           log_flush_prepare(future, &flush)) {
        log_flush_run(&flush);
        err = log_flush_finish(future, &flush);
    }
    return err;
}

/* Both locks held. */
static enum err replace(struct partition *partition, struct log_dirs *dirs, struct log *future)
{
    enum err err = check(partition, future);
    if (!err)
        err = copy_rest(partition->log, future);
    if (!err)
        err = flush_rest(partition->log, future);
    if (!err)
        err = log_dirs_replace(dirs, partition->topic, partition->log, future);
    if (err)
        return err;
    log_copy_take_over(future, partition->log);
    log_on_flushed(future, partition_flushed, partition);
    log_reattach(future, &partition->lock);
    partition->log = future;
    partition->future = NULL;
    partition->flush_stale = partition->flushing;
    if (log_flush_due(future))
        partition_flush(partition);
    return ERR_NONE;
}

enum err partition_replace_log(struct partition *partition, struct log_dirs *dirs,
                               struct log *future, struct log **ret_replaced)
{
    lock_take(&partition->lock);
    struct log *log = partition->log;
    struct lock *future_lock = partition->future_lock;
    enum err err = check(partition, future);
    if (!err) {
        lock_take(future_lock);
        err = replace(partition, dirs, future);
        lock_release(future_lock);
    }
    if (!err)
        partition->future_lock = NULL;
    lock_release(&partition->lock);
    if (!err)
        log_reattached(future);
    if (!err)
        *ret_replaced = log;
    return err;
}
