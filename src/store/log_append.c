/* Appending: offsets and the leader epoch are set, producers checked, one write made, indexes and
 * producer state brought forward. Under the log's lock; either all of it happens or none.
 *
 * Order: checks against copies of the producer state (nothing changes) -> roll if the batch does
 * not fit -> transaction index entries of abort markers -> the write -> everything in memory. A
 * failed write is cut off again and the index entries taken back, so a full disk loses nothing.
 * Answers to Kafka's UnifiedLog.append. */
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"
#include "store/txn_index.h"

enum { GATHER_MAX = 4, SET_SIZE = 16 /* base offset, length, leader epoch */ };

struct appending {
    struct slice batches;
    enum log_origin origin;
    int32_t leader_epoch; /* replicas: as in each batch */
    uint32_t count;
    int64_t offset_first, offset_last;
    int64_t max_timestamp;
    int64_t append_time_ms;
    struct log_txn txn;
    struct producer_changes changes;
    struct log_appended *duplicate; /* set when the batch is a repeat */
};

static bool assigns_offsets(enum log_origin origin)
{
    return origin != LOG_REPLICA && origin != LOG_RAFT_FOLLOWER;
}

static enum producer_check check_of(enum log_origin origin)
{
    switch (origin) {
    case LOG_CLIENT: return PRODUCER_CHECK_ALL;
    case LOG_COORDINATOR: return PRODUCER_CHECK_EPOCH;
    case LOG_REPLICA:
    case LOG_RAFT_LEADER:
    case LOG_RAFT_FOLLOWER: break;
    }
    return PRODUCER_CHECK_NONE;
}

/* ---- looking at what comes --------------------------------------------------------------------
 */

/* Transactional data joins a transaction that is open in the log at its epoch, or was verified just
 * now. Kafka looks at the epoch first: an old one must not look like a lost transaction, which is
 * fatal to clients. */
static enum err check_verification(const struct log *log, const struct appending *a,
                                   const struct producer_input *input)
{
    if (!input->transactional || (a->origin != LOG_CLIENT && a->origin != LOG_COORDINATOR))
        return ERR_NONE;
    const struct producer *known = producer_state_get(&log->producers, input->id);
    if (known && known->epoch == input->epoch && known->txn_offset_first >= 0)
        return ERR_NONE;
    if (known && input->epoch < known->epoch)
        return ERR_INVALID_PRODUCER_EPOCH;
    if (!log->config.verify_transactions || input->marker)
        return ERR_NONE;
    const struct verification *verification = input->verification;
    return verification && verification->guard == a->txn.guard ? ERR_NONE : ERR_INVALID_TXN_STATE;
}

static enum err check_producer(struct log *log, struct appending *a, const struct batch_info *info,
                               int64_t base, struct log_appended *ret_appended)
{
    struct producer_input input;
    enum err err = log_producer_input(slice_of(info->data, info->size), base, &input);
    if (err)
        return err == ERR_NOT_FOUND ? ERR_NONE : err;
    if (a->origin == LOG_CLIENT) {
        const struct producer_batch *seen = producer_state_duplicate(&log->producers, &input);
        if (seen) {
            *ret_appended = (struct log_appended){
                .offset_first = seen->offset_last - seen->offset_delta,
                .offset_last = seen->offset_last,
                .append_time_ms = seen->timestamp,
                .log_start = log->start,
                .duplicate = true,
            };
            a->duplicate = ret_appended;
            return ERR_NONE;
        }
    }
    input.strict_epoch = input.marker && a->txn.version >= 2;
    input.verification = verifications_get(&log->verifications, input.id);
    err = check_verification(log, a, &input);
    return err ? err
               : producer_changes_add(&a->changes, &log->producers, &input, check_of(a->origin));
}

static enum err examine(struct log *log, struct appending *a, struct log_appended *ret_appended)
{
    struct batch_iter iter = batch_iter_of(a->batches);
    struct batch_info info;
    int64_t next = log->end;
    while (batch_iter_next(&iter, &info)) {
        if (info.magic != BATCH_MAGIC)
            return ERR_CORRUPT_MESSAGE;
        int64_t delta = batch_last_offset_delta(info.data);
        int64_t base = assigns_offsets(a->origin) ? next : info.offset_base;
        if (delta < 0 || base < next || base > INT64_MAX - 1 - delta)
            return base < next ? ERR_OFFSET_OUT_OF_RANGE : ERR_CORRUPT_MESSAGE;
        if (!a->count) {
            a->offset_first = base;
            if (batch_is_log_append_time(info.data))
                a->append_time_ms = info.max_timestamp;
        }
        enum err err = check_producer(log, a, &info, base, ret_appended);
        if (err || a->duplicate)
            return err;
        if (info.max_timestamp > a->max_timestamp)
            a->max_timestamp = info.max_timestamp;
        next = base + delta + 1;
        a->count++;
    }
    if (iter.err || iter.rest.size || !a->count)
        return ERR_CORRUPT_MESSAGE;
    a->offset_last = next - 1;
    return ERR_NONE;
}

