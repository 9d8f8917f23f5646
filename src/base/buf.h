/* A growable run of bytes that its holder owns; writers append big-endian. Growth doubles. With
 * size_max set, an append beyond it is dropped and `failed` is set (sticky, checked once). */
#ifndef KLAMM_BASE_BUF_H
#define KLAMM_BASE_BUF_H

#include "base/be.h"
#include "base/slice.h"

struct buf {
    uint8_t *data;
    size_t size;     /* bytes written */
    size_t capacity; /* bytes owned */
    size_t size_max; /* 0 = no limit */
    bool failed;
};

void buf_init(struct buf *b);
void buf_fini(struct buf *b);
void buf_clear(struct buf *b); /* keeps the memory */

/* Room for `size` more bytes at the end, counted as written; NULL when failed. */
uint8_t *buf_extend(struct buf *b, size_t size);
/* Makes room without counting it as written. */
bool buf_reserve(struct buf *b, size_t size);

void buf_put(struct buf *b, const void *data, size_t size);
void buf_put_slice(struct buf *b, struct slice s);
void buf_put_str(struct buf *b, const char *text); /* without its NUL */
void buf_printf(struct buf *b, const char *format, ...)
    __attribute__((format(printf, 2, 3), nonnull(2)));

void buf_put_i8(struct buf *b, int8_t v);
void buf_put_i16(struct buf *b, int16_t v);
void buf_put_i32(struct buf *b, int32_t v);
void buf_put_i64(struct buf *b, int64_t v);
void buf_put_uvarint(struct buf *b, uint64_t v); /* unsigned LEB128 */
void buf_put_varint(struct buf *b, int64_t v);   /* zigzag, then LEB128; 32- and 64-bit values */

static inline struct slice buf_slice(const struct buf *b)
{
    return (struct slice){b->data ? b->data : (const uint8_t *)"", b->size};
}

/* Bytes that buf_put_uvarint and buf_put_varint write. */
size_t uvarint_size(uint64_t v);
size_t varint_size(int64_t v);

#endif
