/* Hash map from bytes to a pointer. Keys are not copied: the key slice must live as long as the
 * entry (usually it is a field of the value). Iteration follows insertion order (removal swaps the
 * last entry into the gap), so it depends on the calls alone, never on addresses. Not
 * thread-safe. */
#ifndef KLAMM_BASE_MAP_H
#define KLAMM_BASE_MAP_H

#include "base/slice.h"

struct map_entry {
    struct slice key;
    void *value;
    uint64_t hash;
};

struct map {
    struct map_entry *entries; /* dense, count of them */
    uint32_t *table;           /* open addressing: entry index + 1; 0 = free */
    size_t count, capacity, table_size;
};

void map_init(struct map *m);
void map_fini(struct map *m);                         /* values and keys are the caller's */
void *map_get(const struct map *m, struct slice key); /* NULL when absent */
/* Adds or replaces; returns the value replaced, or NULL. On replace the new key slice is kept. */
void *map_put(struct map *m, struct slice key, void *value);
void *map_remove(struct map *m, struct slice key); /* the value removed, or NULL */

static inline size_t map_count(const struct map *m)
{
    return m->count;
}

/* The value at 0 <= index < map_count. Removing while walking: go from the end to the start. */
static inline void *map_at(const struct map *m, size_t index)
{
    return m->entries[index].value;
}

/* The key view of an integer or struct without padding. */
#define MAP_KEY(lvalue) slice_of(&(lvalue), sizeof(lvalue))

/* 64-bit hash of bytes (wyhash-like mixing); the same in every run. */
uint64_t hash_bytes(const void *data, size_t size);

#endif
