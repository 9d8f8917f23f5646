/* The orderly stop: the timer ends, jobs under way finish, then one worker job for each folder
 * closes and flushes its logs, writes the checkpoints and, when all of that went well, the clean
 * shutdown file. A folder where something failed, or that is full, does without it and is recovered
 * at the next start. */
#include "store/log_dir.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

struct closing {
    struct log_dir *dir;
    enum err err;
};

static void close_log(struct log *log, struct closing *closing)
{
    if (log->closed)
        return;
    enum err err = log_close(log, true);
    if (err && !closing->err) {
        diag(DIAG_STORE, DIAG_WARN, "%s was not closed cleanly: %s", log->path->text,
             err_name(err));
        closing->err = err;
    }
}

static void run_close(struct io_job *job)
{
    struct log_dir *dir = LIST_ITEM(job, struct log_dir, job);
    struct log_dirs *dirs = dir->dirs;
    struct closing closing = {.dir = dir};
    if (!log_dir_online(dir) || dir->is_metadata)
        return;
    /* Nobody creates or deletes logs any more: the table stands still. */
    for (size_t i = 0; i < map_count(&dirs->logs); i++) {
        struct log *log = map_at(&dirs->logs, i);
        if (log->dir == dir)
            close_log(log, &closing);
    }
    enum err err = log_dir_write_checkpoints(dir, true, true, true, true);
    if (!err)
        err = closing.err;
    if (!err)
        err = log_dir_write_clean_file(dir, dirs->stop->broker_epoch);
    if (err)
        diag(DIAG_STORE, DIAG_WARN, "log folder %s: no clean stop (%s); it will be recovered",
             dir->path, err_name(err));
}

static void close_done(struct io_job *job)
{
    struct log_dirs *dirs = LIST_ITEM(job, struct log_dir, job)->dirs;
    if (--dirs->busy == 0)
        dirs->stop->done(dirs->stop);
}

void log_dirs_close_all(struct log_dirs *dirs)
{
    dirs->busy = dirs->folder_count;
    for (int i = 0; i < dirs->folder_count; i++) {
        struct io_job *job = &dirs->dirs[i]->job;
        job->run = run_close;
        job->done = close_done;
        job->loop = dirs->loop;
        io_submit(dirs->io, job);
    }
}

static void begin(struct loop_task *task)
{
    struct log_dirs *dirs = LIST_ITEM(task, struct log_dirs, stop_task);
    dirs->stopping = true;
    log_dirs_stop_timer(dirs);
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
