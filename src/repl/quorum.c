/* The quorum driver: changes, commits, publishing; see quorum.h for the walk and the threads.
 * Recovery is in quorum_recover.c, the start of an epoch in quorum_start.c, snapshots in
 * quorum_snapshot.c.
 *
 * Every batch appended has a root that waits until the high watermark passes it. Operations wait in
 * the order of their offsets. One fsync runs at a time, on a worker; what is appended meanwhile is
 * served by the next one (group commit).
 *
 * A log that cannot be written ends the driver's work: all waiting and later operations get the
 * error, committed metadata stays readable; the owner is told and ends the node.
 *
 * No NoOpRecord is written while nothing happens: Kafka appends one each 500 ms so that followers
 * and observers see the high watermark move; a quorum of one has neither, and an idle node should
 * not wake its disk. Logs that hold them are read as ever. */
#include "repl/quorum.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "repl/quorum_internal.h"
#include "wire_describe_quorum.h"

/* ---- images -----------------------------------------------------------------------------------
 */

struct meta_image *quorum_image(struct quorum *q)
{
    lock_take(&q->image_lock);
    struct meta_image *image = meta_image_ref(q->committed);
    lock_release(&q->image_lock);
    return image;
}

struct meta_image *quorum_image_newest(struct quorum *q)
{
    lock_take(&q->lock);
    struct meta_image *image = meta_image_ref(q->newest);
    lock_release(&q->lock);
    return image;
}

/* Takes over the reference; the old root goes to the caller. */
struct meta_image *quorum_swap_committed(struct quorum *q, struct meta_image *next)
{
    lock_take(&q->image_lock);
    struct meta_image *old = q->committed;
    q->committed = next;
    lock_release(&q->image_lock);
    return old;
}

int64_t quorum_broker_epoch(struct quorum *q)
{
    lock_take(&q->lock);
    int64_t epoch = q->broker_epoch;
    lock_release(&q->lock);
    return epoch;
}

int32_t quorum_leader(struct quorum *q, int32_t *ret_epoch)
{
    lock_take(&q->lock);
    int32_t leader = q->raft.state.leader_id;
    *ret_epoch = q->raft.state.leader_epoch;
    lock_release(&q->lock);
    return leader;
}

/* ---- the end of an operation ------------------------------------------------------------------
 */

static void run_done(struct loop_task *task)
{
    struct quorum_op *op = LIST_ITEM(task, struct quorum_op, task);
    struct meta_image *base = op->base; /* the op goes with its request */
    op->done(op);
    meta_image_unref(base);
}

static void post_done(struct quorum_op *op, enum err e)
{
    op->error = e;
    op->task.run = run_done;
    loop_post(op->loop, &op->task);
}

static void post_ops(struct list *ops)
{
    struct list *node;
    while ((node = list_pop_front(ops))) {
        struct quorum_op *op = LIST_ITEM(node, struct quorum_op, link);
        post_done(op, op->error);
    }
}

/* ---- appending --------------------------------------------------------------------------------
 */

/* Kafka reads metadata batches of up to 8 MB: several records share one below half of that, a large
 * one has its own. */
enum {
    BATCH_RECORDS_SIZE_MAX = 4 << 20,
    RECORD_OVERHEAD_MAX = 64, /* lengths and deltas beside the payload */
    RECORD_SIZE_MAX = (8 << 20) - BATCH_HEADER_SIZE - RECORD_OVERHEAD_MAX,
};

/* A record that no reader could take back must not be decided. */
static bool has_oversized(const struct meta_records *records)
{
    for (int32_t i = 0; i < records->count; i++) {
        if (meta_records_at(records, i).size > RECORD_SIZE_MAX)
            return true;
    }
    return false;
}

static enum err build_batches(const struct meta_records *records, int32_t epoch, int64_t now_ms,
                              struct buf *out)
{
    if (has_oversized(records))
        return ERR_RECORD_LIST_TOO_LARGE;
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.leader_epoch = epoch;
    size_t size = 0;
    enum err e = ERR_NONE;
    bool open = false;
    for (int32_t i = 0; i < records->count && e == ERR_NONE; i++) {
        struct slice payload = meta_records_at(records, i);
        if (open && size + payload.size > BATCH_RECORDS_SIZE_MAX) {
            e = builder_end(&b);
            open = false;
        }
        if (!open && e == ERR_NONE) {
            builder_begin(&b, out, &options);
            open = true;
            size = 0;
        }
        builder_append(&b, now_ms, SLICE_NULL, payload);
        size += payload.size;
    }
    if (open) {
        enum err end = builder_end(&b);
        e = e == ERR_NONE ? end : e;
    }
    return e;
}

