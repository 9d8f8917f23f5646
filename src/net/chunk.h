/* Memory that received bytes lie in. Reference-counted: one big chunk may hold several frames. */
#ifndef KLAMM_NET_CHUNK_H
#define KLAMM_NET_CHUNK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct net_loop;

/* Room before the data, so that a size prefix and its frame can be received in one call with the
 * frame aligned. */
enum { CHUNK_HEADROOM = 16, CHUNK_POOLED_MIN = 64 * 1024, CHUNK_POOLED_MAX = 1024 * 1024 };
enum { CHUNK_CLASSES = 5, CHUNK_POOL_COUNT_MAX = 4, CHUNK_POOL_SIZE_MAX = 4 * 1024 * 1024 };

struct chunk {
    atomic_int refs;
    /* Frames in it are counted by their own size (shared), or the chunk by its capacity. */
    bool shared;
    struct net_loop *home;
    struct chunk *next; /* in the pool */
    size_t capacity;    /* bytes after the headroom */
    size_t charged;     /* taken from the budget; given back with the last reference */
    uint8_t bytes[];
};

/* Freed chunks of each power of two, last in first out, so that the next frame finds warm memory.
 * Used by the home loop only. */
struct chunk_pool {
    struct chunk *free[CHUNK_CLASSES];
    int counts[CHUNK_CLASSES];
    size_t size;
};

static inline uint8_t *chunk_data(struct chunk *chunk)
{
    return chunk->bytes + CHUNK_HEADROOM;
}

/* A chunk for at least `capacity` bytes; one reference. NULL when memory is short. `home`'s thread.
 * The caller charges the budget and notes it in `charged`. */
struct chunk *chunk_new(struct net_loop *home, size_t capacity);
/* The capacity that chunk_new will give. */
size_t chunk_capacity(size_t capacity);
struct chunk *chunk_ref(struct chunk *chunk); /* any thread */
void chunk_unref(struct chunk *chunk);        /* any thread; accepts NULL */
void chunk_pool_fini(struct chunk_pool *pool);

#endif
