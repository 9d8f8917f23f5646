/* Compaction of logs whose cleanup.policy has compact: background tasks that take the filthiest log
 * each and clean it in rounds, slice by slice, on workers.
 *
 * A round: the keys of the dirty section go into a map (store/cleaner_keys.h) -> all segments up to
 * its end are filtered (store/cleaner_filter.h), in groups that fit one segment, each into a new
 * one -> the new one takes the place of its group (store/cleaner_output.h). Offsets never change.
 * After a round, and whenever there is nothing to clean, compacted logs are also relieved of what
 * retention and their log start allow, and cleaner-offset-checkpoint is brought up to date.
 *
 * Threads. Timers are on the loop given to cleaner_start; slices run on workers, so that nothing
 * else waits long for one. A slice takes LOCK_LOGS and a log's LOCK_PARTITION only to look at the
 * log, to open files and to rename them.
 *
 * A log that cannot be cleaned (its bytes are damaged, say) is named with its error, left alone
 * until the node starts again, and keeps nobody else from being cleaned. A full disk only
 * postpones. An I/O error takes the folder offline. */
#ifndef KLAMM_STORE_CLEANER_H
#define KLAMM_STORE_CLEANER_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct cleaner;
struct log_dirs;
struct loop;

struct cleaner_config {
    bool enabled;           /* log.cleaner.enable */
    int threads;            /* log.cleaner.threads: logs cleaned side by side */
    int64_t dedupe_size;    /* log.cleaner.dedupe.buffer.size, of all threads together */
    double load_factor;     /* log.cleaner.io.buffer.load.factor */
    int32_t io_buffer_size; /* log.cleaner.io.buffer.size, of all threads together */
    double io_rate_max;     /* log.cleaner.io.max.bytes.per.second, of all threads together */
    int64_t backoff_ms;     /* log.cleaner.backoff.ms: pause when there was nothing to clean */
};
/* Kafka's defaults. */
void cleaner_config_init(struct cleaner_config *config);

/* Made by log_dirs_open; does nothing before cleaner_start. */
struct cleaner *cleaner_new(struct log_dirs *dirs, const struct cleaner_config *config);
/* With no slice under way; accepts NULL. */
void cleaner_free(struct cleaner *cleaner);

/* On the loop. */
void cleaner_start(struct cleaner *cleaner, struct loop *loop);
/* On the loop: ends rounds under way and begins no more. Slices count in log_dirs' `busy`. */
void cleaner_stop(struct cleaner *cleaner);

/* New settings; any thread, after cleaner_start. The rate counts at once, the rest from the next
 * round of each task on. `enabled` is fixed at the start. */
void cleaner_configure(struct cleaner *cleaner, const struct cleaner_config *config);

/* Whether compacted logs get their retention here. */
bool cleaner_retains(const struct cleaner *cleaner);

/* For tests and tools: cleans on this thread until there is nothing left to clean; the number of
 * rounds that went well. Not while cleaner_start's tasks run. */
int cleaner_run_now(struct cleaner *cleaner, int64_t now_ms);

#endif
