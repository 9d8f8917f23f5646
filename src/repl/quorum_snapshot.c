/* Snapshots of the metadata log, and what they make superfluous; see quorum_internal.h.
 *
 * When metadata.log.max.record.bytes.between.snapshots were appended, or after
 * metadata.log.max.snapshot.interval.ms if anything was, a worker writes the committed image (an
 * immutable root that it holds) to a .part file, syncs and renames it. Older snapshots and segments
 * go when log and snapshots exceed metadata.max.retention.bytes or a snapshot is older than
 * metadata.max.retention.ms; the newest snapshot always stays. */
#include "base/mem.h"
#include "conf/config.h"
#include "meta/snapshot.h"
#include "os/diag.h"
#include "record/control.h"
#include "repl/quorum_internal.h"
#include "wire_raft_records.h"

enum { PIECE_SIZE = 256 * 1024 };

/* ---- writing (worker) -------------------------------------------------------------------------
 */

struct writer {
    struct io *io;
    int fd;
    int64_t position;
    int64_t offset; /* of the next record within the snapshot */
    int32_t epoch;
    int64_t now_ms;
    struct buf out;
    struct builder batch;
    bool open;
    enum err err;
};

static enum err write_out(struct writer *w)
{
    enum err e = io_pwrite(w->io, w->fd, w->out.data, w->out.size, w->position);
    w->position += (int64_t)w->out.size;
    buf_clear(&w->out);
    return e;
}

static struct builder_options options_of(const struct writer *w, bool control)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = w->offset;
    options.leader_epoch = w->epoch;
    options.control = control;
    return options;
}

static enum err close_batch(struct writer *w)
{
    if (!w->open)
        return ERR_NONE;
    w->open = false;
    enum err e = builder_end(&w->batch);
    return e == ERR_NONE ? write_out(w) : e;
}

static enum err put_record(void *context, struct slice payload)
{
    struct writer *w = context;
    if (!w->open) {
        struct builder_options options = options_of(w, false);
        builder_begin(&w->batch, &w->out, &options);
        w->open = true;
    }
    builder_append(&w->batch, w->now_ms, SLICE_NULL, payload);
    w->offset++;
    return builder_size(&w->batch) > PIECE_SIZE ? close_batch(w) : ERR_NONE;
}

/* Under the lock: the voters may change. */
static enum err build_header(struct quorum *q, struct writer *w, int64_t timestamp_ms)
{
    struct snapshot_header_record header;
    wire_init(&wire_snapshot_header_record, &header);
    header.last_contained_log_timestamp = timestamp_ms;
    struct builder_options options = options_of(w, true);
    builder_begin(&w->batch, &w->out, &options);
    enum err e = control_append(&w->batch, w->now_ms, CONTROL_SNAPSHOT_HEADER, &header);
    w->offset++;
    if (e == ERR_NONE && q->snapshot.kraft_dynamic) {
        e = quorum_add_voters(&q->voters, &w->batch, w->now_ms);
        w->offset += QUORUM_VOTERS_RECORDS;
    }
    enum err end = builder_end(&w->batch);
    return e != ERR_NONE ? e : end;
}

static enum err write_footer(struct writer *w)
{
    struct snapshot_footer_record footer;
    wire_init(&wire_snapshot_footer_record, &footer);
    enum err e =
        control_build(&w->out, w->offset, w->epoch, w->now_ms, CONTROL_SNAPSHOT_FOOTER, &footer);
    return e == ERR_NONE ? write_out(w) : e;
}

/* ---- what goes (worker) -----------------------------------------------------------------------
 */

/* Size and age of a snapshot; false when it cannot be looked at. */
static bool look_at(struct quorum *q, const struct quorum_snapshot_name *name,
                    struct io_stat *ret_stat)
{
    char *path = quorum_snapshot_path(q->path, name->offset, name->epoch);
    enum err e = io_stat(q->io, path, ret_stat);
    mem_free(path);
    return e == ERR_NONE;
}

/* What the log keeps when `start` is where it begins; false once it is closed. */
static bool move_start(struct quorum *q, int64_t start, int64_t now_ms, int64_t *ret_size)
{
    lock_take(&q->lock);
    bool open = q->log != NULL;
    if (open && start >= 0 && log_set_start(q->log, start) == ERR_NONE)
        log_apply_retention(q->log, now_ms);
    if (open)
        *ret_size = log_size(q->log);
    lock_release(&q->lock);
    return open;
}

/* Segments that the log has given up, renamed under the lock. */
static void unlink_deleted(struct quorum *q)
{
    struct slice suffix = SLICE_LIT(".deleted");
    char **names;
    size_t count;
    if (io_list_dir(q->io, q->path, &names, &count) != ERR_NONE)
        return;
    for (size_t i = 0; i < count; i++) {
        struct slice name = slice_str(names[i]);
        if (name.size < suffix.size ||
            !slice_eq(slice_sub(name, name.size - suffix.size, suffix.size), suffix))
            continue;
        char *path = mem_printf("%s/%s", q->path, names[i]);
        enum err gone = io_unlink(q->io, path);
        (void)gone; /* tried again after the next snapshot, and at the next start */
        mem_free(path);
    }
    io_free_names(names, count);
}

/* Oldest first; stops at the first that may stay. The lock is held while the log's start moves, not
 * while files are listed and unlinked: a large file takes its time. */
