/* From configuration keys to the option structs of the modules that obey them. Pure, but for what
 * takes a struct io. */
#ifndef KLAMM_SERVER_SETTINGS_H
#define KLAMM_SERVER_SETTINGS_H

#include "conf/config.h"
#include "conf/topic_config.h"
#include "coord/runtime.h"
#include "net/net.h"
#include "repl/replica_moves.h"
#include "store/log_dirs.h"

struct meta_image;

/* How a process that may have `limit` files open shares them out. */
struct settings_files {
    int32_t connections; /* at most; what they leave is enough to serve every partition */
    int segments;        /* at most kept open while connections leave them room */
};
struct settings_files settings_files(int64_t limit, int loop_count, int folder_count,
                                     int listener_count);

/* `memory` is the node's budget: half of it is for requests and answers under way. */
struct net_config settings_net(const struct config *config, int64_t memory,
                               const struct settings_files *files);
/* The limits of max.connections.per.ip.overrides, for net_limit_ips; mem_free them. A host name is
 * resolved, which may block; one without an address is told and left out. */
struct net_ip_limit *settings_ip_limits(struct io *io, const struct config *config,
                                        size_t *ret_count);
/* The image tells the finalized transaction.version. */
struct coord_config settings_coord(const struct config *config, const struct meta_image *image);
/* Times and sizes; paths, ids and callbacks are the node's. */
struct cleaner_config settings_cleaner(const struct config *config);
void settings_log_dirs(const struct config *config, struct log_dirs_options *options);
/* Puts cordoned.log.dirs into effect. Any thread. */
void settings_cordon(const struct config *config, struct log_dirs *dirs);
struct replica_moves_config settings_moves(const struct config *config);
/* Loops that serve connections. */
int settings_loop_count(const struct config *config, struct io *io);

/* The effective settings of a topic. */
void settings_topic(const struct config *config, const struct meta_image *image, struct slice topic,
                    struct topic_config *ret_config, struct log_config *ret_log_config);

#endif
