/* The life of the quorum driver: open, the start of an epoch, close; see quorum.h. Open and start
 * are of the start-up thread; the folder belongs to this process by then (store/log_dirs).
 *
 * The start needs two fsyncs in this folder and one of the folder itself, as a node should be ready
 * within milliseconds:
 *   1. raft elects this node; quorum-state is written and synced
 *   2. up to three appended batches: LeaderChange (with KRaftVersion and Voters when the log does
 *      not have them, or as this node was before), the bootstrap records of a new cluster, the
 *      registration of this node with its unfencing and the elections that follow
 *   3. one flush of the log, which also makes the names in its folder durable
 *   4. the image is published. */
#include "base/ensure.h"
#include "base/mem.h"
#include "conf/config.h"
#include "os/diag.h"
#include "record/control.h"
#include "repl/quorum_internal.h"
#include "wire_metadata_records.h"
#include "wire_raft_records.h"

/* ---- open -------------------------------------------------------------------------------------
 */

static enum err open_log(struct quorum *q, char **ret_text)
{
    struct log_open_options options = {
        .io = q->io, .path = q->path, .topic = SLICE_LIT("__cluster_metadata")};
    options.epochs_unsynced = options.deleted_stay = true;
    log_config_init(&options.config);
    options.config.segment_size_max =
        (int32_t)config_int(q->config, BROKER_KEY_METADATA_LOG_SEGMENT_BYTES);
    options.config.segment_ms = config_int(q->config, BROKER_KEY_METADATA_LOG_SEGMENT_MS);
    options.config.retention_ms = options.config.retention_size = -1; /* snapshots decide */
    options.config.flush_messages = options.config.flush_ms = INT64_MAX;
    options.config.cleanup_delete = true;
    options.config.cleanup_compact = false;
    enum err e = log_open(&options, &q->log);
    if (e != ERR_NONE)
        *ret_text = mem_printf("%s cannot be opened: %s", q->path, io_error_text(q->io, e));
    struct uuid id = UUID_METADATA_TOPIC;
    if (e == ERR_NONE && (e = log_set_topic_id(q->log, &id)) != ERR_NONE)
        *ret_text = mem_printf("%s/partition.metadata cannot be read: %s", q->path, err_text(e));
    return e;
}

/* Why a node cannot lead its quorum: a person may have copied a folder, or lost a part of it. */
static char *cannot_lead(const struct quorum *q)
{
    if (q->voters.count == 0)
        return mem_printf("%s names no voters: the metadata log and its snapshots are missing or "
                          "damaged. Put the folder back from a copy; formatted anew, it would know "
                          "no topics",
                          q->path);
    if (q->voters.count == 1)
        return mem_printf("%s names node %d as the only voter, and with another directory.id or "
                          "node.id than this folder's meta.properties: the metadata log is another "
                          "node's",
                          q->path, q->voters.voters[0].id);
    return mem_printf("node %d is not the only voter of its metadata quorum: quorums of more "
                      "voters are not served yet",
                      q->settings.node_id);
}

static enum err check_first(struct quorum *q, const struct uuid *directory_id, char **ret_text)
{
    if (raft_voters_only(&q->voters, q->settings.node_id, directory_id))
        return quorum_check_bootstrap(q, ret_text);
    *ret_text = cannot_lead(q);
    return ERR_NOT_CONTROLLER;
}

/* Nothing is made where this node could not lead anyway: Apache Kafka, which takes a folder's
 * metadata log for the place of the metadata, would then refuse the folder elsewhere. */
static enum err recover(struct quorum *q, const struct quorum_options *o, char **ret_text)
{
    enum err e = quorum_recover_files(q, ret_text);
    if (e == ERR_NONE && !quorum_has_history(q->io, o->log_dir))
        e = check_first(q, &o->directory_id, ret_text);
    if (e == ERR_NONE)
        e = open_log(q, ret_text);
    if (e == ERR_NONE)
        e = quorum_recover_log(q, ret_text);
    return e == ERR_NONE ? check_first(q, &o->directory_id, ret_text) : e;
}

