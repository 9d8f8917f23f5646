/* Guards of transactional appends (KIP-890). Before the first data of a transaction is taken, its
 * coordinator is asked whether the partition is part of it. Between the question and the append the
 * transaction may end; a guard, drawn when the question goes out and demanded by the append, tells.
 *
 * One entry for each producer that is being verified. Pure memory; under the log's lock. */
#ifndef KLAMM_STORE_VERIFICATION_H
#define KLAMM_STORE_VERIFICATION_H

#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

/* Of one log. An entry lives from the question to the append, for milliseconds; but those of
 * producers that never append stay for a day, and any client can ask in the name of producers that
 * it invents. */
enum { VERIFICATIONS_MAX = 1024 };

struct verification {
    struct verification *older, *newer; /* by the last time that they asked; NULL: none */
    int64_t producer_id;
    int64_t guard; /* never 0 */
    int64_t started_ms;
    int32_t sequence_lowest; /* of the batches of `epoch` that asked */
    int16_t epoch;
    bool
        epoch_bump; /* the producer bumps its epoch with each transaction (transaction.version 2) */
};

struct verifications {
    struct map entries; /* producer id -> struct verification; not initialized while empty */
    struct verification *oldest, *newest;
    int64_t guard_last;
};

/* Guards count on from `seed`: one that is drawn at random keeps the guards of two logs apart. */
void verifications_init(struct verifications *all, int64_t seed);
void verifications_fini(struct verifications *all);

/* NULL: none. */
const struct verification *verifications_get(const struct verifications *all, int64_t producer_id);
/* The entry of a batch that asks; made when there is none. An entry that is there keeps its guard
 * and learns of a lower sequence, or a higher epoch. With VERIFICATIONS_MAX of them the one that
 * asked the longest time ago goes: at worst its append is refused (INVALID_TXN_STATE), as after
 * producer.id.expiration.ms, for a guard that does not stand never lets data in. */
const struct verification *verifications_begin(struct verifications *all, int64_t producer_id,
                                               int16_t epoch, int32_t sequence, bool epoch_bump,
                                               int64_t now_ms);
/* A transactional batch was appended: the verification is over. A marker that carries the epoch
 * under verification ended the transaction before and leaves an entry with epoch_bump alone. */
void verifications_end(struct verifications *all, int64_t producer_id, int16_t epoch, bool marker);
/* Forgets those that began at or before now_ms - expiry_ms. */
void verifications_expire(struct verifications *all, int64_t now_ms, int64_t expiry_ms);

#endif
