/* Lines of a file below tests/golden, and hex. */
#ifndef KLAMM_TESTS_WIRE_GOLDEN_FILE_H
#define KLAMM_TESTS_WIRE_GOLDEN_FILE_H

#include "base/arena.h"
#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

/* All of tests/golden/<name>; the folder comes from the environment when Meson runs the test. */
static inline struct slice golden_read(const char *name, struct arena *a)
{
    const char *tests = getenv("KLAMM_TESTS_DIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/golden/%s", tests ? tests : "tests", name);
    FILE *file = fopen(path, "rb");
    if (!file)
        return SLICE_NULL;
    struct buf content;
    buf_init(&content);
    size_t size;
    char part[65536];
    while ((size = fread(part, 1, sizeof part, file)) > 0)
        buf_put(&content, part, size);
    fclose(file);
    struct slice all = arena_dup(a, buf_slice(&content));
    buf_fini(&content);
    return all;
}

/* Cuts the part before `end` off the front of `rest`; null when nothing is left. */
static inline struct slice golden_cut(struct slice *rest, char end)
{
    if (rest->size == 0)
        return SLICE_NULL;
    const uint8_t *at = memchr(rest->data, end, rest->size);
    size_t size = at ? (size_t)(at - rest->data) : rest->size;
    struct slice part = slice_of(rest->data, size);
    size_t taken = at ? size + 1 : size;
    *rest = slice_of(rest->data + taken, rest->size - taken);
    return part;
}

static inline int golden_hex_digit(uint8_t c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static inline struct slice golden_unhex(struct slice text, struct arena *a)
{
    uint8_t *bytes = arena_alloc(a, text.size / 2 + 1);
    for (size_t i = 0; i < text.size / 2; i++)
        bytes[i] = (uint8_t)(golden_hex_digit(text.data[2 * i]) << 4 |
                             golden_hex_digit(text.data[2 * i + 1]));
    return slice_of(bytes, text.size / 2);
}

#endif
