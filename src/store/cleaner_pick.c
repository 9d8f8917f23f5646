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

/* What times a segment has is read from its files, once. */
struct looks {
    int left;
    bool unknown;
};

static bool may_look(struct looks *looks)
{
    if (looks->left) {
        looks->left--;
        return true;
    }
    looks->unknown = true;
    return false;
}

/* The base of the first segment from `from` on, bar the active one, that has a record younger than
 * min.compaction.lag.ms. */
static int64_t young_base(struct log *log, int64_t from, int64_t now_ms, struct looks *looks)
{
    for (uint32_t i = log_segment_index(log, from); i + 1 < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if ((!segment->times_known && !may_look(looks)) ||
            segment_load_times(segment, log->config.index_interval) ||
            segment->max_timestamp > now_ms - log->config.compact_lag_min_ms)
            return segment->base;
    }
    return INT64_MAX;
}

static bool is_due(struct log *log, int64_t from, int64_t now_ms, struct looks *looks)
{
    int64_t until_ms = now_ms - log->config.compact_lag_max_ms;
    if (until_ms <= 0)
        return false;
    for (uint32_t i = log_segment_index(log, from); i + 1 < log->segment_count; i++) {
        struct segment *segment = log->segments[i];
        if (segment->first_timestamp == SEGMENT_UNKNOWN && !may_look(looks))
            return false;
        if (!segment_load_first_timestamp(segment) && segment->first_timestamp > 0 &&
            segment->first_timestamp < until_ms)
            return true;
    }
    return false;
}

/* Recovery never looks at what was cleaned: a marker that is gone would leave its transaction open,
 * which an older producer snapshot still knows, and a gap looks like something lost. So only what
 * lies below the recovery point on the disk is cleaned; and what belongs to a transaction only when
 * a power cut can no longer undecide it: the value that its record hides would be gone with it. */
static int64_t recovered_end(struct log *log, int64_t end)
{
    if (log->recovery_point < end)
        end = log->recovery_point;
    if (log->decided_end < end)
        end = log->decided_end;
    if (!log->dir || log->recovery_saved >= end)
        return end;
    log_dir_want_recovery_point(log->dir);
    return log->recovery_saved;
}

static int64_t cleanable_end(struct log *log, int64_t first_dirty, int64_t now_ms,
                             struct looks *looks)
{
    int64_t end = log_last_stable(log), active = log_active(log)->base;
    if (active < end)
        end = active;
    end = recovered_end(log, end);
    if (log->config.compact_lag_min_ms > 0) {
        int64_t young = young_base(log, first_dirty, now_ms, looks);
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
    struct looks looks = {.left = CLEANER_LOOKS_MAX};
    dirt.offset_end = cleanable_end(log, dirt.first_dirty, now_ms, &looks);
    dirt.unknown = looks.unknown;
    *ret_dirt = dirt;
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
    dirt.due = is_due(log, dirt.first_dirty, now_ms, &looks);
    dirt.unknown = looks.unknown;
    *ret_dirt = dirt;
    return dirt.dirty_size > 0;
}

/* ---- the filthiest ----------------------------------------------------------------------------
 */

struct place {
    char *name;
    int64_t serial;
};

struct search {
    int64_t now_ms;
    struct place best; /* so far; name NULL: none */
    double ratio;
    /* Logs with more files to look at. */
    struct place *unknown;
    size_t unknown_count, unknown_capacity;
};

static struct place place_of(const struct log *log)
{
    return (struct place){mem_strdup(log->name), log->serial};
}

static bool is_candidate(struct log *log, int64_t now_ms, struct cleaner_dirt *ret_dirt)
{
    return cleaner_compacts(log) && !log->cleaning && !log->uncleanable &&
           cleaner_dirt_of(log, now_ms, ret_dirt) &&
           (ret_dirt->due || ret_dirt->ratio > log->config.dirty_ratio_min);
}

/* False: it cannot be told yet. */
static bool compare(struct search *search, struct log *log)
{
    struct cleaner_dirt dirt = {0};
    bool is_one = is_candidate(log, search->now_ms, &dirt);
    if (dirt.unknown)
        return false;
    if (!is_one || (search->best.name && dirt.ratio <= search->ratio))
        return true;
    mem_free(search->best.name);
    search->best = place_of(log);
    search->ratio = dirt.ratio;
    return true;
}

static void consider(struct log *log, void *context)
{
    struct search *search = context;
    if (compare(search, log))
        return;
    search->unknown = mem_grow(search->unknown, &search->unknown_capacity, search->unknown_count,
                               sizeof *search->unknown);
    search->unknown[search->unknown_count++] = place_of(log);
}

/* Looks at the rest of a log's files, letting its lock go in between. Those that cannot be read are
 * not waited for. */
static void look_further(struct log_dirs *dirs, struct search *search, const struct place *place)
{
    struct lock *lock;
    struct log *log = log_walk_enter(dirs, place->name, place->serial, &lock);
    uint32_t turns = log ? 2 * log->segment_count / CLEANER_LOOKS_MAX + 1 : 0;
    while (log && turns-- && !compare(search, log)) {
        log_walk_leave(dirs, log, lock);
        log = log_walk_enter(dirs, place->name, place->serial, &lock);
    }
    if (log)
        log_walk_leave(dirs, log, lock);
}

struct cleaner_round *cleaner_pick(struct log_dirs *dirs, const struct cleaner_config *config,
                                   int64_t now_ms)
{
    struct search search = {.now_ms = now_ms};
    log_walk_each(dirs, NULL, consider, &search);
    for (size_t i = 0; i < search.unknown_count; i++) {
        look_further(dirs, &search, &search.unknown[i]);
        mem_free(search.unknown[i].name);
    }
    mem_free(search.unknown);
    if (!search.best.name)
        return NULL;
    struct cleaner_round *round = NULL;
    struct lock *lock;
    struct log *log = log_walk_enter(dirs, search.best.name, search.best.serial, &lock);
    struct cleaner_dirt dirt;
    if (log) {
        /* Another task may have taken it, or its holder changed it. */
        if (is_candidate(log, now_ms, &dirt))
            round = cleaner_round_new(log, &dirt, config, now_ms);
        log_walk_leave(dirs, log, lock);
    }
    mem_free(search.best.name);
    return round;
}
