/* The metadata image: what the records of __cluster_metadata up to one offset say about the
 * cluster. An image is immutable and shares structure with its predecessors; a holder of a
 * reference reads it on any thread without a lock, for as long as it likes. All pointers returned
 * below are borrowed from the image and live as long as the caller's reference to it.
 *
 * Images are made by meta/edit.h (replay of records) only. Maps iterate in the bytewise order of
 * their keys (ids as big-endian integers), so equal images print alike. */
#ifndef KLAMM_META_IMAGE_H
#define KLAMM_META_IMAGE_H

#include "base/pmap.h"
#include "base/uuid.h"
#include "conf/config.h"

enum {
    META_NO_LEADER = -1,
    META_VERSION_MIN = 7,     /* metadata.version 3.3-IV3 */
    META_VERSION_LATEST = 33, /* 4.4-IV2, the latest for production */
    /* In the tables too, but not for production: a log may have it, a format or an upgrade not. */
    META_VERSION_KNOWN_MAX = 34,
};

/* Directory ids with a meaning (the first 100 ids are reserved by Kafka). */
#define META_DIR_UNASSIGNED UUID_ZERO
#define META_DIR_LOST       ((struct uuid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}})
#define META_DIR_MIGRATING  ((struct uuid){{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2}})

/* Values of config resource types in ConfigRecord and the config requests. */
enum meta_resource {
    META_RESOURCE_TOPIC = 2,
    META_RESOURCE_BROKER = 4, /* name "" = the cluster-wide default */
    META_RESOURCE_BROKER_LOGGER = 8,
    META_RESOURCE_CLIENT_METRICS = 16,
    META_RESOURCE_GROUP = 32,
};

struct meta_partition {
    int32_t leader; /* broker id or META_NO_LEADER */
    int32_t leader_epoch;
    int32_t partition_epoch;
    int8_t recovery_state; /* 0 recovered, 1 recovering after an unclean election */
    int32_t replica_count, isr_count, adding_count, removing_count, elr_count, last_elr_count;
    const int32_t *replicas;
    const int32_t *isr;
    const int32_t *adding;
    const int32_t *removing;
    const int32_t *elr;             /* eligible leader replicas (KIP-966) */
    const int32_t *last_elr;        /* last known ELR */
    const struct uuid *directories; /* replica_count of them, in the order of replicas */
};

/* One topic. partitions[i] is NULL only in a log that skipped an index. */
struct meta_topic {
    struct slice name; /* data[size] is NUL */
    struct uuid id;
    int32_t partition_count; /* highest index + 1 */
    const struct meta_partition *const *partitions;
};

struct meta_endpoint {
    struct slice name; /* listener name */
    struct slice host;
    uint16_t port;
    int16_t security_protocol;
};

struct meta_feature_range {
    struct slice name;
    int16_t min, max;
};

struct meta_broker {
    int32_t id;
    int64_t epoch;
    struct uuid incarnation;
    bool fenced;
    bool in_controlled_shutdown;
    bool is_migrating_zk;
    struct slice rack; /* null = none */
    int32_t endpoint_count, feature_count, dir_count;
    int32_t cordoned_count; /* -1 = the record has null */
    const struct meta_endpoint *endpoints;
    const struct meta_feature_range *features;
    const struct uuid *dirs; /* online log directories */
    const struct uuid *cordoned;
};

struct meta_controller_node {
    int32_t id;
    struct uuid incarnation;
    bool zk_migration_ready;
    int32_t endpoint_count, feature_count;
    const struct meta_endpoint *endpoints;
    const struct meta_feature_range *features;
};

/* All dynamic settings of one resource, sorted by name. */
struct meta_config {
    int8_t type; /* enum meta_resource */
    struct slice resource;
    int32_t entry_count;
    const struct conf_pair *entries;
};

/* A record that is kept as it is (quota, SCRAM credential, ACL, delegation token): its value bytes
 * with frame version, record key and record version in front. */
struct meta_blob {
    struct slice payload;
};

enum meta_blob_kind {
    META_BLOB_QUOTA,
    META_BLOB_SCRAM,
    META_BLOB_ACL,
    META_BLOB_TOKEN,
    META_BLOB_KIND_COUNT,
};

/* Which part of the log the image stands for. */
struct meta_provenance {
    int64_t offset;       /* of the last record contained; -1 = none */
    int32_t epoch;        /* leader epoch of that record; -1 = none */
    int64_t timestamp_ms; /* of its batch; -1 = none */
};

struct meta_image;

/* The image of an empty log. */
struct meta_image *meta_image_empty(void);
struct meta_image *meta_image_ref(const struct meta_image *image);
void meta_image_unref(struct meta_image *image); /* accepts NULL */