static void drop_old(struct quorum *q)
{
    struct quorum_snapshot_name *list;
    size_t count;
    if (quorum_list_snapshots(q->io, q->path, &list, &count) != ERR_NONE)
        return;
    int64_t size_max = config_int(q->config, BROKER_KEY_METADATA_MAX_RETENTION_BYTES);
    int64_t age_max = config_int(q->config, BROKER_KEY_METADATA_MAX_RETENTION_MS);
    int64_t now_ms = io_wall_ms(q->io), snapshots = 0, log = 0;
    struct io_stat stat;
    for (size_t i = 0; i < count; i++)
        if (look_at(q, &list[i], &stat))
            snapshots += stat.size;
    bool open = move_start(q, -1, now_ms, &log);
    for (size_t i = 0; open && i + 1 < count && look_at(q, &list[i], &stat); i++) {
        bool large = size_max >= 0 && log + snapshots > size_max;
        bool old = age_max >= 0 && now_ms - stat.mtime_ms > age_max;
        if (!large && !old)
            break;
        char *path = quorum_snapshot_path(q->path, list[i].offset, list[i].epoch);
        enum err e = io_unlink(q->io, path);
        mem_free(path);
        if (e != ERR_NONE)
            break;
        snapshots -= stat.size;
        open = move_start(q, list[i + 1].offset, now_ms, &log);
    }
    mem_free(list);
    unlink_deleted(q);
}

/* ---- the job ----------------------------------------------------------------------------------
 */

static void snapshot_run(struct io_job *job)
{
    struct quorum_snapshot_job *s = LIST_ITEM(job, struct quorum_snapshot_job, job);
    struct quorum *q = s->quorum;
    struct writer w = {.io = q->io, .epoch = s->epoch, .now_ms = io_wall_ms(q->io)};
    char *path = quorum_snapshot_path(q->path, s->offset, s->epoch);
    char *part = mem_printf("%s.part", path);
    buf_init(&w.out);
    lock_take(&q->lock);
    enum err e = build_header(q, &w, meta_image_provenance(s->image)->timestamp_ms);
    lock_release(&q->lock);
    enum err gone = io_unlink(q->io, part);
    (void)gone; /* left by a crash, and read-only */
    if (e == ERR_NONE)
        e = io_open(q->io, part, IO_WRITE | IO_CREATE | IO_EXCLUSIVE | IO_READ_ONLY_FILE, &w.fd);
    if (e == ERR_NONE) {
        e = write_out(&w);
        if (e == ERR_NONE)
            e = meta_snapshot_write(s->image, put_record, &w);
        if (w.open && e != ERR_NONE)
            builder_abort(&w.batch);
        if (e == ERR_NONE)
            e = close_batch(&w);
        if (e == ERR_NONE)
            e = write_footer(&w);
        if (e == ERR_NONE)
            e = io_fsync(q->io, w.fd);
        io_close(q->io, w.fd);
    }
    if (e == ERR_NONE)
        e = io_rename(q->io, part, path);
    if (e == ERR_NONE)
        e = io_sync_dir(q->io, q->path);
    s->err = e;
    if (e == ERR_NONE)
        drop_old(q);
    buf_fini(&w.out);
    mem_free(part);
    mem_free(path);
}

static void snapshot_done(struct io_job *job)
{
    struct quorum_snapshot_job *s = LIST_ITEM(job, struct quorum_snapshot_job, job);
    struct quorum *q = s->quorum;
    meta_image_unref(s->image);
    s->image = NULL;
    lock_take(&q->lock);
    s->running = false;
    bool last = q->closed && !quorum_busy(q);
    if (q->closed) {
        lock_release(&q->lock);
        if (last)
            quorum_destroy(q);
        return;
    }
    if (s->err == ERR_NONE) {
        q->snapshot_offset = s->offset;
    } else {
        diag(DIAG_REPL, DIAG_WARN, "no snapshot of the metadata at offset %lld in %s: %s",
             (long long)s->offset, q->path, err_text(s->err));
    }
    quorum_snapshot_maybe(q); /* what came meanwhile may be enough for the next */
    lock_release(&q->lock);
}

void quorum_snapshot_maybe(struct quorum *q)
{
    int64_t bytes_max =
        config_int(q->config, BROKER_KEY_METADATA_LOG_MAX_RECORD_BYTES_BETWEEN_SNAPSHOTS);
    int64_t interval = config_int(q->config, BROKER_KEY_METADATA_LOG_MAX_SNAPSHOT_INTERVAL_MS);
    int64_t now_ms = io_wall_ms(q->io);
    bool due = q->bytes_since >= bytes_max ||
               (interval > 0 && q->bytes_since > 0 && now_ms - q->snapshot_ms >= interval);
    /* Only a root that everything appended is in: its offset is the log's end. */
    if (!due || q->snapshot.running || q->closing || !list_empty(&q->roots) ||
        q->failed != ERR_NONE)
        return;
    struct quorum_snapshot_job *s = &q->snapshot;
    s->image = meta_image_ref(q->newest);
    s->offset = q->raft.high_watermark;
    s->epoch = q->raft.state.leader_epoch;
    s->kraft_dynamic = q->settings.kraft_dynamic;
    s->quorum = q;
    s->running = true;
    q->bytes_since = 0;
    q->snapshot_ms = now_ms;
    s->job = (struct io_job){.run = snapshot_run, .done = snapshot_done, .loop = q->loop};
    s->job.lane = &q->lane;
    io_submit(q->io, &s->job);
}