enum err quorum_open(const struct quorum_options *o, struct quorum **ret_quorum, char **ret_text)
{
    struct quorum *q = mem_zalloc(sizeof *q);
    q->io = o->io;
    q->loop = o->loop;
    q->config = config_ref(o->config);
    q->cluster_id = slice_dup(o->cluster_id);
    q->path = mem_printf("%.*s/__cluster_metadata-0", SLICE_FMT(o->log_dir));
    q->subscriber = o->subscriber;
    q->told_failed = o->failed;
    q->make_room = o->make_room;
    q->make_room_context = o->make_room_context;
    q->failed_context = o->failed_context;
    q->settings.node_id = config_node_id(o->config);
    q->settings.config = q->config;
    q->broker_epoch = -1;
    lock_init(&q->lock, LOCK_CONTROLLER);
    lock_init(&q->image_lock, LOCK_LEAF);
    list_init(&q->roots);
    list_init(&q->ops);
    raft_voters_init(&q->voters);
    raft_voters_init(&q->own);
    meta_records_init(&q->bootstrap);
    struct meta_image *empty = meta_image_empty();
    meta_loader_init(&q->loader, empty);
    q->committed = meta_image_ref(empty);
    quorum_static_voters(q);
    enum err e = recover(q, o, ret_text);
    raft_init(&q->raft, q->settings.node_id, o->directory_id, &q->voters, &q->recovered_state);
    q->newest = meta_image_ref(q->loader.image);
    q->kraft_version = q->settings.kraft_dynamic ? 1 : 0;
    meta_image_unref(empty);
    if (e != ERR_NONE) {
        quorum_close(q);
        return e;
    }
    *ret_quorum = q;
    return ERR_NONE;
}

/* ---- the start of an epoch --------------------------------------------------------------------
 */

static enum err add_leader_change(struct quorum *q, int64_t now_ms, struct buf *out)
{
    struct arena arena;
    arena_init(&arena);
    struct leader_change_message change;
    wire_init(&wire_leader_change_message, &change);
    change.leader_id = q->raft.id;
    struct leader_change_message_voter *voters =
        leader_change_message_voters_new(&arena, &change, q->voters.count);
    for (int32_t i = 0; i < q->voters.count; i++)
        voters[i].voter_id = q->voters.voters[i].id;
    leader_change_message_granting_voters_new(&arena, &change, 1)->voter_id = q->raft.id;
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.control = true;
    options.leader_epoch = q->raft.state.leader_epoch;
    builder_begin(&b, out, &options);
    enum err e = control_append(&b, now_ms, CONTROL_LEADER_CHANGE, &change);
    if (e == ERR_NONE && quorum_voters_stale(q))
        e = quorum_add_voters(&q->own, &b, now_ms);
    enum err end = builder_end(&b);
    arena_fini(&arena);
    return e != ERR_NONE ? e : end;
}

/* A transaction that an earlier leader left open counts for nothing. */
static void abort_open_transaction(struct quorum *q, struct controller *c)
{
    if (q->loader.transaction_offset < 0)
        return;
    struct abort_transaction_record r;
    wire_init(&wire_abort_transaction_record, &r);
    r.reason = SLICE_LIT("Controller failover");
    meta_records_add(c->records, &wire_abort_transaction_record, 0, &r);
}

/* The records of one step of the start: decide, append, root. */
static enum err run_step(struct quorum *q, const struct controller_registration *self,
                         bool bootstrap)
{
    struct arena arena;
    struct meta_records records;
    struct controller c;
    arena_init(&arena);
    meta_records_init(&records);
    quorum_controller(q, &arena, &records, &c);
    if (bootstrap) {
        abort_open_transaction(q, &c);
        if (meta_image_metadata_version(q->newest) < 0)
            controller_bootstrap(&c, &q->bootstrap);
    } else {
        controller_register_self(&c, self);
        q->broker_epoch = self->broker_endpoint_count > 0 ? c.offset_next : -1;
    }
    enum err e = quorum_append_decision(q, &c);
    controller_fini(&c);
    meta_records_fini(&records);
    arena_fini(&arena);
    return e;
}

static enum err append_start(struct quorum *q, const struct controller_registration *self)
{
    struct buf batch;
    buf_init(&batch);
    int64_t now_ms = io_wall_ms(q->io);
    enum err e = log_epoch_assign(q->log, q->raft.state.leader_epoch);
    if (e == ERR_NONE)
        e = add_leader_change(q, now_ms, &batch);
    if (e == ERR_NONE)
        e = quorum_append(q, buf_slice(&batch));
    if (e == ERR_NONE && quorum_voters_stale(q))
        quorum_voters_written(q);
    if (e == ERR_NONE)
        e = run_step(q, self, true);
    if (e == ERR_NONE)
        e = run_step(q, self, false);
    buf_fini(&batch);
    return e;
}

