/* Which log is cleaned next: of those that are dirty enough, or where max.compaction.lag.ms has
 * passed, the one whose dirty part is the largest share of it.
 *
 * Never cleaned are: the active segment, what lies at or above the last stable offset (and so the
 * high watermark), segments with records younger than min.compaction.lag.ms, and what recovery
 * would still read after a crash. Where one cleaning ended the next begins; a log start that moved
 * beyond that, or a log that ends before it, begins at the log start again.
 *
 * Called by the cleaner's tasks on workers; a log is looked at under its own lock. Answers to
 * Kafka's LogCleanerManager and LogToClean. */
#include "store/cleaner_internal.h"

#include "base/mem.h"
#include "os/diag.h"

bool cleaner_compacts(const struct log *log)
{
    return log->config.cleanup_compact && !log->future && !log->closed && !log_failed(log);
}

/* ---- how dirty --------------------------------------------------------------------------------
 */

static void correct_first_dirty(struct log *log)
{
    bool below = log->first_dirty < log->start;
    bool above = log->first_dirty > log->end;
    if (log->first_dirty >= 0 && (above || (below && !log->config.cleanup_delete)))
        diag(DIAG_STORE, DIAG_WARN,
             "%s: the cleaner's checkpoint %lld does not fit the log, which has offsets from %lld "
             "to %lld; it is cleaned from its start",
             log->path->text, (long long)log->first_dirty, (long long)log->start,
             (long long)log->end);
    if (log->first_dirty >= 0 && (below || above))
        log->first_dirty = log->start;
}

/* The base of the first segment from `from` on, bar the active one, that has a record younger than
 * min.compaction.lag.ms. */
static int64_t young_base(struct log *log, int64_t from, int64_t now_ms)
{
    for (uint32_t i = log_segment_index(log, from); i + 1 < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (segment_load_times(segment, log->config.index_interval) ||
            segment->max_timestamp > now_ms - log->config.compact_lag_min_ms)
            return segment->base;
    }
    return INT64_MAX;
}

static bool is_due(struct log *log, int64_t from, int64_t now_ms)
{
    int64_t until_ms = now_ms - log->config.compact_lag_max_ms;
    if (until_ms <= 0)
        return false;
    for (uint32_t i = log_segment_index(log, from); i + 1 < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (!segment_load_first_timestamp(segment) && segment->first_timestamp > 0 &&
            segment->first_timestamp < until_ms)
            return true;
    }
    return false;
}

/* Recovery never looks at what was cleaned: a marker that is gone would leave its transaction open,
 * which an older producer snapshot still knows, and a gap looks like something lost. So only what
 * lies below the recovery point on the disk is cleaned. */
static int64_t recovered_end(struct log *log, int64_t end)
{
    if (log->recovery_point < end)
        end = log->recovery_point;
    if (!log->dir || log->recovery_saved >= end)
        return end;
    log_dir_want_recovery_point(log->dir);
    return log->recovery_saved;
}

static int64_t cleanable_end(struct log *log, int64_t first_dirty, int64_t now_ms)
{
    int64_t end = log_last_stable(log), active = log_active(log)->base;
    if (active < end)
        end = active;
    end = recovered_end(log, end);
    if (log->config.compact_lag_min_ms > 0) {
        int64_t young = young_base(log, first_dirty, now_ms);
        end = young < end ? young : end;
    }
    if (end < first_dirty)
        end = first_dirty;
    /* Segments are cleaned whole. */
    return end >= active ? active : log->segments[log_segment_index(log, end)]->base;
}

bool cleaner_dirt_of(struct log *log, int64_t now_ms, struct cleaner_dirt *ret_dirt)
{
    correct_first_dirty(log);
    struct cleaner_dirt dirt = {.first_dirty =
                                    log->first_dirty < 0 ? log->start : log->first_dirty};
    dirt.offset_end = cleanable_end(log, dirt.first_dirty, now_ms);
    uint32_t first = log_segment_index(log, dirt.first_dirty);
    for (uint32_t i = 0; i + 1 < log->segment_count; i++) {
        const struct segment *segment = log->segments[i];
        if (segment->base < dirt.first_dirty)
            dirt.clean_size += segment->size;
        if (i >= first && segment->base < dirt.offset_end)
            dirt.dirty_size += segment->size;
    }
    if (dirt.clean_size + dirt.dirty_size == 0)
        return false;
    dirt.ratio = (double)dirt.dirty_size / (double)(dirt.clean_size + dirt.dirty_size);
    dirt.due = is_due(log, dirt.first_dirty, now_ms);
    *ret_dirt = dirt;
    return dirt.dirty_size > 0;
}

/* ---- the filthiest ----------------------------------------------------------------------------
 */

struct search {
    int64_t now_ms;
    char *name; /* of the best so far */
    int64_t serial;
    double ratio;
};

static bool is_candidate(struct log *log, int64_t now_ms, struct cleaner_dirt *ret_dirt)
{
    return !log->cleaning && !log->uncleanable && cleaner_dirt_of(log, now_ms, ret_dirt) &&
           (ret_dirt->due || ret_dirt->ratio > log->config.dirty_ratio_min);
}

static void consider(struct log *log, void *context)
{
    struct search *search = context;
    struct cleaner_dirt dirt;
    if (!cleaner_compacts(log) || !is_candidate(log, search->now_ms, &dirt) ||
        (search->name && dirt.ratio <= search->ratio))
        return;
    mem_free(search->name);
    search->name = mem_strdup(log->name);
    search->serial = log->serial;
    search->ratio = dirt.ratio;
}

struct cleaner_round *cleaner_pick(struct log_dirs *dirs, const struct cleaner_config *config,
                                   int64_t now_ms)
{
    struct search search = {.now_ms = now_ms};
    log_walk_each(dirs, NULL, consider, &search);
    if (!search.name)
        return NULL;
    struct cleaner_round *round = NULL;
    struct lock *lock;
    struct log *log = log_walk_enter(dirs, search.name, search.serial, &lock);
    struct cleaner_dirt dirt;
    if (log) {
        /* Another task may have taken it, or its holder changed it. */
        if (cleaner_compacts(log) && is_candidate(log, now_ms, &dirt))
            round = cleaner_round_new(log, &dirt, config, now_ms);
        log_walk_leave(dirs, log, lock);
    }
    mem_free(search.name);
    return round;
}