enum err quorum_append(struct quorum *q, struct slice batches)
{
    int32_t epoch = q->raft.state.leader_epoch;
    struct log_appended appended;
    enum err e = log_append(q->log, LOG_RAFT_LEADER, epoch, batches, &appended);
    if (e == ERR_DISK_FULL && q->make_room && (!q->started || q->makes_room) &&
        q->make_room(q->make_room_context, !q->started))
        e = log_append(q->log, LOG_RAFT_LEADER, epoch, batches, &appended);
    if (e != ERR_NONE)
        return e;
    q->bytes_since += (int64_t)batches.size;
    struct raft_update update;
    struct raft_event event = {RAFT_APPENDED, log_end(q->log), epoch};
    raft_step(&q->raft, &event, &update);
    return ERR_NONE;
}

static void random_bytes(void *context, void *ret_bytes, size_t size)
{
    io_random(context, ret_bytes, size);
}

void quorum_controller(struct quorum *q, struct arena *arena, struct meta_records *records,
                       struct controller *ret_controller)
{
    *ret_controller = (struct controller){
        .settings = &q->settings,
        .image = q->newest,
        .arena = arena,
        .records = records,
        .offset_next = log_end(q->log),
        .now_ms = io_wall_ms(q->io),
        .random = random_bytes,
        .random_context = q->io,
    };
    controller_init(ret_controller);
}

/* Takes over the reference on `image`. */
static void add_root(struct quorum *q, struct meta_image *image)
{
    struct quorum_root *root = mem_zalloc(sizeof *root);
    root->offset_next = log_end(q->log);
    root->image = image;
    list_push_back(&q->roots, &root->link);
    meta_image_unref(q->newest);
    q->newest = meta_image_ref(image);
}

enum err quorum_append_decision(struct quorum *q, struct controller *c)
{
    int64_t count = c->records->count;
    if (!count && !c->kraft_upgrade)
        return ERR_NONE;
    int32_t epoch = q->raft.state.leader_epoch;
    struct buf batches;
    buf_init(&batches);
    enum err e = build_batches(c->records, epoch, c->now_ms, &batches);
    if (e == ERR_NONE && c->kraft_upgrade) {
        e = quorum_build_upgrade(q, c->now_ms, &batches);
        count += QUORUM_VOTERS_RECORDS;
    }
    if (e == ERR_NONE) {
        struct meta_provenance at = {c->offset_next + count - 1, epoch, c->now_ms};
        struct meta_image *next = controller_finish(c, at);
        e = quorum_append(q, buf_slice(&batches));
        if (e == ERR_NONE)
            add_root(q, next);
        else
            meta_image_unref(next);
    }
    if (e == ERR_NONE && c->kraft_upgrade)
        quorum_voters_written(q);
    buf_fini(&batches);
    return e;
}

/* ---- commits ----------------------------------------------------------------------------------
 */

/* Roots up to the high watermark: the newest of them becomes the committed image. */
struct meta_image *quorum_take_committed(struct quorum *q)
{
    struct meta_image *image = NULL;
    while (!list_empty(&q->roots)) {
        struct quorum_root *root = LIST_ITEM(q->roots.next, struct quorum_root, link);
        if (root->offset_next > q->raft.high_watermark)
            break;
        list_remove(&root->link);
        meta_image_unref(image);
        image = root->image;
        mem_free(root);
    }
    return image;
}

/* Those that need wait no longer, in order, with their errors; post_ops ends them, off the lock. */
static void take_ops(struct quorum *q, struct list *ret_ops)
{
    while (!list_empty(&q->ops)) {
        struct quorum_op *op = LIST_ITEM(q->ops.next, struct quorum_op, link);
        bool committed = op->offset_next <= q->raft.high_watermark;
        if (!committed && q->failed == ERR_NONE)
            break;
        op->error = committed ? ERR_NONE : q->failed;
        list_remove(&op->link);
        list_push_back(ret_ops, &op->link);
    }
}

static void flush_run(struct io_job *job)
{
    struct quorum_flush_job *f = LIST_ITEM(job, struct quorum_flush_job, job);
    log_flush_run(&f->flush);
}

