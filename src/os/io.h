/* The seam: everything the node asks of the operating system goes through `struct io`. The product
 * builds one over Linux (io_linux_new in os/io_linux.h), the simulator one over simulated disks,
 * clocks and sockets (tests/sim). No other module calls the kernel, reads a clock or draws a random
 * number.
 *
 * Threads. A *loop* runs callbacks one at a time: socket watches, timers and posted tasks. Product:
 * one thread each; simulator: all loops are driven from one event heap. A *worker job* may block;
 * its `done` callback is posted to a loop. File calls may be made from any thread. Socket, watch
 * and timer calls are made on the loop that owns them.
 *
 * Errors: enum err; ERR_AGAIN for "would block". ret_x stay untouched on failure. */
#ifndef KLAMM_OS_IO_H
#define KLAMM_OS_IO_H

#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/slice.h"

#include <sys/types.h>
#include <sys/uio.h>

struct io;
struct loop;

/* ---- clock and randomness (any thread) ---- */

int64_t io_wall_ms(struct io *io); /* ms since 1970; may jump */
int64_t io_mono_ns(struct io *io); /* never goes back; origin is arbitrary */
static inline int64_t io_mono_ms(struct io *io)
{
    return io_mono_ns(io) / 1000000;
}
void io_random(struct io *io, void *ret_bytes, size_t size);

/* ---- files (any thread) ---- */

enum io_open_flags {
    IO_READ = 1,            /* read */
    IO_WRITE = 2,           /* write */
    IO_CREATE = 4,          /* create when absent */
    IO_EXCLUSIVE = 8,       /* fail with ERR_EXISTS when present */
    IO_TRUNCATE = 16,       /* empty it */
    IO_PRIVATE = 32,        /* create with mode 0600 instead of 0644 */
    IO_READ_ONLY_FILE = 64, /* create with mode 0400 (KRaft checkpoints) */
};

struct io_stat {
    int64_t size;
    int64_t mtime_ms;
    bool is_dir;
};

struct io_space { /* of the file system that holds a path, in bytes */
    int64_t total, free;
};

enum err io_open(struct io *io, const char *path, unsigned flags, int *ret_fd);
void io_close(struct io *io, int fd);
/* Reads up to `size` bytes at `offset`; fewer only at the end of the file. */
enum err io_pread(struct io *io, int fd, void *data, size_t size, int64_t offset, size_t *ret_size);
/* Writes all or fails; on failure any prefix may be there. */
enum err io_pwrite(struct io *io, int fd, const void *data, size_t size, int64_t offset);
enum err io_pwritev(struct io *io, int fd, const struct iovec *parts, int count, int64_t offset);
enum err io_fsync(struct io *io, int fd);     /* data and metadata */
enum err io_fdatasync(struct io *io, int fd); /* data and size */
enum err io_truncate(struct io *io, int fd, int64_t size);
enum err io_fstat(struct io *io, int fd, struct io_stat *ret_stat);
/* True when [offset, offset + size) is in the page cache, so that sending it cannot block. */
bool io_is_cached(struct io *io, int fd, int64_t offset, size_t size);

enum err io_stat(struct io *io, const char *path, struct io_stat *ret_stat);
enum err io_rename(struct io *io, const char *from, const char *to); /* replaces `to` */
enum err io_unlink(struct io *io, const char *path);
enum err io_mkdir(struct io *io, const char *path); /* 0755; ERR_EXISTS when there */
enum err io_rmdir(struct io *io, const char *path);
enum err io_sync_dir(struct io *io, const char *path); /* makes creates and renames in it durable */
enum err io_set_mtime(struct io *io, const char *path, int64_t mtime_ms);
/* Names in a directory (without "." and ".."), sorted bytewise; each from mem_alloc, and the array
 * too: io_free_names frees both. */
enum err io_list_dir(struct io *io, const char *path, char ***ret_names, size_t *ret_count);
void io_free_names(char **names, size_t count);
enum err io_space(struct io *io, const char *path, struct io_space *ret_space);
/* Leaves one slash of several and none at the end, as Java's File does. In place. */
void io_tidy_path(char *path);
/* The path seen from the root ("/a/b"), tidied, from mem_alloc; nothing in it is resolved. As it is
 * when the working directory is not known. */
char *io_absolute_path(struct io *io, const char *path);
/* Exclusive whole-file lock (fcntl kind) that ends with the process; ERR_BUSY when held. */
enum err io_lock_file(struct io *io, const char *path, int *ret_fd);
/* What the system said when a call of this thread last failed with `err` ("No space left on
 * device"); the error's name when none did. */
const char *io_error_text(struct io *io, enum err err);

/* ---- loops ---- */

/* A callback to run once on a loop. Owned by the caller and embedded in its object; it must not be
 * posted again before it ran. */
struct loop_task {
    struct list link;
    void (*run)(struct loop_task *task);
};

