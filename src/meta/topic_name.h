/* Rules for topic names, and which topics are the node's own. Pure; any thread. */
#ifndef KLAMM_META_TOPIC_NAME_H
#define KLAMM_META_TOPIC_NAME_H

#include "base/arena.h"
#include "base/err.h"

enum { TOPIC_NAME_SIZE_MAX = 249 };

/* ERR_NONE, or INVALID_TOPIC_EXCEPTION with Kafka's sentence in *ret_text (arena or constant). */
enum err topic_name_check(struct slice name, struct arena *arena, struct slice *ret_text);
/* Metric names do not tell '.' from '_': names that are equal with each '.' made '_' collide. */
bool topic_name_has_collision_chars(struct slice name);
struct slice topic_name_unified(struct slice name, struct arena *arena);
/* __consumer_offsets, __transaction_state, __share_group_state. */
bool topic_name_is_internal(struct slice name);

#endif
