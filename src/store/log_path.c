/* See the header. The lock is a leaf that is held over file calls, against the rule for locks: they
 * are short ones and rare (a new leader epoch, a roll, a rename), and who waits for them (another
 * flush of this log, its deletion) has the same disk to wait for. */
#include "store/log_path.h"

#include "base/mem.h"
#include "os/io.h"
#include "store/disk_file.h"

#include <string.h>

struct log_path *log_path_new(const char *text)
{
    struct log_path *path = mem_zalloc(sizeof *path);
    path->refs = 1;
    lock_init(&path->lock, LOCK_LEAF);
    path->text = mem_strdup(text);
    return path;
}

struct log_path *log_path_ref(struct log_path *path)
{
    __atomic_fetch_add(&path->refs, 1, __ATOMIC_RELAXED);
    return path;
}

void log_path_unref(struct log_path *path)
{
    if (!path || __atomic_fetch_sub(&path->refs, 1, __ATOMIC_ACQ_REL) != 1)
        return;
    lock_fini(&path->lock);
    mem_free(path->text);
    mem_free(path);
}

enum err log_path_rename(struct log_path *path, struct io *io, const char *to)
{
    lock_take(&path->lock);
    enum err err = io_rename(io, path->text, to);
    if (!err) {
        mem_free(path->text);
        path->text = mem_strdup(to);
    }
    lock_release(&path->lock);
    return err;
}

static bool is_newer(const struct log_path *path, uint32_t version)
{
    return !path->has_epochs || (int32_t)(version - path->epochs_version) > 0;
}

enum err log_path_write_epochs(struct log_path *path, struct io *io, struct slice bytes,
                               uint32_t version, bool sync)
{
    enum err err = ERR_NONE;
    lock_take(&path->lock);
    if (is_newer(path, version)) {
        char *file = mem_printf("%s/leader-epoch-checkpoint", path->text);
        err = disk_file_replace(io, file, bytes, sync);
        mem_free(file);
        if (!err && sync) {
            path->has_epochs = true;
            path->epochs_version = version;
        }
    }
    lock_release(&path->lock);
    return err;
}

enum err log_path_sync_snapshot(struct log_path *path, struct io *io, int64_t offset)
{
    int fd;
    lock_take(&path->lock);
    char *file = mem_printf("%s/%020lld.snapshot", path->text, (long long)offset);
    enum err err = io_open(io, file, IO_WRITE, &fd);
    lock_release(&path->lock);
    mem_free(file);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    err = io_fdatasync(io, fd);
    io_close(io, fd);
    return err;
}

enum err log_path_sync_names(struct log_path *path, struct io *io, bool parent_too)
{
    lock_take(&path->lock);
    enum err err = io_sync_dir(io, path->text);
    if (!err && parent_too)
        err = disk_file_sync_parent(io, path->text);
    lock_release(&path->lock);
    return err;
}