/* A timer; embedded. Zero-initialized = not set. */
struct loop_timer {
    struct heap_node node; /* key: io_mono_ns deadline */
    void (*expired)(struct loop_timer *timer);
};

enum loop_events {
    LOOP_READABLE = 1,
    LOOP_WRITABLE = 2,
    LOOP_HANGUP = 4, /* reported only */
    /* The peer sends no more; bytes it sent before may still wait to be read. For ever reported
     * while wanted, so stop wanting it when it was seen. */
    LOOP_PEER_CLOSED = 8,
};

/* A watched socket; embedded. Level-triggered. */
struct loop_watch {
    int fd;
    unsigned events; /* wanted; set by loop_watch_set */
    bool registered; /* internal; zero-initialize */
    void (*ready)(struct loop_watch *watch, unsigned events);
};

/* A new loop; it starts at once (product: its own thread, named `name`). */
struct loop *loop_start(struct io *io, const char *name);
/* Ends a loop after the callback under way and all tasks posted before, and frees it. Not from the
 * loop itself. Timers and watches must be gone. */
void loop_stop(struct loop *loop);
bool loop_is_current(struct loop *loop); /* true on the thread that runs it */

/* Runs task->run on the loop, in the order of posts from one thread. Any thread. */
void loop_post(struct loop *loop, struct loop_task *task);

/* Loop thread only. Setting again moves the deadline. */
void loop_timer_set(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns);
void loop_timer_cancel(struct loop *loop, struct loop_timer *timer);
static inline bool loop_timer_is_set(const struct loop_timer *timer)
{
    return heap_has(&timer->node);
}

/* Loop thread only. loop_watch_set adds or changes; events = 0 keeps it registered but silent. */
enum err loop_watch_set(struct loop *loop, struct loop_watch *watch, unsigned events);
void loop_watch_remove(struct loop *loop, struct loop_watch *watch);

/* ---- sockets (loop thread) ---- */

struct io_address {
    char host[64]; /* numeric IPv4 or IPv6 text, without brackets */
    uint16_t port;
};

/* Resolves a host name or numeric address ("" or "0.0.0.0" = all). May block: start-up or worker.
 */
enum err io_resolve(struct io *io, const char *host, uint16_t port, struct io_address *ret_address);
/* A non-blocking socket that holds the address; who connects is refused until io_listen. port 0
 * picks a free one. ERR_BUSY when another socket holds or serves the port, be it one that does not
 * listen yet. Any thread. */
enum err io_bind(struct io *io, const struct io_address *address, int *ret_fd,
                 struct io_address *ret_bound);
/* From now on connections come in. Any thread. */
enum err io_listen(struct io *io, int fd, int backlog);
/* ERR_AGAIN when none waits; ERR_TOO_MANY_FILES. Sets non-blocking and no-delay. */
enum err io_accept(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                   struct io_address *ret_peer);
enum err io_connect(struct io *io, const struct io_address *address, int *ret_fd); /* under way */
enum err io_connect_result(struct io *io, int fd); /* once writable */
/* size 0 read = ERR_CLOSED; a reset is ERR_CLOSED too. */
enum err io_recv(struct io *io, int fd, void *data, size_t size, size_t *ret_size);
/* `more`: further bytes follow at once (MSG_MORE), so do not send a short segment yet. */
enum err io_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                  size_t *ret_size);
/* Sends from a file. A range that ends early returns ERR_CORRUPT. */
enum err io_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                     size_t *ret_size);
void io_set_buffers(struct io *io, int fd, int send_size, int receive_size); /* -1 = as is */
/* Sockets are closed with io_close (the watch is removed first). */

/* ---- workers ---- */

/* A job that may block. Embedded; `run` on a worker thread, then `done` posted to `loop`. Jobs with
 * the same non-NULL `lane` run one at a time, in order: use one lane for what must not overlap. */
struct io_job {
    struct loop_task task; /* internal */
    struct list link;      /* internal */
    void (*run)(struct io_job *job);
    void (*done)(struct io_job *job); /* NULL: nobody waits, and `run` may free the job itself */
    struct loop *loop;
    struct io_lane *lane;
};

struct io_lane { /* zero-initialized; must outlive its jobs */
    struct list waiting;
    bool running;
    bool started;
};

void io_submit(struct io *io, struct io_job *job);

/* ---- signals and process ---- */

/* Calls `stop` on `loop` when the process is asked to end (SIGTERM, SIGINT). Blocks these signals.
 */
enum err io_on_stop(struct io *io, struct loop *loop, void (*stop)(void *context), void *context);
int64_t io_memory_limit(struct io *io);     /* bytes of machine or cgroup */
int64_t io_raise_file_limit(struct io *io); /* soft limit to the hard one; returns it */
int io_processors(struct io *io);
/* Which boot of the machine this is, as a line of text: another one after each, so that what was
 * written and not synced may be gone when it has changed, and is there when it has not. An error
 * when the system does not tell. */
enum { IO_BOOT_ID_SIZE = 40 };
enum err io_boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE]);

#endif
