/* What a round of the cleaner knows about aborted transactions: it reads the transaction indexes of
 * all segments, for markers lie behind their transactions, perhaps in segments that are not
 * cleaned. Every transaction that began below the end of what is cleaned had ended when the round
 * began, so it is in an index by then, and what is appended meanwhile does not matter.
 *
 * The log's lock is held to open files, and to make a damaged index again, never to read one: an
 * index only grows, and a truncation ends the round. A step looks at a bounded number of files. On
 * a worker. */
#include "store/cleaner_internal.h"

#include "base/mem.h"

enum { CHUNK = 64, FILES_PER_LOOK = 64 };

void cleaner_aborted_init(struct cleaner_round *r, struct log *log)
{
    struct cleaner_aborted *a = &r->aborted;
    *a = (struct cleaner_aborted){.count = log->segment_count, .offset_last = -1};
    a->segments = mem_array(a->count, sizeof(struct segment *));
    for (uint32_t i = 0; i < a->count; i++)
        a->segments[i] = segment_ref(log->segments[i]);
}

void cleaner_aborted_fini(struct cleaner_round *r)
{
    struct cleaner_aborted *a = &r->aborted;
    for (uint32_t i = 0; a->segments && i < a->count; i++)
        segment_unref(a->segments[i]);
    mem_free(a->segments);
    *a = (struct cleaner_aborted){0};
}

static void go_on(struct cleaner_aborted *a)
{
    a->at++;
    a->entry = 0;
    a->offset_last = -1;
    a->mended = false;
}

/* Log's lock held: the next segment with entries, its file pinned. *ret_count 0: none of those
 * looked at has any. */
static enum err open_next(struct cleaner_aborted *a, struct log *log, int *ret_fd,
                          uint32_t *ret_count)
{
    *ret_count = 0;
    for (int looks = 0; a->at < a->count && looks < FILES_PER_LOOK; looks++) {
        struct segment *segment = a->segments[a->at];
        enum err err = log_load_aborted(log, segment);
        if (err)
            return err;
        if (a->entry < segment->txn_count) {
            err = log_file_pin(&segment->files[SEGMENT_TXN_INDEX], false, ret_fd);
            *ret_count = err ? 0 : segment->txn_count;
            return err;
        }
        go_on(a);
    }
    return ERR_NONE;
}

static void add(struct cleaner_round *r, const struct txn_index_entry *entry)
{
    if (entry->offset_first >= r->dirt.offset_end)
        return;
    cleaner_txns_add(&r->txns, entry);
    if (entry->offset_last >= r->dirt.first_dirty)
        cleaner_txns_add(&r->keys_txns, entry);
}

/* No lock held: entries of segments[at], up to `count` and about `size` bytes. */
static enum err read_entries(struct cleaner_round *r, int fd, uint32_t count, uint32_t size,
                             uint64_t *bytes)
{
    struct cleaner_aborted *a = &r->aborted;
    struct txn_index_entry entries[CHUNK];
    while (a->entry < count && *bytes < size) {
        uint32_t step = count - a->entry < CHUNK ? count - a->entry : CHUNK;
        enum err err = txn_index_read_pinned(a->segments[a->at], fd, a->entry, step, entries);
        if (!err && entries[0].offset_last <= a->offset_last)
            err = ERR_CORRUPT;
        if (err)
            return err;
        for (uint32_t i = 0; i < step; i++)
            add(r, &entries[i]);
        a->offset_last = entries[step - 1].offset_last;
        a->entry += step;
        *bytes += (uint64_t)step * TXN_INDEX_ENTRY_SIZE;
    }
    return ERR_NONE;
}

/* A damaged index is made again, and read from its beginning: what is named twice counts once. */
static enum err mend(struct cleaner_round *r)
{
    struct cleaner_aborted *a = &r->aborted;
    struct lock *lock;
    if (a->mended)
        return ERR_CORRUPT;
    struct log *log = cleaner_round_enter(r, &lock);
    if (!log)
        return ERR_CLOSED;
    enum err err = log_check_aborted(log, a->segments[a->at]);
    log_walk_leave(r->dirs, log, lock);
    a->entry = 0;
    a->offset_last = -1;
    a->mended = true;
    return err;
}

enum err cleaner_aborted_step(struct cleaner_round *r, uint32_t size, uint64_t *ret_bytes)
{
    struct cleaner_aborted *a = &r->aborted;
    struct lock *lock;
    struct log *log = cleaner_round_enter(r, &lock);
    if (!log)
        return ERR_CLOSED;
    int fd;
    uint32_t count;
    enum err err = open_next(a, log, &fd, &count);
    log_walk_leave(r->dirs, log, lock);
    if (err)
        return err;
    if (!count)
        return a->at == a->count ? ERR_NOT_FOUND : ERR_NONE;
    err = read_entries(r, fd, count, size, ret_bytes);
    log_file_unpin(&a->segments[a->at]->files[SEGMENT_TXN_INDEX]);
    return err == ERR_CORRUPT ? mend(r) : err;
}
