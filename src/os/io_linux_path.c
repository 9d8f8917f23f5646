/* Names of files and directories of the Linux implementation. Any thread.
 *
 * Locks are of the fcntl kind, because Apache Kafka takes that kind on its `.lock` files: the two
 * exclude each other. Ours belong to the open file (F_OFD_SETLK), so they exclude a second holder
 * in this process too and do not vanish when somebody else closes the same file. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io_linux_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum err linux_stat(struct io *io, const char *path, struct io_stat *ret_stat)
{
    (void)io;
    struct stat st;
    if (stat(path, &st) < 0)
        return errno_to_err(errno);
    *ret_stat = io_stat_of(&st);
    return ERR_NONE;
}

enum err linux_rename(struct io *io, const char *from, const char *to)
{
    (void)io;
    return rename(from, to) == 0 ? ERR_NONE : errno_to_err(errno);
}

enum err linux_unlink(struct io *io, const char *path)
{
    (void)io;
    return unlink(path) == 0 ? ERR_NONE : errno_to_err(errno);
}

enum err linux_mkdir(struct io *io, const char *path)
{
    (void)io;
    return mkdir(path, 0755) == 0 ? ERR_NONE : errno_to_err(errno);
}

enum err linux_rmdir(struct io *io, const char *path)
{
    (void)io;
    return rmdir(path) == 0 ? ERR_NONE : errno_to_err(errno);
}

enum err linux_sync_dir(struct io *io, const char *path)
{
    (void)io;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return errno_to_err(errno);
    enum err e = fsync(fd) == 0 ? ERR_NONE : errno_to_err(errno);
    close(fd);
    return e;
}

enum err linux_set_mtime(struct io *io, const char *path, int64_t mtime_ms)
{
    (void)io;
    struct timespec times[2] = {
        {.tv_nsec = UTIME_OMIT},
        {.tv_sec = mtime_ms / 1000, .tv_nsec = (mtime_ms % 1000) * 1000000},
    };
    return utimensat(AT_FDCWD, path, times, 0) == 0 ? ERR_NONE : errno_to_err(errno);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum err linux_list_dir(struct io *io, const char *path, char ***ret_names, size_t *ret_count)
{
    (void)io;
    DIR *dir = opendir(path);
    if (!dir)
        return errno_to_err(errno);
    char **names = NULL;
    size_t count = 0, capacity = 0;
    struct dirent *entry;
    for (errno = 0; (entry = readdir(dir)); errno = 0) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        names = mem_grow(names, &capacity, count, sizeof *names);
        names[count++] = mem_strdup(entry->d_name);
    }
    int failed = errno;
    closedir(dir);
    if (failed) {
        io_free_names(names, count);
        return errno_to_err(failed);
    }
    if (count > 0)
        qsort(names, count, sizeof *names, compare_names);
    *ret_names = names;
    *ret_count = count;
    return ERR_NONE;
}

enum err linux_space(struct io *io, const char *path, struct io_space *ret_space)
{
    (void)io;
    struct statvfs fs;
    if (statvfs(path, &fs) < 0)
        return errno_to_err(errno);
    *ret_space = (struct io_space){
        .total = (int64_t)(fs.f_blocks * fs.f_frsize),
        .free = (int64_t)(fs.f_bavail * fs.f_frsize),
    };
    return ERR_NONE;
}

char *linux_absolute_path(struct io *io, const char *path)
{
    (void)io;
    char folder[PATH_MAX];
    if (path[0] == '/' || !getcwd(folder, sizeof folder))
        return mem_strdup(path);
    return mem_printf("%s/%s", strcmp(folder, "/") == 0 ? "" : folder, path);
}

enum err linux_lock_file(struct io *io, const char *path, int *ret_fd)
{
    (void)io;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return errno_to_err(errno);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(fd, F_OFD_SETLK, &whole) < 0) {
        int failed = errno;
        close(fd);
        enum err e = errno_to_err(failed);
        return failed == EAGAIN || failed == EACCES ? ERR_BUSY : e;
    }
    *ret_fd = fd;
    return ERR_NONE;
}
