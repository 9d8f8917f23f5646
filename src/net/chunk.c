/* Chunks and their pool. A produce request of up to a megabyte is received into a pooled chunk of
 * its loop and that chunk is back in the pool before the next request is read: the same few pages
 * stay in the processor's cache and no memory is mapped, faulted in and unmapped for each request.
 *
 * A chunk freed on another thread goes to the allocator, for pools have no lock. */
#include "net/chunk.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "net/net_internal.h"

static int class_of(size_t capacity)
{
    int class = 0;
    for (size_t size = CHUNK_POOLED_MIN; size < capacity; size *= 2)
        class ++;
    return class;
}

size_t chunk_capacity(size_t capacity)
{
    if (capacity <= CHUNK_POOLED_MIN / 2 || capacity > CHUNK_POOLED_MAX)
        return capacity;
    return (size_t)CHUNK_POOLED_MIN << class_of(capacity);
}

static bool is_pooled(size_t capacity)
{
    return capacity >= CHUNK_POOLED_MIN && capacity <= CHUNK_POOLED_MAX;
}

struct chunk *chunk_new(struct net_loop *home, size_t capacity)
{
    capacity = chunk_capacity(capacity);
    struct chunk *chunk = NULL;
    if (is_pooled(capacity)) {
        int class = class_of(capacity);
        chunk = home->pool.free[class];
        if (chunk) {
            home->pool.free[class] = chunk->next;
            home->pool.counts[class]--;
            home->pool.size -= capacity;
        }
    }
    if (!chunk)
        chunk = mem_try_alloc(sizeof *chunk + CHUNK_HEADROOM + capacity);
    if (!chunk)
        return NULL;
    chunk->shared = false;
    chunk->home = home;
    chunk->next = NULL;
    chunk->capacity = capacity;
    chunk->charged = 0;
    atomic_init(&chunk->refs, 1);
    return chunk;
}

struct chunk *chunk_ref(struct chunk *chunk)
{
    atomic_fetch_add_explicit(&chunk->refs, 1, memory_order_relaxed);
    return chunk;
}

void chunk_unref(struct chunk *chunk)
{
    if (!chunk || atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) > 1)
        return;
    struct net_loop *home = chunk->home;
    size_t charged = chunk->charged;
    struct chunk_pool *pool = &home->pool;
    bool keep = false;
    if (is_pooled(chunk->capacity) && loop_is_current(home->loop)) {
        int class = class_of(chunk->capacity);
        keep = pool->counts[class] < CHUNK_POOL_COUNT_MAX &&
               pool->size + chunk->capacity <= CHUNK_POOL_SIZE_MAX;
        if (keep) {
            chunk->next = pool->free[class];
            pool->free[class] = chunk;
            pool->counts[class]++;
            pool->size += chunk->capacity;
        }
    }
    if (!keep)
        mem_free(chunk);
    if (charged > 0)
        net_release_memory(home->net, charged);
}

void chunk_pool_fini(struct chunk_pool *pool)
{
    for (int i = 0; i < CHUNK_CLASSES; i++)
        for (struct chunk *chunk = pool->free[i], *next; chunk; chunk = next) {
            next = chunk->next;
            mem_free(chunk);
        }
    *pool = (struct chunk_pool){0};
}
