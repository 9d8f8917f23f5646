/* A view of bytes owned by somebody else. data == NULL is Kafka's null; a slice of size 0 with
 * non-NULL data is the empty string. Strings on the wire are slices, not NUL-terminated. */
#ifndef KLAMM_BASE_SLICE_H
#define KLAMM_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *data;
    size_t size;
};

#define SLICE_NULL ((struct slice){NULL, 0})
/* A slice of a string literal. */
#define SLICE_LIT(text) ((struct slice){(const uint8_t *)(text), sizeof(text) - 1})
/* For printf("%.*s"). */
#define SLICE_FMT(s) (int)(s).size, (s).data ? (const char *)(s).data : ""

static inline struct slice slice_of(const void *data, size_t size)
{
    return (struct slice){(const uint8_t *)data, size};
}

/* NULL text gives the null slice. */
static inline struct slice slice_str(const char *text)
{
    return (struct slice){(const uint8_t *)text, text ? strlen(text) : 0};
}

static inline bool slice_is_null(struct slice s)
{
    return s.data == NULL;
}

/* Null equals null only. */
static inline bool slice_eq(struct slice a, struct slice b)
{
    if (a.size != b.size || !a.data || !b.data)
        return !a.data && !b.data;
    return a.size == 0 || memcmp(a.data, b.data, a.size) == 0;
}

static inline bool slice_eq_str(struct slice a, const char *text)
{
    return slice_eq(a, slice_str(text));
}

static inline bool slice_starts_with(struct slice s, const char *prefix)
{
    size_t size = strlen(prefix);
    return s.size >= size && memcmp(s.data, prefix, size) == 0;
}

/* Bytewise order, shorter first on a common prefix; null before empty. */
int slice_cmp(struct slice a, struct slice b);

/* True when both are equal up to ASCII case. */
bool slice_eq_nocase(struct slice a, struct slice b);

/* The part [from, from + size); both must lie inside. */
struct slice slice_sub(struct slice s, size_t from, size_t size);

/* What stands before and after the first (last) `mark`; false when there is none. */
bool slice_cut(struct slice s, uint8_t mark, struct slice *ret_before, struct slice *ret_after);
bool slice_cut_last(struct slice s, uint8_t mark, struct slice *ret_before,
                    struct slice *ret_after);

/* Walks the parts between separators: takes the next one off *rest, which is null after the last.
 * False when it is. "a,,b" has three parts, the empty text has one. */
bool slice_next_part(struct slice *rest, uint8_t separator, struct slice *ret_part);

/* A NUL-terminated copy from mem_alloc (mem_free frees it); NULL for null. */
char *slice_to_cstr(struct slice s);

/* A copy whose data comes from mem_alloc; null stays null. slice_free releases it. */
struct slice slice_dup(struct slice s);
void slice_free(struct slice *s);

/* Strips ASCII blanks at both ends. */
struct slice slice_trim(struct slice s);

/* Decimal integer of the whole slice into [min, max]; false when it is not one. */
bool slice_to_i64(struct slice s, int64_t min, int64_t max, int64_t *ret_value);

#endif
