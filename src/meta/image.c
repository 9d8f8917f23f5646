/* The metadata image: reference counts, look-ups and walks; see image.h for the contract. Images
 * and their objects never change once published, so nothing here locks; the counts are atomic
 * because readers on any thread take and drop references. Changes are made by edit.c. */
#include "meta/image.h"

#include "base/be.h"
#include "base/buf.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "meta/image_data.h"

#include <stdio.h>

/* ---- objects ----------------------------------------------------------------------------------
 */

/* In front of each object; keeps what follows 16-byte aligned. */
struct object_head {
    atomic_uint refs;
    uint8_t pad[12];
};

static struct object_head *head_of(void *object)
{
    return (struct object_head *)object - 1;
}

void *meta_object_new(size_t size)
{
    struct object_head *head = mem_zalloc(sizeof *head + size);
    atomic_init(&head->refs, 1);
    return head + 1;
}

void meta_object_ref(void *object)
{
    atomic_fetch_add_explicit(&head_of(object)->refs, 1, memory_order_relaxed);
}

static bool drop(void *object)
{
    return atomic_fetch_sub_explicit(&head_of(object)->refs, 1, memory_order_acq_rel) == 1;
}

void meta_object_unref(void *object)
{
    if (object && drop(object))
        mem_free(head_of(object));
}

/* Objects are read-only for everybody but the one who counts or frees them. */
static void *writable(const void *object)
{
    return (void *)(uintptr_t)object;
}

const struct meta_partition **meta_topic_slots(struct meta_topic *topic)
{
    return writable(topic->partitions);
}

struct meta_topic *meta_topic_new(struct slice name, const struct uuid *id, int32_t partition_count)
{
    size_t slots = (size_t)partition_count * sizeof(struct meta_partition *);
    struct meta_topic *topic = meta_object_new(sizeof *topic + slots + name.size + 1);
    uint8_t *text = (uint8_t *)(topic + 1) + slots;
    memcpy(text, name.data, name.size);
    topic->name = slice_of(text, name.size);
    topic->id = *id;
    topic->partition_count = partition_count;
    topic->partitions = (const struct meta_partition *const *)(topic + 1);
    return topic;
}

static void topic_unref(void *object)
{
    struct meta_topic *topic = object;
    if (!drop(topic))
        return;
    for (int32_t i = 0; i < topic->partition_count; i++)
        meta_object_unref(writable(topic->partitions[i]));
    mem_free(head_of(topic));
}

const struct pmap_type meta_object_type = {meta_object_ref, meta_object_unref};
const struct pmap_type meta_topic_type = {meta_object_ref, topic_unref};

/* ---- the image --------------------------------------------------------------------------------
 */

struct meta_image *meta_image_empty(void)
{
    struct meta_image *image = mem_zalloc(sizeof *image);
    atomic_init(&image->refs, 1);
    image->provenance = (struct meta_provenance){-1, -1, -1};
    image->next_producer_id = -1;
    return image;
}

struct meta_image *meta_image_copy(const struct meta_image *from)
{
    struct meta_image *image = mem_zalloc(sizeof *image);
    atomic_init(&image->refs, 1);
    image->provenance = from->provenance;
    image->topics_by_name = pmap_ref(from->topics_by_name);
    image->topics_by_id = pmap_ref(from->topics_by_id);
    image->brokers = pmap_ref(from->brokers);
    image->controllers = pmap_ref(from->controllers);
    image->features = pmap_ref(from->features);
    image->configs = pmap_ref(from->configs);
    for (int i = 0; i < META_BLOB_KIND_COUNT; i++)
        image->blobs[i] = pmap_ref(from->blobs[i]);
    image->next_producer_id = from->next_producer_id;
    image->producer_ids_broker = from->producer_ids_broker;
    image->producer_ids_epoch = from->producer_ids_epoch;
    return image;
}

struct meta_image *meta_image_ref(const struct meta_image *image)
{
    struct meta_image *mine = writable(image);
    atomic_fetch_add_explicit(&mine->refs, 1, memory_order_relaxed);
    return mine;
}

void meta_image_unref(struct meta_image *image)
{
    if (!image || atomic_fetch_sub_explicit(&image->refs, 1, memory_order_acq_rel) != 1)
        return;
    pmap_unref(image->topics_by_name, &meta_topic_type);
    pmap_unref(image->topics_by_id, &meta_topic_type);
    pmap_unref(image->brokers, &meta_object_type);
    pmap_unref(image->controllers, &meta_object_type);
    pmap_unref(image->features, &meta_object_type);
    pmap_unref(image->configs, &meta_object_type);
    for (int i = 0; i < META_BLOB_KIND_COUNT; i++)
        pmap_unref(image->blobs[i], &meta_object_type);
    mem_free(image);
}

