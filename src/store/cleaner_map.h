/* The cleaner's map from record keys to the offset of their last record.
 *
 * A slot holds a 128-bit hash of the key under a secret drawn for each map, and the offset: 24
 * bytes, as in Apache Kafka's map, so the same log.cleaner.dedupe.buffer.size holds as many keys.
 * Nobody can choose keys that collide, and with N keys in the map a collision by chance has odds
 * below N * N / 2^129. Pure memory; one thread. */
#ifndef KLAMM_STORE_CLEANER_MAP_H
#define KLAMM_STORE_CLEANER_MAP_H

#include "base/err.h"
#include "base/siphash.h"

enum { CLEANER_SLOT_SIZE = 24 };

struct cleaner_slot {
    struct siphash hash;
    uint64_t offset_next; /* offset + 1; 0: free */
};

struct cleaner_map {
    struct cleaner_slot *slots;
    uint64_t slot_count, slot_max;
    uint64_t count, count_max; /* keys */
    uint64_t count_grow;       /* more slots are taken at so many */
    struct siphash_key secret;
    int64_t offset_last; /* all keys up to this offset are in; -1: none */
};

/* Room for `keys` keys (at least one), but at most what `memory` bytes hold at `load_factor`; the
 * memory is taken as keys come. ERR_NO_MEMORY; ERR_ARGUMENT: not a single key fits. */
enum err cleaner_map_init(struct cleaner_map *map, int64_t memory, double load_factor, int64_t keys,
                          const struct siphash_key *secret);
void cleaner_map_fini(struct cleaner_map *map);

static inline struct siphash cleaner_map_hash(const struct cleaner_map *map, struct slice key)
{
    return siphash(&map->secret, key);
}

static inline uint64_t cleaner_map_home(const struct cleaner_map *map, struct siphash hash)
{
    return (uint64_t)((unsigned __int128)hash.low * map->slot_count >> 64);
}

/* Asks for the slot to be in the processor's cache when it is looked up a little later. */
static inline void cleaner_map_prefetch(const struct cleaner_map *map, struct siphash hash)
{
    __builtin_prefetch(&map->slots[cleaner_map_home(map, hash)]);
}

/* False, and nothing done, when the map is full, even if the key is there: as Kafka, which then
 * ends the round before this record. It is full, too, when memory is short. */
bool cleaner_map_put(struct cleaner_map *map, struct siphash hash, int64_t offset);
/* -1: not there. */
int64_t cleaner_map_get(const struct cleaner_map *map, struct siphash hash);

#endif