static void flush_done(struct io_job *job);

/* Under the lock. */
static void flush_start(struct quorum *q)
{
    if (q->flush.running || q->failed != ERR_NONE || !log_flush_prepare(q->log, &q->flush.flush))
        return;
    q->flush.running = true;
    q->flush.quorum = q;
    q->flush.job.run = flush_run;
    q->flush.job.done = flush_done;
    q->flush.job.loop = q->loop;
    io_submit(q->io, &q->flush.job);
}

static void fail(struct quorum *q, enum err e)
{
    bool first = q->failed == ERR_NONE;
    q->failed = e == ERR_DISK_FULL ? ERR_DISK_FULL : ERR_KAFKA_STORAGE_ERROR;
    if (!first)
        return;
    diag(DIAG_REPL, DIAG_ERROR, "the metadata log %s cannot be written: %s", q->path, err_text(e));
    if (q->told_failed)
        q->told_failed(q->failed_context);
}

/* Under the lock: the log learns what is durable, raft commits. */
static void commit(struct quorum *q)
{
    int64_t durable = q->flush.flush.offset_end;
    enum err e = log_flush_finish(q->log, &q->flush.flush);
    if (e == ERR_NONE) {
        struct raft_update update;
        struct raft_event event = {RAFT_FLUSHED, durable, q->raft.state.leader_epoch};
        raft_step(&q->raft, &event, &update);
        log_set_high_watermark(q->log, q->raft.high_watermark);
    } else {
        fail(q, e);
    }
}

/* The loop alone puts images in place, one after the other. */
static void publish(struct quorum *q, struct meta_image *next)
{
    struct meta_image *old = quorum_swap_committed(q, next);
    if (q->subscriber.published)
        q->subscriber.published(q->subscriber.context, old, next);
    meta_image_unref(old);
}

/* On the loop: 1. commit, 2. the image is published, 3. operations end, in the order of their
 * offsets; also those that came while it was published, without records of their own. */
static void flush_done(struct io_job *job)
{
    struct quorum *q = LIST_ITEM(job, struct quorum_flush_job, job)->quorum;
    lock_take(&q->lock);
    q->flush.running = false;
    if (q->closed) {
        bool last = !quorum_busy(q);
        enum err ended = log_flush_finish(NULL, &q->flush.flush);
        (void)ended; /* log_close has flushed */
        lock_release(&q->lock);
        if (last)
            quorum_destroy(q);
        return;
    }
    commit(q);
    struct meta_image *next = quorum_take_committed(q);
    bool tells = !q->closing; /* else the subscriber is being taken down, or was */
    q->publishing = true;
    flush_start(q);
    quorum_snapshot_maybe(q);
    lock_release(&q->lock);
    if (next && tells)
        publish(q, next);
    else if (next)
        meta_image_unref(quorum_swap_committed(q, next));
    struct list ops;
    list_init(&ops);
    lock_take(&q->lock);
    q->publishing = false;
    take_ops(q, &ops);
    bool last = q->closed && !quorum_busy(q);
    lock_release(&q->lock);
    post_ops(&ops);
    if (last)
        quorum_destroy(q);
}

/* ---- changes ----------------------------------------------------------------------------------
 */

static enum err refusal(const struct quorum *q)
{
    if (q->failed != ERR_NONE)
        return q->failed;
    return q->raft.role != RAFT_LEADER || q->closing ? ERR_NOT_CONTROLLER : ERR_NONE;
}

/* Runs one decision; ERR_NONE: op->offset_next says what it waits for. Under the lock. */
static enum err decide(struct quorum *q, struct quorum_op *op)
{
    struct meta_records records;
    struct controller c;
    meta_records_init(&records);
    quorum_controller(q, op->arena, &records, &c);
    op->base = meta_image_ref(q->newest);
    op->decide(op, &c);
    enum err e = quorum_append_decision(q, &c);
    controller_fini(&c);
    meta_records_fini(&records);
    op->offset_next = log_end(q->log);
    return e;
}

static void submit(struct quorum *q, struct quorum_op *op, bool last)
{
    op->base = NULL;
    lock_take(&q->lock);
    enum err e = refusal(q);
    bool waits = false;
    if (e == ERR_NONE) {
        q->makes_room = op->makes_room;
        e = decide(q, op);
        /* What else goes wrong (no space, too large for a segment) leaves the log as it was. */
        if (e == ERR_IO || e == ERR_KAFKA_STORAGE_ERROR)
            fail(q, e);
        waits = e == ERR_NONE && (op->offset_next > q->raft.high_watermark || q->publishing);
    }
    if (waits) {
        list_push_back(&q->ops, &op->link);
        flush_start(q);
    }
    q->closing = q->closing || last;
    lock_release(&q->lock);
    if (!waits)
        post_done(op, e);
}

