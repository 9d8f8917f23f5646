/* Inside coord only: the records of __transaction_state. */
#ifndef KLAMM_COORD_TXN_RECORD_H
#define KLAMM_COORD_TXN_RECORD_H

#include "coord/shard.h"
#include "coord/txn.h"

/* Key strings have an int16 length. */
enum { TXN_RECORD_ID_MAX = 32767 };

/* The value's version is that of the feature level transaction.version. */
void txn_record_put(struct shard_records *records, struct slice id, const struct txn_view *view,
                    int16_t transaction_version);
void txn_record_tombstone(struct shard_records *records, struct slice id);

/* The transactional id, a view into the key; null for a record type of a later version, to be
 * skipped. CORRUPT when it is no key. */
enum err txn_record_key(struct slice key, struct slice *ret_id);
/* What the value says, NULL for a version of a later one, to be skipped; the caller's to free.
 * CORRUPT for what no coordinator writes. */
enum err txn_record_value(struct slice value, struct txn_view **ret_view);

#endif
