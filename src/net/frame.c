/* Giving back a frame: its bytes leave the memory budget, and connections that wait for memory are
 * woken. Any thread. */
#include "net/frame.h"

#include "net/chunk.h"
#include "net/net_internal.h"

void frame_free(struct frame *frame)
{
    struct chunk *chunk = frame->chunk;
    if (!chunk)
        return;
    struct net *net = chunk->home->net;
    size_t size = frame->size;
    bool shared = chunk->shared;
    *frame = (struct frame){0};
    budget_frame_freed(&net->budget);
    chunk_unref(chunk);
    net_release_memory(net, shared ? size : 0);
}
