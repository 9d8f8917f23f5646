/* An io over another one that fails its Nth call of some kinds: that one, or all from it on. Only
 * what store/ does with files is there; a sync does nothing. */
#ifndef KLAMM_TESTS_FAULTY_IO_H
#define KLAMM_TESTS_FAULTY_IO_H

#include "os/io_ops.h"

enum {
    FAULT_OPEN = 1 << 0, /* of what is there */
    FAULT_CREATE = 1 << 1,
    FAULT_READ = 1 << 2,
    FAULT_WRITE = 1 << 3, /* the first half of the first piece is written */
    FAULT_SYNC = 1 << 4,
    FAULT_TRUNCATE = 1 << 5,
    FAULT_STAT = 1 << 6,
    FAULT_RENAME = 1 << 7,
    FAULT_UNLINK = 1 << 8,
    FAULT_MKDIR = 1 << 9,
    FAULT_RMDIR = 1 << 10,
    FAULT_SYNC_DIR = 1 << 11,
    FAULT_SET_MTIME = 1 << 12,
    FAULT_LIST = 1 << 13,
    /* All that changes a disk, or makes a change last. */
    FAULT_CHANGE = FAULT_CREATE | FAULT_WRITE | FAULT_SYNC | FAULT_TRUNCATE | FAULT_RENAME |
                   FAULT_UNLINK | FAULT_MKDIR | FAULT_RMDIR | FAULT_SYNC_DIR | FAULT_SET_MTIME,
};

struct faulty {
    struct io io; /* first: the ops get a pointer to it */
    struct io *inner;
    unsigned kinds;
    long calls, fail_at; /* of these kinds; -1 = none fails */
    bool stays;          /* every later call fails, too */
    enum err err;
    const char *opened; /* FAULT_OPEN: only of paths with this in them; NULL: any */
};

static inline struct faulty *faulty_of(struct io *io)
{
    return (struct faulty *)(void *)io;
}

/* Counts a call of the kind; true when it is to fail. */
static inline bool faulty_fails(struct io *io, unsigned kind)
{
    struct faulty *faulty = faulty_of(io);
    if (!(faulty->kinds & kind))
        return false;
    long call = faulty->calls++;
    return faulty->fail_at >= 0 &&
           (faulty->stays ? call >= faulty->fail_at : call == faulty->fail_at);
}

static inline int64_t faulty_wall_ms(struct io *io)
{
    return io_wall_ms(faulty_of(io)->inner);
}

static inline int64_t faulty_mono_ns(struct io *io)
{
    return io_mono_ns(faulty_of(io)->inner);
}

static inline void faulty_random(struct io *io, void *bytes, size_t size)
{
    io_random(faulty_of(io)->inner, bytes, size);
}

static inline enum err faulty_open(struct io *io, const char *path, unsigned flags, int *fd)
{
    bool create = flags & IO_CREATE;
    const char *part = faulty_of(io)->opened;
    bool counts = create || !part || strstr(path, part);
    if (counts && faulty_fails(io, create ? FAULT_CREATE : FAULT_OPEN))
        return faulty_of(io)->err;
    return io_open(faulty_of(io)->inner, path, flags, fd);
}

static inline void faulty_close(struct io *io, int fd)
{
    io_close(faulty_of(io)->inner, fd);
}

static inline enum err faulty_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                                    size_t *got)
{
    return faulty_fails(io, FAULT_READ)
               ? faulty_of(io)->err
               : io_pread(faulty_of(io)->inner, fd, data, size, offset, got);
}

static inline enum err faulty_pwritev(struct io *io, int fd, const struct iovec *parts, int count,
                                      int64_t offset)
{
    if (!faulty_fails(io, FAULT_WRITE))
        return io_pwritev(faulty_of(io)->inner, fd, parts, count, offset);
    io_pwrite(faulty_of(io)->inner, fd, parts[0].iov_base, parts[0].iov_len / 2, offset);
    return faulty_of(io)->err;
}

static inline enum err faulty_sync(struct io *io, int fd)
{
    (void)fd; /* nothing here survives a power cut: do not wait for the disk */
    return faulty_fails(io, FAULT_SYNC) ? faulty_of(io)->err : ERR_NONE;
}

static inline enum err faulty_truncate(struct io *io, int fd, int64_t size)
{
    return faulty_fails(io, FAULT_TRUNCATE) ? faulty_of(io)->err
                                            : io_truncate(faulty_of(io)->inner, fd, size);
}

