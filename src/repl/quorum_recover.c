/* Recovery of the metadata at start: the newest snapshot, then the log behind it; see quorum.h.
 * On the start-up thread, before anybody else knows the quorum.
 *
 * The snapshot 0-0 is special: it holds the bootstrap records and the first voters, not state of
 * the log; its records become state when the first leader writes them to the log. A folder
 * formatted by releases before 3.9 has them in bootstrap.checkpoint instead. */
#include "base/mem.h"
#include "meta/bootstrap.h"
#include "record/control.h"
#include "repl/quorum_internal.h"
#include "wire_raft_records.h"

enum { CHUNK_SIZE = 1 << 20, SNAPSHOT_SIZE_MAX = 1 << 30 };

struct reading {
    struct quorum *q;
    struct arena arena;           /* of one batch */
    bool bootstrap;               /* collect the records instead of applying them */
    struct meta_provenance fixed; /* of a snapshot: where all its records stand */
    bool is_snapshot;
    bool begun, ended; /* a snapshot's header came, its footer */
    struct slice why;
};

static enum err read_control(struct reading *r, const struct record *record)
{
    enum control_type type;
    enum err e = control_parse_type(record, &type);
    if (e != ERR_NONE)
        return e;
    if (type == CONTROL_SNAPSHOT_HEADER) {
        r->begun = true;
    } else if (type == CONTROL_SNAPSHOT_FOOTER) {
        r->ended = true;
    } else if (type == CONTROL_KRAFT_VERSION) {
        struct kraft_version_record version;
        e = control_parse_kraft_version(record, &r->arena, &version);
        if (e == ERR_NONE)
            r->q->settings.kraft_dynamic = version.kraft_version > 0;
    } else if (type == CONTROL_KRAFT_VOTERS) {
        struct voters_record voters;
        e = control_parse_voters(record, &r->arena, &voters);
        if (e == ERR_NONE) {
            raft_voters_from_record(&r->q->voters, &voters);
            r->q->voters_in_log = r->q->voters_in_log || !r->bootstrap;
        }
    }
    return e;
}

static enum err read_record(struct reading *r, const struct record *record, int32_t epoch)
{
    if (r->bootstrap) {
        meta_records_add_payload(&r->q->bootstrap, record->value);
        return ERR_NONE;
    }
    if (!r->is_snapshot && record->offset < r->q->snapshot_offset)
        return ERR_NONE; /* a batch that reaches back behind the snapshot */
    struct meta_provenance at = {record->offset, epoch, record->timestamp};
    return meta_loader_record(&r->q->loader, record->value, r->is_snapshot ? r->fixed : at,
                              &r->arena, &r->why);
}

static enum err read_batch(struct reading *r, const struct batch_info *info)
{
    struct records_iter iter;
    struct record record;
    enum err e = batch_check(slice_of(info->data, info->size));
    if (e != ERR_NONE || info->magic != BATCH_MAGIC)
        return ERR_CORRUPT;
    e = records_iter_init(&iter, slice_of(info->data, info->size), 0);
    while (e == ERR_NONE && records_iter_next(&iter, &record))
        e = batch_is_control(info->data) ? read_control(r, &record)
                                         : read_record(r, &record, info->leader_epoch);
    if (e == ERR_NONE)
        e = iter.err;
    records_iter_fini(&iter);
    if (e == ERR_NONE && !r->bootstrap && !r->is_snapshot)
        meta_loader_batch_end(&r->q->loader);
    if (e != ERR_NONE)
        return e; /* the text is in the arena */
    arena_fini(&r->arena);
    arena_init(&r->arena);
    return ERR_NONE;
}

static enum err read_batches(struct reading *r, struct slice bytes)
{
    struct batch_iter iter = batch_iter_of(bytes);
    struct batch_info info;
    enum err e = ERR_NONE;
    while (e == ERR_NONE && batch_iter_next(&iter, &info))
        e = read_batch(r, &info);
    if (e == ERR_NONE && (iter.err != ERR_NONE || iter.rest.size > 0))
        e = ERR_CORRUPT;
    return e;
}

