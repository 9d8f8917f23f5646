/* The driver around the coordinators' pure shards: locks, loading, appends, commits, timers.
 *
 * A shard object is referenced by the table, by its load job, by calls under way and by posted
 * tasks; it is freed with the last. Its lock is LOCK_COORDINATOR; the partition's lock comes
 * inside, from the append. Duties and replies run after unlock.
 *
 * Timer: every call tells when the shard wants to be ticked next. The timer lives on the shard's
 * loop; other threads post a task there, and only when the wish is earlier than what is set.
 *
 * Commits: an append that is not below the high watermark at once (flush.messages=1, followers)
 * makes the shard's loop watch the partition until it is. */
#include "api/coordinators.h"

#include "api/context.h"
#include "api/request.h"
#include "api/topic_names.h"
#include "api/txn_duties.h"
#include "base/deadline.h"
#include "base/hash.h"
#include "base/mem.h"
#include "coord/offsets.h"
#include "os/diag.h"
#include "os/lock.h"
#include "repl/partition.h"
#include "wire/api.h"

enum { LOAD_CHUNK_SIZE = 1 << 20, LOAD_TOLD_MS = 1000, COMMIT_WATCH_MS = 30000 };

struct coordinator_shard {
    struct coordinators *coordinators;
    atomic_int ref_count;
    struct lock lock;
    struct coord_shard *shard;     /* lock */
    struct coordinator_call *call; /* lock: the one inside; NULL = none, or of the driver itself */
    struct partition *partition;
    int32_t index;
    atomic_int epoch; /* that it serves in; -1 = it does not */
    struct loop *loop;

    struct io_job load_job;
    atomic_bool loading; /* calls are refused without asking for the lock, which the load holds */

    /* timer: wish under lock, timer on the loop */
    int64_t wish_ms;
    bool posted;
    struct loop_task task;
    struct loop_timer timer;

    /* commits not yet below the high watermark */
    int64_t pending_next; /* lock */
    bool watching;        /* loop */
    bool watched;         /* loop: the watch was added */
    struct parked parked;
    struct watch watch;
};

struct coordinators {
    enum coord_kind kind;
    struct api_context *context;
    struct io *io;
    struct loop *const *loops;
    int loop_count;
    struct lock lock; /* a leaf: never held while entering a shard */
    struct coord_config config;
    int32_t partition_count;
    struct coordinator_shard **shards; /* shard_count of them, NULL = not led here */
    int32_t shard_count;
    atomic_int loading;
};

/* ---- shard references ---- */

static struct coordinator_shard *shard_ref(struct coordinator_shard *shard)
{
    atomic_fetch_add_explicit(&shard->ref_count, 1, memory_order_relaxed);
    return shard;
}

static void shard_unref(struct coordinator_shard *shard)
{
    if (atomic_fetch_sub(&shard->ref_count, 1) != 1)
        return;
    coord_shard_free(shard->shard);
    partition_unref(shard->partition);
    lock_fini(&shard->lock);
    mem_free(shard);
}

static struct coordinator_shard *shard_find(struct coordinators *coordinators, int32_t index)
{
    lock_take(&coordinators->lock);
    struct coordinator_shard *shard =
        index >= 0 && index < coordinators->shard_count ? coordinators->shards[index] : NULL;
    if (shard)
        shard_ref(shard);
    lock_release(&coordinators->lock);
    return shard;
}

static struct coord_event event_now(struct io *io)
{
    return (struct coord_event){
        .now_ms = io_mono_ms(io),
        .wall_ms = io_wall_ms(io),
        .client_id = slice_str(""),
        .client_host = slice_str(""),
    };
}

/* Lock held. Notes the wish of a call; true when the caller must post the task after unlock (and
 * give it a reference). */
static bool note_update(struct coordinator_shard *shard, const struct coord_update *update)
{
    bool earlier = update->deadline_ms < shard->wish_ms;
    shard->wish_ms = update->deadline_ms;
    bool wanted = (earlier || shard->pending_next) && !shard->posted;
    if (wanted)
        shard->posted = true;
    return wanted;
}

