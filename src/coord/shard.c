/* A shard's plumbing: timers, replies, and the way of a write.
 *
 * A write: records -> one batch -> writer.append -> the batch is replayed (the machine's replay is
 * the only writer of durable state) -> the write waits in shard->writes, ordered by offset ->
 * commit, commit timeout or unload -> its `done`. When the append fails nothing durable has
 * changed; `done` undoes the soft step. On one node the append tells that the batch is committed
 * and `done` runs at once. After a timeout the records stay: they may still be committed, as in
 * Kafka.
 *
 * Batches have the machine's base sequence, and producer id -1 but for offsets in transactions. */
#include "coord/shard.h"

#include "base/deadline.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "record/builder.h"
#include "record/compress.h"
#include "record/records.h"

void shard_records_init(struct shard_records *records)
{
    buf_init(&records->bytes);
    buf_init(&records->spans);
    records->count = 0;
    records->producer_id = BATCH_NO_PRODUCER_ID;
    records->producer_epoch = BATCH_NO_PRODUCER_EPOCH;
}

void shard_records_fini(struct shard_records *records)
{
    buf_fini(&records->bytes);
    buf_fini(&records->spans);
}

void shard_records_close(struct shard_records *records, size_t start, size_t key_end,
                         bool tombstone)
{
    struct shard_span span = {key_end - start,
                              tombstone ? SIZE_MAX : records->bytes.size - key_end};
    buf_put(&records->spans, &span, sizeof span);
    records->count++;
}

bool shard_enter(struct coord_shard *shard, const struct coord_event *event,
                 struct coord_update *update, enum err *ret_error)
{
    shard->event = event;
    shard->update = update;
    *ret_error = coord_shard_state(shard);
    return *ret_error == ERR_NONE;
}

void shard_leave(struct coord_shard *shard)
{
    const struct heap_node *first = heap_min(&shard->timers);
    shard->update->deadline_ms = first ? first->key : INT64_MAX;
    shard->event = NULL;
    shard->update = NULL;
}

void shard_reply_begin(struct coord_shard *shard, struct coord_reply *reply)
{
    list_init(&reply->link);
    reply->version = shard->event->version;
    reply->completed = false;
}

void shard_reply_complete(struct coord_shard *shard, struct coord_reply *reply)
{
    ENSURE(!reply->completed);
    reply->completed = true;
    list_push_back(&shard->update->replies, &reply->link);
}

void shard_timer_init(struct shard_timer *timer, enum shard_timer_kind kind, void *owner)
{
    *timer = (struct shard_timer){.kind = kind, .owner = owner};
}

void shard_timer_set(struct coord_shard *shard, struct shard_timer *timer, int64_t delay_ms)
{
    heap_remove(&shard->timers, &timer->node);
    heap_add(&shard->timers, &timer->node, deadline_after(shard->event->now_ms, delay_ms));
}

void shard_timer_cancel(struct coord_shard *shard, struct shard_timer *timer)
{
    heap_remove(&shard->timers, &timer->node);
}

enum err shard_append_error(enum err error)
{
    enum err wire = err_from_wire(err_to_wire(error));
    if (wire == ERR_UNKNOWN_TOPIC_OR_PARTITION || wire == ERR_NOT_ENOUGH_REPLICAS ||
        wire == ERR_REQUEST_TIMED_OUT)
        return ERR_COORDINATOR_NOT_AVAILABLE;
    if (wire == ERR_NOT_LEADER_OR_FOLLOWER || wire == ERR_KAFKA_STORAGE_ERROR)
        return ERR_NOT_COORDINATOR;
    if (wire == ERR_MESSAGE_TOO_LARGE || wire == ERR_RECORD_LIST_TOO_LARGE ||
        wire == ERR_INVALID_FETCH_SIZE)
        return ERR_UNKNOWN_SERVER_ERROR;
    return wire;
}

/* Where a record stands in shard_records. */
struct record_at {
    size_t index, offset;
};

static struct shard_span span_at(const struct shard_records *records, size_t index)
{
    struct shard_span span;
    memcpy(&span, records->spans.data + index * sizeof span, sizeof span);
    return span;
}

static size_t span_size(struct shard_span span)
{
    return span.key_size + (span.value_size == SIZE_MAX ? 0 : span.value_size);
}

/* One batch into the machine; `shift` is added to the offsets of its records. */
static enum err replay_batch(struct coord_shard *shard, struct slice batch, int64_t shift,
                             bool live)
{
    struct record record;
    struct shard_record item = {
        .record = &record,
        .producer_id = batch_has_producer_id(batch.data) ? batch_producer_id(batch.data) : -1,
        .control = batch_is_control(batch.data),
        .live = live,
    };
    struct records_iter iter;
    enum err err = records_iter_init(&iter, batch, 0);
    while (!err && records_iter_next(&iter, &record)) {
        item.offset = record.offset + shift;
        err = shard->machine->replay(shard, &item);
    }
    if (!err && iter.err)
        err = iter.err;
    records_iter_fini(&iter);
    return err ? ERR_CORRUPT : ERR_NONE;
}

enum err shard_load(struct coord_shard *shard, struct slice batches)
{
    struct batch_iter iter = batch_iter_of(batches);
    struct batch_info info;
    while (batch_iter_next(&iter, &info)) {
        struct slice batch = slice_of(info.data, info.size);
        if (info.magic != BATCH_MAGIC || batch_check_header(batch))
            return ERR_CORRUPT;
        shard->offset_next = shard->committed = batch_offset_next(info.data);
        enum err err = replay_batch(shard, batch, 0, false);
        if (err)
            return err;
    }
    return iter.err || iter.rest.size > 0 ? ERR_CORRUPT : ERR_NONE;
}

