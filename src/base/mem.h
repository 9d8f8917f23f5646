/* The only allocator calls of the project.
 *
 * mem_alloc, mem_zalloc and mem_realloc never return NULL: they serve small, bounded pieces of
 * state, and a process that cannot get those cannot go on; it says so and aborts.
 * mem_try_alloc and mem_try_realloc serve sizes that come from outside (already bounded by a limit)
 * and return NULL when memory is short, or when a test asks the Nth call to fail. */
#ifndef KLAMM_BASE_MEM_H
#define KLAMM_BASE_MEM_H

#include <stddef.h>

/* Large pieces go back to the kernel when they are freed, instead of widening the heap for ever: a
 * node that once held many large requests is small again after them. First thing in main. */
void mem_tune(void);

void *mem_alloc(size_t size);
void *mem_zalloc(size_t size);
void *mem_array(size_t count, size_t item_size); /* zeroed; checks the product */
void *mem_realloc(void *old, size_t size);
/* Room for one more item in a growing array of `count`: doubles *capacity when it is full (4 items
 * at first) and returns where the array is now. */
void *mem_grow(void *items, size_t *capacity, size_t count, size_t item_size);
void *mem_try_alloc(size_t size);
void *mem_try_realloc(void *old, size_t size); /* on failure `old` is as before */
void mem_free(void *p);                        /* accepts NULL */
char *mem_strdup(const char *text);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2), nonnull(1)));

/* Tests: after `count` more calls of mem_try_alloc or mem_try_realloc, one fails. Negative = never
 * (the default). */
void mem_fail_after(long count);

#endif
