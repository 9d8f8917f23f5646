/* Replay of topics and partitions: TopicRecord, PartitionRecord, PartitionChangeRecord,
 * RemoveTopicRecord, ClearElrRecord; see edit.h. Called by edit.c.
 *
 * A topic that changes is held open in the edit (struct edit_topic) until an image is asked for:
 * partitions are replaced in its array and the topic object is built once. Partitions themselves
 * are immutable objects shared between images.
 *
 * A change record says only what differs: a leader other than -2 bumps the leader epoch even when
 * it is the same leader, and each change bumps the partition epoch. */
#include "meta/edit_data.h"

#include "base/buf.h"
#include "base/mem.h"
#include "wire_metadata_records.h"

enum {
    PARTITION_INDEX_MAX = 1 << 24, /* bounds the array that one record can ask for */
    LEADER_UNCHANGED = -2,
};

/* ---- partition objects ------------------------------------------------------------------------
 */

static const int32_t *copy_ids(uint8_t **at, const int32_t *ids, int32_t count)
{
    size_t size = (size_t)count * sizeof *ids;
    int32_t *copy = (int32_t *)(void *)*at;
    if (size)
        memcpy(copy, ids, size);
    *at += size;
    return copy;
}

/* A copy of `from` with all arrays in one block. directories may be fewer than replicas (records
 * before directory assignment): the rest counts as migrating. */
static struct meta_partition *partition_new(const struct meta_partition *from,
                                            int32_t directory_count)
{
    size_t ids = (size_t)from->replica_count + (size_t)from->isr_count +
                 (size_t)from->adding_count + (size_t)from->removing_count +
                 (size_t)from->elr_count + (size_t)from->last_elr_count;
    struct meta_partition *p = meta_object_new(sizeof *p + ids * sizeof(int32_t) +
                                               (size_t)from->replica_count * sizeof(struct uuid));
    uint8_t *at = (uint8_t *)(p + 1);
    *p = *from;
    p->replicas = copy_ids(&at, from->replicas, from->replica_count);
    p->isr = copy_ids(&at, from->isr, from->isr_count);
    p->adding = copy_ids(&at, from->adding, from->adding_count);
    p->removing = copy_ids(&at, from->removing, from->removing_count);
    p->elr = copy_ids(&at, from->elr, from->elr_count);
    p->last_elr = copy_ids(&at, from->last_elr, from->last_elr_count);
    struct uuid *directories = (struct uuid *)(void *)at;
    for (int32_t i = 0; i < from->replica_count; i++)
        directories[i] = i < directory_count ? from->directories[i] : META_DIR_MIGRATING;
    p->directories = directories;
    return p;
}

/* ---- topics under change ----------------------------------------------------------------------
 */

static void partition_unref(const struct meta_partition *partition)
{
    meta_object_unref((void *)(uintptr_t)partition);
}

static void partition_ref(const struct meta_partition *partition)
{
    if (partition)
        meta_object_ref((void *)(uintptr_t)partition);
}

static void grow(struct edit_topic *topic, int32_t count)
{
    if (count > topic->capacity) {
        int32_t capacity = topic->capacity ? topic->capacity : 1;
        while (capacity < count)
            capacity *= 2;
        topic->partitions =
            mem_realloc(topic->partitions, (size_t)capacity * sizeof *topic->partitions);
        topic->capacity = capacity;
    }
    while (topic->count < count)
        topic->partitions[topic->count++] = NULL;
}

static struct edit_topic *topic_open(struct meta_edit *edit, struct slice name,
                                     const struct uuid *id)
{
    struct edit_topic *topic = mem_zalloc(sizeof *topic);
    topic->id = *id;
    topic->name = slice_to_cstr(name);
    map_put(&edit->topics, meta_uuid_key(&topic->id), topic);
    map_put(&edit->names, slice_str(topic->name), topic);
    return topic;
}

static void topic_free(struct edit_topic *topic)
{
    for (int32_t i = 0; i < topic->count; i++)
        partition_unref(topic->partitions[i]);
    mem_free(topic->partitions);
    mem_free(topic->name);
    mem_free(topic);
}

