/* Bump allocation in blocks that double up to 64 KB; large pieces get a block of their own, so the
 * rest of the current block stays usable. */
#include "base/arena.h"

#include "base/ensure.h"
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

enum { BLOCK_MIN = 1024, BLOCK_MAX = 64 * 1024, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size;
    _Alignas(ALIGN) uint8_t data[];
};

void arena_init(struct arena *a)
{
    *a = (struct arena){0};
}

void arena_fini(struct arena *a)
{
    struct arena_block *block = a->blocks;
    while (block) {
        struct arena_block *next = block->next;
        mem_free(block);
        block = next;
    }
    size_t size_max = a->size_max;
    *a = (struct arena){.size_max = size_max};
}

static struct arena_block *add_block(struct arena *a, size_t size)
{
    if (a->size_max && (size > a->size_max || a->used > a->size_max - size))
        return NULL;
    struct arena_block *block = mem_try_alloc(sizeof *block + size);
    if (!block)
        return NULL;
    block->next = a->blocks;
    block->size = size;
    a->blocks = block;
    a->used += size;
    return block;
}

void *arena_try_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        return NULL;
    if (size == 0)
        size = 1; /* a fresh arena has no block to point into */
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    uint8_t *p;
    if (size <= (size_t)(a->end - a->at)) {
        p = a->at;
        a->at += size;
    } else if (size > BLOCK_MAX / 4) {
        struct arena_block *block = add_block(a, size);
        if (!block)
            return NULL;
        p = block->data;
    } else {
        size_t want = a->used < BLOCK_MIN ? BLOCK_MIN : a->used;
        want = want > BLOCK_MAX ? BLOCK_MAX : want;
        struct arena_block *block = add_block(a, want < size ? size : want);
        if (!block)
            return NULL;
        p = block->data;
        a->at = p + size;
        a->end = block->data + block->size;
    }
    memset(p, 0, size);
    return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t size_max = a->size_max;
    a->size_max = 0;
    void *p = arena_try_alloc(a, size);
    a->size_max = size_max;
    ENSURE(p);
    return p;
}

void *arena_array(struct arena *a, size_t count, size_t item_size)
{
    size_t size;
    ENSURE(!__builtin_mul_overflow(count, item_size, &size));
    return arena_alloc(a, size);
}

struct slice arena_dup(struct arena *a, struct slice s)
{
    if (!s.data)
        return SLICE_NULL;
    uint8_t *data = arena_alloc(a, s.size ? s.size : 1);
    if (s.size)
        memcpy(data, s.data, s.size);
    return (struct slice){data, s.size};
}

char *arena_cstr(struct arena *a, struct slice s)
{
    if (!s.data)
        return NULL;
    char *text = arena_alloc(a, s.size + 1);
    if (s.size)
        memcpy(text, s.data, s.size);
    return text;
}

struct slice arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    ENSURE(size >= 0);
    size_t kept = size < ARENA_TEXT_SIZE_MAX ? (size_t)size : ARENA_TEXT_SIZE_MAX;
    char *text = arena_alloc(a, kept + 1);
    va_start(args, format);
    vsnprintf(text, kept + 1, format, args);
    va_end(args);
    if (kept < (size_t)size) {
        kept -= 3;
        while (kept > 0 && ((uint8_t)text[kept] & 0xc0) == 0x80)
            kept--;
        memcpy(text + kept, "...", 4);
        kept += 3;
    }
    return slice_of(text, kept);
}
