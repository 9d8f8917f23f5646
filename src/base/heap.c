/* See heap.h. Pure. */
#include "base/heap.h"

#include "base/ensure.h"
#include "base/mem.h"

void heap_init(struct heap *h)
{
    *h = (struct heap){0};
}

void heap_fini(struct heap *h)
{
    mem_free(h->nodes);
    *h = (struct heap){0};
}

static bool before(const struct heap_node *a, const struct heap_node *b)
{
    return a->key != b->key ? a->key < b->key : a->sequence < b->sequence;
}

static void put(struct heap *h, size_t index, struct heap_node *node)
{
    h->nodes[index] = node;
    node->position = index + 1;
}

static void sift_up(struct heap *h, size_t index)
{
    struct heap_node *node = h->nodes[index];
    while (index && before(node, h->nodes[(index - 1) / 2])) {
        put(h, index, h->nodes[(index - 1) / 2]);
        index = (index - 1) / 2;
    }
    put(h, index, node);
}

static void sift_down(struct heap *h, size_t index)
{
    struct heap_node *node = h->nodes[index];
    for (;;) {
        size_t child = 2 * index + 1;
        if (child >= h->count)
            break;
        if (child + 1 < h->count && before(h->nodes[child + 1], h->nodes[child]))
            child++;
        if (!before(h->nodes[child], node))
            break;
        put(h, index, h->nodes[child]);
        index = child;
    }
    put(h, index, node);
}

void heap_add(struct heap *h, struct heap_node *node, int64_t key)
{
    ENSURE(!heap_has(node));
    if (h->count == h->capacity) {
        h->capacity = h->capacity ? 2 * h->capacity : 16;
        h->nodes = mem_realloc(h->nodes, h->capacity * sizeof *h->nodes);
    }
    node->key = key;
    node->sequence = h->sequence_next++;
    put(h, h->count++, node);
    sift_up(h, h->count - 1);
}

void heap_remove(struct heap *h, struct heap_node *node)
{
    if (!heap_has(node))
        return;
    size_t index = node->position - 1;
    ENSURE(index < h->count && h->nodes[index] == node);
    struct heap_node *last = h->nodes[--h->count];
    node->position = 0;
    if (last == node)
        return;
    put(h, index, last);
    sift_up(h, index);
    sift_down(h, last->position - 1);
}

struct heap_node *heap_min(const struct heap *h)
{
    return h->count ? h->nodes[0] : NULL;
}
