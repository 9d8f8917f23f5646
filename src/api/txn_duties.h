/* What this node's transaction coordinator wants done: the markers of transactions that have ended,
 * written to their partitions, until all are written. */
#ifndef KLAMM_API_TXN_DUTIES_H
#define KLAMM_API_TXN_DUTIES_H

#include "base/list.h"

#include <stdint.h>

struct api_context;
struct loop;

/* Takes over the duties of a call to the shard of partition `index` of __transaction_state
 * (coord_update.markers). Mostly all is done on return; the rest waits and is tried again on
 * `loop`. Those under way are counted in context->duty_count; they end by themselves once the shard
 * is resigned. Any thread, no lock held. */
void txn_duties_run(struct api_context *context, struct loop *loop, int32_t index,
                    struct list *markers);

#endif
