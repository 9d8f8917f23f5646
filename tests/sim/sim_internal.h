/* Shared by the files of tests/sim. */
#ifndef KLAMM_TESTS_SIM_INTERNAL_H
#define KLAMM_TESTS_SIM_INTERNAL_H

#include "base/ensure.h"
#include "base/mem.h"
#include "os/io_ops.h"
#include "sim_io.h"

enum {
    MACHINES_MAX = 254,
    PAGE_SIZE = 4096,
    SECTOR_SIZE = 512,
    FD_FIRST = 3,
    SIM_ERROR_KINDS = 16
};

/* ---- world ------------------------------------------------------------------------------------
 */

struct sim {
    uint64_t random[2];
    int64_t now_ns, steps;
    uint64_t digest;
    FILE *trace;
    void (*observer)(void *context);
    void *observer_context;
    struct sim_machine *machines[MACHINES_MAX];
    int machine_count;
    bool cut[MACHINES_MAX][MACHINES_MAX];
    int64_t latency_min_us, latency_max_us;
    uint64_t reset_per_million;
    struct sim_loop *current; /* whose callback is under way */
    struct list dead;         /* processes that ended; freed with the world */
};

/* ---- disk -------------------------------------------------------------------------------------
 */

struct sim_inode;

struct sim_name {
    char *name;
    struct sim_inode *inode; /* referenced */
};

struct sim_names { /* sorted */
    struct sim_name *items;
    size_t count, capacity;
};

enum sim_change_kind { CHANGE_PUT, CHANGE_REMOVE };

/* One unsynced change of a directory. A rename is its removal and its put as one change. */
struct sim_change {
    enum sim_change_kind kind;
    char *name;                 /* put or removed */
    struct sim_inode *inode;    /* put; referenced */
    char *from;                 /* rename: the old name, else NULL */
    struct sim_inode *from_dir; /* ... in another directory; referenced */
};

struct sim_inode {
    int refs;
    bool is_dir, locked;
    int64_t mtime_ms, durable_mtime_ms;
    /* file */
    uint8_t *data, *durable;
    int64_t size, durable_size;
    uint8_t *pages;     /* PAGE_DIRTY, PAGE_CACHED */
    int64_t page_count; /* pages that data, durable and pages have room for */
    /* directory */
    struct sim_names names, durable_names;
    struct sim_change *changes;
    size_t change_count, change_capacity;
};

enum { PAGE_DIRTY = 1, PAGE_CACHED = 2 };

struct sim_disk {
    struct sim_inode *root;
    int64_t space; /* < 0: unlimited */
    int64_t used;  /* see disk_used; < 0: to be counted again */
};

void disk_init(struct sim_disk *disk);
void disk_fini(struct sim_disk *disk);
int64_t disk_used(struct sim_disk *disk);
struct sim_inode *inode_ref(struct sim_inode *inode);
void inode_unref(struct sim_disk *disk, struct sim_inode *inode);
enum err disk_find(struct sim_disk *disk, const char *path, struct sim_inode **ret_inode);
enum err disk_find_parent(struct sim_disk *disk, const char *path, struct sim_inode **ret_dir,
                          char *ret_leaf, size_t leaf_size);
struct sim_inode *dir_get(const struct sim_inode *dir, const char *name);
struct sim_inode *dir_create(struct sim_inode *dir, const char *name, bool is_dir);
void dir_remove(struct sim_disk *disk, struct sim_inode *dir, const char *name);
void dir_rename(struct sim_disk *disk, struct sim_inode *from_dir, const char *from,
                struct sim_inode *to_dir, const char *to);
void dir_sync(struct sim_disk *disk, struct sim_inode *dir);
/* Writes what fits; *ret_done may be short when the disk is full. */
enum err inode_write(struct sim_disk *disk, struct sim_inode *inode, const void *data, size_t size,
                     int64_t offset, size_t *ret_done);
size_t inode_read(struct sim_inode *inode, void *data, size_t size, int64_t offset);
enum err inode_resize(struct sim_disk *disk, struct sim_inode *inode, int64_t size);
void inode_sync(struct sim_inode *inode);
void inode_sync_failed(struct sim_inode *inode);
bool inode_is_cached(const struct sim_inode *inode, int64_t offset, size_t size);
void disk_drop_caches(struct sim_disk *disk);
void disk_power_cut(struct sim *sim, struct sim_disk *disk, struct sim_counters *counters);

/* ---- machines and processes -------------------------------------------------------------------
 */

struct sim_fault_rule {
    struct list link;
    struct sim_fault fault;
    char *path_part;
};

struct sim_machine {
    struct sim *sim;
    int index; /* 0 is 10.0.0.1 */
    char name[32], host[24];
    struct sim_disk disk;
    struct list faults;
    int64_t calls[SIM_OP_COUNT];
    struct sim_counters counters;
    int64_t wall_offset_ms;
    int64_t slow_ms; /* see sim_disk_set_slow */
    bool lying;
    int file_limit;
    int boots; /* power cuts so far: each start after one is another boot */
    uint16_t port_next;
    struct sim_process *process; /* NULL: off */
};

enum sim_fd_kind { FD_FREE, FD_FILE, FD_SOCKET };

struct sim_fd {
    enum sim_fd_kind kind;
    unsigned flags;
    char *path;
    struct sim_inode *inode;
    struct sim_socket *socket;
};

