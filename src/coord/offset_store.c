/* Committed offsets in memory: group -> topic -> partitions in an array ordered by number.
 *
 * Each partition keeps a chain of versions, newest first. The first whose record is committed is
 * what readers see; everything behind it is freed by the next change, so a chain is as long as the
 * writes under way and on one node mostly of length one. A tombstone is a version, too; it leaves
 * once committed (at once, or by offset_store_sweep).
 *
 * Commits of open transactions wait in struct offset_txn and count in their entry's `pending`,
 * which holds the entry in place: OffsetFetch answers UNSTABLE_OFFSET_COMMIT for it when asked for
 * stable offsets (KIP-447). Called under the shard holder's lock. */
#include "coord/offset_store.h"

#include "base/mem.h"

struct offset_pending {
    struct offset_pending_key {
        struct offset_topic *topic;
        int64_t partition;
    } key;
    struct offset_value *value;
};

struct offset_txn {
    int64_t producer_id;
    struct map pending; /* struct offset_pending_key -> struct offset_pending */
    struct map groups;  /* group id -> struct offset_group: those it counts in */
};

static void value_set(struct offset_value *value, const struct offset_value *from,
                      struct slice metadata)
{
    *value = *from;
    value->older = NULL;
    value->version_offset = from->record_offset;
    value->metadata_size = (uint32_t)metadata.size & INT32_MAX;
    if (metadata.size > 0)
        memcpy(value->metadata, metadata.data, metadata.size);
}

static struct offset_value *value_new(const struct offset_value *from, struct slice metadata)
{
    struct offset_value *value = mem_alloc(sizeof *value + metadata.size);
    value_set(value, from, metadata);
    return value;
}

struct offset_group *offset_store_group(const struct coord_shard *shard, struct slice group_id)
{
    return map_get(&shard_groups(shard)->offsets, group_id);
}

struct offset_topic *offset_store_topic(const struct offset_group *group, struct slice topic)
{
    return group ? map_get(&group->topics, topic) : NULL;
}

