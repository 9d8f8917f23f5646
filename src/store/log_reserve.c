/* .klamm-reserve in the folder of the metadata log: space that is given back, a step at a time,
 * when a node starts and another program, or its own recovery, has left no byte free. The start
 * itself has to write: the state of the quorum, an epoch, a few records; without them no partition
 * could be fetched or emptied, and the node could not help to end what it suffers from. A running
 * node uses it, but for the last step, to record changes that make room: deleted topics, settings.
 *
 * Filled again by the background job of the folder once all writes are accepted. It is in nobody's
 * way: Apache Kafka looks at the folders in log.dirs only. Failures change nothing: the start then
 * finds the disk as it is. */
#include "store/log_dirs_internal.h"

#include "base/mem.h"
#include "os/diag.h"

#define RESERVE_FILE ".klamm-reserve"

enum {
    RESERVE_SIZE = 1 << 20,
    RESERVE_STEP = 256 << 10, /* for one start, with much to spare */
    RESERVE_PART = 16,        /* a disk that has less than this many times the size keeps none */
    CHUNK_SIZE = 64 << 10,
};

/* Gives a step back, but not what lies below `keep`. */
static bool give_step(struct log_dir *dir, int64_t keep, const char *why)
{
    struct io *io = dir->dirs->io;
    struct io_stat status;
    char *path = log_dir_file(dir, RESERVE_FILE);
    bool given = false;
    int fd;
    if (io_stat(io, path, &status) == ERR_NONE && status.size > keep &&
        io_open(io, path, IO_READ | IO_WRITE, &fd) == ERR_NONE) {
        int64_t left = status.size > RESERVE_STEP ? status.size - RESERVE_STEP : 0;
        given = io_truncate(io, fd, left) == ERR_NONE;
        if (given)
            diag(DIAG_STORE, DIAG_WARN,
                 "log folder %s is full: %lld bytes of " RESERVE_FILE " are used to %s", dir->path,
                 (long long)(status.size - left), why);
        io_close(io, fd);
        __atomic_store_n(&dir->reserve_kept, 0, __ATOMIC_RELAXED);
        log_dir_poll_space(dir);
    }
    mem_free(path);
    return given;
}

void log_reserve_give_back(struct log_dir *dir)
{
    struct io_space space;
    if (log_dir_space(dir, &space) && space.free < RESERVE_STEP)
        give_step(dir, 0, "start");
}

void log_dirs_start_room(struct log_dirs *dirs)
{
    log_reserve_give_back(dirs->metadata);
}

bool log_dirs_make_room(struct log_dirs *dirs, bool starting)
{
    return give_step(dirs->metadata, starting ? 0 : RESERVE_STEP,
                     starting ? "start" : "change metadata");
}

/* Zeros from `size` on; what cannot be written is left out. */
static enum err fill(struct io *io, int fd, int64_t size)
{
    uint8_t *zeros = mem_zalloc(CHUNK_SIZE);
    enum err err = ERR_NONE;
    for (int64_t at = size; at < RESERVE_SIZE && !err; at += CHUNK_SIZE) {
        int64_t left = RESERVE_SIZE - at;
        err = io_pwrite(io, fd, zeros, left < CHUNK_SIZE ? (size_t)left : CHUNK_SIZE, at);
    }
    mem_free(zeros);
    return err;
}

void log_reserve_keep(struct log_dir *dir)
{
    struct io *io = dir->dirs->io;
    struct io_space space;
    if (__atomic_load_n(&dir->reserve_kept, __ATOMIC_RELAXED) || !log_dir_space(dir, &space) ||
        log_dir_admits(dir, LOG_CLIENT) != ERR_NONE || space.free < RESERVE_PART * RESERVE_SIZE)
        return;
    char *path = log_dir_file(dir, RESERVE_FILE);
    struct io_stat status;
    int fd;
    if (io_open(io, path, IO_READ | IO_WRITE | IO_CREATE, &fd) == ERR_NONE) {
        if (io_fstat(io, fd, &status) == ERR_NONE && fill(io, fd, status.size) == ERR_NONE)
            __atomic_store_n(&dir->reserve_kept, 1, __ATOMIC_RELAXED);
        io_close(io, fd);
    }
    mem_free(path);
}
