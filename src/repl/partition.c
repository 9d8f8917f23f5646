/* A partition's life, its state from the metadata image, and appends.
 *
 * Walk of an append: lock; leader? enough in sync? log_append; a flush if the settings ask for one;
 * high watermark; collect who waits; unlock; post them. Called from the loops (Produce), with a
 * coordinator lock held (group records), and from workers (the flush below).
 *
 * Flushing (flush.messages, flush.ms): one flush at a time. Its job prepares under the lock, runs
 * on a worker without it, and ends under it again, moving the high watermark where flush.messages=1
 * held it back; what was appended meanwhile goes with the next one (group commit). The job holds a
 * reference to the partition. A flush that fails takes the folder offline in store, but for a full
 * disk: then the folder's background job flushes once there is room, and tells partition_flushed.
 */
#include "repl/partition.h"

#include "base/buf.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "record/batch.h"
#include "record/control.h"
#include "repl/partition_internal.h"

struct partition *partition_new(struct io *io, struct slice topic, const struct uuid *topic_id,
                                int32_t index, struct log *log, const struct topic_config *config)
{
    struct partition *partition = mem_zalloc(sizeof *partition);
    lock_init(&partition->lock, LOCK_PARTITION);
    atomic_init(&partition->ref_count, 1);
    partition->io = io;
    partition->topic = slice_dup(topic);
    partition->topic_id = *topic_id;
    partition->index = index;
    partition->log = log;
    partition->offline = log ? ERR_NONE : ERR_KAFKA_STORAGE_ERROR;
    partition->leader_id = partition->leader_epoch = partition->partition_epoch = -1;
    partition->config = *config;
    watch_set_init(&partition->watches);
    if (log) {
        log_on_flushed(log, partition_flushed, partition);
        log_attach(log, &partition->lock);
    }
    return partition;
}

struct partition *partition_ref(struct partition *partition)
{
    atomic_fetch_add_explicit(&partition->ref_count, 1, memory_order_relaxed);
    return partition;
}

void partition_unref(struct partition *partition)
{
    if (!partition || atomic_fetch_sub(&partition->ref_count, 1) != 1)
        return;
    ENSURE(!partition->flushing);
    if (partition->log)
        log_detach(partition->log);
    slice_free(&partition->topic);
    mem_free(partition->key);
    lock_fini(&partition->lock);
    mem_free(partition);
}

/* How far the high watermark may go. Lock held. */
static int64_t watermark_bound(const struct partition *partition)
{
    int64_t bound =
        partition->isr_count <= 1 ? log_end(partition->log) : log_high_watermark(partition->log);
    if (partition->config.flush_messages == 1 && log_durable_end(partition->log) < bound)
        bound = log_durable_end(partition->log);
    /* What was shown once stays visible, also when flush.messages was set to 1 only now. */
    if (bound < log_high_watermark(partition->log))
        bound = log_high_watermark(partition->log);
    return bound;
}

/* Tells those who wait that what lies in [before, now) became visible. Lock held. */
static void tell_moved(struct partition *partition, enum watch_class class, int64_t before,
                       int64_t now, struct list *woken)
{
    if (now <= before || !watch_any(&partition->watches, class))
        return;
    watch_moved(&partition->watches, class, now, log_bytes_between(partition->log, before, now),
                woken);
}

/* Lock held. An append moves no last stable offset by itself: what it adds lies at or above the
 * high watermark, and so does a marker that ends a transaction. */
static void advance(struct partition *partition, struct list *woken)
{
    struct log *log = partition->log;
    int64_t stable = log_last_stable(log), visible = log_high_watermark(log);
    if (!log_set_high_watermark(log, watermark_bound(partition)))
        return;
    tell_moved(partition, WATCH_HW, visible, log_high_watermark(log), woken);
    tell_moved(partition, WATCH_LSO, stable, log_last_stable(log), woken);
}

