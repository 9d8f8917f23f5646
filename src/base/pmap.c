/* See pmap.h. Recursion depth is the treap's depth, O(log n) expected. */
#include "base/pmap.h"

#include "base/ensure.h"
#include "base/map.h"
#include "base/mem.h"

#include <stdatomic.h>

struct pmap {
    atomic_uint refs;
    struct pmap *left, *right;
    size_t count;
    uint64_t priority;
    void *value;
    size_t key_size;
    uint8_t key[];
};

static struct slice key_of(const struct pmap *n)
{
    return slice_of(n->key, n->key_size);
}

static struct pmap *writable(const struct pmap *n)
{
    return (struct pmap *)(uintptr_t)n;
}

struct pmap *pmap_ref(const struct pmap *map)
{
    if (map)
        atomic_fetch_add_explicit(&writable(map)->refs, 1, memory_order_relaxed);
    return writable(map);
}

void pmap_unref(const struct pmap *map, const struct pmap_type *type)
{
    struct pmap *n = writable(map);
    if (!n || atomic_fetch_sub_explicit(&n->refs, 1, memory_order_acq_rel) != 1)
        return;
    pmap_unref(n->left, type);
    pmap_unref(n->right, type);
    if (type->value_unref)
        type->value_unref(n->value);
    mem_free(n);
}

size_t pmap_count(const struct pmap *map)
{
    return map ? map->count : 0;
}

/* A node with these children; takes over the references of both, takes a new one on value. */
static struct pmap *node_new(const struct pmap_type *type, struct slice key, uint64_t priority,
                             void *value, struct pmap *left, struct pmap *right)
{
    struct pmap *n = mem_alloc(sizeof *n + key.size);
    atomic_init(&n->refs, 1);
    n->left = left;
    n->right = right;
    n->count = 1 + pmap_count(left) + pmap_count(right);
    n->priority = priority;
    n->value = value;
    n->key_size = key.size;
    if (key.size)
        memcpy(n->key, key.data, key.size);
    if (type->value_ref)
        type->value_ref(value);
    return n;
}

static struct pmap *with_children(const struct pmap_type *type, const struct pmap *n,
                                  struct pmap *left, struct pmap *right)
{
    return node_new(type, key_of(n), n->priority, n->value, left, right);
}

/* Splits by key: nodes below go to *ret_low, above to *ret_high; an equal node is dropped. */
static void split(const struct pmap *n, const struct pmap_type *type, struct slice key,
                  struct pmap **ret_low, struct pmap **ret_high)
{
    if (!n) {
        *ret_low = *ret_high = NULL;
        return;
    }
    int order = slice_cmp(key, key_of(n));
    struct pmap *part;
    if (order == 0) {
        *ret_low = pmap_ref(n->left);
        *ret_high = pmap_ref(n->right);
    } else if (order < 0) {
        split(n->left, type, key, ret_low, &part);
        *ret_high = with_children(type, n, part, pmap_ref(n->right));
    } else {
        split(n->right, type, key, &part, ret_high);
        *ret_low = with_children(type, n, pmap_ref(n->left), part);
    }
}

struct pmap *pmap_put(const struct pmap *map, const struct pmap_type *type, struct slice key,
                      void *value)
{
    ENSURE(key.data);
    uint64_t priority = hash_bytes(key.data, key.size);
    int order = map ? slice_cmp(key, key_of(map)) : 0;
    if (map && order == 0)
        return node_new(type, key, map->priority, value, pmap_ref(map->left), pmap_ref(map->right));
    if (!map || priority > map->priority) {
        struct pmap *low, *high;
        split(map, type, key, &low, &high);
        return node_new(type, key, priority, value, low, high);
    }
    if (order < 0)
        return with_children(type, map, pmap_put(map->left, type, key, value),
                             pmap_ref(map->right));
    return with_children(type, map, pmap_ref(map->left), pmap_put(map->right, type, key, value));
}