static inline enum err faulty_fstat(struct io *io, int fd, struct io_stat *stat_buf)
{
    return faulty_fails(io, FAULT_STAT) ? faulty_of(io)->err
                                        : io_fstat(faulty_of(io)->inner, fd, stat_buf);
}

static inline enum err faulty_stat(struct io *io, const char *path, struct io_stat *stat_buf)
{
    return faulty_fails(io, FAULT_STAT) ? faulty_of(io)->err
                                        : io_stat(faulty_of(io)->inner, path, stat_buf);
}

static inline enum err faulty_rename(struct io *io, const char *from, const char *to)
{
    return faulty_fails(io, FAULT_RENAME) ? faulty_of(io)->err
                                          : io_rename(faulty_of(io)->inner, from, to);
}

static inline enum err faulty_unlink(struct io *io, const char *path)
{
    return faulty_fails(io, FAULT_UNLINK) ? faulty_of(io)->err
                                          : io_unlink(faulty_of(io)->inner, path);
}

static inline enum err faulty_mkdir(struct io *io, const char *path)
{
    return faulty_fails(io, FAULT_MKDIR) ? faulty_of(io)->err
                                         : io_mkdir(faulty_of(io)->inner, path);
}

static inline enum err faulty_rmdir(struct io *io, const char *path)
{
    return faulty_fails(io, FAULT_RMDIR) ? faulty_of(io)->err
                                         : io_rmdir(faulty_of(io)->inner, path);
}

static inline enum err faulty_sync_dir(struct io *io, const char *path)
{
    (void)path;
    return faulty_fails(io, FAULT_SYNC_DIR) ? faulty_of(io)->err : ERR_NONE;
}

static inline enum err faulty_set_mtime(struct io *io, const char *path, int64_t mtime_ms)
{
    return faulty_fails(io, FAULT_SET_MTIME) ? faulty_of(io)->err
                                             : io_set_mtime(faulty_of(io)->inner, path, mtime_ms);
}

static inline enum err faulty_list_dir(struct io *io, const char *path, char ***names,
                                       size_t *count)
{
    return faulty_fails(io, FAULT_LIST) ? faulty_of(io)->err
                                        : io_list_dir(faulty_of(io)->inner, path, names, count);
}

static inline enum err faulty_space(struct io *io, const char *path, struct io_space *space)
{
    return io_space(faulty_of(io)->inner, path, space);
}

static inline enum err faulty_lock_file(struct io *io, const char *path, int *fd)
{
    return io_lock_file(faulty_of(io)->inner, path, fd);
}

static inline const char *faulty_error_text(struct io *io, enum err err)
{
    (void)io;
    (void)err;
    return "made to fail";
}

static inline void faulty_submit(struct io *io, struct io_job *job)
{
    io_submit(faulty_of(io)->inner, job);
}

static inline int faulty_processors(struct io *io)
{
    return io_processors(faulty_of(io)->inner);
}

static inline enum err faulty_boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE])
{
    return io_boot_id(faulty_of(io)->inner, ret_id);
}

/* `kinds` are counted and may fail; nothing does until fail_at is set. */
static inline void faulty_init(struct faulty *faulty, struct io *inner, unsigned kinds,
                               enum err err)
{
    static const struct io_ops ops = {
        .wall_ms = faulty_wall_ms,
        .mono_ns = faulty_mono_ns,
        .random = faulty_random,
        .open = faulty_open,
        .close = faulty_close,
        .pread = faulty_pread,
        .pwritev = faulty_pwritev,
        .fsync = faulty_sync,
        .fdatasync = faulty_sync,
        .truncate = faulty_truncate,
        .fstat = faulty_fstat,
        .stat = faulty_stat,
        .rename = faulty_rename,
        .unlink = faulty_unlink,
        .mkdir = faulty_mkdir,
        .rmdir = faulty_rmdir,
        .sync_dir = faulty_sync_dir,
        .set_mtime = faulty_set_mtime,
        .list_dir = faulty_list_dir,
        .space = faulty_space,
        .lock_file = faulty_lock_file,
        .error_text = faulty_error_text,
        .submit = faulty_submit,
        .processors = faulty_processors,
        .boot_id = faulty_boot_id,
    };
    *faulty =
        (struct faulty){.io = {&ops}, .inner = inner, .kinds = kinds, .fail_at = -1, .err = err};
}

#endif
