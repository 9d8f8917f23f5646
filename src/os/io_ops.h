/* What stands behind `struct io`: one table of functions for each implementation (os/io_linux.c for
 * the product, tests/sim for the simulator). Embed `struct io` as the first member of the
 * implementation's own struct, and `struct loop` likewise. The meaning of every entry, its threads
 * and its errors are those of the function with the same name in os/io.h. */
#ifndef KLAMM_OS_IO_OPS_H
#define KLAMM_OS_IO_OPS_H

#include "os/io.h"

struct io_ops {
    int64_t (*wall_ms)(struct io *io);
    int64_t (*mono_ns)(struct io *io);
    void (*random)(struct io *io, void *ret_bytes, size_t size);

    enum err (*open)(struct io *io, const char *path, unsigned flags, int *ret_fd);
    void (*close)(struct io *io, int fd); /* files and sockets */
    enum err (*pread)(struct io *io, int fd, void *data, size_t size, int64_t offset,
                      size_t *ret_size);
    enum err (*pwritev)(struct io *io, int fd, const struct iovec *parts, int count,
                        int64_t offset);
    enum err (*fsync)(struct io *io, int fd);
    enum err (*fdatasync)(struct io *io, int fd);
    enum err (*truncate)(struct io *io, int fd, int64_t size);
    enum err (*fstat)(struct io *io, int fd, struct io_stat *ret_stat);
    bool (*is_cached)(struct io *io, int fd, int64_t offset, size_t size);
    enum err (*stat)(struct io *io, const char *path, struct io_stat *ret_stat);
    enum err (*rename)(struct io *io, const char *from, const char *to);
    enum err (*unlink)(struct io *io, const char *path);
    enum err (*mkdir)(struct io *io, const char *path);
    enum err (*rmdir)(struct io *io, const char *path);
    enum err (*sync_dir)(struct io *io, const char *path);
    enum err (*set_mtime)(struct io *io, const char *path, int64_t mtime_ms);
    enum err (*list_dir)(struct io *io, const char *path, char ***ret_names, size_t *ret_count);
    enum err (*space)(struct io *io, const char *path, struct io_space *ret_space);
    char *(*absolute_path)(struct io *io, const char *path);
    enum err (*lock_file)(struct io *io, const char *path, int *ret_fd);
    const char *(*error_text)(struct io *io, enum err err);

    struct loop *(*loop_start)(struct io *io, const char *name);
    void (*loop_stop)(struct loop *loop);
    bool (*loop_is_current)(struct loop *loop);
    void (*loop_post)(struct loop *loop, struct loop_task *task);
    void (*timer_set)(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns);
    void (*timer_cancel)(struct loop *loop, struct loop_timer *timer);
    enum err (*watch_set)(struct loop *loop, struct loop_watch *watch, unsigned events);
    void (*watch_remove)(struct loop *loop, struct loop_watch *watch);

    enum err (*resolve)(struct io *io, const char *host, uint16_t port,
                        struct io_address *ret_address);
    enum err (*bind)(struct io *io, const struct io_address *address, int *ret_fd,
                     struct io_address *ret_bound);
    enum err (*listen)(struct io *io, int fd, int backlog);
    enum err (*accept)(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                       struct io_address *ret_peer);
    enum err (*connect)(struct io *io, const struct io_address *address, int *ret_fd);
    enum err (*connect_result)(struct io *io, int fd);
    enum err (*recv)(struct io *io, int fd, void *data, size_t size, size_t *ret_size);
    enum err (*sendv)(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                      size_t *ret_size);
    enum err (*sendfile)(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                         size_t *ret_size);
    void (*set_buffers)(struct io *io, int fd, int send_size, int receive_size);

    void (*submit)(struct io *io, struct io_job *job);
    enum err (*on_stop)(struct io *io, struct loop *loop, void (*stop)(void *context),
                        void *context);
    int64_t (*memory_limit)(struct io *io);
    int64_t (*raise_file_limit)(struct io *io);
    int (*processors)(struct io *io);
    enum err (*boot_id)(struct io *io, char ret_id[IO_BOOT_ID_SIZE]);
};

struct io {
    const struct io_ops *ops;
};

struct loop {
    struct io *io;
};

#endif
