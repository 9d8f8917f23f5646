/* Inside coord only: offsets and groups that are past their retention. */
#ifndef KLAMM_COORD_EXPIRY_H
#define KLAMM_COORD_EXPIRY_H

#include "coord/shard.h"

/* Writes tombstones for expired offsets and for empty groups without offsets (KIP-211). */
void expiry_run(struct coord_shard *shard);

#endif
