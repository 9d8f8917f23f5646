/* Persistent ordered map: every change gives a new root that shares all untouched nodes with the
 * old one. Roots are immutable and reference-counted with atomics, so a reader on any thread holds
 * a root and needs no lock. Keys are bytes, ordered by slice_cmp; they are copied into the node.
 * Values are reference-counted objects of the caller. Shape depends on the keys alone (a treap
 * whose priorities are hashes of the keys), so equal contents iterate and print alike.
 *
 * Ownership: functions that return a root return a reference the caller must pmap_unref. `map` is
 * not consumed. NULL is the empty map. */
#ifndef KLAMM_BASE_PMAP_H
#define KLAMM_BASE_PMAP_H

#include "base/slice.h"

struct pmap; /* a root; NULL = empty */

/* How values are counted; one constant table for each kind of map. Either may be NULL. */
struct pmap_type {
    void (*value_ref)(void *value);
    void (*value_unref)(void *value);
};

struct pmap *pmap_ref(const struct pmap *map);
void pmap_unref(const struct pmap *map, const struct pmap_type *type);

/* Adds or replaces; takes a new reference on `value` (value_ref) for the map. */
struct pmap *pmap_put(const struct pmap *map, const struct pmap_type *type, struct slice key,
                      void *value);
/* Removes; returns a reference to `map` itself when the key is absent. */
struct pmap *pmap_remove(const struct pmap *map, const struct pmap_type *type, struct slice key);

/* Borrowed from the root; NULL when absent. */
void *pmap_get(const struct pmap *map, struct slice key);
size_t pmap_count(const struct pmap *map);

/* Ordered walk: the first entry with key >= `from` (or > with after = true); from SLICE_NULL starts
 * at the least key. Returns the value, sets *ret_key; NULL at the end. O(log n) each. */
void *pmap_seek(const struct pmap *map, struct slice from, bool after, struct slice *ret_key);

/* Calls `changed` for every key whose value differs by pointer between two roots, in no particular
 * order; a value is NULL where the key is absent. Subtrees that both roots share are skipped, so
 * the cost is that of the changes (times the depth). The key is borrowed from either root. */
void pmap_diff(const struct pmap *old, const struct pmap *new,
               void (*changed)(void *context, struct slice key, void *old_value, void *new_value),
               void *context);

/* Entry by rank, 0 <= index < count. */
void *pmap_at(const struct pmap *map, size_t index, struct slice *ret_key);

#endif
