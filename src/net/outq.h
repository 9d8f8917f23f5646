/* Output queue: pieces of memory and ranges of files, sent in order. A reply is any mix of them, so
 * record bytes go from the page cache to the socket without a copy in user space.
 *
 * Ownership: every item may carry a release callback. It is called once, on the connection's loop,
 * when the item (and so all items before it) has been handed to the kernel, or when the connection
 * closed. Several pieces of one buffer: put the release on the last of them. */
#ifndef KLAMM_NET_OUTQ_H
#define KLAMM_NET_OUTQ_H

#include "base/err.h"
#include "base/slice.h"

struct io;

struct outq_range {
    int fd;
    int64_t position;
    size_t size;
};

struct outq_item {
    struct slice bytes;           /* used when bytes.data != NULL */
    struct outq_range range;      /* else */
    void (*release)(void *owner); /* NULL: nothing to release */
    void *owner;
};

/* An item of memory; release may be NULL. */
static inline struct outq_item outq_memory(struct slice bytes, void (*release)(void *owner),
                                           void *owner)
{
    return (struct outq_item){.bytes = bytes, .release = release, .owner = owner};
}

/* An item of a file. The holder behind `release` keeps fd open. */
static inline struct outq_item outq_file(struct outq_range range, void (*release)(void *owner),
                                         void *owner)
{
    return (struct outq_item){.range = range, .release = release, .owner = owner};
}

/* ---- used by conn.c ---------------------------------------------------------------------------
 */

struct outq_entry {
    struct outq_item item;
    uint8_t prefix[4]; /* the size of the reply this item begins; sent before it */
    uint8_t prefix_left;
};

struct outq {
    struct outq_entry *entries; /* ring of `capacity`, a power of two */
    uint32_t first, count, capacity;
    size_t size; /* bytes that are not sent yet */
};

void outq_init(struct outq *q);
void outq_fini(struct outq *q); /* releases all items */
/* One reply: its size prefix and its items. Takes over the items. */
void outq_put(struct outq *q, const struct outq_item *items, size_t count);
/* Releases items that will not be queued. */
void outq_release(const struct outq_item *items, size_t count);
static inline bool outq_empty(const struct outq *q)
{
    return q->count == 0;
}

/* True and *ret_range (at most size_max of it) when a file range comes next. */
bool outq_next_range(const struct outq *q, size_t size_max, struct outq_range *ret_range);

/* Sends about size_max bytes; *ret_sent is set in every case. ERR_NONE: the queue is empty, or
 * size_max was reached, or (with check_cold) a range comes next that is not in the page cache.
 * ERR_AGAIN: the socket is full. ERR_CORRUPT: a file ends before its range. Else: give up. */
enum err outq_send(struct outq *q, struct io *io, int fd, size_t size_max, bool check_cold,
                   size_t *ret_sent);

#endif