const struct meta_provenance *meta_image_provenance(const struct meta_image *image)
{
    return &image->provenance;
}

/* ---- topics -----------------------------------------------------------------------------------
 */

const struct meta_topic *meta_image_topic(const struct meta_image *image, struct slice name)
{
    return pmap_get(image->topics_by_name, name);
}

const struct meta_topic *meta_image_topic_by_id(const struct meta_image *image,
                                                const struct uuid *id)
{
    return pmap_get(image->topics_by_id, meta_uuid_key(id));
}

size_t meta_image_topic_count(const struct meta_image *image)
{
    return pmap_count(image->topics_by_name);
}

const struct meta_topic *meta_image_topic_seek(const struct meta_image *image, struct slice from,
                                               bool after)
{
    struct slice key;
    return pmap_seek(image->topics_by_name, from, after, &key);
}

struct topics_diff {
    void (*changed)(void *context, const struct meta_topic *old, const struct meta_topic *new);
    void *context;
};

static void topic_changed(void *context, struct slice name, void *old, void *new)
{
    (void)name;
    const struct topics_diff *diff = context;
    diff->changed(diff->context, old, new);
}

void meta_image_topics_diff(const struct meta_image *old, const struct meta_image *new,
                            void (*changed)(void *context, const struct meta_topic *old,
                                            const struct meta_topic *new),
                            void *context)
{
    struct topics_diff diff = {changed, context};
    pmap_diff(old->topics_by_name, new->topics_by_name, topic_changed, &diff);
}

const struct meta_partition *meta_topic_partition(const struct meta_topic *topic, int32_t index)
{
    return index >= 0 && index < topic->partition_count ? topic->partitions[index] : NULL;
}

bool meta_partition_has_replica(const struct meta_partition *partition, int32_t broker_id)
{
    for (int32_t i = 0; i < partition->replica_count; i++)
        if (partition->replicas[i] == broker_id)
            return true;
    return false;
}

struct uuid meta_partition_directory(const struct meta_partition *partition, int32_t broker_id)
{
    for (int32_t i = 0; i < partition->replica_count; i++)
        if (partition->replicas[i] == broker_id)
            return partition->directories[i];
    return META_DIR_UNASSIGNED;
}

bool meta_broker_dir_is_online(const struct meta_broker *broker, struct uuid dir)
{
    struct uuid lost = META_DIR_LOST, migrating = META_DIR_MIGRATING;
    if (uuid_is_zero(&dir) || uuid_eq(&dir, &migrating))
        return true;
    if (uuid_eq(&dir, &lost))
        return false;
    for (int32_t i = 0; i < broker->dir_count; i++)
        if (uuid_eq(&dir, &broker->dirs[i]))
            return true;
    return broker->dir_count == 0;
}

bool meta_image_replica_is_offline(const struct meta_image *image,
                                   const struct meta_partition *partition, int32_t broker_id)
{
    const struct meta_broker *broker = meta_image_broker(image, broker_id);
    return !broker || broker->fenced ||
           !meta_broker_dir_is_online(broker, meta_partition_directory(partition, broker_id));
}

/* ---- nodes ------------------------------------------------------------------------------------
 */

struct slice meta_id_key(int32_t id, uint8_t buffer[META_ID_KEY_SIZE])
{
    be_put_i32(buffer, id);
    return slice_of(buffer, META_ID_KEY_SIZE);
}

const struct meta_broker *meta_image_broker(const struct meta_image *image, int32_t id)
{
    uint8_t key[META_ID_KEY_SIZE];
    return pmap_get(image->brokers, meta_id_key(id, key));
}

size_t meta_image_broker_count(const struct meta_image *image)
{
    return pmap_count(image->brokers);
}

const struct meta_broker *meta_image_broker_at(const struct meta_image *image, size_t index)
{
    struct slice key;
    return pmap_at(image->brokers, index, &key);
}

const struct meta_controller_node *meta_image_controller(const struct meta_image *image, int32_t id)
{
    uint8_t key[META_ID_KEY_SIZE];
    return pmap_get(image->controllers, meta_id_key(id, key));
}

size_t meta_image_controller_count(const struct meta_image *image)
{
    return pmap_count(image->controllers);
}