/* The open topic of an id, opened from the image when needed; NULL when there is none. */
static struct edit_topic *topic_of(struct meta_edit *edit, const struct uuid *id)
{
    struct edit_topic *topic = map_get(&edit->topics, meta_uuid_key(id));
    if (topic)
        return topic->removed ? NULL : topic;
    const struct meta_topic *old = meta_image_topic_by_id(edit->image, id);
    if (!old)
        return NULL;
    topic = topic_open(edit, old->name, id);
    grow(topic, old->partition_count);
    for (int32_t i = 0; i < old->partition_count; i++) {
        partition_ref(old->partitions[i]);
        topic->partitions[i] = old->partitions[i];
    }
    return topic;
}

/* Takes over the reference on `partition`. */
static void topic_set(struct edit_topic *topic, int32_t index, struct meta_partition *partition)
{
    grow(topic, index + 1);
    partition_unref(topic->partitions[index]);
    topic->partitions[index] = partition;
}

void edit_topics_flush(struct meta_edit *edit)
{
    struct meta_image *image = edit->image;
    for (size_t i = 0; i < map_count(&edit->topics); i++) {
        struct edit_topic *open = map_at(&edit->topics, i);
        if (!open->removed) {
            struct meta_topic *topic =
                meta_topic_new(slice_str(open->name), &open->id, open->count);
            const struct meta_partition **slots = meta_topic_slots(topic);
            for (int32_t p = 0; p < open->count; p++) {
                partition_ref(open->partitions[p]);
                slots[p] = open->partitions[p];
            }
            meta_object_ref(topic);
            edit_put(&image->topics_by_id, &meta_topic_type, meta_uuid_key(&topic->id), topic);
            edit_put(&image->topics_by_name, &meta_topic_type, topic->name, topic);
        }
        topic_free(open);
    }
    map_fini(&edit->topics);
    map_fini(&edit->names);
    map_init(&edit->topics);
    map_init(&edit->names);
}

void edit_topics_free(struct meta_edit *edit)
{
    for (size_t i = 0; i < map_count(&edit->topics); i++)
        topic_free(map_at(&edit->topics, i));
    map_fini(&edit->topics);
    map_fini(&edit->names);
}

static enum err no_topic(struct meta_edit *edit, const char *what, const struct uuid *id)
{
    char text[UUID_TEXT_SIZE + 1];
    return edit_corrupt(edit, "%s names topic id %s, which does not exist", what,
                        uuid_format(id, text));
}

/* ---- records ----------------------------------------------------------------------------------
 */

enum err edit_topic_record(struct meta_edit *edit, const void *record)
{
    const struct topic_record *r = record;
    if (meta_image_topic(edit->image, r->name) || map_get(&edit->names, r->name))
        return edit_corrupt(edit, "TopicRecord for %.*s, a topic that exists", SLICE_FMT(r->name));
    struct edit_topic *known = map_get(&edit->topics, meta_uuid_key(&r->topic_id));
    if ((known && !known->removed) || meta_image_topic_by_id(edit->image, &r->topic_id))
        return edit_corrupt(edit, "TopicRecord for %.*s with the id of another topic",
                            SLICE_FMT(r->name));
    if (known) {
        map_remove(&edit->topics, meta_uuid_key(&known->id));
        topic_free(known);
    }
    topic_open(edit, r->name, &r->topic_id);
    return ERR_NONE;
}

enum err edit_partition_record(struct meta_edit *edit, const void *record)
{
    const struct partition_record *r = record;
    struct edit_topic *topic = topic_of(edit, &r->topic_id);
    if (!topic)
        return no_topic(edit, "PartitionRecord", &r->topic_id);
    if (r->partition_id < 0 || r->partition_id >= PARTITION_INDEX_MAX)
        return edit_corrupt(edit, "PartitionRecord with partition %d", r->partition_id);
    struct meta_partition value = {
        .leader = r->leader,
        .leader_epoch = r->leader_epoch,
        .partition_epoch = r->partition_epoch,
        .recovery_state = r->leader_recovery_state,
        .replica_count = r->replicas_count,
        .isr_count = r->isr_count,
        .adding_count = r->adding_replicas_count,
        .removing_count = r->removing_replicas_count,
        .elr_count = r->eligible_leader_replicas_count < 0 ? 0 : r->eligible_leader_replicas_count,
        .last_elr_count = r->last_known_elr_count < 0 ? 0 : r->last_known_elr_count,
        .replicas = r->replicas,
        .isr = r->isr,
        .adding = r->adding_replicas,
        .removing = r->removing_replicas,
        .elr = r->eligible_leader_replicas,
        .last_elr = r->last_known_elr,
        .directories = r->directories,
    };
    topic_set(topic, r->partition_id, partition_new(&value, r->directories_count));
    return ERR_NONE;
}