/* Index of the first entry with a partition not below. */
static size_t lower_bound(const struct offset_topic *topic, int32_t partition)
{
    size_t low = 0, high = topic->count;
    if (high > 0 && topic->entries[high - 1].partition < partition)
        return high; /* the common case while loading in order */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (topic->entries[middle].partition < partition)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct offset_entry *offset_store_entry(const struct offset_topic *topic, int32_t partition)
{
    if (!topic)
        return NULL;
    size_t index = lower_bound(topic, partition);
    bool found = index < topic->count && topic->entries[index].partition == partition;
    return found ? &topic->entries[index] : NULL;
}

const struct offset_value *offset_store_newest(const struct offset_entry *entry)
{
    return entry && entry->newest && !entry->newest->tombstone ? entry->newest : NULL;
}

const struct offset_value *offset_store_committed(const struct coord_shard *shard,
                                                  const struct offset_entry *entry)
{
    if (!entry)
        return NULL;
    const struct offset_value *value = entry->newest;
    while (value && value->version_offset >= shard->committed)
        value = value->older;
    return value && !value->tombstone ? value : NULL;
}

static struct offset_group *group_make(struct coord_shard *shard, struct slice group_id)
{
    struct offset_group *group = offset_store_group(shard, group_id);
    if (!group) {
        group = mem_zalloc(sizeof *group);
        group->id = slice_dup(group_id);
        map_init(&group->topics);
        list_init(&group->sweep_link);
        map_put(&shard_groups(shard)->offsets, group->id, group);
    }
    return group;
}

/* Records come in rows of one group and topic: mostly it is that of the record before. */
static struct offset_topic *topic_make(struct coord_shard *shard, struct slice group_id,
                                       struct slice name)
{
    struct offset_topic *topic = shard_groups(shard)->topic_before;
    if (topic && slice_eq(topic->name, name) && slice_eq(topic->group->id, group_id))
        return topic;
    struct offset_group *group = group_make(shard, group_id);
    topic = offset_store_topic(group, name);
    if (!topic) {
        topic = mem_zalloc(sizeof *topic);
        topic->group = group;
        topic->name = slice_dup(name);
        map_put(&group->topics, topic->name, topic);
    }
    shard_groups(shard)->topic_before = topic;
    return topic;
}

static struct offset_entry *entry_make(struct offset_topic *topic, int32_t partition)
{
    size_t index = lower_bound(topic, partition);
    if (index == topic->count || topic->entries[index].partition != partition) {
        if (topic->count == topic->capacity) {
            topic->capacity = topic->capacity ? topic->capacity * 2 : 1;
            topic->entries = mem_realloc(topic->entries, topic->capacity * sizeof *topic->entries);
        }
        memmove(&topic->entries[index + 1], &topic->entries[index],
                (topic->count - index) * sizeof *topic->entries);
        topic->entries[index] = (struct offset_entry){.partition = partition};
        topic->count++;
    }
    return &topic->entries[index];
}

static void free_chain(struct offset_value *value)
{
    while (value) {
        struct offset_value *older = value->older;
        mem_free(value);
        value = older;
    }
}

/* Frees what no reader can see any more. */
static void prune(const struct coord_shard *shard, struct offset_entry *entry)
{
    struct offset_value *value = entry->newest;
    while (value && value->version_offset >= shard->committed)
        value = value->older;
    if (!value)
        return;
    free_chain(value->older);
    value->older = NULL;
    if (value == entry->newest && value->tombstone) {
        mem_free(value);
        entry->newest = NULL;
    }
}

static void topic_free(struct coord_shard *shard, struct offset_topic *topic)
{
    if (shard_groups(shard)->topic_before == topic)
        shard_groups(shard)->topic_before = NULL;
    map_remove(&topic->group->topics, topic->name);
    for (size_t i = 0; i < topic->count; i++)
        free_chain(topic->entries[i].newest);
    mem_free(topic->entries);
    slice_free(&topic->name);
    mem_free(topic);
}

static void group_free(struct coord_shard *shard, struct offset_group *group)
{
    for (size_t i = map_count(&group->topics); i-- > 0;)
        topic_free(shard, map_at(&group->topics, i));
    map_remove(&shard_groups(shard)->offsets, group->id);
    map_fini(&group->topics);
    list_remove(&group->sweep_link);
    slice_free(&group->id);
    mem_free(group);
}

/* Drops the topic's entries without a value and without a pending commit; then the topic and the
 * group, when nothing is left of them. */
static void topic_compact(struct coord_shard *shard, struct offset_topic *topic)
{
    size_t kept = 0;
    for (size_t i = 0; i < topic->count; i++) {
        prune(shard, &topic->entries[i]);
        if (topic->entries[i].newest || topic->entries[i].pending > 0)
            topic->entries[kept++] = topic->entries[i];
    }
    topic->count = kept;
    struct offset_group *group = topic->group;
    if (kept == 0)
        topic_free(shard, topic);
    if (map_count(&group->topics) == 0 && group->open_transactions == 0)
        group_free(shard, group);
}

static void put(struct coord_shard *shard, struct offset_entry *entry, struct offset_value *value)
{
    value->older = entry->newest;
    entry->newest = value;
    prune(shard, entry);
}

/* The one version there is, when every reader would see the new one: it takes its place. */
static bool replace(const struct coord_shard *shard, struct offset_entry *entry,
                    const struct offset_value *from, struct slice metadata)
{
    struct offset_value *value = entry->newest;
    if (!value || value->older || from->record_offset >= shard->committed ||
        value->metadata_size != metadata.size)
        return false;
    value_set(value, from, metadata);
    return true;
}

void offset_store_put(struct coord_shard *shard, struct slice group_id, struct slice topic,
                      int32_t partition, const struct offset_value *value, struct slice metadata)
{
    struct offset_entry *entry = entry_make(topic_make(shard, group_id, topic), partition);
    if (!replace(shard, entry, value, metadata))
        put(shard, entry, value_new(value, metadata));
}

static void pending_free(struct offset_txn *txn, struct offset_pending *pending)
{
    struct offset_entry *entry =
        offset_store_entry(pending->key.topic, (int32_t)pending->key.partition);
    entry->pending--;
    pending->key.topic->group->pending--;
    map_remove(&txn->pending, MAP_KEY(pending->key));
    mem_free(pending->value);
    mem_free(pending);
}

static void drop_pending(struct coord_shard *shard, struct offset_topic *topic, int32_t partition)
{
    struct offset_pending_key key = {topic, partition};
    for (size_t i = 0; i < map_count(&shard_groups(shard)->transactions); i++) {
        struct offset_txn *txn = map_at(&shard_groups(shard)->transactions, i);
        struct offset_pending *pending = map_get(&txn->pending, MAP_KEY(key));
        if (pending)
            pending_free(txn, pending);
    }
}

void offset_store_remove(struct coord_shard *shard, struct slice group_id, struct slice topic_name,
                         int32_t partition, int64_t record_offset)
{
    struct offset_topic *topic =
        offset_store_topic(offset_store_group(shard, group_id), topic_name);
    struct offset_entry *entry = offset_store_entry(topic, partition);
    if (!entry)
        return;
    if (entry->pending > 0)
        drop_pending(shard, topic, partition);
    if (entry->newest) {
        const struct offset_value tombstone = {.record_offset = record_offset, .tombstone = true};
        put(shard, entry, value_new(&tombstone, SLICE_NULL));
    }
    if (entry->newest) {
        topic->group->sweep_offset = record_offset;
        list_remove(&topic->group->sweep_link);
        list_push_back(&shard_groups(shard)->sweeps, &topic->group->sweep_link);
        return;
    }
    size_t index = (size_t)(entry - topic->entries);
    memmove(entry, entry + 1, (topic->count - index - 1) * sizeof *entry);
    if (--topic->count == 0)
        topic_compact(shard, topic);
}

void offset_store_put_pending(struct coord_shard *shard, int64_t producer_id, struct slice group_id,
                              struct slice topic_name, int32_t partition,
                              const struct offset_value *value, struct slice metadata)
{
    struct offset_txn *txn = map_get(&shard_groups(shard)->transactions, MAP_KEY(producer_id));
    if (!txn) {
        txn = mem_zalloc(sizeof *txn);
        txn->producer_id = producer_id;
        map_init(&txn->pending);
        map_init(&txn->groups);
        map_put(&shard_groups(shard)->transactions, MAP_KEY(txn->producer_id), txn);
    }
    struct offset_topic *topic = topic_make(shard, group_id, topic_name);
    struct offset_entry *entry = entry_make(topic, partition);
    if (!map_get(&txn->groups, group_id)) {
        map_put(&txn->groups, topic->group->id, topic->group);
        topic->group->open_transactions++;
    }
    struct offset_pending_key key = {topic, partition};
    struct offset_pending *pending = map_get(&txn->pending, MAP_KEY(key));
    if (pending) {
        mem_free(pending->value);
    } else {
        pending = mem_zalloc(sizeof *pending);
        pending->key = key;
        map_put(&txn->pending, MAP_KEY(pending->key), pending);
        entry->pending++;
        topic->group->pending++;
    }
    pending->value = value_new(value, metadata);
}

static void txn_free(struct offset_txn *txn)
{
    map_fini(&txn->pending);
    map_fini(&txn->groups);
    mem_free(txn);
}

void offset_store_end(struct coord_shard *shard, int64_t producer_id, bool commit,
                      int64_t marker_offset)
{
    struct offset_txn *txn = map_remove(&shard_groups(shard)->transactions, MAP_KEY(producer_id));
    if (!txn)
        return;
    for (size_t i = 0; commit && i < map_count(&txn->pending); i++) {
        struct offset_pending *pending = map_at(&txn->pending, i);
        struct offset_entry *entry =
            offset_store_entry(pending->key.topic, (int32_t)pending->key.partition);
        const struct offset_value *newest = offset_store_newest(entry);
        if (newest && newest->record_offset >= pending->value->record_offset)
            continue;
        pending->value->version_offset = marker_offset;
        put(shard, entry, pending->value);
        pending->value = NULL;
    }
    while (map_count(&txn->pending) > 0)
        pending_free(txn, map_at(&txn->pending, map_count(&txn->pending) - 1));
    while (map_count(&txn->groups) > 0) {
        struct offset_group *group = map_at(&txn->groups, map_count(&txn->groups) - 1);
        map_remove(&txn->groups, group->id);
        group->open_transactions++; /* holds the group while its topics go */
        for (size_t i = map_count(&group->topics); i-- > 0;)
            topic_compact(shard, map_at(&group->topics, i));
        group->open_transactions -= 2;
        if (map_count(&group->topics) == 0 && group->open_transactions == 0)
            group_free(shard, group);
    }
    txn_free(txn);
}

void offset_store_sweep(struct coord_shard *shard)
{
    LIST_FOREACH(node, &shard_groups(shard)->sweeps)
    {
        struct offset_group *group = LIST_ITEM(node, struct offset_group, sweep_link);
        if (group->sweep_offset >= shard->committed)
            continue;
        list_remove(&group->sweep_link);
        group->open_transactions++;
        for (size_t i = map_count(&group->topics); i-- > 0;)
            topic_compact(shard, map_at(&group->topics, i));
        group->open_transactions--;
        if (map_count(&group->topics) == 0 && group->open_transactions == 0)
            group_free(shard, group);
    }
}

void offset_store_clear(struct coord_shard *shard)
{
    for (size_t i = map_count(&shard_groups(shard)->transactions); i-- > 0;) {
        struct offset_txn *txn = map_at(&shard_groups(shard)->transactions, i);
        while (map_count(&txn->pending) > 0)
            pending_free(txn, map_at(&txn->pending, map_count(&txn->pending) - 1));
        map_remove(&shard_groups(shard)->transactions, MAP_KEY(txn->producer_id));
        txn_free(txn);
    }
    for (size_t i = map_count(&shard_groups(shard)->offsets); i-- > 0;)
        group_free(shard, map_at(&shard_groups(shard)->offsets, i));
}
