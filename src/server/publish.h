/* Putting a new metadata image into effect on this node, in one fixed order: configuration, deleted
 * topics, partitions and their logs, topic settings, coordinators.
 *
 * One publisher for each node. Runs on the metadata loop, one image after the other; when it
 * returns, a request that names the change finds it done. */
#ifndef KLAMM_SERVER_PUBLISH_H
#define KLAMM_SERVER_PUBLISH_H

#include "api/context.h"
#include "base/list.h"
#include "server/settings.h"

struct meta_image;
struct net;

struct publisher {
    struct api_context *context;
    struct net *net;
    struct loop *const *loops; /* that read context->config */
    int loop_count;
    struct loop *meta_loop;
    const struct config *static_config;
    int64_t memory;
    struct settings_files files;
    bool is_first;           /* logs without a topic are strays, once */
    struct loop_timer retry; /* a log could not be made: the disk is full, say */
    int32_t log_count;
};

void publish_image(struct publisher *publisher, const struct meta_image *old,
                   const struct meta_image *new);

/* Takes every partition off the node: requests get NOT_LEADER_OR_FOLLOWER, logs are detached. */
void publish_nothing(struct publisher *publisher);

#endif
