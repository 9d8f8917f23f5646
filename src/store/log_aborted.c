/* Which transactions were aborted: the transaction indexes of a log, written when an abort marker
 * is appended and read by read_committed fetches.
 *
 * Most logs have no aborted transaction at all, so the log remembers from which segment on there is
 * none, and such a fetch touches no file. An index that cannot be right is made again from the
 * batches of its segment and the producer state before it, as recovery does. Under the log's lock;
 * answers to Kafka's UnifiedLog.collectAbortedTransactions. */
#include "os/diag.h"
#include "os/io.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"
#include "store/txn_index.h"

/* ---- writing ----------------------------------------------------------------------------------
 */

enum err log_index_aborted(struct log *log, struct segment *segment,
                           const struct producer_changes *changes)
{
    for (uint32_t i = 0; i < changes->end_count; i++) {
        const struct producer_end *end = &changes->ends[i];
        if (!end->abort)
            continue;
        struct txn_index_entry entry = {
            .producer_id = end->txn.producer_id,
            .offset_first = end->txn.offset_first,
            .offset_last = end->txn.offset_last,
            .last_stable = producer_changes_last_stable(changes, &log->producers, end),
        };
        if (!segment->txn_count)
            log->names_made++;
        log->aborted_end = INT64_MAX;
        enum err err = txn_index_append(segment, &entry);
        if (err)
            return err;
    }
    return ERR_NONE;
}

static enum err mend(struct log *log, struct segment *segment)
{
    diag(DIAG_STORE, DIAG_WARN,
         "%s: the transaction index of segment %lld is damaged; it is made again", log->path->text,
         (long long)segment->base);
    enum err err = txn_index_truncate(segment, segment->base);
    return err ? err : log_producers_index_aborted(log, segment);
}

enum err log_load_aborted(struct log *log, struct segment *segment)
{
    enum err err = txn_index_load(segment);
    return err == ERR_CORRUPT ? mend(log, segment) : err;
}

enum err log_check_aborted(struct log *log, struct segment *segment)
{
    enum err err = txn_index_check(segment);
    return err == ERR_CORRUPT ? mend(log, segment) : err;
}

/* ---- reading ----------------------------------------------------------------------------------
 */

/* An offset at or above all that lies in the range, as the index tells it. */
static enum err upper_bound(struct log *log, const struct log_read *read, int64_t *ret_offset)
{
    struct segment *segment = read->range.file->segment;
    *ret_offset = read->offset_end;
    enum err err = segment_open_indexes(segment, log->config.index_interval);
    if (err || !index_count(&segment->offsets))
        return err;
    struct log_file *file = &segment->files[SEGMENT_INDEX];
    int fd = -1;
    if (segment->offsets.file_count)
        err = log_file_pin(file, false, &fd);
    if (err)
        return err;
    bool any = false;
    struct index_position found;
    err = offset_index_at_position(&segment->offsets, log->io, fd, segment->base,
                                   (uint32_t)(read->range.position + (int64_t)read->range.size),
                                   &any, &found);
    if (fd >= 0)
        log_file_unpin(file);
    /* A wrong entry here would hide aborted transactions; the other bound is only less tight. */
    if (err == ERR_CORRUPT || (!err && any && !segment_entry_fits(segment, found)))
        return segment_mend_indexes(segment, log->config.index_interval);
    if (!err && any && found.offset < *ret_offset)
        *ret_offset = found.offset;
    return err;
}

struct aborted_list {
    struct arena *arena;
    struct log_aborted *items;
    int32_t count, capacity;
};

static void add_aborted(struct aborted_list *list, const struct txn_index_entry *entry)
{
    if (list->count == list->capacity) {
        int32_t capacity = list->capacity ? list->capacity * 2 : 8;
        struct log_aborted *items = arena_array(list->arena, (size_t)capacity, sizeof *items);
        if (list->count)
            memcpy(items, list->items, (size_t)list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = (struct log_aborted){entry->producer_id, entry->offset_first};
}

/* The entries of one segment that touch [offset, offset_end); *ret_done when no later segment can
 * have more. */
static enum err collect_once(struct segment *segment, int64_t offset, int64_t offset_end,
                             struct aborted_list *list, bool *ret_done)
{
    enum { CHUNK = 64 };
    uint32_t at;
    enum err err = txn_index_find(segment, offset, &at);
    while (!err && at < segment->txn_count && !*ret_done) {
        struct txn_index_entry entries[CHUNK];
        uint32_t count = segment->txn_count - at < CHUNK ? segment->txn_count - at : CHUNK;
        err = txn_index_read(segment, at, count, entries);
        for (uint32_t i = 0; !err && i < count && !*ret_done; i++) {
            if (entries[i].offset_first < offset_end)
                add_aborted(list, &entries[i]);
            *ret_done = entries[i].last_stable >= offset_end;
        }
        at += count;
    }
    return err;
}

static enum err collect(struct log *log, struct segment *segment, int64_t offset,
                        int64_t offset_end, struct aborted_list *list, bool *ret_done)
{
    int32_t count = list->count;
    enum err err = collect_once(segment, offset, offset_end, list, ret_done);
    if (err != ERR_CORRUPT)
        return err;
    list->count = count;
    *ret_done = false;
    err = mend(log, segment);
    return err ? err : collect_once(segment, offset, offset_end, list, ret_done);
}

/* False in *ret_any: no segment from `from` on has an entry. */
static enum err look_ahead(struct log *log, uint32_t from, bool *ret_any)
{
    *ret_any = false;
    if (log->segments[from]->base >= log->aborted_end)
        return ERR_NONE;
    for (uint32_t i = from; i < log->segment_count && !*ret_any; i++) {
        enum err err = log_load_aborted(log, log->segments[i]);
        if (err)
            return err;
        *ret_any = log->segments[i]->txn_count > 0;
    }
    if (!*ret_any)
        log->aborted_end = log->segments[from]->base;
    return ERR_NONE;
}

enum err log_aborted_for(struct log *log, const struct log_read *read, struct arena *arena,
                         struct log_aborted **ret_list, int32_t *ret_count)
{
    struct aborted_list list = {.arena = arena};
    enum err err = ERR_NONE;
    if (read->range.size) {
        uint32_t i = log_segment_index(log, read->range.file->segment->base);
        bool any, done = false;
        int64_t offset_end;
        err = look_ahead(log, i, &any);
        if (!err && any)
            err = upper_bound(log, read, &offset_end);
        for (; !err && any && !done && i < log->segment_count; i++)
            err = collect(log, log->segments[i], read->offset, offset_end, &list, &done);
    }
    if (err)
        return log_check(log, err, "transaction index");
    *ret_list = list.items;
    *ret_count = list.count;
    return ERR_NONE;
}