/* Ends a call. Markers come before the reply that follows from the same records: a client that has
 * the answer to its EndTxn reads what it committed, as far as the partitions could be written at
 * once. Neither may run under the lock: markers enter the shards of groups, and come back to this
 * one when they are written. */
static void shard_release(struct coordinator_shard *shard, struct coord_update *update)
{
    bool post = note_update(shard, update);
    lock_release(&shard->lock);
    if (post)
        loop_post(shard->loop, &shard_ref(shard)->task);
    if (!list_empty(&update->markers))
        txn_duties_run(shard->coordinators->context, shard->loop, shard->index, &update->markers);
    coord_update_deliver(update);
}

/* ---- the shard's loop: timer and commits ---- */

static void set_timer(struct coordinator_shard *shard, int64_t wish_ms)
{
    bool was_set = loop_timer_is_set(&shard->timer);
    if (wish_ms == INT64_MAX) {
        loop_timer_cancel(shard->loop, &shard->timer);
        if (was_set)
            shard_unref(shard);
        return;
    }
    if (!was_set)
        shard_ref(shard);
    loop_timer_set(shard->loop, &shard->timer, deadline_ns_of_ms(wish_ms));
}

static void committed(struct parked *parked);

static void watch_commits(struct coordinator_shard *shard, int64_t target)
{
    if (!target || shard->watching)
        return;
    shard->watching = true;
    shard_ref(shard);
    parked_init(&shard->parked, shard->loop, 1, committed);
    shard->watch = (struct watch){.parked = &shard->parked, .offset = target};
    list_init(&shard->watch.link);
    struct partition_ends ends;
    enum err err = partition_ends(shard->partition, -1, &ends);
    shard->watched =
        !err && partition_watch(shard->partition, WATCH_HW, &shard->watch, 0, ends.leader_epoch);
    if (!shard->watched)
        parked_wake(&shard->parked);
    parked_arm(&shard->parked,
               io_mono_ns(shard->coordinators->io) + (int64_t)COMMIT_WATCH_MS * 1000000);
}

static void run_task(struct loop_task *task)
{
    struct coordinator_shard *shard = LIST_ITEM(task, struct coordinator_shard, task);
    lock_take(&shard->lock);
    shard->posted = false;
    int64_t wish_ms = shard->wish_ms, target = shard->pending_next;
    lock_release(&shard->lock);
    set_timer(shard, wish_ms);
    watch_commits(shard, target);
    shard_unref(shard);
}

static void committed(struct parked *parked)
{
    struct coordinator_shard *shard = LIST_ITEM(parked, struct coordinator_shard, parked);
    if (shard->watched)
        partition_unwatch(shard->partition, &shard->watch);
    shard->watching = false;
    struct partition_ends ends;
    enum err err = partition_ends(shard->partition, -1, &ends);
    struct coord_event event = event_now(shard->coordinators->io);
    struct coord_update update;
    coord_update_init(&update);
    lock_take(&shard->lock);
    if (!err) {
        coord_shard_committed(shard->shard, &event, ends.high_watermark, &update);
        if (ends.high_watermark >= shard->pending_next)
            shard->pending_next = 0;
    } else {
        shard->pending_next = 0; /* resigned, or soon; the write timeouts end the rest */
        coord_shard_tick(shard->shard, &event, &update);
    }
    shard_release(shard, &update);
    shard_unref(shard);
}

static void timer_expired(struct loop_timer *timer)
{
    struct coordinator_shard *shard = LIST_ITEM(timer, struct coordinator_shard, timer);
    struct coord_event event = event_now(shard->coordinators->io);
    struct coord_update update;
    coord_update_init(&update);
    lock_take(&shard->lock);
    coord_shard_tick(shard->shard, &event, &update);
    shard->wish_ms = INT64_MAX; /* nothing is set any more: any wish is earlier */
    shard_release(shard, &update);
    shard_unref(shard);
}

/* ---- writing ---- */

