/* BROKER_LOGGER configs: the levels of this node's diagnostics under the names that Kafka's loggers
 * have, so that kafka-configs --entity-type broker-loggers works unchanged. Levels are not kept
 * over a restart, as in Kafka. Any thread. */
#ifndef KLAMM_API_LOGGERS_H
#define KLAMM_API_LOGGERS_H

#include "base/arena.h"
#include "base/err.h"
#include "conf/dynamic.h"

int loggers_count(void);
/* Sorted by name. *ret_level is "INFO" and the like. */
struct slice loggers_at(int index, struct slice *ret_level);

/* Checks all operations, then does them (not with validate_only). On error nothing was done and
 * *ret_text, from the arena, is Kafka's sentence. */
enum err loggers_alter(struct slice resource_name, int32_t node_id, const struct conf_op *ops,
                       int32_t op_count, bool validate_only, struct arena *arena,
                       struct slice *ret_text);

#endif
