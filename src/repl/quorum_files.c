/* The small files of the metadata log's folder: quorum-state, and which snapshots there are; see
 * quorum_internal.h. At start, and under the controller lock at an election. */
#include "base/mem.h"
#include "repl/quorum_internal.h"

#include <stdio.h>

enum { STATE_SIZE_MAX = 64 * 1024, NAME_DIGITS = 20 + 1 + 10 };

enum err quorum_read_state(struct quorum *q, char **ret_text)
{
    raft_quorum_state_init(&q->recovered_state);
    char *path = mem_printf("%s/quorum-state", q->path);
    int fd;
    enum err e = io_open(q->io, path, IO_READ, &fd);
    if (e == ERR_NOT_FOUND) {
        mem_free(path);
        return ERR_NONE;
    }
    char *data = mem_alloc(STATE_SIZE_MAX);
    size_t size = 0;
    if (e == ERR_NONE) {
        e = io_pread(q->io, fd, data, STATE_SIZE_MAX, 0, &size);
        io_close(q->io, fd);
    }
    if (e != ERR_NONE) {
        *ret_text = mem_printf("%s: %s", path, io_error_text(q->io, e));
    } else {
        struct arena arena;
        struct slice why = SLICE_NULL;
        arena_init(&arena);
        e = raft_quorum_state_parse(slice_of(data, size), &arena, &q->recovered_state, &why);
        if (e != ERR_NONE) {
            *ret_text = mem_printf("%s cannot be read: %.*s", path, SLICE_FMT(why));
            e = ERR_CORRUPT;
        }
        arena_fini(&arena);
    }
    mem_free(data);
    mem_free(path);
    return e;
}

/* Temporary file, synced, renamed. The folder is synced by the caller's flush of the log. */
enum err quorum_write_state(struct quorum *q)
{
    struct buf json;
    buf_init(&json);
    raft_quorum_state_format(&q->raft.state, q->settings.kraft_dynamic ? 1 : 0, &q->voters, &json);
    char *path = mem_printf("%s/quorum-state", q->path);
    char *tmp = mem_printf("%s/quorum-state.tmp", q->path);
    int fd;
    enum err e = io_open(q->io, tmp, IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd);
    if (e == ERR_NONE) {
        e = io_pwrite(q->io, fd, json.data, json.size, 0);
        if (e == ERR_NONE)
            e = io_fsync(q->io, fd);
        io_close(q->io, fd);
    }
    if (e == ERR_NONE)
        e = io_rename(q->io, tmp, path);
    mem_free(tmp);
    mem_free(path);
    buf_fini(&json);
    return e;
}

char *quorum_snapshot_path(const char *folder, int64_t offset, int32_t epoch)
{
    return mem_printf("%s/%020lld-%010d.checkpoint", folder, (long long)offset, epoch);
}

/* "00000000000000000026-0000000001.checkpoint" */
static bool parse_name(const char *name, struct quorum_snapshot_name *ret_name)
{
    struct slice s = slice_str(name);
    struct slice suffix = SLICE_LIT(".checkpoint");
    if (s.size != NAME_DIGITS + suffix.size || name[20] != '-' ||
        !slice_eq(slice_sub(s, NAME_DIGITS, suffix.size), suffix))
        return false;
    int64_t offset, epoch;
    if (!slice_to_i64(slice_sub(s, 0, 20), 0, INT64_MAX, &offset) ||
        !slice_to_i64(slice_sub(s, 21, 10), 0, INT32_MAX, &epoch))
        return false;
    *ret_name = (struct quorum_snapshot_name){offset, (int32_t)epoch};
    return true;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), s = strlen(suffix);
    return n >= s && memcmp(name + n - s, suffix, s) == 0;
}

bool quorum_has_history(struct io *io, struct slice log_dir)
{
    char *folder = mem_printf("%.*s/__cluster_metadata-0", SLICE_FMT(log_dir));
    char **names;
    size_t count;
    enum err e = io_list_dir(io, folder, &names, &count);
    bool found = e != ERR_NONE && e != ERR_NOT_FOUND;
    if (e == ERR_NONE) {
        for (size_t i = 0; i < count && !found; i++) {
            struct quorum_snapshot_name snapshot;
            struct io_stat stat;
            char *path = mem_printf("%s/%s", folder, names[i]);
            if (ends_with(names[i], ".log"))
                found = io_stat(io, path, &stat) != ERR_NONE || stat.size > 0;
            else if (parse_name(names[i], &snapshot))
                found = snapshot.offset > 0; /* 0-0 is there before the log */
            mem_free(path);
        }
        io_free_names(names, count);
    }
    mem_free(folder);
    return found;
}

enum err quorum_list_snapshots(struct io *io, const char *path,
                               struct quorum_snapshot_name **ret_list, size_t *ret_count)
{
    char **names;
    size_t name_count, count = 0;
    enum err e = io_list_dir(io, path, &names, &name_count);
    if (e != ERR_NONE)
        return e;
    struct quorum_snapshot_name *list = mem_array(name_count + 1, sizeof *list);
    for (size_t i = 0; i < name_count; i++) { /* sorted: digits of equal length sort by offset */
        if (parse_name(names[i], &list[count])) {
            count++;
        } else if (ends_with(names[i], ".checkpoint.part") ||
                   ends_with(names[i], ".checkpoint.deleted")) {
            char *left = mem_printf("%s/%s", path, names[i]);
            enum err gone = io_unlink(io, left);
            (void)gone; /* tried again at the next start */
            mem_free(left);
        }
    }
    io_free_names(names, name_count);
    *ret_list = list;
    *ret_count = count;
    return ERR_NONE;
}
