/* Output queue of one connection: a ring of entries, each a piece of memory or a range of a file.
 *
 * Neighbouring pieces of memory leave in one system call. MSG_MORE is set when a range follows, so
 * that a reply's header and its first record bytes share a segment. A range that comes up short
 * ends the connection: padding would hand made-up bytes to a consumer. Loop thread only. */
#include "net/outq.h"

#include "base/be.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "os/io.h"

enum { CAPACITY_FIRST = 4, CAPACITY_KEPT = 16, PARTS_MAX = 32 };

static struct outq_entry *entry_at(const struct outq *q, uint32_t index)
{
    return &q->entries[(q->first + index) & (q->capacity - 1)];
}

static bool is_memory(const struct outq_entry *entry)
{
    return entry->item.bytes.data != NULL;
}

static size_t item_size(const struct outq_item *item)
{
    return item->bytes.data ? item->bytes.size : item->range.size;
}

void outq_init(struct outq *q)
{
    *q = (struct outq){0};
}

void outq_release(const struct outq_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (items[i].release)
            items[i].release(items[i].owner);
}

void outq_fini(struct outq *q)
{
    for (uint32_t i = 0; i < q->count; i++)
        outq_release(&entry_at(q, i)->item, 1);
    mem_free(q->entries);
    outq_init(q);
}

static void grow(struct outq *q)
{
    uint32_t capacity = q->capacity ? q->capacity * 2 : CAPACITY_FIRST;
    struct outq_entry *entries = mem_alloc(capacity * sizeof *entries);
    for (uint32_t i = 0; i < q->count; i++)
        entries[i] = *entry_at(q, i);
    mem_free(q->entries);
    q->entries = entries;
    q->capacity = capacity;
    q->first = 0;
}

void outq_put(struct outq *q, const struct outq_item *items, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; i++)
        total += item_size(&items[i]);
    ENSURE_CMP(total, <=, INT32_MAX);
    static const struct outq_item empty = {.bytes = {(const uint8_t *)"", 0}};
    if (count == 0) {
        items = &empty;
        count = 1;
    }
    for (size_t i = 0; i < count; i++) {
        if (q->count == q->capacity)
            grow(q);
        q->count++;
        struct outq_entry *entry = entry_at(q, q->count - 1);
        *entry = (struct outq_entry){.item = items[i]};
        if (i == 0) {
            be_put_i32(entry->prefix, (int32_t)total);
            entry->prefix_left = sizeof entry->prefix;
        }
    }
    q->size += total + 4;
}

static void pop(struct outq *q)
{
    struct outq_item item = entry_at(q, 0)->item;
    q->first = (q->first + 1) & (q->capacity - 1);
    q->count--;
    outq_release(&item, 1);
    if (q->count == 0 && q->capacity > CAPACITY_KEPT)
        outq_fini(q);
}

static bool entry_done(const struct outq_entry *entry)
{
    return entry->prefix_left == 0 && item_size(&entry->item) == 0;
}

/* Takes `sent` bytes off the front; prefixes and memory only. */
static void advance_memory(struct outq *q, size_t sent)
{
    q->size -= sent;
    while (q->count > 0) {
        struct outq_entry *entry = entry_at(q, 0);
        size_t part = sent < entry->prefix_left ? sent : entry->prefix_left;
        entry->prefix_left = (uint8_t)(entry->prefix_left - part);
        sent -= part;
        if (is_memory(entry)) {
            part = sent < entry->item.bytes.size ? sent : entry->item.bytes.size;
            entry->item.bytes = slice_sub(entry->item.bytes, part, entry->item.bytes.size - part);
            sent -= part;
        }
        if (!entry_done(entry))
            break;
        pop(q);
    }
    ENSURE_CMP(sent, ==, 0);
}

/* Gathers what can leave in one sendmsg; *ret_more: a range follows directly. */
static int gather(const struct outq *q, size_t size_max, struct iovec *parts, bool *ret_more)
{
    int count = 0;
    size_t size = 0;
    bool more = false;
    for (uint32_t i = 0; i < q->count && count + 2 <= PARTS_MAX && size < size_max; i++) {
        struct outq_entry *entry = entry_at(q, i);
        if (entry->prefix_left > 0) {
            parts[count].iov_base = entry->prefix + sizeof entry->prefix - entry->prefix_left;
            parts[count++].iov_len = entry->prefix_left;
        }
        if (!is_memory(entry)) {
            more = entry->item.range.size > 0;
            break;
        }
        size_t part = entry->item.bytes.size;
        part = part < size_max - size ? part : size_max - size;
        if (part > 0) {
            parts[count].iov_base = (void *)(uintptr_t)entry->item.bytes.data;
            parts[count++].iov_len = part;
        }
        size += part;
    }
    *ret_more = more;
    return count;
}

bool outq_next_range(const struct outq *q, size_t size_max, struct outq_range *ret_range)
{
    if (q->count == 0)
        return false;
    const struct outq_entry *entry = entry_at(q, 0);
    if (is_memory(entry) || entry->prefix_left > 0)
        return false;
    *ret_range = entry->item.range;
    if (ret_range->size > size_max)
        ret_range->size = size_max;
    return true;
}

static enum err send_memory(struct outq *q, struct io *io, int fd, size_t size_max,
                            size_t *ret_size)
{
    struct iovec parts[PARTS_MAX];
    bool more;
    int count = gather(q, size_max, parts, &more);
    size_t size = 0;
    enum err e = count > 0 ? io_sendv(io, fd, parts, count, more, &size) : ERR_NONE;
    if (e)
        return e;
    advance_memory(q, size);
    *ret_size = size;
    return ERR_NONE;
}

enum err outq_send(struct outq *q, struct io *io, int fd, size_t size_max, bool check_cold,
                   size_t *ret_sent)
{
    *ret_sent = 0;
    while (q->count > 0 && *ret_sent < size_max) {
        struct outq_range range;
        size_t size = 0;
        enum err e;
        if (!outq_next_range(q, size_max - *ret_sent, &range)) {
            e = send_memory(q, io, fd, size_max - *ret_sent, &size);
        } else {
            if (check_cold && !io_is_cached(io, range.fd, range.position, range.size))
                return ERR_NONE;
            e = range.size == 0 ? ERR_NONE
                                : io_sendfile(io, fd, range.fd, range.position, range.size, &size);
            if (!e) {
                struct outq_entry *entry = entry_at(q, 0);
                entry->item.range.position += (int64_t)size;
                entry->item.range.size -= size;
                q->size -= size;
                if (entry->item.range.size == 0)
                    pop(q);
            }
        }
        if (e)
            return e;
        *ret_sent += size;
    }
    return ERR_NONE;
}
