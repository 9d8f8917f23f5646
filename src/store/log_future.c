/* Logs that are filled in another folder to take the place of a partition's log there: made, found
 * at a start, and put in that place. repl/replica_moves fills them. Answers to Kafka's future logs
 * (LogManager.replaceCurrentWithFutureLog), with two differences on purpose: the old folder gets
 * its -delete name first, and the disk hears of that before the new one gets its name. So a crash
 * never leaves two folders of one partition, which would stop the next start; what it may leave, a
 * future alone, is put in place by the next start.
 *
 *     old folder      new folder   a crash leaves
 *     T-0             T-0.X-future both: the next start goes on copying
 *     T-0.Y-delete    T-0.X-future that; after a power cut perhaps the line before
 *     ... synced      T-0.X-future that: the future is put in place
 *     ... synced      T-0          that; after a power cut perhaps the line before
 *
 * The syncs are done with no lock held, and appends go to the new log from the first name on. Until
 * the old folder's is synced no flush of the new log counts, neither one to come (flush_held) nor
 * those of the copy (count_as_durable): a power cut may bring the old log back, which must have all
 * that was acknowledged as durable. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

bool log_is_future(const struct log *log)
{
    return log->future;
}

static const char *folder_name(const struct log *log)
{
    return strrchr(log->path->text, '/') + 1;
}

void log_dir_mark_future(struct log *log)
{
    log->future = true;
    mem_free(log->name);
    log->name = mem_strdup(folder_name(log));
}

enum err log_dirs_create_future(struct log_dirs *dirs, struct log_dir *dir, struct slice topic,
                                int32_t partition, const struct uuid *topic_id,
                                const struct log_config *config, int64_t base,
                                struct log **ret_future)
{
    if (!log_dir_online(dir))
        return ERR_KAFKA_STORAGE_ERROR;
    char *path = log_dir_suffixed_path(dir, topic, partition, "-future");
    struct log_open_options options = {.io = dirs->io,
                                       .dir = dir,
                                       .path = path,
                                       .topic = topic,
                                       .partition = partition,
                                       .config = *config,
                                       .log_start = base};
    struct log *log;
    enum err err = log_dir_open_new(dir, &options, topic_id, &log);
    mem_free(path);
    if (err)
        return err;
    log_dir_mark_future(log);
    lock_take(&dirs->table_lock);
    ENSURE(!map_put(&dirs->logs, slice_str(log->name), log));
    dir->log_count++;
    lock_release(&dirs->table_lock);
    *ret_future = log;
    return ERR_NONE;
}

/* ---- taking the place -------------------------------------------------------------------------
 */

static char *final_path(const struct log *future, struct slice topic)
{
    char *name = mem_printf("%.*s-%d", SLICE_FMT(topic), future->partition);
    char *path = log_dir_file(future->dir, name);
    mem_free(name);
    return path;
}

static enum err set_aside(struct log *current)
{
    /* As in log_dirs_delete: another Kafka that starts here loads the log once more. */
    enum err err = segment_write_indexes(log_active(current), true);
    if (err)
        diag(DIAG_STORE, DIAG_DEBUG, "%s: indexes not written: %s", current->path->text,
             err_text(err));
    char *path =
        log_dir_suffixed_path(current->dir, log_topic(current), current->partition, "-delete");
    err = log_path_rename(current->path, current->io, path);
    mem_free(path);
    return log_check(current, err, "rename partition");
}

static void replace_in_table(struct log_dirs *dirs, struct slice topic, struct log *current,
                             struct log *future)
{
    lock_take(&dirs->table_lock);
    if (current) {
        ENSURE(map_remove(&dirs->logs, slice_str(current->name)) == current);
        current->dir->log_count--;
        log_dir_forget(current->dir, current);
    }
    ENSURE(map_remove(&dirs->logs, slice_str(future->name)) == future);
    mem_free(future->name);
    future->name = mem_printf("%.*s-%d", SLICE_FMT(topic), future->partition);
    future->future = false;
    /* A start knows it from the folder's name only, where a long one is cut. */
    mem_free(future->topic);
    future->topic = slice_to_cstr(topic);
    ENSURE(!map_put(&dirs->logs, slice_str(future->name), future));
    lock_release(&dirs->table_lock);
}

/* As durable as the log that it replaces, though the copy was flushed further. The next flush tells
 * who waits for the rest. */
static void count_as_durable(struct log *future, int64_t end)
{
    ENSURE_CMP(log_durable_end(future), >=, end);
    future->recovery_point = future->synced_end = end;
    if (end < future->end)
        log_mark_unflushed(future, 1);
}

enum err log_dirs_replace_begin(struct log_dirs *dirs, struct slice topic, struct log *current,
                                struct log *future)
{
    ENSURE(future->future);
    enum err err = set_aside(current);
    if (err)
        return err;
    future->flush_held = true;
    count_as_durable(future, log_durable_end(current));
    replace_in_table(dirs, topic, current, future);
    return ERR_NONE;
}

enum err log_dir_sync(struct log_dir *dir)
{
    if (!log_dir_online(dir))
        return ERR_IO;
    return log_dir_check(dir, io_sync_dir(dir->dirs->io, dir->path), "sync names");
}

enum err log_dirs_replace_end(struct log *log)
{
    log->flush_held = false;
    char *path = final_path(log, log_topic(log));
    enum err err = log_path_rename(log->path, log->io, path);
    mem_free(path);
    return log_check(log, err, "rename partition");
}

enum err log_dirs_promote(struct log_dirs *dirs, struct slice topic, struct log *future)
{
    ENSURE(future->future && !future->lock);
    char *path = final_path(future, topic);
    lock_take(&future->own_lock);
    enum err err = log_path_rename(future->path, future->io, path);
    if (!err)
        replace_in_table(dirs, topic, NULL, future);
    lock_release(&future->own_lock);
    mem_free(path);
    log_check(future, err, "rename partition");
    return err ? err : log_dir_sync(future->dir);
}

void log_dirs_discard(struct log_dirs *dirs, struct log *log, bool settled)
{
    log_detach(log);
    lock_take(&dirs->table_lock);
    log_walk_await(dirs, log);
    log_dir_forget(log->dir, log); /* who was in it may have marked it again */
    lock_release(&dirs->table_lock);
    if (settled && log_dir_online(log->dir))
        log_dir_delete_folder_later(log->dir, log->path->text, log->config.file_delete_delay_ms);
    log_free(log);
}

enum err log_dir_checkpoint(struct log_dir *dir)
{
    if (!log_dir_online(dir))
        return ERR_KAFKA_STORAGE_ERROR;
    return dir->is_metadata ? ERR_NONE : log_dir_write_checkpoints(dir, true, true, true, true);
}
