/* Open addressing with linear probing: a probe after the first mostly stays in the same cache line,
 * and load_factor keeps runs short. Slots are never taken out.
 *
 * The map starts small and doubles in place, because most dirty sections have far fewer keys than
 * records: what fits the processor's cache is several times as fast. Answers to Kafka's
 * SkimpyOffsetMap, which takes all its memory at once. Called by a round of the cleaner, on
 * whatever worker runs its present slice. */
#include "store/cleaner_map.h"

#include "base/mem.h"

_Static_assert(sizeof(struct cleaner_slot) == CLEANER_SLOT_SIZE, "as documented");

enum { SLOTS_FIRST = 1 << 14 };

/* Marks a slot that was not yet moved to where it belongs in the larger table. */
#define OLD (UINT64_C(1) << 63)

static void set_slots(struct cleaner_map *map, struct cleaner_slot *slots, uint64_t count)
{
    map->slots = slots;
    map->slot_count = count;
    map->count_grow = count == map->slot_max ? map->count_max : count - count / 4;
}

enum err cleaner_map_init(struct cleaner_map *map, int64_t memory, double load_factor, int64_t keys,
                          const struct siphash_key *secret)
{
    uint64_t slots = memory > 0 ? (uint64_t)memory / CLEANER_SLOT_SIZE : 0;
    uint64_t count_max = (uint64_t)((double)slots * load_factor);
    if (count_max >= slots && slots)
        count_max = slots - 1; /* a look-up ends at a free slot */
    if (!count_max)
        return ERR_ARGUMENT;
    if (keys < 1)
        keys = 1;
    if ((uint64_t)keys < count_max) {
        count_max = (uint64_t)keys;
        uint64_t wanted = (uint64_t)((double)keys / load_factor) + 2;
        slots = wanted < slots ? wanted : slots;
    }
    uint64_t first = slots < SLOTS_FIRST ? slots : SLOTS_FIRST;
    struct cleaner_slot *table = mem_try_alloc(first * CLEANER_SLOT_SIZE);
    if (!table)
        return ERR_NO_MEMORY;
    memset(table, 0, first * CLEANER_SLOT_SIZE);
    *map = (struct cleaner_map){
        .slot_max = slots, .count_max = count_max, .secret = *secret, .offset_last = -1};
    set_slots(map, table, first);
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

/* Puts a slot where it belongs. In the way may be one that was not moved yet: it makes room, and is
 * the next to be put. */
static void settle(struct cleaner_map *map, struct cleaner_slot slot)
{
    slot.offset_next &= ~OLD;
    for (;;) {
        uint64_t at = cleaner_map_home(map, slot.hash);
        while (map->slots[at].offset_next && !(map->slots[at].offset_next & OLD))
            at = at + 1 < map->slot_count ? at + 1 : 0;
        struct cleaner_slot other = map->slots[at];
        map->slots[at] = slot;
        if (!other.offset_next)
            return;
        slot = other;
        slot.offset_next &= ~OLD;
    }
}

static bool grow(struct cleaner_map *map)
{
    uint64_t before = map->slot_count;
    uint64_t after = before < map->slot_max / 2 ? 2 * before : map->slot_max;
    struct cleaner_slot *slots = mem_try_realloc(map->slots, after * CLEANER_SLOT_SIZE);
    if (!slots)
        return false;
    memset(slots + before, 0, (after - before) * CLEANER_SLOT_SIZE);
    set_slots(map, slots, after);
    for (uint64_t i = 0; i < before; i++)
        if (slots[i].offset_next)
            slots[i].offset_next |= OLD;
    for (uint64_t i = 0; i < before; i++) {
        struct cleaner_slot slot = slots[i];
        if (!(slot.offset_next & OLD))
            continue;
        slots[i].offset_next = 0;
        settle(map, slot);
    }
    return true;
}

bool cleaner_map_put(struct cleaner_map *map, struct siphash hash, int64_t offset)
{
    if (map->count >= map->count_grow && (map->slot_count == map->slot_max || !grow(map)))
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
