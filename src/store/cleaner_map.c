/* Open addressing with linear probing: a probe after the first mostly stays in the same cache line,
 * and load_factor keeps runs short. Slots are never taken out. Answers to Kafka's SkimpyOffsetMap.
 * Called by a round of the cleaner, on whatever worker runs its present slice. */
#include "store/cleaner_map.h"

#include "base/mem.h"

_Static_assert(sizeof(struct cleaner_slot) == CLEANER_SLOT_SIZE, "as documented");

enum err cleaner_map_init(struct cleaner_map *map, int64_t memory, double load_factor, int64_t keys,
                          const struct siphash_key *secret)
{
    uint64_t slots = memory > 0 ? (uint64_t)memory / CLEANER_SLOT_SIZE : 0;
    uint64_t count_max = (uint64_t)((double)slots * load_factor);
    if (count_max > slots)
        count_max = slots;
    if (count_max == slots && count_max)
        count_max--; /* a look-up ends at a free slot */
    if (!count_max)
        return ERR_ARGUMENT;
    /* A short dirty section needs no large map, and no long clearing of one. */
    if (keys < 1)
        keys = 1;
    if ((uint64_t)keys < count_max) {
        count_max = (uint64_t)keys;
        uint64_t wanted = (uint64_t)((double)keys / load_factor) + 2;
        slots = wanted < slots ? wanted : slots;
    }
    struct cleaner_slot *memory_of_slots = mem_try_alloc(slots * CLEANER_SLOT_SIZE);
    if (!memory_of_slots)
        return ERR_NO_MEMORY;
    memset(memory_of_slots, 0, slots * CLEANER_SLOT_SIZE);
    *map = (struct cleaner_map){.slots = memory_of_slots,
                                .slot_count = slots,
                                .count_max = count_max,
                                .secret = *secret,
                                .offset_last = -1};
    return ERR_NONE;
}

void cleaner_map_fini(struct cleaner_map *map)
{
    mem_free(map->slots);
    *map = (struct cleaner_map){.offset_last = -1};
}

static struct cleaner_slot *find(const struct cleaner_map *map, struct siphash hash)
{
    uint64_t at = cleaner_map_home(map, hash);
    for (;;) {
        struct cleaner_slot *slot = &map->slots[at];
        if (!slot->offset_next || (slot->hash.low == hash.low && slot->hash.high == hash.high))
            return slot;
        if (++at == map->slot_count)
            at = 0;
    }
}

bool cleaner_map_put(struct cleaner_map *map, struct siphash hash, int64_t offset)
{
    if (map->count >= map->count_max)
        return false;
    struct cleaner_slot *slot = find(map, hash);
    if (!slot->offset_next) {
        slot->hash = hash;
        map->count++;
    }
    slot->offset_next = (uint64_t)offset + 1;
    map->offset_last = offset;
    return true;
}

int64_t cleaner_map_get(const struct cleaner_map *map, struct siphash hash)
{
    return (int64_t)find(map, hash)->offset_next - 1;
}
