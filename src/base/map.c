/* See map.h. Linear probing with backward-shift deletion over a table of entry indexes. */
#include "base/map.h"

#include "base/ensure.h"
#include "base/mem.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t hash_bytes(const void *data, size_t size)
{
    const uint8_t *p = data;
    uint64_t h = 0x9e3779b97f4a7c15ull ^ size, word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        h = mix(h ^ word, 0xd6e8feb86659fd93ull);
    }
    word = 0;
    if (size)
        memcpy(&word, p, size);
    return mix(h ^ word, 0xa0761d6478bd642full) ^ (h >> 29);
}

void map_init(struct map *m)
{
    *m = (struct map){0};
}

void map_fini(struct map *m)
{
    mem_free(m->entries);
    mem_free(m->table);
    *m = (struct map){0};
}

/* The table place of `key`, or of the free place where it would go. */
static size_t place_of(const struct map *m, struct slice key, uint64_t hash)
{
    size_t mask = m->table_size - 1;
    for (size_t i = hash & mask;; i = (i + 1) & mask) {
        uint32_t ref = m->table[i];
        if (!ref)
            return i;
        const struct map_entry *e = &m->entries[ref - 1];
        if (e->hash == hash && slice_eq(e->key, key))
            return i;
    }
}

static void grow(struct map *m)
{
    m->capacity = m->capacity ? 2 * m->capacity : 8;
    ENSURE(m->capacity < UINT32_MAX / 2);
    m->entries = mem_realloc(m->entries, m->capacity * sizeof *m->entries);
    m->table_size = 2 * m->capacity;
    mem_free(m->table);
    m->table = mem_array(m->table_size, sizeof *m->table);
    for (size_t i = 0; i < m->count; i++)
        m->table[place_of(m, m->entries[i].key, m->entries[i].hash)] = (uint32_t)(i + 1);
}

void *map_get(const struct map *m, struct slice key)
{
    if (!m->count)
        return NULL;
    uint32_t ref = m->table[place_of(m, key, hash_bytes(key.data, key.size))];
    return ref ? m->entries[ref - 1].value : NULL;
}

void *map_put(struct map *m, struct slice key, void *value)
{
    uint64_t hash = hash_bytes(key.data, key.size);
    if (m->count == m->capacity)
        grow(m);
    size_t place = place_of(m, key, hash);
    if (m->table[place]) {
        struct map_entry *e = &m->entries[m->table[place] - 1];
        void *old = e->value;
        e->key = key;
        e->value = value;
        return old;
    }
    m->entries[m->count++] = (struct map_entry){key, value, hash};
    m->table[place] = (uint32_t)m->count;
    return NULL;
}

static void free_place(struct map *m, size_t place)
{
    size_t mask = m->table_size - 1, hole = place;
    for (size_t i = (place + 1) & mask; m->table[i]; i = (i + 1) & mask) {
        size_t home = m->entries[m->table[i] - 1].hash & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            m->table[hole] = m->table[i];
            hole = i;
        }
    }
    m->table[hole] = 0;
}

void *map_remove(struct map *m, struct slice key)
{
    if (!m->count)
        return NULL;
    size_t place = place_of(m, key, hash_bytes(key.data, key.size));
    if (!m->table[place])
        return NULL;
    size_t index = m->table[place] - 1, last = m->count - 1;
    void *value = m->entries[index].value;
    free_place(m, place);
    if (index != last) {
        m->table[place_of(m, m->entries[last].key, m->entries[last].hash)] = (uint32_t)(index + 1);
        m->entries[index] = m->entries[last];
    }
    m->count--;
    return value;
}
