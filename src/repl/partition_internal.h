/* What the files of the partition share. Partition lock held, but for partition_flushed. */
#ifndef KLAMM_REPL_PARTITION_INTERNAL_H
#define KLAMM_REPL_PARTITION_INTERNAL_H

#include "repl/partition.h"

/* Submits a flush up to the LEO unless one runs; false when there is nothing to do. */
bool partition_flush(struct partition *partition);

/* log_on_flushed of the partition's log; `context` is the partition. */
void partition_flushed(void *context);

/* Leads, in the epoch the client knows (-1: it did not say), and has a log. */
enum err partition_check_leader(const struct partition *partition, int32_t current_epoch);

#endif
