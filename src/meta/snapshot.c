/* An image as snapshot records; see snapshot.h. Called by the quorum driver on a worker, which
 * holds a reference to the image: nothing here changes it or locks.
 *
 * Records are written in the versions that the image's metadata.version allows; what it cannot
 * express (ELR before 4.0-IV1, directories before 3.7-IV2) is left out, as Kafka does. */
#include "meta/snapshot.h"

#include "meta/features.h"
#include "meta/image_data.h"
#include "meta/records.h"
#include "meta/records_build.h"
#include "wire_metadata_records.h"

struct writer {
    enum err (*put)(void *context, struct slice payload);
    void *context;
    struct meta_records record; /* the one being written */
    struct arena arena;         /* of the record being written */
    const struct meta_version *version;
    enum err err;
};

static void write_record(struct writer *w, const struct wire_schema *schema, int16_t version,
                         const void *record)
{
    if (w->err != ERR_NONE)
        return;
    meta_records_clear(&w->record);
    meta_records_add(&w->record, schema, version, record);
    w->err = w->put(w->context, meta_records_at(&w->record, 0));
    arena_fini(&w->arena);
    arena_init(&w->arena);
}

static void write_feature(struct writer *w, struct slice name, int16_t level)
{
    struct feature_level_record r;
    wire_init(&wire_feature_level_record, &r);
    r.name = name;
    r.feature_level = level;
    write_record(w, &wire_feature_level_record, 0, &r);
}

static void write_features(struct writer *w, const struct meta_image *image)
{
    int16_t metadata_version = meta_image_metadata_version(image);
    if (metadata_version > 0)
        write_feature(w, FEATURE_METADATA_VERSION, metadata_version);
    for (size_t i = 0; i < meta_image_feature_count(image); i++) {
        struct slice name;
        int16_t level = meta_image_feature_at(image, i, &name);
        if (!slice_eq(name, FEATURE_METADATA_VERSION))
            write_feature(w, name, level);
    }
}

static void write_nodes(struct writer *w, const struct meta_image *image)
{
    for (size_t i = 0; i < meta_image_broker_count(image); i++) {
        struct register_broker_record r;
        meta_broker_to_record(meta_image_broker_at(image, i), w->version, &w->arena, &r);
        write_record(w, &wire_register_broker_record, w->version->register_broker_version, &r);
    }
    if (!(w->version->flags & META_HAS_CONTROLLER_REGISTRATION))
        return;
    for (size_t i = 0; i < meta_image_controller_count(image); i++) {
        struct register_controller_record r;
        meta_controller_to_record(meta_image_controller_at(image, i), &w->arena, &r);
        write_record(w, &wire_register_controller_record, w->version->register_controller_version,
                     &r);
    }
}

static void write_topics(struct writer *w, const struct meta_image *image)
{
    META_IMAGE_FOREACH_TOPIC(topic, image)
    {
        struct topic_record r;
        wire_init(&wire_topic_record, &r);
        r.name = topic->name;
        r.topic_id = topic->id;
        write_record(w, &wire_topic_record, 0, &r);
        for (int32_t i = 0; i < topic->partition_count; i++) {
            if (!topic->partitions[i])
                continue;
            struct partition_record p;
            meta_partition_to_record(topic->partitions[i], &topic->id, i, w->version, &p);
            write_record(w, &wire_partition_record, w->version->partition_version, &p);
        }
    }
}

static void write_configs(struct writer *w, const struct meta_image *image)
{
    for (size_t i = 0; i < meta_image_config_count(image); i++) {
        const struct meta_config *config = meta_image_config_at(image, i);
        for (int32_t e = 0; e < config->entry_count; e++) {
            struct config_record r;
            wire_init(&wire_config_record, &r);
            r.resource_type = config->type;
            r.resource_name = config->resource;
            r.name = config->entries[e].name;
            r.value = config->entries[e].value;
            write_record(w, &wire_config_record, 0, &r);
        }
    }
}

static void write_producer_ids(struct writer *w, const struct meta_image *image)
{
    if (image->next_producer_id < 0)
        return;
    struct producer_ids_record r;
    wire_init(&wire_producer_ids_record, &r);
    r.broker_id = -1; /* as Kafka writes it: a snapshot tells no owner */
    r.broker_epoch = -1;
    r.next_producer_id = image->next_producer_id;
    write_record(w, &wire_producer_ids_record, 0, &r);
}

static void write_blobs(struct writer *w, const struct meta_image *image, enum meta_blob_kind kind)
{
    for (size_t i = 0; i < meta_image_blob_count(image, kind) && w->err == ERR_NONE; i++)
        w->err = w->put(w->context, meta_image_blob_at(image, kind, i)->payload);
}

enum err meta_snapshot_write(const struct meta_image *image,
                             enum err (*put)(void *context, struct slice payload), void *context)
{
    int16_t level = meta_image_metadata_version(image);
    struct writer w = {.put = put, .context = context};
    w.version = meta_version_find(level < META_VERSION_MIN ? META_VERSION_MIN : level);
    meta_records_init(&w.record);
    arena_init(&w.arena);
    write_features(&w, image);
    write_nodes(&w, image);
    write_topics(&w, image);
    write_configs(&w, image);
    write_blobs(&w, image, META_BLOB_QUOTA);
    write_producer_ids(&w, image);
    write_blobs(&w, image, META_BLOB_ACL);
    write_blobs(&w, image, META_BLOB_SCRAM);
    write_blobs(&w, image, META_BLOB_TOKEN);
    arena_fini(&w.arena);
    meta_records_fini(&w.record);
    return w.err;
}
