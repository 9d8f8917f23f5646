/* What an image is made of; for the files of meta only (image.c reads, edit.c makes the next one,
 * snapshot.c walks it). Values of the maps are immutable objects with a reference count in front of
 * the public struct; all their texts and arrays lie behind it in the same block, so one free ends
 * an object. A topic also holds references to its partitions, which are objects of their own. */
#ifndef KLAMM_META_IMAGE_DATA_H
#define KLAMM_META_IMAGE_DATA_H

#include "meta/image.h"

#include <stdatomic.h>

struct meta_image {
    atomic_uint refs;
    struct meta_provenance provenance;
    struct pmap *topics_by_name; /* name -> struct meta_topic */
    struct pmap *topics_by_id;   /* 16 bytes -> the same objects */
    struct pmap *brokers;        /* be32 id -> struct meta_broker */
    struct pmap *controllers;    /* be32 id -> struct meta_controller_node */
    struct pmap *features;       /* name -> struct meta_feature_level */
    struct pmap *configs;        /* type byte + resource -> struct meta_config */
    struct pmap *blobs[META_BLOB_KIND_COUNT];
    int64_t next_producer_id; /* -1 = no record yet; who got the last block: */
    int32_t producer_ids_broker;
    int64_t producer_ids_epoch;
};

struct meta_feature_level {
    int16_t level;
};

extern const struct pmap_type meta_object_type; /* flat objects */
extern const struct pmap_type meta_topic_type;

/* A zeroed object of `size` bytes with one reference. */
void *meta_object_new(size_t size);
void meta_object_ref(void *object);
void meta_object_unref(void *object); /* flat ones only; accepts NULL */
/* A topic with room for `partition_count` pointers (NULL at first) and a copy of the name. */
struct meta_topic *meta_topic_new(struct slice name, const struct uuid *id,
                                  int32_t partition_count);
/* The same array, writable while the topic is being built. */
const struct meta_partition **meta_topic_slots(struct meta_topic *topic);

/* Map keys. */
enum { META_ID_KEY_SIZE = 4, META_CONFIG_NAME_MAX = 65535 };
struct slice meta_id_key(int32_t id, uint8_t buffer[META_ID_KEY_SIZE]);
static inline struct slice meta_uuid_key(const struct uuid *id)
{
    return slice_of(id->bytes, sizeof id->bytes);
}

struct buf;
/* Initializes the buffer: the caller ends it. */
void meta_config_key(struct buf *ret_key, int8_t type, struct slice resource);

/* A shallow copy with one reference. */
struct meta_image *meta_image_copy(const struct meta_image *image);

#endif
