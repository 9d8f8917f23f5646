/* Producer ids, handed out from blocks that the controller grants and records in the metadata log,
 * so that an id is never given twice, not over restarts and not after Apache Kafka's last block.
 * Any thread. */
#ifndef KLAMM_API_PRODUCER_IDS_H
#define KLAMM_API_PRODUCER_IDS_H

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"

struct loop;
struct producer_ids;
struct quorum;

/* Embedded in the request of who asks. `done` runs in producer_ids_next or later on any loop. */
struct producer_id_call {
    void (*done)(struct producer_id_call *call);
    enum err error;
    int64_t producer_id;
    struct list link; /* private */
};

struct producer_ids *producer_ids_new(struct quorum *quorum, int32_t broker_id, struct loop *loop);
void producer_ids_free(struct producer_ids *ids); /* accepts NULL; no call may wait */
void producer_ids_next(struct producer_ids *ids, struct producer_id_call *call);

#endif
