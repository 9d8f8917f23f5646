/* File calls of the simulated io: descriptors and paths over sim_disk.c, with faults asked first.
 * A call on a descriptor passes the path it was opened by to the faults. */
#include "sim_internal.h"

#include <string.h>

enum err sim_failed(struct sim_process *process, enum err error, const char *text)
{
    int kind = (int)error - (int)ERR_IO;
    if (kind >= 0 && kind < SIM_ERROR_KINDS)
        process->error_texts[kind] = text;
    return error;
}

static const char *text_of(enum err e)
{
    switch ((int)e) {
    case ERR_DISK_FULL: return "No space left on device";
    case ERR_TOO_MANY_FILES: return "Too many open files";
    case ERR_NOT_FOUND: return "No such file or directory";
    case ERR_EXISTS: return "File exists";
    default: return "Input/output error";
    }
}

static enum err fail(struct sim_process *process, enum err e)
{
    return e ? sim_failed(process, e, text_of(e)) : e;
}

enum err fault_check(struct sim_process *process, enum sim_op op, const char *path, bool *ret_torn)
{
    struct sim_machine *m = process->machine;
    m->calls[op]++;
    if (m->slow_ms && sim_chance(m->sim, 3)) /* nobody else runs meanwhile: there is one thread */
        m->sim->now_ns += (int64_t)sim_random_below(m->sim, (uint64_t)m->slow_ms * 100000);
    LIST_FOREACH(link, &m->faults)
    {
        struct sim_fault_rule *rule = LIST_ITEM(link, struct sim_fault_rule, link);
        if ((rule->fault.op != SIM_ANY && rule->fault.op != op) || rule->fault.count == 0 ||
            (rule->path_part && !strstr(path, rule->path_part)))
            continue;
        if (rule->fault.skip > 0) {
            rule->fault.skip--;
            continue;
        }
        if (rule->fault.count > 0)
            rule->fault.count--;
        m->counters.faults++;
        sim_note(m->sim, "fault", path, (uint64_t)op);
        if (ret_torn)
            *ret_torn = rule->fault.torn;
        return fail(process, rule->fault.error);
    }
    return ERR_NONE;
}

/* ---- descriptors ------------------------------------------------------------------------------
 */

enum err fd_new(struct sim_process *process, enum sim_fd_kind kind, int *ret_fd)
{
    if (process->fd_open >= process->machine->file_limit)
        return fail(process, ERR_TOO_MANY_FILES);
    int at = 0;
    while (at < process->fd_count && process->fds[at].kind != FD_FREE)
        at++;
    if (at == process->fd_count) {
        process->fd_count = process->fd_count ? process->fd_count * 2 : 32;
        process->fds =
            mem_realloc(process->fds, (size_t)process->fd_count * sizeof process->fds[0]);
        memset(&process->fds[at], 0, (size_t)(process->fd_count - at) * sizeof process->fds[0]);
    }
    process->fds[at] = (struct sim_fd){.kind = kind};
    process->fd_open++;
    *ret_fd = at + FD_FIRST;
    return ERR_NONE;
}

struct sim_fd *fd_get(struct sim_process *process, int fd, enum sim_fd_kind kind)
{
    ENSURE(fd >= FD_FIRST && fd - FD_FIRST < process->fd_count);
    struct sim_fd *entry = &process->fds[fd - FD_FIRST];
    ENSURE_CMP(entry->kind, ==, kind);
    return entry;
}

void fd_close(struct sim_process *process, int fd)
{
    ENSURE(fd >= FD_FIRST && fd - FD_FIRST < process->fd_count);
    struct sim_fd *entry = &process->fds[fd - FD_FIRST];
    ENSURE(entry->kind != FD_FREE); /* closed twice */
    if (entry->kind == FD_SOCKET) {
        socket_close(entry->socket, false);
    } else {
        if (entry->flags & IO_EXCLUSIVE) /* io_lock_file marks its own so */
            entry->inode->locked = false;
        inode_unref(&process->machine->disk, entry->inode);
    }
    mem_free(entry->path);
    *entry = (struct sim_fd){0};
    process->fd_open--;
}