const struct meta_provenance *meta_image_provenance(const struct meta_image *image);

/* ---- topics ---- */
const struct meta_topic *meta_image_topic(const struct meta_image *image, struct slice name);
const struct meta_topic *meta_image_topic_by_id(const struct meta_image *image,
                                                const struct uuid *id);
size_t meta_image_topic_count(const struct meta_image *image);
/* The first topic whose name is >= `from` (> with after); SLICE_NULL starts; NULL at the end. */
const struct meta_topic *meta_image_topic_seek(const struct meta_image *image, struct slice from,
                                               bool after);
/* Walks all topics in the order of names. `topic` is a const struct meta_topic *. */
#define META_IMAGE_FOREACH_TOPIC(topic, image)                                               \
    for (const struct meta_topic *topic = meta_image_topic_seek((image), SLICE_NULL, false); \
         topic; topic = meta_image_topic_seek((image), topic->name, true))
/* Topics that differ between two images: made (old NULL), deleted (new NULL), or changed; one that
 * was deleted and made again is one change with two ids. Costs as much as there are changes. */
void meta_image_topics_diff(const struct meta_image *old, const struct meta_image *new,
                            void (*changed)(void *context, const struct meta_topic *old,
                                            const struct meta_topic *new),
                            void *context);
/* NULL when the topic has no such partition. */
const struct meta_partition *meta_topic_partition(const struct meta_topic *topic, int32_t index);
bool meta_partition_has_replica(const struct meta_partition *partition, int32_t broker_id);
/* The directory of a broker's replica; META_DIR_UNASSIGNED when it has none. */
struct uuid meta_partition_directory(const struct meta_partition *partition, int32_t broker_id);

/* A broker that has told no directories, or a replica not yet placed, does not stand in the way. */
bool meta_broker_dir_is_online(const struct meta_broker *broker, struct uuid dir);
/* Its broker is gone or fenced, or has it in a directory that is offline. */
bool meta_image_replica_is_offline(const struct meta_image *image,
                                   const struct meta_partition *partition, int32_t broker_id);

/* ---- nodes ---- */
const struct meta_broker *meta_image_broker(const struct meta_image *image, int32_t id);
size_t meta_image_broker_count(const struct meta_image *image);
const struct meta_broker *meta_image_broker_at(const struct meta_image *image, size_t index);
const struct meta_controller_node *meta_image_controller(const struct meta_image *image,
                                                         int32_t id);
size_t meta_image_controller_count(const struct meta_image *image);
const struct meta_controller_node *meta_image_controller_at(const struct meta_image *image,
                                                            size_t index);
/* The endpoint of a listener name; NULL when the broker has none. */
const struct meta_endpoint *meta_broker_endpoint(const struct meta_broker *broker,
                                                 struct slice listener);
/* Known, not fenced and not in controlled shutdown: may be given leadership. */
bool meta_image_broker_is_active(const struct meta_image *image, int32_t id);

/* ---- features ---- */
int16_t meta_image_metadata_version(const struct meta_image *image); /* -1 = not yet known */
/* The finalized level; 0 when the feature is not finalized. */
int16_t meta_image_feature(const struct meta_image *image, struct slice name);
size_t meta_image_feature_count(const struct meta_image *image);
int16_t meta_image_feature_at(const struct meta_image *image, size_t index, struct slice *ret_name);

/* ---- configs ---- */
/* NULL when the resource has no dynamic setting. */
const struct meta_config *meta_image_config(const struct meta_image *image, int8_t type,
                                            struct slice resource);
/* Its settings as conf wants them; none when it has none. */
struct conf_pairs meta_image_overrides(const struct meta_image *image, int8_t type,
                                       struct slice resource);
/* The configuration of a node, by its node.id, with the dynamic settings of the image over what its
 * file says (`config`). Makes a whole one; config_unref it. */
struct config *meta_image_node_config(const struct meta_image *image, const struct config *config);
size_t meta_image_config_count(const struct meta_image *image);
const struct meta_config *meta_image_config_at(const struct meta_image *image, size_t index);
/* Resources whose dynamic settings differ, like meta_image_topics_diff. */
void meta_image_configs_diff(const struct meta_image *old, const struct meta_image *new,
                             void (*changed)(void *context, const struct meta_config *old,
                                             const struct meta_config *new),
                             void *context);
/* The null slice when absent. */
struct slice meta_config_get(const struct meta_config *config, struct slice name);

/* ---- the rest ---- */
int64_t meta_image_next_producer_id(const struct meta_image *image); /* -1 = no block given yet */
size_t meta_image_blob_count(const struct meta_image *image, enum meta_blob_kind kind);
const struct meta_blob *meta_image_blob_at(const struct meta_image *image, enum meta_blob_kind kind,
                                           size_t index);

#endif