/* ---- rolling ----------------------------------------------------------------------------------
 */

static bool index_full(const struct log *log, const struct segment *segment)
{
    uint32_t size = (uint32_t)log->config.index_size_max;
    /* The time index keeps room for its closing entry. */
    return index_count(&segment->offsets) >= size / INDEX_ENTRY_SIZE ||
           index_count(&segment->times) + 1 >= size / TIME_INDEX_ENTRY_SIZE;
}

static enum err should_roll(struct log *log, const struct appending *a, bool *ret_roll)
{
    struct segment *segment = log_active(log);
    *ret_roll = true;
    if (a->offset_last - segment->base > INT32_MAX)
        return ERR_NONE;
    if (!segment->size) {
        *ret_roll = false;
        return ERR_NONE;
    }
    if ((int64_t)segment->size + (int64_t)a->batches.size > log->config.segment_size_max ||
        index_full(log, segment))
        return ERR_NONE;
    enum err err = segment_load_first_timestamp(segment);
    if (err)
        return err;
    int64_t waited_ms = segment->first_timestamp >= 0 ? a->max_timestamp - segment->first_timestamp
                                                      : io_wall_ms(log->io) - segment->created_ms;
    *ret_roll = waited_ms > log->config.segment_ms - log->jitter_ms;
    return ERR_NONE;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static void set_head(const struct appending *a, const uint8_t *batch, int64_t base,
                     uint8_t head[SET_SIZE])
{
    memcpy(head, batch, SET_SIZE);
    be_put_i64(head, base);
    if (assigns_offsets(a->origin))
        be_put_i32(head + BATCH_PREFIX_SIZE, a->leader_epoch);
}

/* A few batches are written from where they lie, with their new heads beside them. */
static enum err write_gathered(struct segment *segment, const struct appending *a)
{
    uint8_t heads[GATHER_MAX][SET_SIZE];
    struct iovec parts[2 * GATHER_MAX];
    struct batch_iter iter = batch_iter_of(a->batches);
    struct batch_info info;
    int64_t next = a->offset_first;
    int count = 0;
    while (batch_iter_next(&iter, &info)) {
        int64_t base = assigns_offsets(a->origin) ? next : info.offset_base;
        ENSURE_CMP(count, <, GATHER_MAX);
        set_head(a, info.data, base, heads[count]);
        parts[2 * count] = (struct iovec){heads[count], SET_SIZE};
        parts[2 * count + 1] =
            (struct iovec){(void *)(uintptr_t)(info.data + SET_SIZE), info.size - SET_SIZE};
        count++;
        next = base + batch_last_offset_delta(info.data) + 1;
    }
    return segment_write(segment, parts, 2 * count);
}

/* Many are copied, and their heads set in the copy. */
static enum err write_copied(struct segment *segment, const struct appending *a)
{
    uint8_t *copy = mem_try_alloc(a->batches.size);
    if (!copy)
        return ERR_NO_MEMORY;
    memcpy(copy, a->batches.data, a->batches.size);
    if (assigns_offsets(a->origin)) {
        int64_t next = a->offset_first;
        for (size_t at = 0; at < a->batches.size; at += batch_size(copy + at)) {
            set_head(a, a->batches.data + at, next, copy + at);
            next += batch_last_offset_delta(copy + at) + 1;
        }
    }
    struct iovec part = {copy, a->batches.size};
    enum err err = segment_write(segment, &part, 1);
    mem_free(copy);
    return err;
}

static void count_batches(struct log *log, const struct appending *a)
{
    struct segment *segment = log_active(log);
    struct batch_iter iter = batch_iter_of(a->batches);
    struct batch_info info;
    int64_t next = a->offset_first;
    while (batch_iter_next(&iter, &info)) {
        int64_t base = assigns_offsets(a->origin) ? next : info.offset_base;
        int64_t last = base + batch_last_offset_delta(info.data);
        int32_t epoch = assigns_offsets(a->origin) ? a->leader_epoch : info.leader_epoch;
        leader_epochs_assign(&log->epochs, epoch, base);
        log_recent_add(log, base, last, segment->size);
        segment_add_batch(segment, log->config.index_interval, info.size, last, info.max_timestamp);
        if (batch_is_transactional(info.data))
            verifications_end(&log->verifications, batch_producer_id(info.data),
                              batch_producer_epoch(info.data), batch_is_control(info.data));
        next = last + 1;
    }
    log->size += (int64_t)a->batches.size;
    log->end = a->offset_last + 1;
    log_mark_unflushed(log, (int64_t)a->batches.size);
}

static enum err write_batches(struct log *log, struct appending *a)
{
    struct segment *segment = log_active(log);
    enum err err = segment_open_indexes(segment, log->config.index_interval);
    if (!err)
        err = segment_load_times(segment, log->config.index_interval);
    if (!err && a->changes.end_count) {
        err = log_load_aborted(log, segment);
        if (!err)
            err = log_index_aborted(log, segment, &a->changes);
    }
    if (!err)
        err = a->count <= GATHER_MAX ? write_gathered(segment, a) : write_copied(segment, a);
    if (err) {
        if (a->changes.end_count && txn_index_truncate(segment, a->offset_first))
            err = ERR_IO;
        return log_check(log, err, "append");
    }
    producer_changes_apply(&a->changes, &log->producers);
    count_batches(log, a);
    return ERR_NONE;
}

/* ---- the walk ---------------------------------------------------------------------------------
 */

static enum err append(struct log *log, struct appending *a, struct log_appended *ret_appended)
{
    enum err err = examine(log, a, ret_appended);
    if (err || a->duplicate)
        return err;
    if ((int64_t)a->batches.size > log->config.segment_size_max)
        return ERR_RECORD_LIST_TOO_LARGE;
    bool roll;
    err = should_roll(log, a, &roll);
    if (!err && roll)
        err = log_roll_at(log, a->offset_first);
    if (!err)
        err = write_batches(log, a);
    if (err)
        return log_check(log, err, "append");
    *ret_appended = (struct log_appended){
        .offset_first = a->offset_first,
        .offset_last = a->offset_last,
        .append_time_ms = a->append_time_ms,
        .log_start = log->start,
    };
    return ERR_NONE;
}

enum err log_append_txn(struct log *log, enum log_origin origin, int32_t leader_epoch,
                        struct slice batches, const struct log_txn *txn,
                        struct log_appended *ret_appended)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    if (log->dir) {
        enum err err = log_dir_admits(log->dir, origin);
        if (err)
            return err;
    }
    struct appending a = {.batches = batches,
                          .origin = origin,
                          .leader_epoch = leader_epoch,
                          .max_timestamp = -1,
                          .append_time_ms = -1};
    if (txn)
        a.txn = *txn;
    producer_changes_init(&a.changes);
    enum err err = append(log, &a, ret_appended);
    producer_changes_fini(&a.changes);
    return err;
}

enum err log_append(struct log *log, enum log_origin origin, int32_t leader_epoch,
                    struct slice batches, struct log_appended *ret_appended)
{
    return log_append_txn(log, origin, leader_epoch, batches, NULL, ret_appended);
}

enum err log_verify_begin(struct log *log, int64_t producer_id, int16_t epoch, int32_t sequence,
                          bool epoch_bump, int64_t *ret_guard)
{
    if (log_failed(log) || log->closed)
        return ERR_KAFKA_STORAGE_ERROR;
    const struct producer *known = producer_state_get(&log->producers, producer_id);
    if (known && epoch < known->epoch)
        return ERR_INVALID_PRODUCER_EPOCH;
    if (known && epoch == known->epoch && known->txn_offset_first >= 0) {
        *ret_guard = 0;
        return ERR_NONE;
    }
    if (!log->verifications.guard_last) {
        int64_t seed;
        io_random(log->io, &seed, sizeof seed);
        verifications_init(&log->verifications, seed);
    }
    const struct verification *verification = verifications_begin(
        &log->verifications, producer_id, epoch, sequence, epoch_bump, io_wall_ms(log->io));
    *ret_guard = verification->guard;
    return ERR_NONE;
}
