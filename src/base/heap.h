/* Binary min-heap of intrusive nodes, ordered by an int64 key; used for timers. Equal keys come out
 * in the order they were added, so that a simulated run never depends on addresses. */
#ifndef KLAMM_BASE_HEAP_H
#define KLAMM_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_node {
    int64_t key;
    uint64_t sequence; /* set by heap_add */
    size_t position;   /* index + 1; 0 = not in a heap */
};

struct heap {
    struct heap_node **nodes;
    size_t count, capacity;
    uint64_t sequence_next;
};

void heap_init(struct heap *h);
void heap_fini(struct heap *h); /* frees the array, not the nodes */
void heap_add(struct heap *h, struct heap_node *node, int64_t key); /* node must be outside */
void heap_remove(struct heap *h, struct heap_node *node);           /* may be outside */
struct heap_node *heap_min(const struct heap *h);                   /* NULL when empty */

static inline bool heap_has(const struct heap_node *node)
{
    return node->position != 0;
}

#endif
