/* The insides of an edit; for edit.c, edit_topics.c and edit_nodes.c only. */
#ifndef KLAMM_META_EDIT_DATA_H
#define KLAMM_META_EDIT_DATA_H

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "meta/edit.h"
#include "meta/image_data.h"

/* A topic under change: its partitions in an array that grows, so that replaying many partitions
 * of one topic does not copy the topic each time. Holds a reference to each partition. */
struct edit_topic {
    struct uuid id;
    char *name;
    const struct meta_partition **partitions;
    int32_t count, capacity;
    bool removed;
};

struct meta_edit {
    struct meta_image *image; /* ours alone; roots are replaced in place */
    struct map topics;        /* id -> struct edit_topic */
    struct map names;         /* name -> those of them that are not removed */
    struct arena *arena;      /* of the replay call under way: decoding and error texts */
    struct slice text;        /* error of the replay call under way */
};

/* Sets the edit's error text and returns ERR_CORRUPT. */
enum err edit_corrupt(struct meta_edit *edit, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Replaces *root by the map with (key, object) put in; takes over the reference on object. */
void edit_put(struct pmap **root, const struct pmap_type *type, struct slice key, void *object);
void edit_remove(struct pmap **root, const struct pmap_type *type, struct slice key);

/* Each takes the decoded record struct. */
enum err edit_topic_record(struct meta_edit *edit, const void *record);
enum err edit_partition_record(struct meta_edit *edit, const void *record);
enum err edit_partition_change(struct meta_edit *edit, const void *record);
enum err edit_remove_topic(struct meta_edit *edit, const void *record);
enum err edit_clear_elr(struct meta_edit *edit, const void *record);
/* Puts all topics under change into the image. */
void edit_topics_flush(struct meta_edit *edit);
void edit_topics_free(struct meta_edit *edit);

enum err edit_register_broker(struct meta_edit *edit, const void *record);
enum err edit_unregister_broker(struct meta_edit *edit, const void *record);
enum err edit_fence_broker(struct meta_edit *edit, const void *record);
enum err edit_unfence_broker(struct meta_edit *edit, const void *record);
enum err edit_broker_change(struct meta_edit *edit, const void *record);
enum err edit_register_controller(struct meta_edit *edit, const void *record);
enum err edit_unregister_controller(struct meta_edit *edit, const void *record);

#endif
