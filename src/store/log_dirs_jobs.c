/* Background work of the log folders: once a second each folder's job looks at free space, removes
 * what is due, flushes logs that waited long enough, writes checkpoints, applies retention and
 * forgets idle producers, each at its interval. One job a folder, so that a slow folder delays no
 * other. Also the orderly stop.
 *
 * The timer and job bookkeeping are on the loop; jobs run on workers and come to a log by
 * log_walk.c. */
#include "store/log_dirs_internal.h"

#include "base/crc32c.h"
#include "base/deadline.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

#define TICK_NS INT64_C(1000000000)

/* ---- flushing ---------------------------------------------------------------------------------
 */

struct flush_pick {
    char *name; /* the key in the table: the log may be deleted meanwhile */
    int64_t serial;
    struct log_flush flush;
};

static bool flush_wanted(const struct log *log, int64_t now_ms)
{
    const struct log_dirs_options *options = &log->dir->dirs->options;
    if (log->recovery_point >= log->end)
        return log_flush_pending(log);
    return log->unflushed_size >= options->background_flush_size ||
           now_ms - log->unflushed_since_ms >= options->background_flush_ms ||
           log->recovery_point < log_active(log)->base || log_flush_due(log);
}

/* The next of the list, a visit begun. The table's lock is held throughout: what is on the list is
 * not freed meanwhile. */
static struct log *take_dirty(struct log_dir *dir)
{
    lock_take(&dir->dirs->table_lock);
    lock_take(&dir->lock);
    struct list *node = list_pop_front(&dir->dirty);
    lock_release(&dir->lock);
    struct log *log = node ? LIST_ITEM(node, struct log, dirty_link) : NULL;
    if (log)
        log_walk_begin(log);
    lock_release(&dir->dirs->table_lock);
    return log;
}

/* Takes the next dirty log off the list that is to be flushed now. Those not due yet go back to the
 * end; `left` bounds the walk. */
static bool pick(struct log_dir *dir, int64_t now_ms, uint32_t *left, struct flush_pick *ret_pick)
{
    bool picked = false;
    while (*left && !picked) {
        (*left)--;
        struct log *log = take_dirty(dir);
        if (!log)
            break;
        struct lock *lock = log_walk_take(log);
        if (flush_wanted(log, now_ms) && log_flush_prepare(log, &ret_pick->flush)) {
            ret_pick->name = mem_strdup(log->name);
            ret_pick->serial = log->serial;
            picked = true;
        } else if (log_flush_pending(log)) {
            log_dir_mark_dirty(dir, log);
        }
        log_walk_leave(dir->dirs, log, lock);
    }
    return picked;
}

static void finish_flush(struct log_dir *dir, struct flush_pick *p)
{
    struct lock *lock;
    struct log *log = log_walk_enter(dir->dirs, p->name, p->serial, &lock);
    enum err err = log_flush_finish(log, &p->flush);
    if (log && err != ERR_IO && log_flush_pending(log))
        log_dir_mark_dirty(dir, log);
    if (log && (!err || p->flush.synced))
        log_walk_leave_flushed(dir->dirs, log, lock);
    else if (log)
        log_walk_leave(dir->dirs, log, lock);
    mem_free(p->name);
}

static uint32_t count_dirty(struct log_dir *dir)
{
    uint32_t count = 0;
    lock_take(&dir->lock);
    LIST_FOREACH(node, &dir->dirty)
    count++;
    lock_release(&dir->lock);
    return count;
}

static void flush_due(struct log_dir *dir, int64_t now_ms)
{
    struct flush_pick p;
    uint32_t left = count_dirty(dir);
    while (log_dir_online(dir) && pick(dir, now_ms, &left, &p)) {
        log_flush_run(&p.flush);
        finish_flush(dir, &p);
    }
}

/* ---- checkpoints ------------------------------------------------------------------------------
 */

enum { RECOVERY, STARTS, WATERMARKS, CHECKPOINT_COUNT };

