/* Two maps over one set of partitions: (name, index) and (topic id, index). The keys live in the
 * partition's table key, so that the maps need no memory of their own for them. Changes come from
 * the one thread that publishes images, look-ups from every loop. */
#include "repl/partition_table.h"

#include "base/be.h"
#include "base/ensure.h"
#include "base/map.h"
#include "base/mem.h"

enum { TOPIC_NAME_MAX = 249, NAME_KEY_MAX = TOPIC_NAME_MAX + 4, ID_KEY_SIZE = 16 + 4 };

struct partition_key {
    uint8_t id[ID_KEY_SIZE];
    uint8_t name[];
};

struct partition_table {
    struct lock lock;
    struct map by_name, by_id;
};

struct partition_table *partition_table_new(void)
{
    struct partition_table *table = mem_zalloc(sizeof *table);
    lock_init(&table->lock, LOCK_TABLE);
    map_init(&table->by_name);
    map_init(&table->by_id);
    return table;
}

void partition_table_free(struct partition_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < map_count(&table->by_name); i++)
        partition_unref(map_at(&table->by_name, i));
    map_fini(&table->by_name);
    map_fini(&table->by_id);
    lock_fini(&table->lock);
    mem_free(table);
}

/* The null slice when no topic can have this name. */
static struct slice name_key(struct slice topic, int32_t index, uint8_t key[NAME_KEY_MAX])
{
    if (topic.size > TOPIC_NAME_MAX || !topic.data)
        return SLICE_NULL;
    memcpy(key, topic.data, topic.size);
    be_put_u32(key + topic.size, (uint32_t)index);
    return slice_of(key, topic.size + 4);
}

static struct slice id_key(const struct uuid *topic_id, int32_t index, uint8_t key[ID_KEY_SIZE])
{
    memcpy(key, topic_id->bytes, 16);
    be_put_u32(key + 16, (uint32_t)index);
    return slice_of(key, ID_KEY_SIZE);
}

static struct partition *look_up(struct partition_table *table, const struct map *map,
                                 struct slice key)
{
    lock_take(&table->lock);
    struct partition *partition = map_get(map, key);
    if (partition)
        partition_ref(partition);
    lock_release(&table->lock);
    return partition;
}

struct partition *partition_table_get(struct partition_table *table, struct slice topic,
                                      int32_t index)
{
    uint8_t bytes[NAME_KEY_MAX];
    struct slice key = name_key(topic, index, bytes);
    return key.data ? look_up(table, &table->by_name, key) : NULL;
}

struct partition *partition_table_get_id(struct partition_table *table, const struct uuid *topic_id,
                                         int32_t index)
{
    uint8_t bytes[ID_KEY_SIZE];
    return look_up(table, &table->by_id, id_key(topic_id, index, bytes));
}

void partition_table_add(struct partition_table *table, struct partition *partition)
{
    uint8_t bytes[NAME_KEY_MAX];
    struct slice name = name_key(partition->topic, partition->index, bytes);
    ENSURE(name.data);
    struct partition_key *key = mem_alloc(sizeof *key + name.size);
    memcpy(key->name, name.data, name.size);
    name.data = key->name;
    struct slice id = id_key(&partition->topic_id, partition->index, key->id);
    mem_free(partition->key);
    partition->key = key;
    lock_take(&table->lock);
    ENSURE(!map_put(&table->by_name, name, partition));
    ENSURE(!map_put(&table->by_id, id, partition));
    lock_release(&table->lock);
}

struct partition *partition_table_remove(struct partition_table *table, struct slice topic,
                                         int32_t index)
{
    uint8_t bytes[NAME_KEY_MAX];
    struct slice key = name_key(topic, index, bytes);
    if (!key.data)
        return NULL;
    lock_take(&table->lock);
    struct partition *partition = map_remove(&table->by_name, key);
    if (partition)
        map_remove(&table->by_id, slice_of(partition->key->id, ID_KEY_SIZE));
    lock_release(&table->lock);
    return partition;
}

struct partition **partition_table_all(struct partition_table *table, size_t *ret_count)
{
    lock_take(&table->lock);
    size_t count = map_count(&table->by_name);
    struct partition **all = mem_array(count + 1, sizeof *all);
    for (size_t i = 0; i < count; i++)
        all[i] = partition_ref(map_at(&table->by_name, i));
    lock_release(&table->lock);
    *ret_count = count;
    return all;
}
