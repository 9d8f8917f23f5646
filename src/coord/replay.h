/* Inside coord only: records into state. */
#ifndef KLAMM_COORD_REPLAY_H
#define KLAMM_COORD_REPLAY_H

#include "coord/shard.h"

/* Batches of the log, in order, with their offsets. CORRUPT where they cannot be understood. */
enum err replay_loaded(struct coord_shard *shard, struct slice batches);

/* The batch that this shard has just appended at base_offset. The members of a classic group are
 * left alone: live, memory is ahead of its record. */
enum err replay_own_batch(struct coord_shard *shard, struct slice batch, int64_t base_offset);

#endif
