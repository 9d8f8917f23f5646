/* See buf.h. Pure but for the allocator. */
#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>

void buf_init(struct buf *b)
{
    *b = (struct buf){0};
}

void buf_fini(struct buf *b)
{
    mem_free(b->data);
    *b = (struct buf){0};
}

void buf_clear(struct buf *b)
{
    b->size = 0;
    b->failed = false;
}

bool buf_reserve(struct buf *b, size_t size)
{
    size_t need;
    if (b->failed || __builtin_add_overflow(b->size, size, &need) ||
        (b->size_max && need > b->size_max)) {
        b->failed = true;
        return false;
    }
    if (need <= b->capacity)
        return true;
    size_t capacity = b->capacity ? b->capacity : 64;
    while (capacity < need)
        capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
    if (b->size_max && capacity > b->size_max)
        capacity = b->size_max;
    b->data = mem_realloc(b->data, capacity);
    b->capacity = capacity;
    return true;
}

uint8_t *buf_extend(struct buf *b, size_t size)
{
    if (!buf_reserve(b, size))
        return NULL;
    uint8_t *p = b->data + b->size;
    b->size += size;
    return p;
}

void buf_put(struct buf *b, const void *data, size_t size)
{
    if (!size)
        return;
    uint8_t *p = buf_extend(b, size);
    if (p)
        memcpy(p, data, size);
}

void buf_put_slice(struct buf *b, struct slice s)
{
    buf_put(b, s.data, s.size);
}

void buf_put_str(struct buf *b, const char *text)
{
    buf_put(b, text, strlen(text));
}

void buf_printf(struct buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (size < 0 || !buf_reserve(b, (size_t)size + 1))
        return;
    va_start(args, format);
    vsnprintf((char *)b->data + b->size, (size_t)size + 1, format, args);
    va_end(args);
    b->size += (size_t)size;
}

void buf_put_i8(struct buf *b, int8_t v)
{
    buf_put(b, &v, 1);
}

void buf_put_i16(struct buf *b, int16_t v)
{
    uint8_t *p = buf_extend(b, 2);
    if (p)
        be_put_i16(p, v);
}

void buf_put_i32(struct buf *b, int32_t v)
{
    uint8_t *p = buf_extend(b, 4);
    if (p)
        be_put_i32(p, v);
}

void buf_put_i64(struct buf *b, int64_t v)
{
    uint8_t *p = buf_extend(b, 8);
    if (p)
        be_put_i64(p, v);
}

void buf_put_uvarint(struct buf *b, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n] = (uint8_t)(v & 0x7f);
        v >>= 7;
        if (v)
            bytes[n] |= 0x80;
        n++;
    } while (v);
    buf_put(b, bytes, n);
}

static uint64_t zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

void buf_put_varint(struct buf *b, int64_t v)
{
    buf_put_uvarint(b, zigzag(v));
}

size_t uvarint_size(uint64_t v)
{
    size_t n = 1;
    while (v >>= 7)
        n++;
    return n;
}

size_t varint_size(int64_t v)
{
    return uvarint_size(zigzag(v));
}
