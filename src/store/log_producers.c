/* The producer state of a log as it stands on disk: snapshot files, rebuilding from a snapshot and
 * the batches after it, and what the log tells about its producers. Under the log's lock, or
 * recovery.
 *
 * Snapshots are written at roll (named by the new base offset) and at a clean stop (by the log
 * end), and live as long as a segment begins there; see Kafka's ProducerStateManager. */
#include "base/mem.h"
#include "os/diag.h"
#include "os/io.h"
#include "record/control.h"
#include "record/records.h"
#include "store/log_internal.h"
#include "store/producer_snapshot.h"

#include <stdlib.h>
#include <string.h>

/* ---- snapshot files ---------------------------------------------------------------------------
 */

void log_snapshot_add(struct log *log, int64_t offset)
{
    if (log->snapshot_count == log->snapshot_capacity) {
        log->snapshot_capacity = log->snapshot_capacity ? log->snapshot_capacity * 2 : 2;
        log->snapshots =
            mem_realloc(log->snapshots, log->snapshot_capacity * sizeof *log->snapshots);
    }
    log->snapshots[log->snapshot_count++] = offset;
}

enum err log_snapshot_take(struct log *log, int64_t offset)
{
    /* An empty log has nothing to remember, unless it knows producers of what was deleted, and what
     * is there already need not be written. */
    int64_t last = log->snapshot_count ? log->snapshots[log->snapshot_count - 1] : -1;
    if (offset <= last || (offset <= log->start && !producer_state_count(&log->producers)))
        return ERR_NONE;
    enum err err = producer_snapshot_write(log->io, log->path->text, offset, &log->producers);
    if (!err)
        log_snapshot_add(log, offset);
    return err;
}

static void insert(struct log *log, int64_t offset)
{
    uint32_t at = log->snapshot_count;
    while (at && log->snapshots[at - 1] > offset)
        at--;
    if (at && log->snapshots[at - 1] == offset)
        return;
    log_snapshot_add(log, offset);
    memmove(log->snapshots + at + 1, log->snapshots + at,
            (log->snapshot_count - 1 - at) * sizeof *log->snapshots);
    log->snapshots[at] = offset;
}

static void forget(struct log *log, int64_t offset)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log->snapshot_count; i++)
        if (log->snapshots[i] != offset)
            log->snapshots[kept++] = log->snapshots[i];
    log->snapshot_count = kept;
}

enum err log_snapshot_retake(struct log *log, int64_t offset)
{
    enum err err = producer_snapshot_write(log->io, log->path->text, offset, &log->producers);
    if (err)
        forget(log, offset);
    else
        insert(log, offset);
    /* A flush makes it durable with the indexes of the segment that ends there. */
    uint32_t at = log_segment_index(log, offset);
    if (at && log->segments[at]->base == offset)
        log->segments[at - 1]->index_made++;
    return err == ERR_DISK_FULL ? ERR_NONE : err;
}

bool log_snapshot_is_good(struct log *log, int64_t offset)
{
    struct producer_state state;
    producer_state_init(&state);
    enum err err = producer_snapshot_read(log->io, log->path->text, offset, 0, INT64_MAX, &state);
    producer_state_fini(&state);
    return !err;
}

void log_snapshots_delete(struct log *log, int64_t below, int64_t above)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log->snapshot_count; i++) {
        int64_t offset = log->snapshots[i];
        if (offset >= below && offset <= above)
            log->snapshots[kept++] = offset;
        else
            producer_snapshot_delete(log->io, log->path->text, offset);
    }
    log->snapshot_count = kept;
}

void log_snapshots_delete_stray(struct log *log)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < log->snapshot_count; i++) {
        int64_t offset = log->snapshots[i];
        bool newest = i + 1 == log->snapshot_count && offset > log_active(log)->base;
        if (newest || log->segments[log_segment_index(log, offset)]->base == offset)
            log->snapshots[kept++] = offset;
        else
            producer_snapshot_delete(log->io, log->path->text, offset);
    }
    log->snapshot_count = kept;
}

/* ---- batches ----------------------------------------------------------------------------------
 */

static enum err read_marker(struct slice bytes, struct producer_input *input)
{
    struct records_iter iter;
    enum err err = records_iter_init(&iter, bytes, 1024);
    if (err)
        return err;
    struct record record;
    if (!records_iter_next(&iter, &record)) {
        /* Empty: the whole transaction was compacted away. */
        err = iter.err ? iter.err : ERR_NOT_FOUND;
    } else {
        struct control_end_txn marker;
        err = control_parse_end_txn(&record, &marker);
        if (!err) {
            input->marker = true;
            input->abort = !marker.is_commit;
            input->coordinator_epoch = marker.coordinator_epoch;
            input->timestamp = record.timestamp;
        }
    }
    records_iter_fini(&iter);
    return err;
}