static enum err append(void *context, int32_t partition, struct slice batch,
                       int64_t *ret_offset_next, int64_t *ret_committed)
{
    struct coordinator_shard *shard = context;
    (void)partition;
    struct partition_append append = {
        .origin = LOG_COORDINATOR,
        .all_in_sync = true,
        .batches = batch,
        .guard = shard->call ? shard->call->guard : 0,
        .transaction_version = shard->call ? shard->call->transaction_version : 0,
    };
    enum err err = partition_append(shard->partition, &append);
    if (err)
        return err;
    *ret_offset_next = append.offset_next;
    *ret_committed = append.high_watermark;
    if (append.high_watermark < append.offset_next)
        shard->pending_next = append.offset_next;
    return ERR_NONE;
}

/* ---- loading ---- */

static void activate(struct coordinator_shard *shard, int64_t offset_next)
{
    struct coord_event event = event_now(shard->coordinators->io);
    struct coord_update update;
    coord_update_init(&update);
    struct partition_ends ends;
    int32_t epoch = partition_ends(shard->partition, -1, &ends) ? -1 : ends.leader_epoch;
    lock_take(&shard->lock);
    /* First this, then the settings: coordinators_configure does it the other way around. */
    atomic_store(&shard->loading, false);
    if (coord_shard_state(shard->shard) == ERR_COORDINATOR_LOAD_IN_PROGRESS) {
        lock_take(&shard->coordinators->lock);
        struct coord_config config = shard->coordinators->config;
        lock_release(&shard->coordinators->lock);
        coord_shard_configure(shard->shard, &config);
        coord_shard_activate(shard->shard, &event, offset_next, epoch, &update);
        atomic_store(&shard->epoch, epoch);
    }
    shard_release(shard, &update);
}

/* What is there of the log, chunk by chunk, until the shard is not wanted any more. */
static enum err load_log(struct coordinator_shard *shard, int64_t *ret_offset_next)
{
    struct buf chunk;
    buf_init(&chunk);
    int64_t offset = 0, next = 0;
    enum err err = ERR_NONE;
    while (!err && atomic_load(&shard->loading)) {
        buf_clear(&chunk);
        err = partition_read_copy(shard->partition, offset, LOAD_CHUNK_SIZE, &chunk, &next);
        if (err || !chunk.size)
            break;
        lock_take(&shard->lock);
        if (coord_shard_state(shard->shard) == ERR_COORDINATOR_LOAD_IN_PROGRESS)
            err = coord_shard_load(shard->shard, buf_slice(&chunk));
        lock_release(&shard->lock);
        offset = next;
    }
    buf_fini(&chunk);
    *ret_offset_next = next;
    return err;
}

/* A shard that cannot be loaded serves nobody, as in Kafka. */
static void load_failed(struct coordinator_shard *shard, enum err err)
{
    diag(DIAG_COORD, DIAG_ERROR,
         "%.*s-%d cannot be loaded: %s. What it coordinates is not served until the next start",
         SLICE_FMT(shard->partition->topic), shard->index, err_text(err));
    struct coord_update update;
    coord_update_init(&update);
    lock_take(&shard->lock);
    coord_shard_unload(shard->shard, &update);
    atomic_store(&shard->loading, false);
    shard_release(shard, &update);
}

static void load_run(struct io_job *job)
{
    struct coordinator_shard *shard = LIST_ITEM(job, struct coordinator_shard, load_job);
    int64_t began_ms = io_mono_ms(shard->coordinators->io), offset_next = 0;
    enum err err = load_log(shard, &offset_next);
    int64_t took_ms = io_mono_ms(shard->coordinators->io) - began_ms;
    if (err)
        load_failed(shard, err);
    else
        activate(shard, offset_next);
    if (!err && took_ms >= LOAD_TOLD_MS)
        diag(DIAG_COORD, DIAG_INFO, "%.*s-%d was loaded in %lld ms, up to offset %lld",
             SLICE_FMT(shard->partition->topic), shard->index, (long long)took_ms,
             (long long)offset_next);
    atomic_fetch_sub(&shard->coordinators->loading, 1);
    shard_unref(shard);
}