/* Takes an array of a change record when it is there (count -1 = no change). */
static void take_ids(const int32_t *ids, int32_t count, const int32_t **ret_ids, int32_t *ret_count)
{
    if (count >= 0) {
        *ret_ids = ids;
        *ret_count = count;
    }
}

enum err edit_partition_change(struct meta_edit *edit, const void *record)
{
    const struct partition_change_record *r = record;
    struct edit_topic *topic = topic_of(edit, &r->topic_id);
    if (!topic)
        return no_topic(edit, "PartitionChangeRecord", &r->topic_id);
    const struct meta_partition *old = NULL;
    if (r->partition_id >= 0 && r->partition_id < topic->count)
        old = topic->partitions[r->partition_id];
    if (!old)
        return edit_corrupt(edit, "PartitionChangeRecord for %s-%d, which does not exist",
                            topic->name, r->partition_id);
    struct meta_partition value = *old;
    int32_t directory_count = old->replica_count;
    take_ids(r->replicas, r->replicas_count, &value.replicas, &value.replica_count);
    take_ids(r->isr, r->isr_count, &value.isr, &value.isr_count);
    take_ids(r->adding_replicas, r->adding_replicas_count, &value.adding, &value.adding_count);
    take_ids(r->removing_replicas, r->removing_replicas_count, &value.removing,
             &value.removing_count);
    take_ids(r->eligible_leader_replicas, r->eligible_leader_replicas_count, &value.elr,
             &value.elr_count);
    take_ids(r->last_known_elr, r->last_known_elr_count, &value.last_elr, &value.last_elr_count);
    if (r->directories_count >= 0) {
        value.directories = r->directories;
        directory_count = r->directories_count;
    }
    if (r->leader != LEADER_UNCHANGED) {
        value.leader = r->leader;
        value.leader_epoch++;
    }
    if (r->leader_recovery_state >= 0)
        value.recovery_state = r->leader_recovery_state;
    value.partition_epoch++;
    topic_set(topic, r->partition_id, partition_new(&value, directory_count));
    return ERR_NONE;
}

enum err edit_remove_topic(struct meta_edit *edit, const void *record)
{
    const struct remove_topic_record *r = record;
    struct edit_topic *topic = topic_of(edit, &r->topic_id);
    if (!topic)
        return no_topic(edit, "RemoveTopicRecord", &r->topic_id);
    struct slice name = slice_str(topic->name);
    /* The name may belong to the same topic only: TopicRecord refuses one that is taken. */
    edit_remove(&edit->image->topics_by_id, &meta_topic_type, meta_uuid_key(&topic->id));
    edit_remove(&edit->image->topics_by_name, &meta_topic_type, name);
    struct buf key;
    meta_config_key(&key, META_RESOURCE_TOPIC, name);
    edit_remove(&edit->image->configs, &meta_object_type, buf_slice(&key));
    buf_fini(&key);
    map_remove(&edit->names, name);
    topic->removed = true;
    return ERR_NONE;
}

static void topic_clear_elr(struct edit_topic *topic)
{
    for (int32_t i = 0; i < topic->count; i++) {
        const struct meta_partition *old = topic->partitions[i];
        if (!old || (old->elr_count == 0 && old->last_elr_count == 0))
            continue;
        struct meta_partition value = *old;
        value.elr_count = value.last_elr_count = 0;
        topic_set(topic, i, partition_new(&value, old->replica_count));
    }
}

enum err edit_clear_elr(struct meta_edit *edit, const void *record)
{
    const struct clear_elr_record *r = record;
    edit_topics_flush(edit);
    if (r->topic_name.size > 0) {
        const struct meta_topic *topic = meta_image_topic(edit->image, r->topic_name);
        if (!topic)
            return edit_corrupt(edit, "ClearElrRecord for topic %.*s, which does not exist",
                                SLICE_FMT(r->topic_name));
        topic_clear_elr(topic_of(edit, &topic->id));
        return ERR_NONE;
    }
    META_IMAGE_FOREACH_TOPIC(topic, edit->image)
    topic_clear_elr(topic_of(edit, &topic->id));
    return ERR_NONE;
}
