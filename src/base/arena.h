/* Memory of one request or one decision: many small pieces, freed as one. Not thread-safe: an arena
 * has one owner at a time. Pieces are 16-byte aligned and zeroed. */
#ifndef KLAMM_BASE_ARENA_H
#define KLAMM_BASE_ARENA_H

#include "base/slice.h"

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    uint8_t *at, *end;          /* free part of the newest block */
    size_t used;                /* bytes taken from the allocator */
    size_t size_max;            /* arena_try_alloc refuses beyond this; 0 = no limit */
};

void arena_init(struct arena *a);
/* Frees everything; the arena may be used again. */
void arena_fini(struct arena *a);

/* Never NULL. For sizes that the code itself bounds. */
void *arena_alloc(struct arena *a, size_t size);
void *arena_array(struct arena *a, size_t count, size_t item_size);
/* NULL beyond size_max or when memory is short. For sizes that follow from bytes received. */
void *arena_try_alloc(struct arena *a, size_t size);

struct slice arena_dup(struct arena *a, struct slice s); /* null stays null */
char *arena_cstr(struct arena *a, struct slice s);       /* NUL-terminated; NULL for null */
/* A text for an answer. What is longer than a Kafka string may be is cut, before a UTF-8 character,
 * and ends in "...": a message that repeats what was asked for must not make its answer unsendable.
 */
enum { ARENA_TEXT_SIZE_MAX = 32767 };
struct slice arena_printf(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

#endif