static char *explain(const struct reading *r, const char *path, enum err e)
{
    if (!slice_is_null(r->why))
        return mem_printf("%s: %.*s", path, SLICE_FMT(r->why));
    return mem_printf("%s: %s", path,
                      e == ERR_IO ? io_error_text(r->q->io, e) : "a batch or record is damaged");
}

/* Reads a whole file of batches. */
static enum err read_file(struct reading *r, const char *path)
{
    struct io *io = r->q->io;
    int fd;
    enum err e = io_open(io, path, IO_READ, &fd);
    if (e != ERR_NONE)
        return e;
    struct io_stat stat;
    uint8_t *data = NULL;
    size_t size = 0;
    e = io_fstat(io, fd, &stat);
    if (e == ERR_NONE && stat.size > SNAPSHOT_SIZE_MAX)
        e = ERR_TOO_LARGE;
    if (e == ERR_NONE) {
        data = mem_try_alloc((size_t)stat.size + 1);
        e = data ? io_pread(io, fd, data, (size_t)stat.size, 0, &size) : ERR_NO_MEMORY;
    }
    io_close(io, fd);
    if (e == ERR_NONE)
        e = read_batches(r, slice_of(data, size));
    mem_free(data);
    return e;
}

/* A file that ends between two batches is whole to whoever looks at batches alone, and what it does
 * not say would be gone for good: topics, and with them their records. Bootstrap records of old
 * releases may have neither header nor footer; what they lack is refused for itself. */
static enum err check_whole(struct reading *r)
{
    if (r->ended || (r->bootstrap && !r->begun))
        return ERR_NONE;
    r->why = SLICE_LIT("the snapshot is cut off: its footer is missing. Put the file back from a "
                       "copy");
    return ERR_CORRUPT;
}

static enum err read_snapshot(struct quorum *q, const char *path, int64_t offset, int32_t epoch,
                              bool bootstrap, char **ret_text)
{
    struct reading r = {.q = q, .bootstrap = bootstrap, .is_snapshot = true};
    r.fixed = (struct meta_provenance){offset - 1, epoch, -1};
    arena_init(&r.arena);
    enum err e = read_file(&r, path);
    if (e == ERR_NONE)
        e = check_whole(&r);
    if (e == ERR_NONE && !bootstrap)
        meta_loader_batch_end(&q->loader);
    if (e != ERR_NONE && e != ERR_NOT_FOUND)
        *ret_text = explain(&r, path, e);
    arena_fini(&r.arena);
    return e;
}

static enum err read_snapshots(struct quorum *q, char **ret_text)
{
    struct quorum_snapshot_name *list;
    size_t count;
    enum err e = quorum_list_snapshots(q->io, q->path, &list, &count);
    if (e == ERR_NOT_FOUND) /* a new node */
        return ERR_NONE;
    if (e != ERR_NONE) {
        *ret_text = mem_printf("%s: %s", q->path, io_error_text(q->io, e));
        return e;
    }
    if (count > 0 && list[0].offset == 0) {
        char *path = quorum_snapshot_path(q->path, 0, list[0].epoch);
        e = read_snapshot(q, path, 0, 0, true, ret_text);
        mem_free(path);
    }
    if (e == ERR_NONE && count > 0 && list[count - 1].offset > 0) {
        const struct quorum_snapshot_name *last = &list[count - 1];
        char *path = quorum_snapshot_path(q->path, last->offset, last->epoch);
        e = read_snapshot(q, path, last->offset, last->epoch, false, ret_text);
        mem_free(path);
        q->snapshot_offset = last->offset;
    }
    mem_free(list);
    return e;
}

/* Records that a decision cannot replay must be refused here, where a person reads why. */
static enum err check_bootstrap(struct quorum *q, const char *path, char **ret_text)
{
    struct arena arena;
    struct slice why = SLICE_NULL;
    arena_init(&arena);
    enum err e = bootstrap_check(&q->bootstrap, q->loader.image, &arena, &why);
    if (e != ERR_NONE)
        *ret_text = mem_printf("%s: %.*s (these are the first records of a cluster that has not "
                               "run yet, perhaps formatted by a newer release: start it with that "
                               "release, or empty its log folders and format them again with "
                               "this one)",
                               path, SLICE_FMT(why));
    arena_fini(&arena);
    return e;
}

