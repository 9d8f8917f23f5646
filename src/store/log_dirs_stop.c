/* The orderly stop: the timer ends, jobs under way finish, then worker jobs close and flush the
 * logs of each folder; the last of them writes the checkpoints and, when all of that went well, the
 * clean shutdown file. A folder where something failed, or that is full, does without it and is
 * recovered at the next start. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

/* Several jobs a folder close logs side by side: syncs that run together share the disk's work. */
enum { CLOSERS = 8 };

struct closing {
    struct log_dir *dir;
    uint64_t next;   /* atomic: index in the table */
    uint32_t failed; /* atomic: enum err of the first failure */
    int workers;     /* on the loop */
};

struct closer {
    struct io_job job;
    struct closing *closing;
};

static void close_log(struct log *log, struct closing *closing)
{
    struct lock *lock = log->lock; /* NULL, unless its holder still looks at it */
    if (lock)
        lock_take(lock);
    enum err err = log->closed ? ERR_NONE : log_close(log, true);
    if (lock)
        lock_release(lock);
    if (!err)
        return;
    diag(DIAG_STORE, DIAG_WARN, "%s was not closed cleanly: %s; the next start recovers it",
         log->path->text, err_text(err));
    uint32_t none = 0;
    __atomic_compare_exchange_n(&closing->failed, &none, (uint32_t)err, false, __ATOMIC_RELAXED,
                                __ATOMIC_RELAXED);
}

/* Nobody creates or deletes logs any more: the table stands still. */
static void run_closer(struct io_job *job)
{
    struct closing *closing = ((struct closer *)(void *)job)->closing;
    struct log_dirs *dirs = closing->dir->dirs;
    for (;;) {
        uint64_t at = __atomic_fetch_add(&closing->next, 1, __ATOMIC_RELAXED);
        if (at >= map_count(&dirs->logs))
            return;
        struct log *log = map_at(&dirs->logs, at);
        if (log->dir == closing->dir && log_dir_online(closing->dir))
            close_log(log, closing);
    }
}

static void run_finish(struct io_job *job)
{
    struct closing *closing = ((struct closer *)(void *)job)->closing;
    struct log_dir *dir = closing->dir;
    if (!log_dir_online(dir) || dir->is_metadata)
        return;
    enum err err = log_dir_write_checkpoints(dir, true, true, true, true);
    if (!err)
        err = (enum err)closing->failed;
    if (!err)
        err = log_boot_write(dir); /* a clean start would not look again */
    if (!err)
        err = log_dir_write_clean_file(dir, dir->dirs->stop->broker_epoch);
    if (err)
        diag(DIAG_STORE, DIAG_WARN, "log folder %s: no clean stop (%s); it will be recovered",
             dir->path, err_text(err));
}

static void finished(struct io_job *job)
{
    struct closing *closing = ((struct closer *)(void *)job)->closing;
    struct log_dirs *dirs = closing->dir->dirs;
    mem_free(closing);
    mem_free(job);
    if (--dirs->busy == 0)
        dirs->stop->done(dirs->stop);
}

static void closer_done(struct io_job *job)
{
    struct closer *closer = (struct closer *)(void *)job;
    if (--closer->closing->workers) {
        mem_free(closer);
        return;
    }
    job->run = run_finish;
    job->done = finished;
    io_submit(closer->closing->dir->dirs->io, job);
}

void log_dirs_close_all(struct log_dirs *dirs)
{
    dirs->busy = dirs->folder_count;
    for (int i = 0; i < dirs->folder_count; i++) {
        struct closing *closing = mem_zalloc(sizeof *closing);
        closing->dir = dirs->dirs[i];
        closing->workers = CLOSERS;
        for (int j = 0; j < CLOSERS; j++) {
            struct closer *closer = mem_zalloc(sizeof *closer);
            closer->closing = closing;
            closer->job.run = run_closer;
            closer->job.done = closer_done;
            closer->job.loop = dirs->loop;
            io_submit(dirs->io, &closer->job);
        }
    }
}

static void begin(struct loop_task *task)
{
    struct log_dirs *dirs = LIST_ITEM(task, struct log_dirs, stop_task);
    dirs->stopping = true;
    log_dirs_stop_timer(dirs);
    cleaner_stop(dirs->cleaner);
    if (!dirs->busy)
        log_dirs_close_all(dirs);
}

void log_dirs_stop(struct log_dirs *dirs, struct loop *loop, struct log_dirs_stop *stop)
{
    ENSURE(!dirs->stop);
    dirs->stop = stop;
    if (!dirs->loop)
        dirs->loop = loop;
    dirs->stop_task.run = begin;
    loop_post(dirs->loop, &dirs->stop_task);
}