void coordinators_lead(struct coordinators *coordinators, struct partition *partition)
{
    struct coordinator_shard *shard = mem_zalloc(sizeof *shard);
    shard->coordinators = coordinators;
    atomic_init(&shard->ref_count, 1);
    lock_init(&shard->lock, LOCK_COORDINATOR);
    shard->partition = partition_ref(partition);
    shard->index = partition->index;
    shard->loop = coordinators->loops[partition->index % coordinators->loop_count];
    shard->wish_ms = INT64_MAX;
    atomic_init(&shard->epoch, -1);
    shard->task.run = run_task;
    list_init(&shard->task.link);
    shard->timer.expired = timer_expired;
    struct coord_writer writer = {shard, append};
    coordinators_resign(coordinators, partition->index);
    lock_take(&coordinators->lock);
    shard->shard =
        coord_shard_new(coordinators->kind, &coordinators->config, &writer, partition->index);
    if (partition->index >= coordinators->shard_count) {
        int32_t count = partition->index + 1;
        coordinators->shards =
            mem_realloc(coordinators->shards, (size_t)count * sizeof *coordinators->shards);
        for (int32_t i = coordinators->shard_count; i < count; i++)
            coordinators->shards[i] = NULL;
        coordinators->shard_count = count;
    }
    coordinators->shards[partition->index] = shard;
    lock_release(&coordinators->lock);

    struct partition_ends ends;
    if (!partition_ends(partition, -1, &ends) && ends.log_start == ends.log_end) {
        activate(shard, ends.log_end);
        return;
    }
    shard_ref(shard);
    atomic_store(&shard->loading, true);
    atomic_fetch_add(&coordinators->loading, 1);
    shard->load_job = (struct io_job){.run = load_run};
    io_submit(coordinators->io, &shard->load_job);
}

int coordinators_loading(struct coordinators *coordinators)
{
    return atomic_load(&coordinators->loading);
}

void coordinators_resign(struct coordinators *coordinators, int32_t index)
{
    struct coordinator_shard *shard = NULL;
    lock_take(&coordinators->lock);
    if (index >= 0 && index < coordinators->shard_count) {
        shard = coordinators->shards[index];
        coordinators->shards[index] = NULL;
    }
    lock_release(&coordinators->lock);
    if (!shard)
        return;
    struct coord_update update;
    coord_update_init(&update);
    atomic_store(&shard->loading, false); /* ends a load soon */
    lock_take(&shard->lock);
    coord_shard_unload(shard->shard, &update);
    atomic_store(&shard->epoch, -1);
    update.deadline_ms = INT64_MAX;
    shard->pending_next = 0;
    /* The task takes the timer down, on its loop. */
    bool post = !shard->posted;
    shard->posted = true;
    shard->wish_ms = INT64_MAX;
    lock_release(&shard->lock);
    if (post)
        loop_post(shard->loop, &shard_ref(shard)->task);
    coord_update_deliver(&update);
    shard_unref(shard);
}

void coordinators_resign_all(struct coordinators *coordinators)
{
    for (int32_t i = 0; i < coordinators->shard_count; i++)
        coordinators_resign(coordinators, i);
}

/* ---- all shards ---- */

struct coordinators *coordinators_new(enum coord_kind kind, struct api_context *context,
                                      struct loop *const *loops, int loop_count,
                                      const struct coord_config *config)
{
    struct coordinators *coordinators = mem_zalloc(sizeof *coordinators);
    coordinators->kind = kind;
    coordinators->context = context;
    coordinators->io = context->io;
    coordinators->loops = loops;
    coordinators->loop_count = loop_count;
    coordinators->config = *config;
    lock_init(&coordinators->lock, LOCK_LEAF);
    return coordinators;
}

void coordinators_free(struct coordinators *coordinators)
{
    if (!coordinators)
        return;
    mem_free(coordinators->shards);
    lock_fini(&coordinators->lock);
    mem_free(coordinators);
}