static enum err flush_all(struct quorum *q)
{
    enum err e = ERR_NONE;
    struct log_flush flush;
    bool names_synced = false; /* of quorum-state and of a new snapshot 0-0 */
    while (e == ERR_NONE && log_flush_prepare(q->log, &flush)) {
        names_synced = names_synced || flush.sync_dir;
        log_flush_run(&flush);
        e = log_flush_finish(q->log, &flush);
    }
    if (e == ERR_NONE && !names_synced)
        e = io_sync_dir(q->io, q->path);
    return e;
}

static void publish_first(struct quorum *q)
{
    struct raft_update update;
    struct raft_event event = {RAFT_FLUSHED, log_end(q->log), q->raft.state.leader_epoch};
    raft_step(&q->raft, &event, &update);
    log_set_high_watermark(q->log, q->raft.high_watermark);
    struct meta_image *next = quorum_take_committed(q);
    ENSURE(next);
    q->snapshot_ms = io_wall_ms(q->io);
    meta_loader_fini(&q->loader);
    struct meta_image *old = quorum_swap_committed(q, next);
    if (q->subscriber.published)
        q->subscriber.published(q->subscriber.context, old, next);
    meta_image_unref(old);
}

enum err quorum_start(struct quorum *q, const struct controller_registration *self, char **ret_text)
{
    struct raft_update update;
    struct raft_event event = {RAFT_START, log_end(q->log), log_epoch_latest(q->log)};
    lock_take(&q->lock);
    raft_step(&q->raft, &event, &update);
    lock_release(&q->lock);
    if (!update.became_leader) {
        *ret_text = cannot_lead(q);
        return ERR_NOT_CONTROLLER;
    }
    lock_take(&q->lock);
    quorum_set_own(q, self);
    enum err e = quorum_write_state(q);
    if (e == ERR_DISK_FULL && q->make_room && q->make_room(q->make_room_context, true))
        e = quorum_write_state(q);
    if (e == ERR_NONE)
        e = append_start(q, self);
    if (e == ERR_NONE)
        e = flush_all(q);
    q->started = true;
    lock_release(&q->lock);
    if (e != ERR_NONE) {
        *ret_text = mem_printf("%s cannot be written: %s", q->path, io_error_text(q->io, e));
        return e;
    }
    publish_first(q);
    return ERR_NONE;
}

/* ---- the end ----------------------------------------------------------------------------------
 */

bool quorum_idle(struct quorum *q)
{
    lock_take(&q->lock);
    bool idle = !quorum_busy(q);
    lock_release(&q->lock);
    return idle;
}

void quorum_destroy(struct quorum *q)
{
    while (!list_empty(&q->roots)) {
        struct quorum_root *root = LIST_ITEM(q->roots.next, struct quorum_root, link);
        list_remove(&root->link);
        meta_image_unref(root->image);
        mem_free(root);
    }
    if (q->loader.image)
        meta_loader_fini(&q->loader);
    meta_image_unref(q->newest);
    meta_image_unref(q->committed);
    meta_records_fini(&q->bootstrap);
    raft_voters_fini(&q->voters);
    raft_voters_fini(&q->own);
    lock_fini(&q->lock);
    lock_fini(&q->image_lock);
    config_unref(q->config);
    slice_free(&q->cluster_id);
    mem_free(q->path);
    mem_free(q);
}

void quorum_close(struct quorum *q)
{
    if (!q)
        return;
    lock_take(&q->lock);
    if (q->log) {
        enum err e = q->failed == ERR_NONE ? log_close(q->log, true) : ERR_NONE;
        if (e != ERR_NONE)
            diag(DIAG_REPL, DIAG_ERROR, "%s was not closed cleanly: %s; the next start recovers it",
                 q->path, err_text(e));
        log_free(q->log);
        q->log = NULL;
    }
    q->closed = q->closing = true;
    bool last = !quorum_busy(q);
    lock_release(&q->lock);
    if (last)
        quorum_destroy(q);
}
