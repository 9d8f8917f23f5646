/* Open files of the Linux implementation: whole reads and writes, syncing, and the question whether
 * pages are cached. Any thread.
 *
 * errno becomes an enum err here and its number is kept for each thread, so that io_error_text can
 * say what the kernel said. A full disk and a lack of descriptors have errors of their own, because
 * they are states a node lives through, not failures of a folder. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io_linux_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Headers older than the running kernel do not know it; the number is the same everywhere. */
#ifndef __NR_cachestat
#define __NR_cachestat 451
#endif

enum { KINDS = 16 };
/* Of each kind of error the last one; a call that failed after it in another way does not count. */
static _Thread_local int numbers[KINDS];

static enum err kind_of(int number)
{
    switch (number) {
    case ENOSPC:
    case EDQUOT: return ERR_DISK_FULL;
    case EMFILE:
    case ENFILE: return ERR_TOO_MANY_FILES;
    case ENOENT: return ERR_NOT_FOUND;
    case EEXIST:
    case ENOTEMPTY: return ERR_EXISTS;
    case EAGAIN: return ERR_AGAIN;
    case EADDRINUSE: return ERR_BUSY;
    case ENOMEM:
    case ENOBUFS: return ERR_NO_MEMORY;
    case EPIPE:
    case ECONNRESET:
    case ECONNABORTED:
    case ECONNREFUSED:
    case ENOTCONN:
    case ETIMEDOUT: return ERR_CLOSED;
    default: return ERR_IO;
    }
}

enum err errno_to_err(int number)
{
    enum err err = kind_of(number);
    numbers[(int)err - (int)ERR_IO] = number;
    return err;
}

const char *linux_error_text(struct io *io, enum err err)
{
    (void)io;
    static _Thread_local char text[128];
    int kind = (int)err - (int)ERR_IO;
    if (kind < 0 || kind >= KINDS || !numbers[kind])
        return err_text(err);
    return strerror_r(numbers[kind], text, sizeof text);
}

enum err linux_open(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    (void)io;
    int how = O_CLOEXEC;
    if ((flags & IO_READ) && (flags & IO_WRITE))
        how |= O_RDWR;
    else
        how |= flags & IO_WRITE ? O_WRONLY : O_RDONLY;
    how |= flags & IO_CREATE ? O_CREAT : 0;
    how |= flags & IO_EXCLUSIVE ? O_EXCL : 0;
    how |= flags & IO_TRUNCATE ? O_TRUNC : 0;
    mode_t mode = 0644;
    if (flags & IO_PRIVATE)
        mode = 0600;
    else if (flags & IO_READ_ONLY_FILE)
        mode = 0400;
    int fd;
    do
        fd = open(path, how, mode);
    while (fd < 0 && errno == EINTR);
    if (fd < 0)
        return errno_to_err(errno);
    *ret_fd = fd;
    return ERR_NONE;
}

void linux_close(struct io *io, int fd)
{
    (void)io;
    /* Linux frees the number even when close reports an error. EBADF would be a bug of ours. */
    ENSURE(close(fd) == 0 || errno != EBADF);
}

enum err linux_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                     size_t *ret_size)
{
    (void)io;
    size_t done = 0;
    while (done < size) {
        ssize_t got = pread(fd, (uint8_t *)data + done, size - done, offset + (int64_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno_to_err(errno);
        if (got == 0)
            break;
        done += (size_t)got;
    }
    *ret_size = done;
    return ERR_NONE;
}

/* The part of `parts` after `done` bytes, into at most `left_max` entries of `left`. */
static int parts_after(const struct iovec *parts, int count, size_t done, struct iovec *left,
                       int left_max)
{
    int used = 0;
    for (int i = 0; i < count && used < left_max; i++) {
        if (done >= parts[i].iov_len) {
            done -= parts[i].iov_len;
            continue;
        }
        left[used].iov_base = (uint8_t *)parts[i].iov_base + done;
        left[used++].iov_len = parts[i].iov_len - done;
        done = 0;
    }
    return used;
}

enum err linux_pwritev(struct io *io, int fd, const struct iovec *parts, int count, int64_t offset)
{
    (void)io;
    enum { PARTS_MAX = 64 };
    size_t total = 0, done = 0;
    for (int i = 0; i < count; i++)
        total += parts[i].iov_len;
    while (done < total) {
        struct iovec left[PARTS_MAX];
        int used = parts_after(parts, count, done, left, PARTS_MAX);
        ssize_t put = pwritev(fd, left, used, offset + (int64_t)done);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0) /* nothing written and no error: do not ask for ever */
            return errno_to_err(put < 0 ? errno : EIO);
        done += (size_t)put;
    }
    return ERR_NONE;
}

enum err linux_fsync(struct io *io, int fd)
{
    (void)io;
    return fsync(fd) == 0 ? ERR_NONE : errno_to_err(errno);
}

enum err linux_fdatasync(struct io *io, int fd)
{
    (void)io;
    return fdatasync(fd) == 0 ? ERR_NONE : errno_to_err(errno);
}

enum err linux_truncate(struct io *io, int fd, int64_t size)
{
    (void)io;
    int result;
    do
        result = ftruncate(fd, size);
    while (result < 0 && errno == EINTR);
    return result == 0 ? ERR_NONE : errno_to_err(errno);
}

struct io_stat io_stat_of(const struct stat *st)
{
    return (struct io_stat){
        .size = st->st_size,
        .mtime_ms = (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
        .is_dir = S_ISDIR(st->st_mode),
    };
}

enum err linux_fstat(struct io *io, int fd, struct io_stat *ret_stat)
{
    (void)io;
    struct stat st;
    if (fstat(fd, &st) < 0)
        return errno_to_err(errno);
    *ret_stat = io_stat_of(&st);
    return ERR_NONE;
}

/* One byte, only if it is in memory. */
static bool byte_is_cached(int fd, int64_t offset)
{
    uint8_t byte;
    struct iovec part = {&byte, 1};
    ssize_t got = preadv2(fd, &part, 1, offset, RWF_NOWAIT);
    return got >= 0 || errno != EAGAIN;
}

/* cachestat (Linux 6.5) counts the pages of a range in one call, but also those that the kernel has
 * only begun to read ahead, up to megabytes of them, and a sendfile would wait for the disk there.
 * A byte that can be read without waiting tells the two apart, because segments are read front to
 * back: the last one first. Where cachestat is missing or refused, both ends stand for the whole.
 */
bool linux_is_cached(struct io *io, int fd, int64_t offset, size_t size)
{
    (void)io;
    if (size == 0)
        return true;
    int64_t offset_last = offset + (int64_t)size - 1;
    if (!byte_is_cached(fd, offset_last))
        return false;
    if (offset >> 12 == offset_last >> 12)
        return true;
    if (!byte_is_cached(fd, offset))
        return false;
    struct {
        uint64_t offset, size;
    } range = {(uint64_t)offset, size};
    struct {
        uint64_t cached, dirty, writeback, evicted, recently_evicted;
    } pages = {0};
    if (syscall(__NR_cachestat, fd, &range, &pages, 0) == 0)
        return pages.cached >= (uint64_t)((offset_last >> 12) - (offset >> 12)) + 1;
    return true;
}