void coordinators_configure(struct coordinators *coordinators, const struct coord_config *config)
{
    lock_take(&coordinators->lock);
    coordinators->config = *config;
    int32_t count = coordinators->shard_count;
    lock_release(&coordinators->lock);
    for (int32_t i = 0; i < count; i++) {
        struct coordinator_shard *shard = shard_find(coordinators, i);
        if (!shard)
            continue;
        if (!atomic_load(&shard->loading)) { /* else it takes them when it has loaded */
            lock_take(&shard->lock);
            coord_shard_configure(shard->shard, config);
            lock_release(&shard->lock);
        }
        shard_unref(shard);
    }
}

struct coord_config coordinators_config(struct coordinators *coordinators)
{
    lock_take(&coordinators->lock);
    struct coord_config config = coordinators->config;
    lock_release(&coordinators->lock);
    return config;
}

struct slice coordinators_topic(const struct coordinators *coordinators)
{
    return coordinators->kind == COORD_GROUPS ? SLICE_LIT(TOPIC_CONSUMER_OFFSETS)
                                              : SLICE_LIT(TOPIC_TRANSACTION_STATE);
}

void coordinators_set_partition_count(struct coordinators *coordinators, int32_t count)
{
    lock_take(&coordinators->lock);
    coordinators->partition_count = count;
    lock_release(&coordinators->lock);
}

int32_t coordinators_partition_count(struct coordinators *coordinators)
{
    lock_take(&coordinators->lock);
    int32_t count = coordinators->partition_count;
    lock_release(&coordinators->lock);
    return count;
}

int32_t coordinators_partition_of(struct coordinators *coordinators, struct slice key)
{
    int32_t count = coordinators_partition_count(coordinators);
    return count ? coordinator_partition(key, count) : -1;
}

void coordinators_topics_deleted(struct coordinators *coordinators, const struct slice *names,
                                 size_t count)
{
    int32_t shard_count = coordinators_partition_count(coordinators);
    for (int32_t i = 0; count && i < shard_count; i++) {
        struct coordinator_call call;
        if (coordinators_enter_at(coordinators, i, NULL, &call))
            continue;
        coord_offsets_topics_deleted(call.shard, &call.event, names, count, &call.update);
        coordinators_leave(&call);
    }
}

int32_t coordinators_epoch(struct coordinators *coordinators, int32_t index)
{
    struct coordinator_shard *shard = shard_find(coordinators, index);
    if (!shard)
        return -1;
    int32_t epoch = atomic_load(&shard->epoch);
    shard_unref(shard);
    return epoch;
}

/* ---- calls ---- */

enum err coordinators_enter_at(struct coordinators *coordinators, int32_t index,
                               struct request *request, struct coordinator_call *ret_call)
{
    struct coordinator_shard *shard = shard_find(coordinators, index);
    if (!shard)
        return ERR_NOT_COORDINATOR;
    if (atomic_load(&shard->loading)) {
        shard_unref(shard);
        return ERR_COORDINATOR_LOAD_IN_PROGRESS;
    }
    *ret_call = (struct coordinator_call){
        .held = shard, .shard = shard->shard, .event = event_now(coordinators->io)};
    if (request) {
        ret_call->event.version = request->version;
        if (request->client_id.data)
            ret_call->event.client_id = request->client_id;
        ret_call->event.client_host = request_client_host(request);
        if (request->api->key == WIRE_API_JOIN_GROUP)
            io_random(coordinators->io, ret_call->event.random, sizeof ret_call->event.random);
    }
    coord_update_init(&ret_call->update);
    lock_take(&shard->lock);
    ret_call->update.deadline_ms = shard->wish_ms; /* for calls that only look */
    shard->call = ret_call;
    return ERR_NONE;
}

enum err coordinators_enter(struct coordinators *coordinators, struct slice key,
                            struct request *request, struct coordinator_call *ret_call)
{
    int32_t index = coordinators_partition_of(coordinators, key);
    return index < 0 ? ERR_NOT_COORDINATOR
                     : coordinators_enter_at(coordinators, index, request, ret_call);
}

void coordinators_leave(struct coordinator_call *call)
{
    struct coordinator_shard *shard = call->held;
    shard->call = NULL;
    shard_release(shard, &call->update);
    shard_unref(shard);
}
