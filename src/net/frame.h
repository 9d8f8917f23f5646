/* One request as it came off the wire, without its size prefix. Its bytes count towards
 * queued.max.request.bytes until frame_free, so free it as soon as it is decoded (fetch) or
 * appended (produce). Owned by one holder at a time; may be freed on any thread, cheapest on the
 * connection's loop. */
#ifndef KLAMM_NET_FRAME_H
#define KLAMM_NET_FRAME_H

#include "base/slice.h"

struct net;
struct chunk;

struct frame {
    uint8_t *data; /* writable: produce assigns offsets in place. NULL once freed */
    size_t size;
    struct chunk *chunk; /* internal: the memory `data` lies in */
};

/* Releases the bytes; *frame becomes empty. May be called twice. */
void frame_free(struct frame *frame);

/* Moves the frame out of `from`, which becomes empty. */
static inline struct frame frame_take(struct frame *from)
{
    struct frame taken = *from;
    *from = (struct frame){0};
    return taken;
}

static inline struct slice frame_slice(const struct frame *frame)
{
    return slice_of(frame->data, frame->size);
}

#endif
