/* The logs behind the partitions of an image: found, made, placed in a folder, or recognised as
 * left over. For publish.c; metadata loop. */
#ifndef KLAMM_SERVER_PUBLISH_LOG_H
#define KLAMM_SERVER_PUBLISH_LOG_H

#include "api/context.h"
#include "meta/controller.h"
#include "meta/image.h"
#include "repl/partition.h"
#include "store/log_dirs.h"

/* Replicas whose folder the controller must be told. */
struct publish_assignments {
    struct controller_assignment *items;
    size_t count, capacity;
};

/* One topic being published. */
struct publish_walk {
    struct api_context *context;
    const struct meta_image *image;
    const struct meta_topic *topic;
    struct topic_config config;
    struct log_config log_config;
    struct publish_assignments *assignments;
    struct coordinators *coordinators; /* whose topic it is; NULL = of none */
    bool is_first;    /* the image that a start found: its partitions are not new */
    bool retrying;    /* partitions without a log are made anew */
    bool log_missing; /* one could not be made now, although its folder is online */
};

/* The partition with its log, found or made; without one when its folder is offline. */
struct partition *publish_new_partition(struct publish_walk *walk, int32_t index,
                                        const struct meta_partition *meta);

/* Tells the controller the folders of new replicas, if there are several folders. Takes the list.
 */
void publish_assign(struct api_context *context, struct loop *loop,
                    struct publish_assignments *assignments);

/* Tells the controller which folders are cordoned, if the image does not know it. */
void publish_cordons(struct api_context *context, struct loop *loop,
                     const struct meta_image *image);

/* Futures whose partition has no log in a folder that is online take its place: a crash in the
 * midst of a move left them so. Before the partitions are made. */
void publish_promote_futures(struct api_context *context, const struct meta_image *image);
/* The others go on being filled. After the strays went. */
void publish_resume_futures(struct api_context *context);

/* Renames logs that no topic of the image has here (deleted while this node was down). */
void publish_strays(struct api_context *context, const struct meta_image *image);

#endif
