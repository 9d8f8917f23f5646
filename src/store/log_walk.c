/* How background work comes to a log: it finds it under the table lock, takes the log's own lock
 * and lets the table go, so that what takes long in one log delays no look-up of others. A log that
 * is not attached yet has no lock of its own: that of the table covers it. log_detach waits for
 * whoever is in the log. Workers. */
#include "store/log_dirs_internal.h"

struct lock *log_walk_take(struct log *log)
{
    if (log->lock)
        lock_take(log->lock);
    return log->lock;
}

struct log *log_walk_enter(struct log_dirs *dirs, const char *name, int64_t serial,
                           struct lock **ret_lock)
{
    lock_take(&dirs->table_lock);
    struct log *log = map_get(&dirs->logs, slice_str(name));
    if (!log || log->serial != serial) {
        lock_release(&dirs->table_lock);
        return NULL;
    }
    *ret_lock = log_walk_take(log);
    if (*ret_lock)
        lock_release(&dirs->table_lock);
    return log;
}

void log_walk_leave(struct log_dirs *dirs, struct lock *lock)
{
    lock_release(lock ? lock : &dirs->table_lock);
}

void log_walk_each(struct log_dirs *dirs, const struct log_dir *dir, log_walk_visit *visit,
                   void *context)
{
    lock_take(&dirs->table_lock);
    for (size_t i = 0; i < map_count(&dirs->logs); i++) {
        struct log *log = map_at(&dirs->logs, i);
        if (dir && log->dir != dir)
            continue;
        struct lock *lock = log_walk_take(log);
        if (lock)
            lock_release(&dirs->table_lock);
        visit(log, context);
        if (lock) {
            lock_release(lock);
            lock_take(&dirs->table_lock);
        }
    }
    lock_release(&dirs->table_lock);
}

void log_walk_at_once(struct log_dir *dir, log_walk_visit *visit, void *context)
{
    struct log_dirs *dirs = dir->dirs;
    lock_take(&dirs->table_lock);
    for (size_t i = 0; i < map_count(&dirs->logs); i++) {
        struct log *log = map_at(&dirs->logs, i);
        if (log->dir != dir)
            continue;
        struct lock *lock = log_walk_take(log);
        visit(log, context);
        if (lock)
            lock_release(lock);
    }
    lock_release(&dirs->table_lock);
}
