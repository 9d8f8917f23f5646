/* Inside coord only: records of __consumer_offsets into state. */
#ifndef KLAMM_COORD_REPLAY_H
#define KLAMM_COORD_REPLAY_H

#include "coord/shard.h"

/* One record, data or marker. CORRUPT when it cannot be understood. Live, the members of a classic
 * group are left alone: memory is ahead of their record. */
enum err replay_record(struct coord_shard *shard, const struct shard_record *item);

#endif
