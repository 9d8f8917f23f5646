/* Least-recently-used cache of open segment files. See the header for who pins and unpins where.
 *
 * Invariants, under the cache's lock: a file is in the list exactly when it is open and has no
 * pins; `open` counts all open files, pinned or not. System calls are made outside the lock, so a
 * slow folder never delays another: a victim leaves the list and loses its fd under the lock and is
 * closed after it. No file is opened twice, because whoever pins holds the lock of the one log that
 * the file belongs to. */
#include "store/file_cache.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "os/lock.h"
#include "store/segment.h"

#include <stdatomic.h>

enum { EVICT_BATCH = 16, ROUNDS_MAX = 4 };

struct file_cache {
    _Atomic uint32_t refs;
    struct io *io;
    struct lock lock;
    struct list idle; /* least recently used first */
    int open, open_max, idle_count;
};

struct file_cache *file_cache_new(struct io *io, int files_max)
{
    struct file_cache *cache = mem_zalloc(sizeof *cache);
    atomic_init(&cache->refs, 1);
    cache->io = io;
    cache->open_max = files_max > 0 ? files_max : 1;
    lock_init(&cache->lock, LOCK_LEAF);
    list_init(&cache->idle);
    return cache;
}

struct file_cache *file_cache_ref(struct file_cache *cache)
{
    atomic_fetch_add_explicit(&cache->refs, 1, memory_order_relaxed);
    return cache;
}

void file_cache_unref(struct file_cache *cache)
{
    if (!cache || atomic_fetch_sub_explicit(&cache->refs, 1, memory_order_acq_rel) != 1)
        return;
    ENSURE(cache->open == 0);
    lock_fini(&cache->lock);
    mem_free(cache);
}

struct io *file_cache_io(const struct file_cache *cache)
{
    return cache->io;
}

int file_cache_open_count(struct file_cache *cache)
{
    lock_take(&cache->lock);
    int open = cache->open;
    lock_release(&cache->lock);
    return open;
}

bool file_cache_is_short(struct file_cache *cache)
{
    lock_take(&cache->lock);
    bool is_short = 2 * (cache->open - cache->idle_count) >= cache->open_max;
    lock_release(&cache->lock);
    return is_short;
}

/* Takes up to `count` idle files out; their descriptors are the caller's to close. */
static int take_idle(struct file_cache *cache, int count, int fds[EVICT_BATCH])
{
    int taken = 0;
    while (taken < count && taken < EVICT_BATCH) {
        struct list *node = list_pop_front(&cache->idle);
        if (!node)
            break;
        struct log_file *file = LIST_ITEM(node, struct log_file, lru);
        fds[taken++] = file->fd;
        file->fd = -1;
        cache->open--;
        cache->idle_count--;
    }
    return taken;
}

static void close_all(struct file_cache *cache, const int *fds, int count)
{
    for (int i = 0; i < count; i++)
        io_close(cache->io, fds[i]);
}

static enum err open_file(struct file_cache *cache, struct log_file *file, bool create, int *ret_fd)
{
    char path[SEGMENT_PATH_MAX];
    segment_path(file->segment, file->kind, path);
    unsigned flags = IO_READ | IO_WRITE | (create ? IO_CREATE : 0);
    enum err err = io_open(cache->io, path, flags, ret_fd);
    /* Another thread may take what was set free here. */
    for (int round = 0; err == ERR_TOO_MANY_FILES && round < ROUNDS_MAX; round++) {
        int fds[EVICT_BATCH];
        lock_take(&cache->lock);
        int count = take_idle(cache, EVICT_BATCH, fds);
        lock_release(&cache->lock);
        if (!count)
            break;
        close_all(cache, fds, count);
        err = io_open(cache->io, path, flags, ret_fd);
    }
    return err;
}

void log_file_init(struct log_file *file, struct segment *segment, uint8_t kind)
{
    list_init(&file->lru);
    file->segment = segment;
    file->fd = -1;
    file->pins = 0;
    file->kind = kind;
}

enum err log_file_pin(struct log_file *file, bool create, int *ret_fd)
{
    struct file_cache *cache = file->segment->cache;
    lock_take(&cache->lock);
    if (file->fd >= 0) {
        if (file->pins++ == 0) {
            list_remove(&file->lru);
            cache->idle_count--;
        }
        *ret_fd = file->fd;
        lock_release(&cache->lock);
        return ERR_NONE;
    }
    lock_release(&cache->lock);

    int fd;
    enum err err = open_file(cache, file, create, &fd);
    if (err)
        return err;
    int fds[EVICT_BATCH];
    lock_take(&cache->lock);
    file->fd = fd;
    file->pins = 1;
    cache->open++;
    int count = take_idle(cache, cache->open - cache->open_max, fds);
    lock_release(&cache->lock);
    close_all(cache, fds, count);
    *ret_fd = fd;
    return ERR_NONE;
}

void log_file_unpin(struct log_file *file)
{
    struct file_cache *cache = file->segment->cache;
    lock_take(&cache->lock);
    ENSURE(file->pins > 0);
    if (--file->pins == 0) {
        list_push_back(&cache->idle, &file->lru);
        cache->idle_count++;
    }
    lock_release(&cache->lock);
}

void log_file_close(struct log_file *file)
{
    struct file_cache *cache = file->segment->cache;
    int fd = -1;
    lock_take(&cache->lock);
    if (file->fd >= 0 && file->pins == 0) {
        list_remove(&file->lru);
        fd = file->fd;
        file->fd = -1;
        cache->open--;
        cache->idle_count--;
    }
    lock_release(&cache->lock);
    if (fd >= 0)
        io_close(cache->io, fd);
}
