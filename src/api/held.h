/* The partition a request names, or the error that names why not. Any thread. */
#ifndef KLAMM_API_HELD_H
#define KLAMM_API_HELD_H

#include "base/err.h"
#include "repl/partition_table.h"

struct api_context;

/* By name, or with a null name by topic id. The reference found is the caller's.
 * UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, NOT_LEADER_OR_FOLLOWER (known, but not here). */
enum err held_find(struct api_context *context, struct slice topic, const struct uuid *topic_id,
                   int32_t index, struct partition **ret_partition);

#endif
