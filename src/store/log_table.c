/* The table of a node's logs: finding, creating, deleting, walking; attaching a log to the lock of
 * its partition. How background work comes to a log, and what attaching and deleting wait for:
 * log_walk.c. */
#include "store/log_dirs_internal.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"

#include <stdio.h>

enum { NAME_MAX_SIZE = 300, FOLDER_NAME_MAX = 255, ID_HEX = 32 };

static struct slice name_of(struct slice topic, int32_t partition, char text[NAME_MAX_SIZE])
{
    int size = snprintf(text, NAME_MAX_SIZE, "%.*s-%d", SLICE_FMT(topic), partition);
    return slice_of(text, size < NAME_MAX_SIZE ? (size_t)size : 0);
}

void log_attach(struct log *log, struct lock *lock)
{
    log_reattach(log, lock);
    /* Waits for a job that is in the log; one that comes later looks again. */
    lock_take(&log->own_lock);
    lock_release(&log->own_lock);
}

void log_reattach(struct log *log, struct lock *lock)
{
    __atomic_store_n(&log->lock, lock, __ATOMIC_RELEASE);
}

void log_reattached(struct log *log)
{
    struct log_dirs *dirs = log->dir->dirs;
    lock_take(&dirs->table_lock);
    log_walk_await(dirs, log);
    lock_release(&dirs->table_lock);
}

void log_on_flushed(struct log *log, void (*flushed)(void *context), void *context)
{
    struct log_dirs *dirs = log->dir ? log->dir->dirs : NULL;
    if (dirs)
        lock_take(&dirs->table_lock);
    log->flushed = flushed;
    log->flushed_context = context;
    if (dirs)
        lock_release(&dirs->table_lock);
}

void log_detach(struct log *log)
{
    if (!log->dir) {
        log->lock = NULL;
        return;
    }
    struct log_dirs *dirs = log->dir->dirs;
    lock_take(&dirs->table_lock);
    log->flushed = NULL;
    __atomic_store_n(&log->lock, NULL, __ATOMIC_RELEASE);
    log_walk_await(dirs, log);
    lock_release(&dirs->table_lock);
}

struct log *log_dirs_get(struct log_dirs *dirs, struct slice topic, int32_t partition)
{
    char text[NAME_MAX_SIZE];
    struct slice name = name_of(topic, partition, text);
    lock_take(&dirs->table_lock);
    struct log *log = map_get(&dirs->logs, name);
    lock_release(&dirs->table_lock);
    return log;
}

void log_dirs_each(struct log_dirs *dirs, void (*visit)(void *context, struct log *log),
                   void *context)
{
    lock_take(&dirs->table_lock);
    for (size_t i = 0; i < map_count(&dirs->logs); i++)
        visit(context, map_at(&dirs->logs, i));
    lock_release(&dirs->table_lock);
}

int32_t log_dirs_log_count(struct log_dirs *dirs)
{
    lock_take(&dirs->table_lock);
    int32_t count = (int32_t)map_count(&dirs->logs);
    lock_release(&dirs->table_lock);
    return count;
}

int64_t log_dirs_watermark(struct log_dirs *dirs, struct slice topic, int32_t partition)
{
    int64_t offset;
    for (int i = 0; i < dirs->dir_count; i++)
        if (checkpoint_get(&dirs->dirs[i]->watermarks, topic, partition, &offset))
            return offset;
    return -1;
}

/* ---- creating ---------------------------------------------------------------------------------
 */

static bool is_better(const struct log_dir *dir, const struct log_dir *than)
{
    bool cordoned = log_dir_cordoned(dir);
    if (cordoned != log_dir_cordoned(than))
        return !cordoned;
    return dir->log_count < than->log_count;
}

/* One with the fewest logs; a cordoned one only when all are. */
static struct log_dir *emptiest(struct log_dirs *dirs)
{
    struct log_dir *best = NULL;
    for (int i = 0; i < dirs->dir_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (log_dir_online(dir) && (!best || is_better(dir, best)))
            best = dir;
    }
    return best;
}

/* Table lock held. NULL: none, or it is offline. */
static struct log_dir *take_wish(struct log_dirs *dirs, struct slice name)
{
    struct log_wish *wish = map_remove(&dirs->wishes, name);
    struct log_dir *dir = wish && log_dir_online(wish->dir) ? wish->dir : NULL;
    mem_free(wish);
    return dir;
}

void log_dirs_wish(struct log_dirs *dirs, struct log_dir *dir, struct slice topic,
                   int32_t partition)
{
    char text[NAME_MAX_SIZE];
    struct slice name = name_of(topic, partition, text);
    if (!name.size)
        return;
    lock_take(&dirs->table_lock);
    mem_free(map_remove(&dirs->wishes, name));
    if (map_count(&dirs->wishes) < LOG_DIRS_WISHES_MAX) {
        struct log_wish *wish = mem_alloc(sizeof *wish + name.size);
        wish->dir = dir;
        memcpy(wish->name, name.data, name.size);
        map_put(&dirs->wishes, slice_of(wish->name, name.size), wish);
    }
    lock_release(&dirs->table_lock);
}

/* A power cut may bring back what went from one folder. A start would find it beside the log of the
 * same name that was made in another one, so that this is not done before it is gone for good. */
static void names_have_gone(struct log_dir *dir)
{
    __atomic_store_n(&dir->names_gone, 1, __ATOMIC_RELEASE);
}