static enum err open_inode(struct sim_process *process, struct sim_inode *inode, const char *path,
                           unsigned flags, int *ret_fd)
{
    int fd;
    enum err e = fd_new(process, FD_FILE, &fd);
    if (e)
        return e;
    struct sim_fd *entry = fd_get(process, fd, FD_FILE);
    entry->inode = inode_ref(inode);
    entry->flags = flags & (IO_READ | IO_WRITE);
    entry->path = mem_strdup(path);
    *ret_fd = fd;
    return ERR_NONE;
}

static enum err find_or_create(struct sim_process *process, const char *path, unsigned flags,
                               struct sim_inode **ret_inode)
{
    struct sim_disk *disk = &process->machine->disk;
    enum err e = disk_find(disk, path, ret_inode);
    if (e == ERR_NONE)
        return flags & IO_EXCLUSIVE ? ERR_EXISTS : (*ret_inode)->is_dir ? ERR_IO : ERR_NONE;
    if (e != ERR_NOT_FOUND || !(flags & IO_CREATE))
        return e;
    struct sim_inode *dir;
    char leaf[512];
    e = disk_find_parent(disk, path, &dir, leaf, sizeof leaf);
    if (e)
        return e;
    *ret_inode = dir_create(dir, leaf, false);
    (*ret_inode)->mtime_ms = (*ret_inode)->durable_mtime_ms = io_wall_ms(&process->io);
    return ERR_NONE;
}

enum err sim_io_open(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    struct sim_process *process = process_of(io);
    enum err e = fault_check(process, SIM_OPEN, path, NULL);
    if (e)
        return e;
    if (process->fd_open >= process->machine->file_limit)
        return fail(process, ERR_TOO_MANY_FILES); /* before a file comes into being */
    struct sim_inode *inode;
    e = find_or_create(process, path, flags, &inode);
    if (e)
        return fail(process, e);
    if (flags & IO_TRUNCATE)
        e = inode_resize(&process->machine->disk, inode, 0);
    return e ? fail(process, e) : open_inode(process, inode, path, flags, ret_fd);
}

enum err sim_io_lock_file(struct io *io, const char *path, int *ret_fd)
{
    int fd;
    enum err e = sim_io_open(io, path, IO_READ | IO_WRITE | IO_CREATE, &fd);
    if (e)
        return e;
    struct sim_process *process = process_of(io);
    struct sim_fd *entry = fd_get(process, fd, FD_FILE);
    if (entry->inode->locked) {
        fd_close(process, fd);
        return sim_failed(process, ERR_BUSY, "Resource temporarily unavailable");
    }
    entry->inode->locked = true;
    entry->flags |= IO_EXCLUSIVE;
    *ret_fd = fd;
    return ERR_NONE;
}

enum err sim_io_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                      size_t *ret_size)
{
    struct sim_process *process = process_of(io);
    struct sim_fd *entry = fd_get(process, fd, FD_FILE);
    ENSURE(entry->flags & IO_READ);
    enum err e = fault_check(process, SIM_READ, entry->path, NULL);
    if (e)
        return e;
    *ret_size = inode_read(entry->inode, data, size, offset);
    return ERR_NONE;
}

enum err sim_io_pwritev(struct io *io, int fd, const struct iovec *parts, int count, int64_t offset)
{
    struct sim_process *process = process_of(io);
    struct sim_fd *entry = fd_get(process, fd, FD_FILE);
    ENSURE(entry->flags & IO_WRITE);
    size_t total = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    bool torn = false;
    enum err e = fault_check(process, SIM_WRITE, entry->path, &torn);
    if (e)
        total = torn ? sim_random_below(sim_of(io), total + 1) : 0;
    for (int i = 0; i < count && total > 0; i++) {
        size_t size = parts[i].iov_len < total ? parts[i].iov_len : total, done;
        enum err full = inode_write(&process->machine->disk, entry->inode, parts[i].iov_base, size,
                                    offset, &done);
        entry->inode->mtime_ms = io_wall_ms(io);
        if (full)
            return fail(process, full);
        offset += (int64_t)size;
        total -= size;
    }
    return e;
}