/* Joins two trees, all keys of `a` below those of `b`; borrows both. */
static struct pmap *merge(const struct pmap *a, const struct pmap *b, const struct pmap_type *type)
{
    if (!a || !b)
        return pmap_ref(a ? a : b);
    if (a->priority > b->priority)
        return with_children(type, a, pmap_ref(a->left), merge(a->right, b, type));
    return with_children(type, b, merge(a, b->left, type), pmap_ref(b->right));
}

static struct pmap *remove_present(const struct pmap *n, const struct pmap_type *type,
                                   struct slice key)
{
    int order = slice_cmp(key, key_of(n));
    if (order == 0)
        return merge(n->left, n->right, type);
    if (order < 0)
        return with_children(type, n, remove_present(n->left, type, key), pmap_ref(n->right));
    return with_children(type, n, pmap_ref(n->left), remove_present(n->right, type, key));
}

static const struct pmap *find(const struct pmap *n, struct slice key)
{
    while (n) {
        int order = slice_cmp(key, key_of(n));
        if (order == 0)
            return n;
        n = order < 0 ? n->left : n->right;
    }
    return NULL;
}

struct pmap *pmap_remove(const struct pmap *map, const struct pmap_type *type, struct slice key)
{
    return find(map, key) ? remove_present(map, type, key) : pmap_ref(map);
}

void *pmap_get(const struct pmap *map, struct slice key)
{
    const struct pmap *n = find(map, key);
    return n ? n->value : NULL;
}

void *pmap_seek(const struct pmap *map, struct slice from, bool after, struct slice *ret_key)
{
    const struct pmap *best = NULL;
    for (const struct pmap *n = map; n;) {
        int order = from.data ? slice_cmp(key_of(n), from) : 1;
        if (order > 0 || (order == 0 && !after)) {
            best = n;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    if (!best)
        return NULL;
    if (ret_key)
        *ret_key = key_of(best);
    return best->value;
}

void *pmap_at(const struct pmap *map, size_t index, struct slice *ret_key)
{
    ENSURE_CMP(index, <, pmap_count(map));
    const struct pmap *n = map;
    for (;;) {
        size_t left = pmap_count(n->left);
        if (index == left)
            break;
        if (index < left) {
            n = n->left;
        } else {
            index -= left + 1;
            n = n->right;
        }
    }
    if (ret_key)
        *ret_key = key_of(n);
    return n->value;
}

/* ---- differences ---- */

struct diff {
    void (*changed)(void *context, struct slice key, void *old_value, void *new_value);
    void *context;
};

/* The part of a tree with keys strictly between; a null bound is none. */
static const struct pmap *between(const struct pmap *n, struct slice low, struct slice high)
{
    while (n) {
        if (low.data && slice_cmp(key_of(n), low) <= 0)
            n = n->right;
        else if (high.data && slice_cmp(key_of(n), high) >= 0)
            n = n->left;
        else
            break;
    }
    return n;
}

/* The root of higher priority divides both trees. Where neither changed, both have the same nodes
 * from there on, whatever stands above them. */
static void diff_between(const struct diff *diff, const struct pmap *old, const struct pmap *new,
                         struct slice low, struct slice high)
{
    old = between(old, low, high);
    new = between(new, low, high);
    if (old == new)
        return;
    const struct pmap *root = !old || (new &&new->priority > old->priority) ? new : old;
    struct slice key = key_of(root);
    const struct pmap *in_old = root == old ? old : find(old, key);
    const struct pmap *in_new = root == new ? new : find(new, key);
    /* At the root itself its subtrees are known; elsewhere the bounds find them. */
    diff_between(diff, in_old == old && old ? old->left : old,
                 in_new == new &&new ? new->left : new, low, key);
    void *old_value = in_old ? in_old->value : NULL, *new_value = in_new ? in_new->value : NULL;
    if (old_value != new_value)
        diff->changed(diff->context, key, old_value, new_value);
    diff_between(diff, in_old == old && old ? old->right : old,
                 in_new == new &&new ? new->right : new, key, high);
}

void pmap_diff(const struct pmap *old, const struct pmap *new,
               void (*changed)(void *context, struct slice key, void *old_value, void *new_value),
               void *context)
{
    struct diff diff = {changed, context};
    diff_between(&diff, old, new, SLICE_NULL, SLICE_NULL);
}
