/* .klamm-reserve in the folder of the metadata log: space that is given back, a step at a time,
 * when a node starts and another program has left no byte free. The start itself has to write: the
 * state of the quorum, an epoch, a few records; without them no partition could be fetched or
 * emptied, and the node could not help to end what it suffers from.
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

void log_reserve_give_back(struct log_dir *dir)
{
    struct io *io = dir->dirs->io;
    struct io_space space;
    struct io_stat status;
    if (!log_dir_space(dir, &space) || space.free >= RESERVE_STEP)
        return;
    char *path = log_dir_file(dir, RESERVE_FILE);
    int fd;
    if (io_stat(io, path, &status) == ERR_NONE && status.size > 0 &&
        io_open(io, path, IO_READ | IO_WRITE, &fd) == ERR_NONE) {
        int64_t left = status.size > RESERVE_STEP ? status.size - RESERVE_STEP : 0;
        if (io_truncate(io, fd, left) == ERR_NONE)
            diag(DIAG_STORE, DIAG_WARN,
                 "log folder %s has %lld bytes free: %lld of " RESERVE_FILE " are used to start",
                 dir->path, (long long)space.free, (long long)(status.size - left));
        io_close(io, fd);
        log_dir_poll_space(dir);
    }
    mem_free(path);
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
    if (dir->reserve_kept || !log_dir_space(dir, &space) ||
        log_dir_admits(dir, LOG_CLIENT) != ERR_NONE || space.free < RESERVE_PART * RESERVE_SIZE)
        return;
    char *path = log_dir_file(dir, RESERVE_FILE);
    struct io_stat status;
    int fd;
    if (io_open(io, path, IO_READ | IO_WRITE | IO_CREATE, &fd) == ERR_NONE) {
        if (io_fstat(io, fd, &status) == ERR_NONE && fill(io, fd, status.size) == ERR_NONE)
            dir->reserve_kept = true;
        io_close(io, fd);
    }
    mem_free(path);
}
