/* Formatting of folders; see quorum_format.h. The same files with the same content as
 * `kafka-storage format` of 4.4.0, so that Apache Kafka starts on them.
 *
 * Snapshot 0-0: control batch {header, kraft.version and voters for a dynamic quorum}, one batch of
 * bootstrap records, control batch {footer}; offsets from 0, leader epoch 0, mode 0400. */
#include "repl/quorum_format.h"

#include "base/arena.h"
#include "base/mem.h"
#include "os/io.h"
#include "raft/voters.h"
#include "record/control.h"
#include "store/log_dirs.h"
#include "wire_raft_records.h"

struct uuid quorum_format_id(struct io *io)
{
    struct uuid id;
    uint8_t random[16];
    do
        io_random(io, random, sizeof random);
    while (!uuid_from_random(random, &id));
    return id;
}

static enum err add_voters(const struct quorum_format *f, struct builder *b, int64_t now_ms)
{
    struct arena arena;
    struct raft_voters voters;
    struct voters_record record;
    arena_init(&arena);
    raft_voters_init(&voters);
    wire_init(&wire_voters_record, &record);
    struct voters_record_voter *list = voters_record_voters_new(&arena, &record, f->voter_count);
    for (int32_t i = 0; i < f->voter_count; i++) {
        struct raft_endpoint endpoint = {f->controller_listener, f->voters[i].host,
                                         f->voters[i].port};
        struct voters_record one;
        raft_voters_set_one(&voters, f->voters[i].id, f->voters[i].directory_id, &endpoint, 1);
        raft_voters_to_record(&voters, &arena, &one);
        list[i] = one.voters[0];
        /* The texts live in `voters`, which the next round replaces. */
        list[i].endpoints[0].name = arena_dup(&arena, list[i].endpoints[0].name);
        list[i].endpoints[0].host = arena_dup(&arena, list[i].endpoints[0].host);
    }
    enum err e = control_append(b, now_ms, CONTROL_KRAFT_VOTERS, &record);
    raft_voters_fini(&voters);
    arena_fini(&arena);
    return e;
}

static enum err build_header(const struct quorum_format *f, int64_t now_ms, struct buf *out,
                             int64_t *ret_offset)
{
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    struct snapshot_header_record header;
    wire_init(&wire_snapshot_header_record, &header);
    header.last_contained_log_timestamp = now_ms;
    options.control = true;
    options.leader_epoch = 0;
    builder_begin(&b, out, &options);
    enum err e = control_append(&b, now_ms, CONTROL_SNAPSHOT_HEADER, &header);
    int64_t offset = 1;
    if (e == ERR_NONE && f->kraft_version > 0) {
        struct kraft_version_record version;
        wire_init(&wire_kraft_version_record, &version);
        version.kraft_version = f->kraft_version;
        e = control_append(&b, now_ms, CONTROL_KRAFT_VERSION, &version);
        offset++;
        if (e == ERR_NONE && f->voter_count > 0) {
            e = add_voters(f, &b, now_ms);
            offset++;
        }
    }
    enum err end = builder_end(&b);
    *ret_offset = offset;
    return e != ERR_NONE ? e : end;
}

static enum err build_snapshot(const struct quorum_format *f, struct buf *out)
{
    int64_t now_ms = io_wall_ms(f->io), offset;
    enum err e = build_header(f, now_ms, out, &offset);
    if (e != ERR_NONE)
        return e;
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.base_offset = offset;
    options.leader_epoch = 0;
    builder_begin(&b, out, &options);
    for (int32_t i = 0; i < f->bootstrap->count; i++)
        builder_append(&b, now_ms, SLICE_NULL, meta_records_at(f->bootstrap, i));
    e = builder_end(&b);
    if (e != ERR_NONE)
        return e;
    struct snapshot_footer_record footer;
    wire_init(&wire_snapshot_footer_record, &footer);
    return control_build(out, offset + f->bootstrap->count, 0, now_ms, CONTROL_SNAPSHOT_FOOTER,
                         &footer);
}

/* Written under a temporary name, synced, renamed. */
static enum err write_snapshot(const struct quorum_format *f, const char *folder,
                               struct slice bytes)
{
    char *path = mem_printf("%s/00000000000000000000-0000000000.checkpoint", folder);
    char *part = mem_printf("%s.part", path);
    enum err gone = io_unlink(f->io, part);
    (void)gone; /* of a format that was interrupted */
    int fd;
    enum err e = io_open(f->io, part, IO_WRITE | IO_CREATE | IO_EXCLUSIVE | IO_READ_ONLY_FILE, &fd);
    if (e == ERR_NONE) {
        e = io_pwrite(f->io, fd, bytes.data, bytes.size, 0);
        if (e == ERR_NONE)
            e = io_fsync(f->io, fd);
        io_close(f->io, fd);
    }
    if (e == ERR_NONE)
        e = io_rename(f->io, part, path);
    if (e == ERR_NONE && !f->start_follows)
        e = io_sync_dir(f->io, folder);
    mem_free(part);
    mem_free(path);
    return e;
}

/* Like mkdir -p. */
static enum err make_dirs(struct io *io, const char *path)
{
    char *copy = mem_strdup(path);
    enum err e = ERR_NONE;
    for (char *at = copy + 1; e == ERR_NONE; at++) {
        if (*at != '/' && *at != '\0')
            continue;
        char end = *at;
        *at = '\0';
        e = io_mkdir(io, copy);
        e = e == ERR_EXISTS ? ERR_NONE : e;
        *at = end;
        if (end == '\0')
            break;
    }
    mem_free(copy);
    return e;
}

static enum err format_metadata(const struct quorum_format *f, const char *dir)
{
    char *folder = mem_printf("%s/__cluster_metadata-0", dir);
    struct buf bytes;
    buf_init(&bytes);
    enum err e = build_snapshot(f, &bytes);
    if (e == ERR_NONE)
        e = make_dirs(f->io, folder);
    if (e == ERR_NONE)
        e = write_snapshot(f, folder, buf_slice(&bytes));
    buf_fini(&bytes);
    mem_free(folder);
    return e;
}

enum err quorum_format_dir(const struct quorum_format *f, const char *dir,
                           const struct uuid *directory_id, char **ret_text)
{
    struct log_meta meta = {.version = 1, .node_id = f->node_id, .directory_id = *directory_id};
    if (f->cluster_id.size >= sizeof meta.cluster_id) {
        *ret_text = mem_printf("the cluster id %.*s is too long", SLICE_FMT(f->cluster_id));
        return ERR_ARGUMENT;
    }
    memcpy(meta.cluster_id, f->cluster_id.data, f->cluster_id.size);
    enum err e = make_dirs(f->io, dir);
    if (e == ERR_NONE && f->has_metadata)
        e = format_metadata(f, dir);
    if (e == ERR_NONE)
        e = log_meta_write(f->io, dir, &meta);
    if (e != ERR_NONE)
        *ret_text = mem_printf("Error while writing meta.properties file %s: %s", dir,
                               io_error_text(f->io, e));
    return e;
}