static void note(struct log *log, void *context)
{
    struct checkpoint *checkpoints = context;
    struct slice topic = log_topic(log);
    checkpoint_put(&checkpoints[RECOVERY], topic, log->partition, log->recovery_point);
    log->recovery_noted = log->recovery_point;
    if (log->start > log->segments[0]->base)
        checkpoint_put(&checkpoints[STARTS], topic, log->partition, log->start);
    checkpoint_put(&checkpoints[WATERMARKS], topic, log->partition, log->high_watermark);
}

static void note_saved(struct log *log, void *context)
{
    (void)context;
    log->recovery_saved = log->recovery_noted;
}

enum err log_dir_write_checkpoints(struct log_dir *dir, bool recovery, bool starts, bool watermarks,
                                   bool sync)
{
    static const char *const names[CHECKPOINT_COUNT] = {
        CHECKPOINT_RECOVERY_POINT, CHECKPOINT_LOG_START, CHECKPOINT_HIGH_WATERMARK};
    const bool wanted[CHECKPOINT_COUNT] = {recovery, starts, watermarks};
    struct checkpoint checkpoints[CHECKPOINT_COUNT];
    for (int i = 0; i < CHECKPOINT_COUNT; i++)
        checkpoint_init(&checkpoints[i]);
    lock_take(&dir->checkpoint_lock);
    log_walk_all(dir, note, checkpoints);
    enum err err = ERR_NONE;
    for (int i = 0; i < CHECKPOINT_COUNT; i++) {
        struct slice text = buf_slice(&checkpoints[i].text);
        uint32_t crc = crc32c(1, text.data, text.size);
        if (!err && wanted[i] && (sync || crc != dir->written_crc[i])) {
            err = checkpoint_write(&checkpoints[i], dir->dirs->io, dir->path, names[i], true);
            if (!err)
                dir->written_crc[i] = crc;
        }
        checkpoint_fini(&checkpoints[i]);
    }
    if (!err && recovery)
        log_walk_all(dir, note_saved, NULL);
    lock_release(&dir->checkpoint_lock);
    return log_dir_check_there(dir, err, "write checkpoint");
}

/* ---- the job of a folder ----------------------------------------------------------------------
 */

static void retain(struct log *log, void *context)
{
    if (log->future) /* its segments go when those of the log it copies do */
        return;
    log_apply_retention(log, *(int64_t *)context);
}

/* Compacted logs get it from the cleaner, between rounds. */
static void retain_uncompacted(struct log *log, void *context)
{
    if (!log->config.cleanup_compact || !cleaner_retains(log->dir->dirs->cleaner))
        retain(log, context);
}

static void expire(struct log *log, void *context)
{
    log_expire_producers(log, *(int64_t *)context);
}

static bool is_due(int64_t *next_ms, int64_t now_ms, int64_t interval_ms)
{
    if (now_ms < *next_ms)
        return false;
    *next_ms = deadline_after(now_ms, interval_ms);
    return true;
}

static bool take_wish(struct log_dir *dir, bool *wish)
{
    lock_take(&dir->lock);
    bool is_set = *wish;
    *wish = false;
    lock_release(&dir->lock);
    return is_set;
}

static void run_dir(struct log_dir *dir)
{
    const struct log_dirs_options *options = &dir->dirs->options;
    int64_t now_ms = io_mono_ms(dir->dirs->io), wall_ms = io_wall_ms(dir->dirs->io);
    if (!log_dir_online(dir))
        return;
    log_dir_run_deletions(dir, now_ms);
    log_dir_poll_space(dir);
    if (dir == dir->dirs->metadata)
        log_reserve_keep(dir);
    if (is_due(&dir->next_retention_ms, now_ms, options->retention_check_ms))
        log_walk_each(dir->dirs, dir, retain_uncompacted, &wall_ms);
    if (is_due(&dir->next_expiry_ms, now_ms, options->producer_expiry_check_ms))
        log_walk_each(dir->dirs, dir, expire, &wall_ms);
    flush_due(dir, now_ms);
    bool recovery = is_due(&dir->next_recovery_ms, now_ms, options->checkpoint_ms);
    bool starts = is_due(&dir->next_start_ms, now_ms, options->start_checkpoint_ms);
    bool watermarks = is_due(&dir->next_watermark_ms, now_ms, options->watermark_checkpoint_ms);
    starts = take_wish(dir, &dir->starts_moved) || starts;
    recovery = take_wish(dir, &dir->recovery_wanted) || recovery;
    if (log_dir_online(dir) && !dir->is_metadata && (recovery || starts || watermarks))
        log_dir_write_checkpoints(dir, recovery, starts, watermarks, false);
}