enum err sim_io_fsync(struct io *io, int fd)
{
    struct sim_process *process = process_of(io);
    struct sim_fd *entry = fd_get(process, fd, FD_FILE);
    process->machine->counters.fsyncs++;
    enum err e = fault_check(process, SIM_FSYNC, entry->path, NULL);
    if (e)
        inode_sync_failed(entry->inode);
    else if (process->machine->lying)
        process->machine->counters.lies++;
    else
        inode_sync(entry->inode);
    return e;
}

enum err sim_io_truncate(struct io *io, int fd, int64_t size)
{
    struct sim_process *process = process_of(io);
    struct sim_fd *entry = fd_get(process, fd, FD_FILE);
    ENSURE(entry->flags & IO_WRITE);
    enum err e = fault_check(process, SIM_TRUNCATE, entry->path, NULL);
    if (e)
        return e;
    entry->inode->mtime_ms = io_wall_ms(io);
    return fail(process, inode_resize(&process->machine->disk, entry->inode, size));
}

static struct io_stat stat_of(const struct sim_inode *inode)
{
    return (struct io_stat){inode->size, inode->mtime_ms, inode->is_dir};
}

enum err sim_io_fstat(struct io *io, int fd, struct io_stat *ret_stat)
{
    *ret_stat = stat_of(fd_get(process_of(io), fd, FD_FILE)->inode);
    return ERR_NONE;
}

bool sim_io_is_cached(struct io *io, int fd, int64_t offset, size_t size)
{
    return inode_is_cached(fd_get(process_of(io), fd, FD_FILE)->inode, offset, size);
}

/* ---- paths ------------------------------------------------------------------------------------
 */

enum err sim_io_stat(struct io *io, const char *path, struct io_stat *ret_stat)
{
    struct sim_process *process = process_of(io);
    enum err e = fault_check(process, SIM_LIST, path, NULL);
    if (e)
        return e;
    struct sim_inode *inode;
    e = disk_find(&process->machine->disk, path, &inode);
    if (e)
        return fail(process, e);
    *ret_stat = stat_of(inode);
    return ERR_NONE;
}

enum err sim_io_rename(struct io *io, const char *from, const char *to)
{
    struct sim_process *process = process_of(io);
    struct sim_disk *disk = &process->machine->disk;
    enum err e = fault_check(process, SIM_RENAME, from, NULL);
    if (e)
        return e;
    struct sim_inode *inode, *from_dir, *to_dir;
    char from_leaf[512], to_leaf[512];
    e = disk_find(disk, from, &inode);
    if (!e)
        e = disk_find_parent(disk, from, &from_dir, from_leaf, sizeof from_leaf);
    if (!e)
        e = disk_find_parent(disk, to, &to_dir, to_leaf, sizeof to_leaf);
    if (e)
        return fail(process, e);
    struct sim_inode *old = dir_get(to_dir, to_leaf);
    if (old == inode)
        return ERR_NONE;
    if (old && old->is_dir && old->names.count > 0)
        return fail(process, ERR_EXISTS);
    if (old && old->is_dir != inode->is_dir)
        return fail(process, ERR_IO);
    dir_rename(disk, from_dir, from_leaf, to_dir, to_leaf);
    return ERR_NONE;
}

