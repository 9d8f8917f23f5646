/* Shared by the files of the Linux implementation of struct io; nobody else includes it. */
#ifndef KLAMM_OS_IO_LINUX_INTERNAL_H
#define KLAMM_OS_IO_LINUX_INTERNAL_H

#include "os/io_ops.h"
#include "os/worker.h"

#include <pthread.h>

/* Thread stacks: handlers and jobs keep big things on the heap, and only touched pages count. */
enum { THREAD_STACK_SIZE = 512 * 1024 };

struct stop_signal;

struct io_linux {
    struct io io; /* first */
    struct worker_pool workers;
    struct stop_signal *stop_signal; /* NULL until io_on_stop */
};

static inline struct io_linux *io_linux_of(struct io *io)
{
    return (struct io_linux *)(void *)io;
}

/* io_linux.c: starts a thread with a small stack, all signals blocked and a name of up to 15
 * characters. Never fails: a process that cannot have its few threads cannot run. */
pthread_t thread_start(const char *name, void *(*run)(void *), void *context);

/* io_linux_file.c: maps errno to an enum err and keeps the text for io_error_text. */
enum err errno_to_err(int number);
struct stat;
struct io_stat io_stat_of(const struct stat *st);

/* io_linux_file.c */
enum err linux_open(struct io *io, const char *path, unsigned flags, int *ret_fd);
void linux_close(struct io *io, int fd);
enum err linux_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                     size_t *ret_size);
enum err linux_pwritev(struct io *io, int fd, const struct iovec *parts, int count, int64_t offset);
enum err linux_fsync(struct io *io, int fd);
enum err linux_fdatasync(struct io *io, int fd);
enum err linux_truncate(struct io *io, int fd, int64_t size);
enum err linux_fstat(struct io *io, int fd, struct io_stat *ret_stat);
bool linux_is_cached(struct io *io, int fd, int64_t offset, size_t size);
const char *linux_error_text(struct io *io, enum err err);

/* io_linux_path.c */
enum err linux_stat(struct io *io, const char *path, struct io_stat *ret_stat);
enum err linux_rename(struct io *io, const char *from, const char *to);
enum err linux_unlink(struct io *io, const char *path);
enum err linux_mkdir(struct io *io, const char *path);
enum err linux_rmdir(struct io *io, const char *path);
enum err linux_sync_dir(struct io *io, const char *path);
enum err linux_set_mtime(struct io *io, const char *path, int64_t mtime_ms);
enum err linux_list_dir(struct io *io, const char *path, char ***ret_names, size_t *ret_count);
enum err linux_space(struct io *io, const char *path, struct io_space *ret_space);
char *linux_absolute_path(struct io *io, const char *path);
enum err linux_lock_file(struct io *io, const char *path, int *ret_fd);

/* loop.c */
struct loop *linux_loop_start(struct io *io, const char *name);
void linux_loop_stop(struct loop *loop);
bool linux_loop_is_current(struct loop *loop);
void linux_loop_post(struct loop *loop, struct loop_task *task);
void linux_timer_set(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns);
void linux_timer_cancel(struct loop *loop, struct loop_timer *timer);
enum err linux_watch_set(struct loop *loop, struct loop_watch *watch, unsigned events);
void linux_watch_remove(struct loop *loop, struct loop_watch *watch);

/* io_linux_socket.c */
enum err linux_resolve(struct io *io, const char *host, uint16_t port,
                       struct io_address *ret_address);
enum err linux_bind(struct io *io, const struct io_address *address, int *ret_fd,
                    struct io_address *ret_bound);
enum err linux_listen(struct io *io, int fd, int backlog);
enum err linux_accept(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                      struct io_address *ret_peer);
enum err linux_connect(struct io *io, const struct io_address *address, int *ret_fd);
enum err linux_connect_result(struct io *io, int fd);
enum err linux_recv(struct io *io, int fd, void *data, size_t size, size_t *ret_size);
enum err linux_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                     size_t *ret_size);
enum err linux_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                        size_t *ret_size);
void linux_set_buffers(struct io *io, int fd, int send_size, int receive_size);

/* process.c */
enum err linux_on_stop(struct io *io, struct loop *loop, void (*stop)(void *context),
                       void *context);
void stop_signal_free(struct stop_signal *signal);
int64_t linux_memory_limit(struct io *io);
int64_t linux_raise_file_limit(struct io *io);
int linux_processors(struct io *io);
enum err linux_boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE]);

#endif