void log_dirs_job_ended(struct log_dirs *dirs)
{
    dirs->busy--;
    if (dirs->stopping && !dirs->busy)
        log_dirs_close_all(dirs);
}

static void run_job(struct io_job *job)
{
    run_dir(LIST_ITEM(job, struct log_dir, job));
}

static void job_done(struct io_job *job)
{
    struct log_dir *dir = LIST_ITEM(job, struct log_dir, job);
    struct log_dirs *dirs = dir->dirs;
    dir->job_busy = false;
    log_dirs_job_ended(dirs);
}

static void tick(struct loop_timer *timer)
{
    struct log_dirs *dirs = LIST_ITEM(timer, struct log_dirs, timer);
    for (int i = 0; i < dirs->folder_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (dir->job_busy || !log_dir_online(dir))
            continue;
        dir->job_busy = true;
        dirs->busy++;
        dir->job.run = run_job;
        dir->job.done = job_done;
        dir->job.loop = dirs->loop;
        io_submit(dirs->io, &dir->job);
    }
    loop_timer_set(dirs->loop, timer, io_mono_ns(dirs->io) + TICK_NS);
}

static void start(struct loop_task *task)
{
    struct log_dirs *dirs = LIST_ITEM(task, struct log_dirs, start_task);
    if (dirs->stopping)
        return;
    loop_timer_set(dirs->loop, &dirs->timer, io_mono_ns(dirs->io) + TICK_NS);
    cleaner_start(dirs->cleaner, dirs->loop);
}

void log_dirs_configure_cleaner(struct log_dirs *dirs, const struct cleaner_config *config)
{
    cleaner_configure(dirs->cleaner, config);
}

void log_dirs_start(struct log_dirs *dirs, struct loop *loop)
{
    const struct log_dirs_options *options = &dirs->options;
    int64_t now_ms = io_mono_ms(dirs->io);
    dirs->loop = loop;
    for (int i = 0; i < dirs->folder_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        dir->next_recovery_ms = deadline_after(now_ms, options->initial_delay_ms);
        dir->next_start_ms = deadline_after(now_ms, options->initial_delay_ms);
        dir->next_retention_ms = deadline_after(now_ms, options->initial_delay_ms);
        dir->next_watermark_ms = deadline_after(now_ms, options->watermark_checkpoint_ms);
        dir->next_expiry_ms = deadline_after(now_ms, options->producer_expiry_check_ms);
    }
    dirs->timer.expired = tick;
    dirs->start_task.run = start;
    loop_post(loop, &dirs->start_task);
}

void log_dirs_run_now(struct log_dirs *dirs, int64_t now_ms)
{
    for (int i = 0; i < dirs->folder_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (!log_dir_online(dir))
            continue;
        log_dir_run_deletions(dir, INT64_MAX);
        log_dir_poll_space(dir);
        log_walk_each(dir->dirs, dir, retain, &now_ms);
        log_walk_each(dir->dirs, dir, expire, &now_ms);
        flush_due(dir, INT64_MAX / 2);
        if (!dir->is_metadata)
            log_dir_write_checkpoints(dir, true, true, true, false);
    }
}

void log_dirs_stop_timer(struct log_dirs *dirs)
{
    if (dirs->loop && loop_timer_is_set(&dirs->timer))
        loop_timer_cancel(dirs->loop, &dirs->timer);
}