struct sim_process {
    struct io io; /* first */
    struct sim_machine *machine;
    struct list link; /* sim->dead */
    int64_t mono_origin_ns;
    struct sim_fd *fds;
    int fd_count, fd_open;
    struct list loops;
    struct list jobs; /* of sim_job.link: those that may run */
    int64_t jobs_waiting;
    const char *error_texts[SIM_ERROR_KINDS]; /* of the local errors from ERR_IO on */
    struct loop *stop_loop;
    void (*stop)(void *context);
    void *stop_context;
    struct loop_task stop_task;
};

extern const struct io_ops sim_ops;

static inline struct sim_process *process_of(struct io *io)
{
    struct sim_process *process = (struct sim_process *)(void *)io;
    ENSURE(process->machine && process->machine->process == process); /* else: it is dead */
    return process;
}

static inline struct sim *sim_of(struct io *io)
{
    return process_of(io)->machine->sim;
}

enum err fd_new(struct sim_process *process, enum sim_fd_kind kind, int *ret_fd);
struct sim_fd *fd_get(struct sim_process *process, int fd, enum sim_fd_kind kind);
void fd_close(struct sim_process *process, int fd);
enum err sim_failed(struct sim_process *process, enum err error, const char *text);
/* Counts the call and asks the faults; *ret_torn (may be NULL): write a prefix first. */
enum err fault_check(struct sim_process *process, enum sim_op op, const char *path, bool *ret_torn);

/* Every event goes into the digest, and into the trace if there is one. */
void sim_note(struct sim *sim, const char *what, const char *where, uint64_t number);
uint64_t sim_between(struct sim *sim, uint64_t low, uint64_t high);

/* sim_file.c */
enum err sim_io_open(struct io *io, const char *path, unsigned flags, int *ret_fd);
enum err sim_io_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                      size_t *ret_size);
enum err sim_io_pwritev(struct io *io, int fd, const struct iovec *parts, int count,
                        int64_t offset);
enum err sim_io_fsync(struct io *io, int fd);
enum err sim_io_truncate(struct io *io, int fd, int64_t size);
enum err sim_io_fstat(struct io *io, int fd, struct io_stat *ret_stat);
bool sim_io_is_cached(struct io *io, int fd, int64_t offset, size_t size);
enum err sim_io_stat(struct io *io, const char *path, struct io_stat *ret_stat);
enum err sim_io_rename(struct io *io, const char *from, const char *to);
enum err sim_io_unlink(struct io *io, const char *path);
enum err sim_io_mkdir(struct io *io, const char *path);
enum err sim_io_rmdir(struct io *io, const char *path);
enum err sim_io_sync_dir(struct io *io, const char *path);
enum err sim_io_set_mtime(struct io *io, const char *path, int64_t mtime_ms);
enum err sim_io_list_dir(struct io *io, const char *path, char ***ret_names, size_t *ret_count);
enum err sim_io_space(struct io *io, const char *path, struct io_space *ret_space);
char *sim_io_absolute_path(struct io *io, const char *path);
enum err sim_io_lock_file(struct io *io, const char *path, int *ret_fd);

/* ---- loops ------------------------------------------------------------------------------------
 */

struct sim_loop {
    struct loop loop; /* first */
    struct sim_process *process;
    struct list link; /* process->loops */
    char name[16];
    struct list tasks;
    struct heap timers;
    struct loop_watch **watches;
    int watch_count, watch_capacity;
};

struct sim_job {
    struct list link;
    struct io_job *job;
    int64_t ready_ns;
    bool ran; /* on a slow disk: it has had its effect, and its end is told at ready_ns */
};

struct loop *sim_loop_start(struct io *io, const char *name);
void sim_loop_stop(struct loop *loop);
bool sim_loop_is_current(struct loop *loop);
void sim_loop_post(struct loop *loop, struct loop_task *task);
void sim_timer_set(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns);
void sim_timer_cancel(struct loop *loop, struct loop_timer *timer);
enum err sim_watch_set(struct loop *loop, struct loop_watch *watch, unsigned events);
void sim_watch_remove(struct loop *loop, struct loop_watch *watch);
void sim_io_submit(struct io *io, struct io_job *job);
void job_run(struct sim_process *process, struct sim_job *entry);
void loops_drop(struct sim_process *process); /* the process died */

/* ---- network ----------------------------------------------------------------------------------
 */

struct sim_socket;

enum err sim_io_bind(struct io *io, const struct io_address *address, int *ret_fd,
                     struct io_address *ret_bound);
enum err sim_io_listen(struct io *io, int fd, int backlog);
enum err sim_io_accept(struct io *io, int listen_fd, int *ret_fd, struct io_address *ret_local,
                       struct io_address *ret_peer);
enum err sim_io_connect(struct io *io, const struct io_address *address, int *ret_fd);
enum err sim_io_connect_result(struct io *io, int fd);
enum err sim_io_recv(struct io *io, int fd, void *data, size_t size, size_t *ret_size);
enum err sim_io_sendv(struct io *io, int fd, const struct iovec *parts, int count, bool more,
                      size_t *ret_size);
enum err sim_io_sendfile(struct io *io, int fd, int file_fd, int64_t offset, size_t size,
                         size_t *ret_size);
void sim_io_set_buffers(struct io *io, int fd, int send_size, int receive_size);
enum err sim_io_resolve(struct io *io, const char *host, uint16_t port,
                        struct io_address *ret_address);
/* What the socket is ready for now; *ret_next_ns is lowered to when that may change by itself. */
unsigned socket_ready(struct sim_process *process, int fd, int64_t *ret_next_ns);
void socket_close(struct sim_socket *socket, bool reset);
void socket_reset(struct sim_socket *socket);
struct sim_machine *socket_peer_machine(const struct sim_socket *socket);

#endif
