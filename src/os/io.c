/* The functions of os/io.h: each hands over to the implementation behind `struct io` (os/io_ops.h),
 * so that the node cannot tell the product's kernel from the simulator's. Nothing is decided here;
 * threads and errors are those of the implementation. */
#include "os/io.h"

#include "base/mem.h"
#include "os/io_ops.h"

int64_t io_wall_ms(struct io *io)
{
    return io->ops->wall_ms(io);
}

int64_t io_mono_ns(struct io *io)
{
    return io->ops->mono_ns(io);
}

void io_random(struct io *io, void *ret_bytes, size_t size)
{
    io->ops->random(io, ret_bytes, size);
}

enum err io_open(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    return io->ops->open(io, path, flags, ret_fd);
}

void io_close(struct io *io, int fd)
{
    io->ops->close(io, fd);
}

enum err io_pread(struct io *io, int fd, void *data, size_t size, int64_t offset, size_t *ret_size)
{
    return io->ops->pread(io, fd, data, size, offset, ret_size);
}

enum err io_pwrite(struct io *io, int fd, const void *data, size_t size, int64_t offset)
{
    struct iovec part = {(void *)(uintptr_t)data, size};
    return io->ops->pwritev(io, fd, &part, 1, offset);
}

enum err io_pwritev(struct io *io, int fd, const struct iovec *parts, int count, int64_t offset)
{
    return io->ops->pwritev(io, fd, parts, count, offset);
}

enum err io_fsync(struct io *io, int fd)
{
    return io->ops->fsync(io, fd);
}

enum err io_fdatasync(struct io *io, int fd)
{
    return io->ops->fdatasync(io, fd);
}

enum err io_truncate(struct io *io, int fd, int64_t size)
{
    return io->ops->truncate(io, fd, size);
}

enum err io_fstat(struct io *io, int fd, struct io_stat *ret_stat)
{
    return io->ops->fstat(io, fd, ret_stat);
}

bool io_is_cached(struct io *io, int fd, int64_t offset, size_t size)
{
    return io->ops->is_cached(io, fd, offset, size);
}

enum err io_stat(struct io *io, const char *path, struct io_stat *ret_stat)
{
    return io->ops->stat(io, path, ret_stat);
}

enum err io_rename(struct io *io, const char *from, const char *to)
{
    return io->ops->rename(io, from, to);
}

enum err io_unlink(struct io *io, const char *path)
{
    return io->ops->unlink(io, path);
}

enum err io_mkdir(struct io *io, const char *path)
{
    return io->ops->mkdir(io, path);
}

enum err io_rmdir(struct io *io, const char *path)
{
    return io->ops->rmdir(io, path);
}

enum err io_sync_dir(struct io *io, const char *path)
{
    return io->ops->sync_dir(io, path);
}

enum err io_set_mtime(struct io *io, const char *path, int64_t mtime_ms)
{
    return io->ops->set_mtime(io, path, mtime_ms);
}

enum err io_list_dir(struct io *io, const char *path, char ***ret_names, size_t *ret_count)
{
    return io->ops->list_dir(io, path, ret_names, ret_count);
}

void io_free_names(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        mem_free(names[i]);
    mem_free(names);
}

enum err io_space(struct io *io, const char *path, struct io_space *ret_space)
{
    return io->ops->space(io, path, ret_space);
}

void io_tidy_path(char *path)
{
    char *to = path;
    for (const char *from = path; *from; from++)
        if (*from != '/' || to == path || to[-1] != '/')
            *to++ = *from;
    if (to > path + 1 && to[-1] == '/')
        to--;
    *to = '\0';
}

char *io_absolute_path(struct io *io, const char *path)
{
    char *absolute = io->ops->absolute_path(io, path);
    io_tidy_path(absolute);
    return absolute;
}

enum err io_lock_file(struct io *io, const char *path, int *ret_fd)
{
    return io->ops->lock_file(io, path, ret_fd);
}

const char *io_error_text(struct io *io, enum err err)
{
    return io->ops->error_text(io, err);
}

struct loop *loop_start(struct io *io, const char *name)
{
    return io->ops->loop_start(io, name);
}

void loop_stop(struct loop *loop)
{
    loop->io->ops->loop_stop(loop);
}

bool loop_is_current(struct loop *loop)
{
    return loop->io->ops->loop_is_current(loop);
}

void loop_post(struct loop *loop, struct loop_task *task)
{
    loop->io->ops->loop_post(loop, task);
}

void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns)
{
    loop->io->ops->timer_set(loop, timer, deadline_ns);
}

void loop_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    loop->io->ops->timer_cancel(loop, timer);
}

enum err loop_watch_set(struct loop *loop, struct loop_watch *watch, unsigned events)
{
    return loop->io->ops->watch_set(loop, watch, events);
}

void loop_watch_remove(struct loop *loop, struct loop_watch *watch)
{
    loop->io->ops->watch_remove(loop, watch);
}

enum err io_resolve(struct io *io, const char *host, uint16_t port, struct io_address *ret_address)
{
    return io->ops->resolve(io, host, port, ret_address);
}

enum err io_bind(struct io *io, const struct io_address *address, int *ret_fd,
                 struct io_address *ret_bound)
{
    return io->ops->bind(io, address, ret_fd, ret_bound);
}

enum err io_listen(struct io *io, int fd, int backlog)
{
    return io->ops->listen(io, fd, backlog);
}

enum err io_accept(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                   struct io_address *ret_peer)
{
    return io->ops->accept(io, listen_fd, ret_fd, ret_local, ret_peer);
}

enum err io_connect(struct io *io, const struct io_address *address, int *ret_fd)
{
    return io->ops->connect(io, address, ret_fd);
}

enum err io_connect_result(struct io *io, int fd)
{
    return io->ops->connect_result(io, fd);
}

enum err io_recv(struct io *io, int fd, void *data, size_t size, size_t *ret_size)
{
    return io->ops->recv(io, fd, data, size, ret_size);
}

enum err io_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                  size_t *ret_size)
{
    return io->ops->sendv(io, fd, parts, count, more, ret_size);
}

enum err io_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                     size_t *ret_size)
{
    return io->ops->sendfile(io, fd, file_fd, offset, size, ret_size);
}

void io_set_buffers(struct io *io, int fd, int send_size, int receive_size)
{
    io->ops->set_buffers(io, fd, send_size, receive_size);
}

void io_submit(struct io *io, struct io_job *job)
{
    io->ops->submit(io, job);
}

enum err io_on_stop(struct io *io, struct loop *loop, void (*stop)(void *context), void *context)
{
    return io->ops->on_stop(io, loop, stop, context);
}

int64_t io_memory_limit(struct io *io)
{
    return io->ops->memory_limit(io);
}

int64_t io_raise_file_limit(struct io *io)
{
    return io->ops->raise_file_limit(io);
}

int io_processors(struct io *io)
{
    return io->ops->processors(io);
}

enum err io_boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE])
{
    return io->ops->boot_id(io, ret_id);
}
