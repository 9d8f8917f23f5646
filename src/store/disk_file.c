/* Reading and replacing whole small files (checkpoints, metadata, snapshots). No state; any thread,
 * as long as two threads do not replace the same file. */
#include "store/disk_file.h"

#include "base/mem.h"
#include "os/io.h"

#include <string.h>

enum err disk_file_read(struct io *io, const char *path, size_t size_max, struct buf *out)
{
    int fd;
    enum err err = io_open(io, path, IO_READ, &fd);
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(io, fd, &stat);
    if (!err && (uint64_t)stat.size > size_max)
        err = ERR_TOO_LARGE;
    if (!err && stat.size) {
        size_t before = out->size, got;
        uint8_t *data = buf_extend(out, (size_t)stat.size);
        if (!data)
            err = ERR_TOO_LARGE;
        else
            err = io_pread(io, fd, data, (size_t)stat.size, 0, &got);
        out->size = err ? before : before + got;
    }
    io_close(io, fd);
    return err;
}

enum err disk_file_sync_parent(struct io *io, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *parent =
        slash ? mem_printf("%.*s", (int)(slash > path ? slash - path : 1), path) : mem_strdup(".");
    enum err err = io_sync_dir(io, parent);
    mem_free(parent);
    return err;
}

enum err disk_file_replace(struct io *io, const char *path, struct slice bytes, bool sync)
{
    char *temporary = mem_printf("%s.tmp", path);
    int fd;
    enum err err = io_open(io, temporary, IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd);
    if (err)
        goto out;
    err = io_pwrite(io, fd, bytes.data, bytes.size, 0);
    if (!err && sync)
        err = io_fsync(io, fd);
    io_close(io, fd);
    if (!err)
        err = io_rename(io, temporary, path);
    if (!err && sync)
        err = disk_file_sync_parent(io, path);
    if (err)
        io_unlink(io, temporary);
out:
    mem_free(temporary);
    return err;
}
