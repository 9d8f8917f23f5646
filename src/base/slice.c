/* Helpers on byte views. Pure. */
#include "base/slice.h"

#include "base/ensure.h"
#include "base/mem.h"

int slice_cmp(struct slice a, struct slice b)
{
    if (!a.data || !b.data)
        return (a.data != NULL) - (b.data != NULL);
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common ? memcmp(a.data, b.data, common) : 0;
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

static uint8_t lower(uint8_t c)
{
    return c >= 'A' && c <= 'Z' ? (uint8_t)(c + 32) : c;
}

bool slice_eq_nocase(struct slice a, struct slice b)
{
    if (a.size != b.size || !a.data || !b.data)
        return !a.data && !b.data;
    for (size_t i = 0; i < a.size; i++)
        if (lower(a.data[i]) != lower(b.data[i]))
            return false;
    return true;
}

struct slice slice_sub(struct slice s, size_t from, size_t size)
{
    ENSURE(from <= s.size && size <= s.size - from);
    return (struct slice){s.data + from, size};
}

static bool cut_at(struct slice s, const uint8_t *at, struct slice *ret_before,
                   struct slice *ret_after)
{
    if (!at)
        return false;
    size_t size = (size_t)(at - s.data);
    *ret_before = (struct slice){s.data, size};
    *ret_after = (struct slice){at + 1, s.size - size - 1};
    return true;
}

bool slice_cut(struct slice s, uint8_t mark, struct slice *ret_before, struct slice *ret_after)
{
    return cut_at(s, s.size ? memchr(s.data, mark, s.size) : NULL, ret_before, ret_after);
}

bool slice_cut_last(struct slice s, uint8_t mark, struct slice *ret_before, struct slice *ret_after)
{
    return cut_at(s, s.size ? memrchr(s.data, mark, s.size) : NULL, ret_before, ret_after);
}

bool slice_next_part(struct slice *rest, uint8_t separator, struct slice *ret_part)
{
    if (!rest->data)
        return false;
    if (!slice_cut(*rest, separator, ret_part, rest)) {
        *ret_part = *rest;
        *rest = SLICE_NULL;
    }
    return true;
}

char *slice_to_cstr(struct slice s)
{
    if (!s.data)
        return NULL;
    char *text = mem_alloc(s.size + 1);
    memcpy(text, s.data, s.size);
    text[s.size] = 0;
    return text;
}

struct slice slice_dup(struct slice s)
{
    if (!s.data)
        return SLICE_NULL;
    uint8_t *data = mem_alloc(s.size);
    memcpy(data, s.data, s.size);
    return (struct slice){data, s.size};
}

void slice_free(struct slice *s)
{
    mem_free((void *)(uintptr_t)s->data);
    *s = SLICE_NULL;
}

static bool blank(uint8_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

struct slice slice_trim(struct slice s)
{
    while (s.size && blank(s.data[0])) {
        s.data++;
        s.size--;
    }
    while (s.size && blank(s.data[s.size - 1]))
        s.size--;
    return s;
}

bool slice_to_i64(struct slice s, int64_t min, int64_t max, int64_t *ret_value)
{
    bool negative = s.size && s.data[0] == '-';
    size_t i = s.size && (s.data[0] == '-' || s.data[0] == '+') ? 1 : 0;
    if (i == s.size)
        return false;
    int64_t value = 0;
    for (; i < s.size; i++) {
        if (s.data[i] < '0' || s.data[i] > '9')
            return false;
        int digit = s.data[i] - '0';
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, negative ? -digit : digit, &value))
            return false;
    }
    if (value < min || value > max)
        return false;
    *ret_value = value;
    return true;
}