static void settle_others(struct log_dirs *dirs, const struct log_dir *chosen)
{
    for (int i = 0; i < dirs->dir_count; i++) {
        struct log_dir *dir = dirs->dirs[i];
        if (dir == chosen || !log_dir_online(dir) ||
            !__atomic_exchange_n(&dir->names_gone, 0, __ATOMIC_ACQ_REL))
            continue;
        if (log_dir_check(dir, io_sync_dir(dirs->io, dir->path), "sync names"))
            names_have_gone(dir);
    }
}

/* A folder begun and not finished would be found at the next start, beside the log that was then
 * made elsewhere. */
static void remove_begun(struct log_dir *dir, const char *path)
{
    struct io *io = dir->dirs->io;
    char **names;
    size_t count;
    if (io_list_dir(io, path, &names, &count))
        return;
    for (size_t i = 0; i < count; i++) {
        char *file = mem_printf("%s/%s", path, names[i]);
        io_unlink(io, file);
        mem_free(file);
    }
    io_free_names(names, count);
    io_rmdir(io, path);
    names_have_gone(dir);
}

enum err log_dir_open_new(struct log_dir *dir, const struct log_open_options *options,
                          const struct uuid *topic_id, struct log **ret_log)
{
    struct io_stat stat;
    /* What cannot be looked at may be there: it is not ours to remove. */
    bool was_there = io_stat(options->io, options->path, &stat) != ERR_NOT_FOUND;
    struct log *log = NULL;
    enum err err = log_open(options, &log);
    if (!err)
        err = log_set_topic_id(log, topic_id);
    if (!err) {
        *ret_log = log;
        return ERR_NONE;
    }
    log_free(log);
    if (!was_there)
        remove_begun(dir, options->path);
    log_dir_check_there(dir, err, "create partition");
    return err;
}

enum err log_dirs_create(struct log_dirs *dirs, struct log_dir *dir, struct slice topic,
                         int32_t partition, const struct uuid *topic_id,
                         const struct log_config *config, struct log **ret_log)
{
    struct log *log = log_dirs_get(dirs, topic, partition);
    if (log) {
        *ret_log = log;
        return ERR_NONE;
    }
    char text[NAME_MAX_SIZE];
    lock_take(&dirs->table_lock);
    struct log_dir *wished = take_wish(dirs, name_of(topic, partition, text));
    if (!dir)
        dir = wished ? wished : emptiest(dirs);
    if (dir)
        dir->log_count++; /* counted early, so that creations side by side spread */
    lock_release(&dirs->table_lock);
    if (!dir)
        return ERR_KAFKA_STORAGE_ERROR;
    enum err err = log_dir_online(dir) ? ERR_NONE : ERR_KAFKA_STORAGE_ERROR;
    if (!err) {
        settle_others(dirs, dir); /* first: the power may go right after the log is made */
        char *path = mem_printf("%s/%.*s-%d", dir->path, SLICE_FMT(topic), partition);
        struct log_open_options options = {.io = dirs->io,
                                           .dir = dir,
                                           .path = path,
                                           .topic = topic,
                                           .partition = partition,
                                           .config = *config};
        err = log_dir_open_new(dir, &options, topic_id, &log);
        mem_free(path);
    }
    log_dir_poll_space(dir); /* many partitions may be made within one tick of the jobs */
    lock_take(&dirs->table_lock);
    if (err)
        dir->log_count--;
    else
        ENSURE(!map_put(&dirs->logs, slice_str(log->name), log));
    lock_release(&dirs->table_lock);
    if (!err)
        *ret_log = log;
    return err;
}

/* ---- deleting ---------------------------------------------------------------------------------
 */

char *log_dir_suffixed_path(const struct log_dir *dir, struct slice topic, int32_t partition,
                            const char *suffix)
{
    uint8_t random[ID_HEX / 2];
    io_random(dir->dirs->io, random, sizeof random);
    char hex[ID_HEX + 1];
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(hex + 2 * i, 3, "%02x", random[i]);
    char tail[NAME_MAX_SIZE];
    int tail_size = snprintf(tail, sizeof tail, "-%d.%s%s", partition, hex, suffix);
    int topic_max = FOLDER_NAME_MAX - tail_size;
    if ((int)topic.size < topic_max)
        topic_max = (int)topic.size;
    return mem_printf("%s/%.*s%s", dir->path, topic_max, topic.data, tail);
}

enum err log_dirs_delete(struct log_dirs *dirs, struct log *log, bool stray)
{
    struct log_dir *dir = log->dir;
    log_detach(log);
    lock_take(&dirs->table_lock);
    ENSURE(map_remove(&dirs->logs, slice_str(log->name)) == log);
    dir->log_count--;
    log_dir_forget(dir, log); /* nobody finds it any more */
    log_walk_await(dirs, log);
    log_dir_forget(dir, log); /* who was in it may have marked it again */
    lock_release(&dirs->table_lock);

    enum err err = ERR_NONE;
    if (log_dir_online(dir)) {
        /* A Kafka that starts on this folder before the deletion loads the log once more: without
         * index files it would complain and recover it. What fails here costs just that. */
        if (log->segment_count)
            err = segment_write_indexes(log->segments[log->segment_count - 1], true);
        if (err)
            diag(DIAG_STORE, DIAG_DEBUG, "%s: indexes not written: %s", log->path->text,
                 io_error_text(dirs->io, err));
        char *path = log_dir_suffixed_path(dir, log_topic(log), log->partition,
                                           stray ? "-stray" : "-delete");
        err = log_path_rename(log->path, dirs->io, path);
        if (!err)
            names_have_gone(dir);
        if (!err && !stray)
            log_dir_delete_folder_later(dir, path, log->config.file_delete_delay_ms);
        else if (err)
            log_dir_check(dir, err, "rename to -delete");
        mem_free(path);
    }
    log_free(log);
    return err;
}