enum err log_producer_input(struct slice bytes, int64_t offset_first,
                            struct producer_input *ret_input)
{
    const uint8_t *b = bytes.data;
    if (!batch_has_producer_id(b))
        return ERR_NOT_FOUND;
    struct producer_input input = {
        .id = batch_producer_id(b),
        .offset_first = offset_first,
        .offset_last = offset_first + batch_last_offset_delta(b),
        .timestamp = batch_max_timestamp(b),
        .sequence_first = batch_base_sequence(b),
        .sequence_last = batch_last_sequence(b),
        .epoch = batch_producer_epoch(b),
        .transactional = batch_is_transactional(b),
        .coordinator_epoch = -1,
    };
    if (batch_is_control(b)) {
        enum err err = read_marker(bytes, &input);
        if (err)
            return err;
    }
    *ret_input = input;
    return ERR_NONE;
}

enum err log_producer_replay(struct log *log, const struct producer_input *input,
                             struct segment *txn_segment)
{
    struct producer_changes changes;
    producer_changes_init(&changes);
    enum err err = producer_changes_add(&changes, &log->producers, input, PRODUCER_CHECK_NONE);
    if (!err && txn_segment)
        err = log_index_aborted(log, txn_segment, &changes);
    if (!err)
        producer_changes_apply(&changes, &log->producers);
    producer_changes_fini(&changes);
    return err;
}

/* ---- rebuilding -------------------------------------------------------------------------------
 */

/* Loads the newest good snapshot at or below `offset_end`; damaged ones are removed. Without any
 * the state is empty where the first segment begins. */
static enum err load_snapshot(struct log *log, int64_t offset_end, int64_t *ret_offset)
{
    producer_state_clear(&log->producers);
    for (uint32_t i = log->snapshot_count; i-- > 0;) {
        int64_t offset = log->snapshots[i];
        if (offset > offset_end)
            continue;
        enum err err = producer_snapshot_read(log->io, log->path->text, offset, io_wall_ms(log->io),
                                              log->config.producer_expiry_ms, &log->producers);
        if (!err) {
            *ret_offset = offset;
            return ERR_NONE;
        }
        if (err != ERR_CORRUPT && err != ERR_NOT_FOUND)
            return err;
        diag(DIAG_STORE, DIAG_WARN,
             "%s: producer snapshot at offset %lld is damaged; an older "
             "one is used",
             log->path->text, (long long)offset);
        producer_snapshot_delete(log->io, log->path->text, offset);
        memmove(log->snapshots + i, log->snapshots + i + 1,
                (log->snapshot_count - i - 1) * sizeof *log->snapshots);
        log->snapshot_count--;
    }
    /* Without one all there is: a transaction that began below the log start is still open. */
    int64_t base = log->segment_count ? log->segments[0]->base : log->start;
    *ret_offset = base < log->start ? base : log->start;
    return ERR_NONE;
}

static enum err replay_batch(struct log *log, struct segment_scan *scan,
                             const struct batch_info *info, uint32_t position,
                             struct segment *txn_segment)
{
    if (info->magic < 2)
        return ERR_NONE;
    struct producer_input input;
    uint8_t *owned = NULL;
    struct slice bytes = slice_of(info->data, BATCH_HEADER_SIZE);
    enum err err = ERR_NONE;
    if (batch_is_control(info->data))
        err = segment_scan_bytes(scan, info, position, &bytes, &owned);
    if (!err)
        err = log_producer_input(bytes, info->offset_base, &input);
    mem_free(owned);
    if (err == ERR_NOT_FOUND)
        return ERR_NONE;
    return err ? err : log_producer_replay(log, &input, txn_segment);
}