enum err partition_set_state(struct partition *partition, const struct partition_state *state)
{
    struct list woken;
    list_init(&woken);
    enum err err = ERR_NONE;
    lock_take(&partition->lock);
    bool changed =
        state->leading != partition->leading || state->leader_epoch != partition->leader_epoch;
    if (state->leading && changed && partition->log) {
        err = log_epoch_assign(partition->log, state->leader_epoch);
        partition->offset_epoch_start = log_end(partition->log);
    }
    partition->leading = state->leading;
    partition->leader_id = state->leader_id;
    partition->leader_epoch = state->leader_epoch;
    partition->partition_epoch = state->partition_epoch;
    partition->isr_count = state->isr_count;
    partition->replica_count = state->replica_count;
    if (changed)
        watch_all(&partition->watches, &woken);
    if (state->leading && partition->log)
        advance(partition, &woken);
    lock_release(&partition->lock);
    parked_post(&woken);
    return err;
}

void partition_set_config(struct partition *partition, const struct topic_config *config,
                          const struct log_config *log_config)
{
    struct list woken;
    list_init(&woken);
    lock_take(&partition->lock);
    partition->config = *config;
    if (partition->log) {
        log_set_config(partition->log, log_config);
        if (log_flush_due(partition->log))
            partition_flush(partition);
        if (partition->leading)
            advance(partition, &woken);
    }
    lock_release(&partition->lock);
    parked_post(&woken);
}

struct topic_config partition_config(struct partition *partition)
{
    lock_take(&partition->lock);
    struct topic_config config = partition->config;
    lock_release(&partition->lock);
    return config;
}

void partition_restore_watermark(struct partition *partition, int64_t offset)
{
    lock_take(&partition->lock);
    if (partition->log)
        log_set_high_watermark(partition->log, offset);
    lock_release(&partition->lock);
}

bool partition_has_log(struct partition *partition)
{
    lock_take(&partition->lock);
    bool has_log = partition->log != NULL;
    lock_release(&partition->lock);
    return has_log;
}

struct log *partition_take_log(struct partition *partition, enum err error)
{
    struct list woken;
    list_init(&woken);
    lock_take(&partition->lock);
    struct log *log = partition->log;
    partition->log = NULL;
    partition->leading = false;
    partition->offline = error;
    atomic_store(&partition->gone, true);
    watch_all(&partition->watches, &woken);
    lock_release(&partition->lock);
    parked_post(&woken);
    if (log)
        log_detach(log);
    return log;
}

/* ---- flush ---- */

void partition_flushed(void *context)
{
    struct partition *partition = context;
    struct list woken;
    list_init(&woken);
    lock_take(&partition->lock);
    if (partition->log && partition->leading)
        advance(partition, &woken);
    lock_release(&partition->lock);
    parked_post(&woken);
}

static void flush_run(struct io_job *job)
{
    struct partition *partition = LIST_ITEM(job, struct partition, flush_job);
    log_flush_run(&partition->flush);
    struct list woken;
    list_init(&woken);
    lock_take(&partition->lock);
    struct log *log = partition->flush_stale ? NULL : partition->log;
    enum err err = log_flush_finish(log, &partition->flush);
    /* What that log did is nobody's concern any more. On a full disk all but its epochs may be. */
    bool is_durable = partition->flush_stale || !err || partition->flush.synced;
    partition->flushing = partition->flush_stale = false;
    if (!is_durable)
        watch_all(&partition->watches, &woken); /* the folder failed: nobody waits for it */
    else if (partition->log && partition->leading)
        advance(partition, &woken);
    if (is_durable && partition->log && log_flush_due(partition->log))
        partition_flush(partition);
    lock_release(&partition->lock);
    parked_post(&woken);
    _Atomic int64_t *flush_count = partition->flush_count;
    partition_unref(partition);
    if (flush_count)
        atomic_fetch_sub(flush_count, 1);
}

bool partition_flush(struct partition *partition)
{
    if (partition->flushing || !log_flush_prepare(partition->log, &partition->flush))
        return false;
    partition->flushing = true;
    partition_ref(partition);
    if (partition->flush_count)
        atomic_fetch_add(partition->flush_count, 1);
    partition->flush_job = (struct io_job){.run = flush_run};
    io_submit(partition->io, &partition->flush_job);
    return true;
}

/* ---- append ---- */

/* Lock held. A min.insync.replicas above the number of replicas could never be met, and with it the
 * internal topics of a node alone would not take a record: as many as there are is what it asks. */
