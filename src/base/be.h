/* Big-endian loads and stores at any alignment. The caller has checked the bounds. */
#ifndef KLAMM_BASE_BE_H
#define KLAMM_BASE_BE_H

#include <stdint.h>
#include <string.h>

static inline uint16_t be_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap16(v);
}

static inline uint32_t be_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap32(v);
}

static inline uint64_t be_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return __builtin_bswap64(v);
}

static inline int16_t be_i16(const uint8_t *p)
{
    return (int16_t)be_u16(p);
}

static inline int32_t be_i32(const uint8_t *p)
{
    return (int32_t)be_u32(p);
}

static inline int64_t be_i64(const uint8_t *p)
{
    return (int64_t)be_u64(p);
}

static inline void be_put_u16(uint8_t *p, uint16_t v)
{
    v = __builtin_bswap16(v);
    memcpy(p, &v, sizeof v);
}

static inline void be_put_u32(uint8_t *p, uint32_t v)
{
    v = __builtin_bswap32(v);
    memcpy(p, &v, sizeof v);
}

static inline void be_put_u64(uint8_t *p, uint64_t v)
{
    v = __builtin_bswap64(v);
    memcpy(p, &v, sizeof v);
}

static inline void be_put_i16(uint8_t *p, int16_t v)
{
    be_put_u16(p, (uint16_t)v);
}

static inline void be_put_i32(uint8_t *p, int32_t v)
{
    be_put_u32(p, (uint32_t)v);
}

static inline void be_put_i64(uint8_t *p, int64_t v)
{
    be_put_u64(p, (uint64_t)v);
}

#endif