static enum err replay_segment(struct log *log, struct segment *segment, int64_t from,
                               int64_t offset_end, uint8_t *window, struct segment *txn_segment)
{
    uint32_t position = 0;
    struct batch_info info;
    enum err err = ERR_NONE;
    if (from > segment->base) {
        err = segment_locate(segment, log->config.index_interval, from, &position, &info);
        if (err)
            return err == ERR_NOT_FOUND ? ERR_NONE : err;
    }
    struct log_file *file = &segment->files[SEGMENT_LOG];
    int fd;
    err = log_file_pin(file, false, &fd);
    if (err)
        return err;
    struct segment_scan scan;
    segment_scan_init(&scan, log->io, fd, position, segment->size, window, SEGMENT_SCAN_HEAP);
    while (!(err = segment_scan_next(&scan, &info, &position))) {
        if (info.offset_base >= offset_end)
            break;
        err = replay_batch(log, &scan, &info, position, txn_segment);
        if (err)
            break;
    }
    log_file_unpin(file);
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

/* ---- the batches before a snapshot ------------------------------------------------------------
 *
 * A snapshot holds one batch of each producer, but a producer may have had five under way when the
 * node went down, all of them stored and none answered. It sends them again from the first one on,
 * which the snapshot alone would refuse as out of order. So the end of the log before the snapshot
 * is read as well, for the batches that came before. Kafka does not do that. */

/* Replays at most log->tail_size bytes before `offset_end` into log->producers. */
static enum err replay_tail(struct log *log, int64_t offset_end)
{
    uint32_t first = log_segment_index(log, offset_end), room = log->tail_size;
    if (first > 0 && log->segments[first]->base >= offset_end)
        first--;
    while (first > 0 && log->segments[first]->size < room)
        room -= log->segments[first--]->size;
    int64_t from;
    enum err err = segment_tail(log->segments[first], log->config.index_interval, room, &from);
    if (err)
        return err;
    uint8_t *window = mem_alloc(SEGMENT_SCAN_HEAP);
    for (uint32_t i = first; i < log->segment_count && !err; i++) {
        if (log->segments[i]->base >= offset_end)
            break;
        err = replay_segment(log, log->segments[i], from, offset_end, window, NULL);
    }
    mem_free(window);
    return err;
}

/* Takes the older batches of `tail` for those producers whose newest batch is the same. */
static void take_batches(struct producer_state *state, const struct producer_state *tail)
{
    for (uint32_t i = 0; i < producer_state_count(state); i++) {
        struct producer *producer = producer_state_at(state, i);
        const struct producer *seen = producer_state_get(tail, producer->id);
        if (producer->batch_count != 1 || !seen || seen->epoch != producer->epoch ||
            !seen->batch_count)
            continue;
        const struct producer_batch *last = &seen->batches[seen->batch_count - 1];
        if (last->offset_last != producer->batches[0].offset_last ||
            last->sequence_last != producer->batches[0].sequence_last)
            continue;
        memcpy(producer->batches, seen->batches, sizeof producer->batches);
        producer->batch_count = seen->batch_count;
    }
}

/* A part of the log that cannot be read only means that less is remembered. */
static void remember_tail(struct log *log, int64_t offset_end)
{
    if (!producer_state_count(&log->producers) || !log->segment_count ||
        offset_end <= log->segments[0]->base)
        return;
    struct producer_state loaded = log->producers;
    producer_state_init(&log->producers);
    enum err err = replay_tail(log, offset_end);
    struct producer_state tail = log->producers;
    log->producers = loaded;
    if (!err)
        take_batches(&log->producers, &tail);
    producer_state_fini(&tail);
}

enum err log_producers_rebuild(struct log *log, int64_t offset_end)
{
    int64_t from;
    enum err err = load_snapshot(log, offset_end, &from);
    if (!err)
        remember_tail(log, from);
    /* From the snapshot on, also below the log start: what DeleteRecords hid still tells the last
     * sequence of its producers and which transactions have ended. (Kafka begins at the log start
     * and can refuse a producer's next batch after a crash.) */
    if (err || from >= offset_end || !log->segment_count)
        return err;
    uint8_t *window = mem_alloc(SEGMENT_SCAN_HEAP);
    for (uint32_t i = log_segment_index(log, from); i < log->segment_count && !err; i++) {
        if (log->segments[i]->base >= offset_end)
            break;
        err = replay_segment(log, log->segments[i], from, offset_end, window, NULL);
    }
    mem_free(window);
    return err;
}

enum err log_producers_index_aborted(struct log *log, struct segment *segment)
{
    struct producer_state live = log->producers;
    producer_state_init(&log->producers);
    uint8_t *window = mem_alloc(SEGMENT_SCAN_HEAP);
    enum err err = log_producers_rebuild(log, segment->base);
    if (!err)
        err = replay_segment(log, segment, segment->base, INT64_MAX, window, segment);
    mem_free(window);
    producer_state_fini(&log->producers);
    log->producers = live;
    return err;
}

/* ---- for others -------------------------------------------------------------------------------
 */

static int by_id(const void *a, const void *b)
{
    const struct log_producer *x = a, *y = b;
    return (x->producer_id > y->producer_id) - (x->producer_id < y->producer_id);
}

struct log_producer *log_producers(struct log *log, struct arena *arena, int32_t *ret_count)
{
    uint32_t count = producer_state_count(&log->producers);
    struct log_producer *list = count ? arena_array(arena, count, sizeof *list) : NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct producer *producer = producer_state_at(&log->producers, i);
        list[i] = (struct log_producer){
            .producer_id = producer->id,
            .producer_epoch = producer->epoch,
            .last_sequence = -1,
            .last_timestamp = producer->last_timestamp,
            .coordinator_epoch = producer->coordinator_epoch,
            .txn_offset_first = producer->txn_offset_first,
        };
        if (producer->batch_count)
            list[i].last_sequence = producer->batches[producer->batch_count - 1].sequence_last;
    }
    if (count)
        qsort(list, count, sizeof *list, by_id);
    *ret_count = (int32_t)count;
    return list;
}

void log_expire_producers(struct log *log, int64_t now_ms)
{
    producer_state_expire(&log->producers, now_ms, log->config.producer_expiry_ms);
    verifications_expire(&log->verifications, now_ms, log->config.producer_expiry_ms);
}