static int32_t min_isr(const struct partition *partition)
{
    int32_t wanted = partition->config.min_insync_replicas;
    return wanted < partition->replica_count ? wanted : partition->replica_count;
}

/* Lock held. */
static enum err admit(const struct partition *partition, const struct partition_append *append)
{
    if (partition->offline)
        return partition->offline;
    if (!partition->log || log_failed(partition->log))
        return ERR_KAFKA_STORAGE_ERROR;
    if (!partition->leading)
        return ERR_NOT_LEADER_OR_FOLLOWER;
    if (append->all_in_sync && partition->isr_count < min_isr(partition))
        return ERR_NOT_ENOUGH_REPLICAS;
    return ERR_NONE;
}

enum err partition_append(struct partition *partition, struct partition_append *append)
{
    struct list woken;
    list_init(&woken);
    lock_take(&partition->lock);
    append->leader_id = partition->leader_id;
    append->leader_epoch = partition->leader_epoch;
    enum err err = admit(partition, append);
    if (!err)
        err = log_append_txn(
            partition->log, append->origin, partition->leader_epoch, append->batches,
            &(struct log_txn){.guard = append->guard, .version = append->transaction_version},
            &append->appended);
    if (!err) {
        /* A repeat, too: the flush of the first one may have failed on a full disk. */
        if (!append->appended.duplicate)
            watch_moved(&partition->watches, WATCH_LEO, log_end(partition->log),
                        (int64_t)append->batches.size, &woken);
        if (log_flush_due(partition->log))
            partition_flush(partition);
        advance(partition, &woken);
        append->offset_next = append->appended.offset_last + 1;
        append->high_watermark = log_high_watermark(partition->log);
        append->flush_waits =
            partition->config.flush_messages == 1 && append->high_watermark < append->offset_next;
    }
    lock_release(&partition->lock);
    parked_post(&woken);
    return err;
}

enum err partition_append_marker(struct partition *partition, const struct partition_marker *marker,
                                 struct partition_append *append)
{
    struct buf bytes;
    buf_init(&bytes);
    struct control_end_txn control = {.is_commit = marker->commit,
                                      .coordinator_epoch = marker->coordinator_epoch};
    int64_t now_ms = io_wall_ms(partition->io);
    enum err err = control_build_end_txn(&bytes, 0, -1, now_ms, marker->producer_id,
                                         marker->producer_epoch, &control);
    if (!err) {
        if (partition_config(partition).timestamp_type == TOPIC_TIMESTAMP_APPEND)
            batch_set_max_timestamp(bytes.data, true, now_ms);
        *append = (struct partition_append){.origin = LOG_COORDINATOR,
                                            .all_in_sync = true,
                                            .batches = buf_slice(&bytes),
                                            .transaction_version = marker->transaction_version};
        err = partition_append(partition, append);
        append->batches = SLICE_NULL;
    }
    buf_fini(&bytes);
    return err;
}

enum err partition_verify_begin(struct partition *partition, int64_t producer_id, int16_t epoch,
                                int32_t sequence, bool epoch_bump, int64_t *ret_guard)
{
    lock_take(&partition->lock);
    enum err err = partition_check_leader(partition, -1);
    if (!err)
        err = log_verify_begin(partition->log, producer_id, epoch, sequence, epoch_bump, ret_guard);
    lock_release(&partition->lock);
    return err;
}

/* ---- waiting ---- */

bool partition_watch(struct partition *partition, enum watch_class class, struct watch *watch,
                     int64_t seen, int32_t leader_epoch)
{
    bool wait = false;
    lock_take(&partition->lock);
    if (partition->log && partition->leading && partition->leader_epoch == leader_epoch) {
        int64_t now = class == WATCH_LEO  ? log_end(partition->log)
                      : class == WATCH_HW ? log_high_watermark(partition->log)
                                          : log_last_stable(partition->log);
        wait = watch->offset == WATCH_BYTES ? now == seen : now < watch->offset;
        if (wait)
            watch_add(&partition->watches, class, watch);
    }
    lock_release(&partition->lock);
    return wait;
}

void partition_unwatch(struct partition *partition, struct watch *watch)
{
    lock_take(&partition->lock);
    watch_remove(watch);
    lock_release(&partition->lock);
}