/* Where earlier releases kept the bootstrap records; the defaults when there is nothing at all. */
static enum err read_old_bootstrap(struct quorum *q, const char *path, char **ret_text)
{
    enum err e = read_snapshot(q, path, 0, 0, true, ret_text);
    if (e == ERR_NOT_FOUND)
        e = ERR_NONE;
    if (e == ERR_NONE && q->bootstrap.count == 0)
        bootstrap_records(META_VERSION_LATEST, NULL, 0, &q->bootstrap);
    return e;
}

static char *old_bootstrap_path(const struct quorum *q)
{
    const char *slash = strrchr(q->path, '/');
    return mem_printf("%.*s/bootstrap.checkpoint", (int)(slash - q->path), q->path);
}

/* The bootstrap records, wherever they are. */
static enum err settle_bootstrap(struct quorum *q, char **ret_text)
{
    if (q->bootstrap.count > 0)
        return ERR_NONE;
    char *path = old_bootstrap_path(q);
    q->bootstrap_is_old = true;
    enum err e = read_old_bootstrap(q, path, ret_text);
    mem_free(path);
    return e;
}

enum err quorum_check_bootstrap(struct quorum *q, char **ret_text)
{
    if (meta_image_metadata_version(q->loader.image) >= 0)
        return ERR_NONE; /* they were written long ago */
    char *path = q->bootstrap_is_old ? old_bootstrap_path(q) : quorum_snapshot_path(q->path, 0, 0);
    enum err e = check_bootstrap(q, path, ret_text);
    mem_free(path);
    return e;
}

/* What the files cannot say together, each of them being whole. */
static enum err check_together(const struct quorum *q, char **ret_text)
{
    enum { EPOCH_MAX = INT32_MAX - 2 }; /* this start begins another one */
    int32_t epoch = log_epoch_latest(q->log);
    if (q->recovered_state.leader_epoch > epoch)
        epoch = q->recovered_state.leader_epoch;
    if (epoch > EPOCH_MAX) {
        *ret_text =
            mem_printf("%s: leader epoch %d, in the log or in quorum-state, leaves room for "
                       "no further one: it is damaged. Put the folder back from a copy",
                       q->path, epoch);
        return ERR_CORRUPT;
    }
    if (log_start(q->log) > q->snapshot_offset) {
        *ret_text =
            mem_printf("%s: the log begins at offset %lld, and no snapshot says what was in "
                       "front of it (the newest ends at %lld): a .checkpoint file is "
                       "missing. Put it back from a copy",
                       q->path, (long long)log_start(q->log), (long long)q->snapshot_offset);
        return ERR_CORRUPT;
    }
    return ERR_NONE;
}

enum err quorum_recover_log(struct quorum *q, char **ret_text)
{
    if (check_together(q, ret_text) != ERR_NONE)
        return ERR_CORRUPT;
    struct reading r = {.q = q};
    struct buf chunk;
    arena_init(&r.arena);
    buf_init(&chunk);
    enum err e = ERR_NONE;
    int64_t offset = q->snapshot_offset;
    if (log_end(q->log) < offset)
        e = log_truncate_fully(q->log, offset);
    while (e == ERR_NONE && offset < log_end(q->log)) {
        int64_t next = offset;
        buf_clear(&chunk);
        e = log_read_copy(q->log, offset, CHUNK_SIZE, log_end(q->log), &chunk, &next);
        if (e == ERR_NONE && next <= offset)
            e = ERR_CORRUPT;
        if (e == ERR_NONE)
            e = read_batches(&r, buf_slice(&chunk));
        offset = next;
        q->bytes_since += (int64_t)chunk.size;
    }
    if (e != ERR_NONE)
        *ret_text = explain(&r, q->path, e);
    buf_fini(&chunk);
    arena_fini(&r.arena);
    return e;
}

enum err quorum_recover_files(struct quorum *q, char **ret_text)
{
    enum err e = quorum_read_state(q, ret_text);
    if (e == ERR_NONE)
        e = read_snapshots(q, ret_text);
    if (e == ERR_NONE)
        e = settle_bootstrap(q, ret_text);
    return e;
}
