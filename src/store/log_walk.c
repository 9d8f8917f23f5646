/* How background work comes to a log. A log's lock may be held for as long as its disk hangs, and
 * the table of logs is everybody's: so nobody waits for the one with the other held. Instead a job
 * begins a *visit* under the table's lock, lets that go, and waits for the log's lock then. A visit
 * keeps the log from being freed, and the lock of its holder from going: log_detach,
 * log_dirs_delete and log_dirs_discard wait until the last one has ended.
 *
 * The lock that covers a log may change while it is awaited (log_attach, log_detach,
 * log_reattach), so whoever got one looks again whether it is still that one. A log without a
 * holder has a lock of its own. Workers. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"

static struct lock *cover_of(struct log *log)
{
    struct lock *lock = __atomic_load_n(&log->lock, __ATOMIC_ACQUIRE);
    return lock ? lock : &log->own_lock;
}

void log_walk_begin(struct log *log)
{
    log->visits++;
}

struct lock *log_walk_take(struct log *log)
{
    for (;;) {
        struct lock *lock = cover_of(log);
        lock_take(lock);
        if (lock == cover_of(log))
            return lock;
        lock_release(lock);
    }
}

/* Table lock held. */
static void end(struct log_dirs *dirs, struct log *log)
{
    ENSURE(log->visits);
    if (!--log->visits)
        lock_wake(&dirs->visits_ended);
}

struct log *log_walk_enter(struct log_dirs *dirs, const char *name, int64_t serial,
                           struct lock **ret_lock)
{
    lock_take(&dirs->table_lock);
    struct log *log = map_get(&dirs->logs, slice_str(name));
    if (log && log->serial != serial)
        log = NULL;
    if (log)
        log_walk_begin(log);
    lock_release(&dirs->table_lock);
    if (log)
        *ret_lock = log_walk_take(log);
    return log;
}

void log_walk_leave(struct log_dirs *dirs, struct log *log, struct lock *lock)
{
    lock_release(lock);
    lock_take(&dirs->table_lock);
    end(dirs, log);
    lock_release(&dirs->table_lock);
}

void log_walk_leave_flushed(struct log_dirs *dirs, struct log *log, struct lock *lock)
{
    lock_release(lock);
    lock_take(&dirs->table_lock);
    void (*flushed)(void *context) = log->lock ? log->flushed : NULL;
    void *context = log->flushed_context;
    lock_release(&dirs->table_lock);
    if (flushed)
        flushed(context);
    lock_take(&dirs->table_lock);
    end(dirs, log);
    lock_release(&dirs->table_lock);
}

void log_walk_await(struct log_dirs *dirs, const struct log *log)
{
    while (log->visits)
        lock_wait(&dirs->table_lock, &dirs->visits_ended);
}

/* ---- walks ------------------------------------------------------------------------------------
 */

static void visit_one(struct log *log, log_walk_visit *visit, void *context)
{
    struct lock *lock = log_walk_take(log);
    visit(log, context);
    lock_release(lock);
}

void log_walk_each(struct log_dirs *dirs, const struct log_dir *dir, log_walk_visit *visit,
                   void *context)
{
    lock_take(&dirs->table_lock);
    for (size_t i = 0; i < map_count(&dirs->logs); i++) {
        struct log *log = map_at(&dirs->logs, i);
        if (dir && log->dir != dir)
            continue;
        log_walk_begin(log);
        lock_release(&dirs->table_lock);
        visit_one(log, visit, context);
        lock_take(&dirs->table_lock);
        end(dirs, log);
    }
    lock_release(&dirs->table_lock);
}

void log_walk_all(struct log_dir *dir, log_walk_visit *visit, void *context)
{
    struct log_dirs *dirs = dir->dirs;
    lock_take(&dirs->table_lock);
    size_t count = 0;
    struct log **logs = mem_array(map_count(&dirs->logs), sizeof(struct log *));
    for (size_t i = 0; i < map_count(&dirs->logs); i++) {
        struct log *log = map_at(&dirs->logs, i);
        if (log->dir != dir)
            continue;
        log_walk_begin(log);
        logs[count++] = log;
    }
    for (size_t i = 0; i < count; i++) {
        lock_release(&dirs->table_lock);
        visit_one(logs[i], visit, context);
        lock_take(&dirs->table_lock);
        end(dirs, logs[i]);
    }
    lock_release(&dirs->table_lock);
    mem_free(logs);
}