/* Appends and replays. */
static enum err put_batch(struct coord_shard *shard, struct slice batch, int64_t count)
{
    int64_t offset_next, committed;
    enum err err =
        shard->writer.append(shard->writer.ctx, shard->partition, batch, &offset_next, &committed);
    if (err)
        return err;
    shard->offset_next = offset_next;
    if (committed > shard->committed)
        shard->committed = committed;
    err = replay_batch(shard, batch, offset_next - count, true);
    ENSURE(err == ERR_NONE); /* it was built a moment ago */
    return ERR_NONE;
}

/* Builds the records [from, until) into the scratch, appends and replays them. */
static enum err append_batch(struct coord_shard *shard, const struct shard_records *records,
                             struct record_at from, size_t until)
{
    struct builder_options options = BUILDER_DEFAULTS;
    if (shard->machine->compresses)
        options.codec = (enum codec)shard->config.compression;
    options.level = codec_level_default(options.codec);
    options.base_sequence = shard->machine->base_sequence;
    options.transactional = records->producer_id >= 0;
    options.producer_id = records->producer_id;
    options.producer_epoch = records->producer_epoch;
    buf_clear(&shard->scratch);
    struct builder builder;
    builder_begin(&builder, &shard->scratch, &options);
    const uint8_t *at = records->bytes.data + from.offset;
    for (size_t i = from.index; i < until; i++) {
        struct shard_span span = span_at(records, i);
        struct slice value = span.value_size == SIZE_MAX
                                 ? SLICE_NULL
                                 : slice_of(at + span.key_size, span.value_size);
        builder_append(&builder, shard->event->wall_ms, slice_of(at, span.key_size), value);
        at += span_size(span);
    }
    enum err err = builder_end(&builder);
    if (err)
        return err;
    struct slice batch = buf_slice(&shard->scratch);
    if (batch.size > (size_t)shard->config.batch_size_max)
        return ERR_MESSAGE_TOO_LARGE;
    return put_batch(shard, batch, (int64_t)(until - from.index));
}

static void finish(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    shard_timer_cancel(shard, &write->timer);
    list_remove(&write->link);
    write->done(shard, write, error);
    if (write->release)
        write->release(write);
    mem_free(write);
}

static struct shard_write *write_new(const struct shard_write *template)
{
    struct shard_write *write = mem_alloc(sizeof *write);
    *write = *template;
    list_init(&write->link);
    shard_timer_init(&write->timer, SHARD_TIMER_WRITE, write);
    return write;
}

static enum err write_error(const struct shard_write *write, enum err err)
{
    return write->for_partition ? err : shard_append_error(err);
}

/* The append has ended with `err`: on success the write waits for its commit. */
static void await_commit(struct coord_shard *shard, struct shard_write *write, enum err err)
{
    if (err) {
        finish(shard, write, write_error(write, err));
        return;
    }
    write->offset_next = shard->offset_next;
    list_push_back(&shard->writes, &write->link);
    if (write->offset_next > shard->committed && write->timeout_ms != INT64_MAX)
        shard_timer_set(shard, &write->timer,
                        write->timeout_ms ? write->timeout_ms : shard->config.commit_timeout_ms);
    shard_commit(shard, shard->committed);
}

void shard_append(struct coord_shard *shard, const struct shard_records *records,
                  const struct shard_write *template)
{
    struct shard_write *write = write_new(template);
    enum err err = ERR_NONE;
    if (records && records->count > 0)
        err = append_batch(shard, records, (struct record_at){0, 0}, records->count);
    await_commit(shard, write, err);
}

void shard_append_batch(struct coord_shard *shard, struct slice batch, int32_t count,
                        const struct shard_write *template)
{
    struct shard_write *write = write_new(template);
    await_commit(shard, write, put_batch(shard, batch, count));
}

void shard_append_split(struct coord_shard *shard, const struct shard_records *records)
{
    /* Each record costs at most this much beside its key and value: lengths and deltas. */
    enum { RECORD_OVERHEAD_MAX = 40 };
    struct record_at from = {0, 0};
    size_t size = BATCH_HEADER_SIZE, end = 0;
    enum err err = ERR_NONE;
    for (size_t i = 0; !err && i < records->count; i++) {
        size_t record_size = span_size(span_at(records, i)) + RECORD_OVERHEAD_MAX;
        if (i > from.index && size + record_size > (size_t)shard->config.batch_size_max) {
            err = append_batch(shard, records, from, i);
            from = (struct record_at){i, end};
            size = BATCH_HEADER_SIZE;
        }
        size += record_size;
        end += span_size(span_at(records, i));
    }
    if (!err && records->count > from.index)
        (void)append_batch(shard, records, from, records->count);
    shard_commit(shard, shard->committed); /* also after an error: what came before it stands */
}

void shard_commit(struct coord_shard *shard, int64_t committed)
{
    if (committed > shard->committed)
        shard->committed = committed;
    if (shard->machine->committed)
        shard->machine->committed(shard);
    while (!list_empty(&shard->writes)) {
        struct shard_write *write = LIST_ITEM(shard->writes.next, struct shard_write, link);
        if (write->offset_next > shard->committed)
            break;
        finish(shard, write, ERR_NONE);
    }
}

void shard_fail_writes(struct coord_shard *shard, enum err error)
{
    while (!list_empty(&shard->writes))
        finish(shard, LIST_ITEM(shard->writes.next, struct shard_write, link), error);
}

void shard_write_expired(struct coord_shard *shard, struct shard_write *write)
{
    finish(shard, write, write_error(write, ERR_REQUEST_TIMED_OUT));
}
