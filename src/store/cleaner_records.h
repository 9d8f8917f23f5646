/* The records of one batch of any magic, as the cleaner reads them: one walk for what Kafka 4
 * writes and for the message sets that old segments still hold. One thread. */
#ifndef KLAMM_STORE_CLEANER_RECORDS_H
#define KLAMM_STORE_CLEANER_RECORDS_H

#include "record/batch.h"
#include "record/legacy.h"
#include "record/records.h"

struct cleaner_records {
    bool is_legacy;
    union {
        struct records_iter records;
        struct legacy_iter legacy;
    };
};

/* `bytes` is the whole batch that `info` tells of, its CRC checked. A record above
 * record_size_max bytes (max.decompressed.message.bytes) is an error when it is met. Errors as in
 * record/records.h and record/legacy.h. */
enum err cleaner_records_begin(struct cleaner_records *records, const struct batch_info *info,
                               struct slice bytes, size_t record_size_max);
/* False at the end, or with what cleaner_records_end returns. Views live until the next call. */
bool cleaner_records_next(struct cleaner_records *records, struct record *ret_record);
/* Ends the walk; the error it met. Also after begin failed. */
enum err cleaner_records_end(struct cleaner_records *records);

#endif
