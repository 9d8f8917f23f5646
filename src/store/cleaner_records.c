/* Chooses between the two iterators of the record module. Called by the passes of the cleaner. */
#include "store/cleaner_records.h"

enum err cleaner_records_begin(struct cleaner_records *records, const struct batch_info *info,
                               struct slice bytes, size_t record_size_max)
{
    records->is_legacy = info->magic < BATCH_MAGIC;
    return records->is_legacy ? legacy_iter_init(&records->legacy, bytes, record_size_max)
                              : records_iter_init(&records->records, bytes, record_size_max);
}

bool cleaner_records_next(struct cleaner_records *records, struct record *ret_record)
{
    return records->is_legacy ? legacy_iter_next(&records->legacy, ret_record)
                              : records_iter_next(&records->records, ret_record);
}

enum err cleaner_records_end(struct cleaner_records *records)
{
    enum err err = records->is_legacy ? records->legacy.err : records->records.err;
    if (records->is_legacy)
        legacy_iter_fini(&records->legacy);
    else
        records_iter_fini(&records->records);
    return err;
}