static enum err remove_name(struct io *io, const char *path, bool is_dir)
{
    struct sim_process *process = process_of(io);
    struct sim_disk *disk = &process->machine->disk;
    enum err e = fault_check(process, SIM_UNLINK, path, NULL);
    if (e)
        return e;
    struct sim_inode *inode, *dir;
    char leaf[512];
    e = disk_find(disk, path, &inode);
    if (!e)
        e = disk_find_parent(disk, path, &dir, leaf, sizeof leaf);
    if (!e && inode->is_dir != is_dir)
        e = ERR_IO;
    if (!e && is_dir && inode->names.count > 0)
        e = ERR_EXISTS;
    if (e)
        return fail(process, e);
    dir_remove(disk, dir, leaf);
    return ERR_NONE;
}

enum err sim_io_unlink(struct io *io, const char *path)
{
    return remove_name(io, path, false);
}

enum err sim_io_rmdir(struct io *io, const char *path)
{
    return remove_name(io, path, true);
}

enum err sim_io_mkdir(struct io *io, const char *path)
{
    struct sim_process *process = process_of(io);
    struct sim_disk *disk = &process->machine->disk;
    enum err e = fault_check(process, SIM_MKDIR, path, NULL);
    if (e)
        return e;
    struct sim_inode *dir;
    char leaf[512];
    e = disk_find_parent(disk, path, &dir, leaf, sizeof leaf);
    if (!e && dir_get(dir, leaf))
        e = ERR_EXISTS;
    if (e)
        return fail(process, e);
    dir_create(dir, leaf, true)->mtime_ms = io_wall_ms(io);
    return ERR_NONE;
}

enum err sim_io_sync_dir(struct io *io, const char *path)
{
    struct sim_process *process = process_of(io);
    process->machine->counters.fsyncs++;
    enum err e = fault_check(process, SIM_SYNC_DIR, path, NULL);
    if (e)
        return e;
    struct sim_inode *dir;
    e = disk_find(&process->machine->disk, path, &dir);
    if (!e && !dir->is_dir)
        e = ERR_IO;
    if (e)
        return fail(process, e);
    if (process->machine->lying)
        process->machine->counters.lies++;
    else
        dir_sync(&process->machine->disk, dir);
    return ERR_NONE;
}

enum err sim_io_set_mtime(struct io *io, const char *path, int64_t mtime_ms)
{
    struct sim_process *process = process_of(io);
    struct sim_inode *inode;
    enum err e = disk_find(&process->machine->disk, path, &inode);
    if (e)
        return fail(process, e);
    inode->mtime_ms = mtime_ms;
    return ERR_NONE;
}

enum err sim_io_list_dir(struct io *io, const char *path, char ***ret_names, size_t *ret_count)
{
    struct sim_process *process = process_of(io);
    enum err e = fault_check(process, SIM_LIST, path, NULL);
    if (e)
        return e;
    struct sim_inode *dir;
    e = disk_find(&process->machine->disk, path, &dir);
    if (!e && !dir->is_dir)
        e = ERR_IO;
    if (e)
        return fail(process, e);
    char **names = dir->names.count ? mem_array(dir->names.count, sizeof *names) : NULL;
    for (size_t i = 0; i < dir->names.count; i++)
        names[i] = mem_strdup(dir->names.items[i].name);
    *ret_names = names;
    *ret_count = dir->names.count;
    return ERR_NONE;
}

enum err sim_io_space(struct io *io, const char *path, struct io_space *ret_space)
{
    struct sim_process *process = process_of(io);
    struct sim_disk *disk = &process->machine->disk;
    struct sim_inode *inode;
    enum err e = disk_find(disk, path, &inode);
    if (e)
        return fail(process, e);
    int64_t total = disk->space >= 0 ? disk->space : INT64_C(1) << 40;
    int64_t left = total - disk_used(disk);
    *ret_space = (struct io_space){total, left > 0 ? left : 0};
    return ERR_NONE;
}

/* A simulated process works in the root folder. */
char *sim_io_absolute_path(struct io *io, const char *path)
{
    (void)io;
    return path[0] == '/' ? mem_strdup(path) : mem_printf("/%s", path);
}