const struct meta_controller_node *meta_image_controller_at(const struct meta_image *image,
                                                            size_t index)
{
    struct slice key;
    return pmap_at(image->controllers, index, &key);
}

const struct meta_endpoint *meta_broker_endpoint(const struct meta_broker *broker,
                                                 struct slice listener)
{
    for (int32_t i = 0; i < broker->endpoint_count; i++)
        if (slice_eq(broker->endpoints[i].name, listener))
            return &broker->endpoints[i];
    return NULL;
}

bool meta_image_broker_is_active(const struct meta_image *image, int32_t id)
{
    const struct meta_broker *broker = meta_image_broker(image, id);
    return broker && !broker->fenced && !broker->in_controlled_shutdown;
}

/* ---- features ---------------------------------------------------------------------------------
 */

int16_t meta_image_metadata_version(const struct meta_image *image)
{
    const struct meta_feature_level *found =
        pmap_get(image->features, SLICE_LIT("metadata.version"));
    return found ? found->level : -1;
}

int16_t meta_image_feature(const struct meta_image *image, struct slice name)
{
    const struct meta_feature_level *found = pmap_get(image->features, name);
    return found ? found->level : 0;
}

size_t meta_image_feature_count(const struct meta_image *image)
{
    return pmap_count(image->features);
}

int16_t meta_image_feature_at(const struct meta_image *image, size_t index, struct slice *ret_name)
{
    const struct meta_feature_level *found = pmap_at(image->features, index, ret_name);
    return found->level;
}

/* ---- configs ----------------------------------------------------------------------------------
 */

void meta_config_key(struct buf *ret_key, int8_t type, struct slice resource)
{
    buf_init(ret_key);
    buf_put_i8(ret_key, type);
    buf_put_slice(ret_key, resource);
}

const struct meta_config *meta_image_config(const struct meta_image *image, int8_t type,
                                            struct slice resource)
{
    if (resource.size > META_CONFIG_NAME_MAX)
        return NULL;
    struct buf key;
    meta_config_key(&key, type, resource);
    const struct meta_config *found = pmap_get(image->configs, buf_slice(&key));
    buf_fini(&key);
    return found;
}

struct conf_pairs meta_image_overrides(const struct meta_image *image, int8_t type,
                                       struct slice resource)
{
    const struct meta_config *config = meta_image_config(image, type, resource);
    if (!config)
        return (struct conf_pairs){NULL, 0};
    return (struct conf_pairs){config->entries, config->entry_count};
}

struct config *meta_image_node_config(const struct meta_image *image, const struct config *config)
{
    char id[16];
    size_t size = (size_t)snprintf(id, sizeof id, "%d", config_node_id(config));
    return config_with_dynamic(
        config, meta_image_overrides(image, META_RESOURCE_BROKER, slice_of(id, size)),
        meta_image_overrides(image, META_RESOURCE_BROKER, SLICE_LIT("")));
}

size_t meta_image_config_count(const struct meta_image *image)
{
    return pmap_count(image->configs);
}

const struct meta_config *meta_image_config_at(const struct meta_image *image, size_t index)
{
    struct slice key;
    return pmap_at(image->configs, index, &key);
}

struct configs_diff {
    void (*changed)(void *context, const struct meta_config *old, const struct meta_config *new);
    void *context;
};

static void config_changed(void *context, struct slice key, void *old, void *new)
{
    (void)key;
    const struct configs_diff *diff = context;
    diff->changed(diff->context, old, new);
}

void meta_image_configs_diff(const struct meta_image *old, const struct meta_image *new,
                             void (*changed)(void *context, const struct meta_config *old,
                                             const struct meta_config *new),
                             void *context)
{
    struct configs_diff diff = {changed, context};
    pmap_diff(old->configs, new->configs, config_changed, &diff);
}

struct slice meta_config_get(const struct meta_config *config, struct slice name)
{
    int32_t low = 0, high = config ? config->entry_count : 0;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        int order = slice_cmp(config->entries[middle].name, name);
        if (order == 0)
            return config->entries[middle].value;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return SLICE_NULL;
}

/* ---- the rest ---------------------------------------------------------------------------------
 */

int64_t meta_image_next_producer_id(const struct meta_image *image)
{
    return image->next_producer_id;
}

size_t meta_image_blob_count(const struct meta_image *image, enum meta_blob_kind kind)
{
    return pmap_count(image->blobs[kind]);
}

const struct meta_blob *meta_image_blob_at(const struct meta_image *image, enum meta_blob_kind kind,
                                           size_t index)
{
    struct slice key;
    return pmap_at(image->blobs[kind], index, &key);
}
