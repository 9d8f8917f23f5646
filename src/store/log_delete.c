/* Delayed deletion: segments and whole partitions whose files were renamed (so that nobody opens
 * them any more and a restart removes them) are unlinked file.delete.delay.ms later, by the
 * folder's job. Readers that hold a range keep their open file. Lists are under the folder's lock,
 * unlinking is outside it. */
#include "store/log_dirs_internal.h"

#include "base/deadline.h"
#include "base/mem.h"
#include "os/diag.h"

static void add(struct log_dir *dir, struct segment *segment, const char *path, int64_t delay_ms)
{
    struct log_deletion *deletion = mem_zalloc(sizeof *deletion);
    deletion->segment = segment ? segment_ref(segment) : NULL;
    deletion->path = path ? mem_strdup(path) : NULL;
    deletion->due_ms = deadline_after(io_mono_ms(dir->dirs->io), delay_ms);
    lock_take(&dir->lock);
    list_push_back(&dir->deletions, &deletion->link);
    lock_release(&dir->lock);
}

void log_dir_delete_later(struct log_dir *dir, struct segment *segment, int64_t delay_ms)
{
    add(dir, segment, NULL, delay_ms);
}

void log_dir_delete_folder_later(struct log_dir *dir, const char *path, int64_t delay_ms)
{
    add(dir, NULL, path, delay_ms);
}

static void end(struct log_deletion *deletion)
{
    segment_unref(deletion->segment);
    mem_free(deletion->path);
    mem_free(deletion);
}

/* Its log may be deleted meanwhile, which renames the folder; the name stands still for each call.
 */
static enum err remove_segment(struct io *io, const struct segment *segment)
{
    char path[SEGMENT_PATH_MAX];
    enum err err = ERR_NONE;
    for (int kind = 0; kind < SEGMENT_FILE_COUNT; kind++) {
        lock_take(&segment->path->lock);
        segment_path(segment, (enum segment_file)kind, path);
        enum err one = io_unlink(io, path);
        lock_release(&segment->path->lock);
        if (one && one != ERR_NOT_FOUND)
            err = one;
    }
    return err;
}

static enum err remove_folder(struct io *io, const char *path)
{
    char **names;
    size_t count;
    enum err err = io_list_dir(io, path, &names, &count);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    for (size_t i = 0; i < count; i++) {
        char *file = mem_printf("%s/%s", path, names[i]);
        io_unlink(io, file);
        mem_free(file);
    }
    io_free_names(names, count);
    return io_rmdir(io, path);
}

static struct log_deletion *next_due(struct log_dir *dir, int64_t now_ms)
{
    struct log_deletion *due = NULL;
    lock_take(&dir->lock);
    LIST_FOREACH(node, &dir->deletions)
    {
        struct log_deletion *deletion = LIST_ITEM(node, struct log_deletion, link);
        if (deletion->due_ms <= now_ms) {
            list_remove(node);
            due = deletion;
            break;
        }
    }
    lock_release(&dir->lock);
    return due;
}

void log_dir_run_deletions(struct log_dir *dir, int64_t now_ms)
{
    struct log_deletion *deletion;
    while ((deletion = next_due(dir, now_ms))) {
        enum err err = deletion->segment ? remove_segment(dir->dirs->io, deletion->segment)
                                         : remove_folder(dir->dirs->io, deletion->path);
        if (err)
            diag(DIAG_STORE, DIAG_WARN, "%s: deleted files could not be removed: %s",
                 deletion->path ? deletion->path : dir->path, io_error_text(dir->dirs->io, err));
        end(deletion);
    }
}

void log_dir_forget_deletions(struct log_dir *dir)
{
    struct list *node;
    while ((node = list_pop_front(&dir->deletions)))
        end(LIST_ITEM(node, struct log_deletion, link));
}