void quorum_submit(struct quorum *q, struct quorum_op *op)
{
    submit(q, op, false);
}

static void decide_shutdown(struct quorum_op *op, struct controller *c)
{
    (void)op;
    controller_shutdown_self(c, c->settings->node_id);
}

void quorum_shutdown(struct quorum *q, struct quorum_op *op)
{
    op->decide = decide_shutdown;
    submit(q, op, true);
}

int16_t quorum_kraft_version(struct quorum *q)
{
    lock_take(&q->image_lock);
    int16_t version = q->kraft_version;
    lock_release(&q->image_lock);
    return version;
}

/* ---- DescribeQuorum ---------------------------------------------------------------------------
 */

/* Directory ids are told from version 2 on. */
static void describe_partition(struct quorum *q, struct arena *arena, int64_t now_ms,
                               int16_t version, struct describe_quorum_response_partition_data *p)
{
    p->leader_id = q->raft.state.leader_id;
    p->leader_epoch = q->raft.state.leader_epoch;
    p->high_watermark = q->raft.high_watermark;
    struct describe_quorum_response_replica_state *voters =
        describe_quorum_response_partition_data_current_voters_new(arena, p, q->voters.count);
    for (int32_t i = 0; i < q->voters.count; i++) {
        bool self = q->voters.voters[i].id == q->raft.id;
        voters[i].replica_id = q->voters.voters[i].id;
        if (version >= 2)
            voters[i].replica_directory_id = q->voters.voters[i].directory_id;
        voters[i].log_end_offset = self ? q->raft.log_end : -1;
        if (self)
            voters[i].last_fetch_timestamp = voters[i].last_caught_up_timestamp = now_ms;
    }
}

static void refuse_partition(struct describe_quorum_response_partition_data *p)
{
    p->error_code = err_to_wire(ERR_UNKNOWN_TOPIC_OR_PARTITION);
    p->error_message = SLICE_LIT("This server does not host this topic-partition.");
}

static void describe_nodes(struct quorum *q, struct arena *arena,
                           struct describe_quorum_response *response)
{
    struct describe_quorum_response_node *nodes =
        describe_quorum_response_nodes_new(arena, response, q->voters.count);
    for (int32_t i = 0; i < q->voters.count; i++) {
        const struct raft_voter *voter = &q->voters.voters[i];
        nodes[i].node_id = voter->id;
        struct describe_quorum_response_listener *listeners =
            describe_quorum_response_node_listeners_new(arena, &nodes[i], voter->endpoint_count);
        for (int32_t e = 0; e < voter->endpoint_count; e++) {
            listeners[e].name = voter->endpoints[e].name;
            listeners[e].host = voter->endpoints[e].host;
            listeners[e].port = voter->endpoints[e].port;
        }
    }
}

void quorum_describe(struct quorum *q, const struct describe_quorum_request *request,
                     int16_t version, struct arena *arena,
                     struct describe_quorum_response *response)
{
    wire_init(&wire_describe_quorum_response, response);
    struct describe_quorum_response_topic_data *topics =
        describe_quorum_response_topics_new(arena, response, request->topics_count);
    bool found = false;
    lock_take(&q->lock);
    int64_t now_ms = io_wall_ms(q->io);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct describe_quorum_request_topic_data *topic = &request->topics[t];
        topics[t].topic_name = topic->topic_name;
        struct describe_quorum_response_partition_data *partitions =
            describe_quorum_response_topic_data_partitions_new(arena, &topics[t],
                                                               topic->partitions_count);
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            partitions[i].partition_index = topic->partitions[i].partition_index;
            bool hosted = slice_eq_str(topic->topic_name, "__cluster_metadata") &&
                          partitions[i].partition_index == 0;
            found = found || hosted;
            if (hosted)
                describe_partition(q, arena, now_ms, version, &partitions[i]);
            else
                refuse_partition(&partitions[i]);
        }
    }
    if (version >= 2 && found)
        describe_nodes(q, arena, response);
    lock_release(&q->lock);
}
