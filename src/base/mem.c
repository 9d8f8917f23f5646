/* Wraps malloc; see mem.h for who may fail. Any thread. */
#include "base/mem.h"

#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_long fail_after = -1;

static _Noreturn void out_of_memory(size_t size)
{
    fprintf(stderr,
            "klamm: out of memory: %zu bytes could not be had. The process ends at once, as by "
            "kill -9; the next start recovers. --memory and the limits of cgroup and machine bound "
            "what a node takes\n",
            size);
    abort();
}

/* Setting the thresholds also ends their growth with the sizes that are freed. Pieces of up to a
 * megabyte, which requests take and give back all the time, stay below the first. */
void mem_tune(void)
{
    enum { MMAP_THRESHOLD = 2 << 20, TRIM_THRESHOLD = 4 << 20 };
    mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);
}

void *mem_alloc(size_t size)
{
    void *p = malloc(size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *mem_zalloc(size_t size)
{
    void *p = calloc(1, size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *mem_array(size_t count, size_t item_size)
{
    void *p = calloc(count ? count : 1, item_size ? item_size : 1);
    if (!p)
        out_of_memory(count * item_size);
    return p;
}

void *mem_realloc(void *old, size_t size)
{
    void *p = realloc(old, size ? size : 1);
    if (!p)
        out_of_memory(size);
    return p;
}

void *mem_grow(void *items, size_t *capacity, size_t count, size_t item_size)
{
    if (count < *capacity)
        return items;
    size_t wanted = *capacity ? *capacity * 2 : 4, size;
    if (wanted < *capacity || __builtin_mul_overflow(wanted, item_size, &size))
        out_of_memory(SIZE_MAX);
    *capacity = wanted;
    return mem_realloc(items, size);
}

static bool is_to_fail(void)
{
    long left = atomic_load_explicit(&fail_after, memory_order_relaxed);
    return left >= 0 && atomic_fetch_sub(&fail_after, 1) == 0;
}

void *mem_try_alloc(size_t size)
{
    return is_to_fail() ? NULL : malloc(size ? size : 1);
}

void *mem_try_realloc(void *old, size_t size)
{
    return is_to_fail() ? NULL : realloc(old, size ? size : 1);
}

void mem_free(void *p)
{
    free(p);
}

char *mem_strdup(const char *text)
{
    size_t size = strlen(text) + 1;
    return memcpy(mem_alloc(size), text, size);
}

char *mem_printf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = mem_alloc((size_t)size + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

void mem_fail_after(long count)
{
    atomic_store(&fail_after, count);
}
