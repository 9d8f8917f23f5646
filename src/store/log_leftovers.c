/* Transient files of a partition's folder (Kafka's LogLoader):
 * - NAME.deleted: removed (but not the metadata snapshots' .checkpoint.deleted);
 * - NAME.cleaned: an unfinished result, removed; a .swap file at or above the least of them belongs
 *   to a split that was not finished and goes with it;
 * - NAME.swap: a finished result: the segments it covers go, then it takes their place;
 * - an index without a .log: removed.
 * Start-up, before anything of the log is open. */
#include "store/log_leftovers.h"

#include "base/mem.h"
#include "os/io.h"
#include "store/segment.h"

static bool ends_with(const char *name, const char *suffix)
{
    size_t size = strlen(name), suffix_size = strlen(suffix);
    return size >= suffix_size && memcmp(name + size - suffix_size, suffix, suffix_size) == 0;
}

static bool offset_of(const char *name, int64_t *ret_offset)
{
    struct slice text = slice_str(name);
    return text.size > SEGMENT_NAME_DIGITS && name[SEGMENT_NAME_DIGITS] == '.' &&
           slice_to_i64(slice_sub(text, 0, SEGMENT_NAME_DIGITS), 0, INT64_MAX, ret_offset);
}

/* NAME.deleted, bar the metadata snapshots, which the quorum looks after. */
static bool is_deleted(const char *name)
{
    return ends_with(name, ".deleted") && !ends_with(name, ".checkpoint.deleted");
}

static enum err remove_file(struct io *io, const char *folder, const char *name, bool *ret_changed)
{
    char *path = mem_printf("%s/%s", folder, name);
    enum err err = io_unlink(io, path);
    mem_free(path);
    if (!err)
        *ret_changed = true;
    return err == ERR_NOT_FOUND ? ERR_NONE : err;
}

static bool exists(char **names, size_t count, const char *name)
{
    size_t from = 0, to = count;
    while (from < to) {
        size_t at = from + (to - from) / 2;
        int order = strcmp(names[at], name);
        if (!order)
            return true;
        if (order < 0)
            from = at + 1;
        else
            to = at;
    }
    return false;
}

/* Offsets that a finished .log.swap covers: from its name to its end. */
static enum err swap_range(struct io *io, const char *folder, const char *name, int64_t *min,
                           int64_t *max)
{
    int64_t base;
    if (!offset_of(name, &base))
        return ERR_NONE;
    char *path = mem_printf("%s/%s", folder, name);
    int fd;
    enum err err = io_open(io, path, IO_READ, &fd);
    mem_free(path);
    if (err)
        return err;
    struct io_stat stat;
    err = io_fstat(io, fd, &stat);
    int64_t next = base;
    if (!err) {
        uint8_t window[SEGMENT_SCAN_STACK];
        struct segment_scan scan;
        segment_scan_init(&scan, io, fd, 0, (uint32_t)stat.size, window, sizeof window);
        struct batch_info info;
        uint32_t position;
        while (!(err = segment_scan_next(&scan, &info, &position)))
            next = info.offset_last + 1;
        if (err == ERR_NOT_FOUND || err == ERR_CORRUPT_MESSAGE)
            err = ERR_NONE;
    }
    io_close(io, fd);
    if (err)
        return err;
    *min = base < *min ? base : *min;
    *max = next > *max ? next : *max;
    return ERR_NONE;
}

static enum err remove_transient(struct io *io, const char *folder, char **names, size_t count,
                                 int64_t cleaned_min, bool *ret_changed)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && !err; i++) {
        int64_t offset;
        bool gone = ends_with(names[i], ".cleaned") || is_deleted(names[i]);
        if (ends_with(names[i], ".swap") && offset_of(names[i], &offset) && offset >= cleaned_min)
            gone = true;
        if (gone)
            err = remove_file(io, folder, names[i], ret_changed);
    }
    return err;
}

static enum err finish_swaps(struct io *io, const char *folder, char **names, size_t count,
                             int64_t cleaned_min, bool *ret_changed)
{
    int64_t min = INT64_MAX, max = INT64_MIN, offset;
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && !err; i++)
        if (ends_with(names[i], ".log.swap") && offset_of(names[i], &offset) &&
            offset < cleaned_min)
            err = swap_range(io, folder, names[i], &min, &max);
    for (size_t i = 0; i < count && !err; i++) {
        bool transient = ends_with(names[i], ".swap") || ends_with(names[i], ".cleaned") ||
                         ends_with(names[i], ".deleted");
        if (!transient && offset_of(names[i], &offset) && offset >= min && offset < max)
            err = remove_file(io, folder, names[i], ret_changed);
    }
    for (size_t i = 0; i < count && !err; i++) {
        if (!ends_with(names[i], ".swap") || !offset_of(names[i], &offset) || offset >= cleaned_min)
            continue;
        char *from = mem_printf("%s/%s", folder, names[i]);
        char *to = mem_printf("%.*s", (int)(strlen(from) - strlen(".swap")), from);
        err = io_rename(io, from, to);
        *ret_changed = true;
        mem_free(from);
        mem_free(to);
    }
    return err;
}

static enum err remove_orphans(struct io *io, const char *folder, char **names, size_t count,
                               bool *ret_changed)
{
    enum err err = ERR_NONE;
    for (size_t i = 0; i < count && !err; i++) {
        int64_t offset;
        if (!segment_parse_name(names[i], ".index", &offset) &&
            !segment_parse_name(names[i], ".timeindex", &offset) &&
            !segment_parse_name(names[i], ".txnindex", &offset))
            continue;
        char log_name[SEGMENT_NAME_DIGITS + sizeof ".log"];
        memcpy(log_name, names[i], SEGMENT_NAME_DIGITS);
        memcpy(log_name + SEGMENT_NAME_DIGITS, ".log", sizeof ".log");
        if (!exists(names, count, log_name))
            err = remove_file(io, folder, names[i], ret_changed);
    }
    return err;
}

enum err log_leftovers_finish(struct io *io, const char *folder, char **names, size_t count,
                              bool *ret_changed)
{
    int64_t cleaned_min = INT64_MAX, offset;
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        if (ends_with(names[i], ".cleaned") && offset_of(names[i], &offset) && offset < cleaned_min)
            cleaned_min = offset;
        any = any || ends_with(names[i], ".swap") || ends_with(names[i], ".cleaned") ||
              is_deleted(names[i]);
    }
    if (!any)
        return remove_orphans(io, folder, names, count, ret_changed);
    enum err err = remove_transient(io, folder, names, count, cleaned_min, ret_changed);
    if (!err)
        err = finish_swaps(io, folder, names, count, cleaned_min, ret_changed);
    return err;
}
