/* First pass of a round of the cleaner: the keys of the dirty section go into the map. */
#ifndef KLAMM_STORE_CLEANER_KEYS_H
#define KLAMM_STORE_CLEANER_KEYS_H

#include "record/batch.h"
#include "store/cleaner_map.h"
#include "store/cleaner_txns.h"

struct cleaner_keys {
    struct cleaner_map *map;
    struct cleaner_txns *txns; /* its own: the second pass begins at the log's start */
    int64_t offset_first;      /* keys of records before this are left out */
    size_t record_size_max;    /* 0: none */
    bool full;                 /* the map took all that it holds; map->offset_last tells how far */
};

/* Takes a batch, in the order of the log; `bytes` as for cleaner_records_begin. Aborted records
 * count for nothing. After an error, or with `full`, the pass is over. */
enum err cleaner_keys_batch(struct cleaner_keys *keys, const struct batch_info *info,
                            struct slice bytes);

/* The type of a transaction marker; CONTROL_UNKNOWN for a batch without records, *ret_empty. */
enum err cleaner_keys_marker(struct slice batch, int *ret_type, bool *ret_empty);

#endif
