/* LZ4 frames over the block functions of liblz4. The library's own frame API is not used: it costs
 * more than the decoding itself for batches of a kilobyte, accepts frames that Kafka refuses
 * (dependent blocks), and refuses the header checksum of old clients.
 *
 * Invariant: a block's length is compared with what remains and with the frame's maximum before
 * memory is taken; the memory for its output is at most 255 times its input.
 *
 * Called by record/compress.c on any thread. Frame layout: KIP-57. */
#include "record/lz4_frame.h"

#include <lz4.h>
#include <lz4hc.h>

enum {
    HEADER_SIZE_MIN = 7,
    FLAG_VERSION = 0x40,
    FLAG_VERSION_MASK = 0xc0,
    FLAG_INDEPENDENT = 0x20,
    FLAG_BLOCK_CHECKSUM = 0x10,
    FLAG_CONTENT_SIZE = 0x08,
    FLAG_RESERVED = 0x03,
    BLOCK_MAX_RESERVED = 0x8f,
    RATIO_MAX = 255, /* no LZ4 block grows more than this when decoded */
    LEVEL_FAST = 9,
};

static const uint32_t frame_magic = 0x184d2204;
static const uint32_t block_stored = 0x80000000;

static uint32_t le_u32(const uint8_t *p)
{
    return __builtin_bswap32(be_u32(p));
}

static uint32_t rotate(uint32_t v, int bits)
{
    return v << bits | v >> (32 - bits);
}

#define PRIME1 UINT32_C(2654435761)
#define PRIME2 UINT32_C(2246822519)
#define PRIME3 UINT32_C(3266489917)
#define PRIME4 UINT32_C(668265263)
#define PRIME5 UINT32_C(374761393)

uint32_t lz4_xxh32(const uint8_t *p, size_t size)
{
    const uint8_t *end = p + size;
    uint32_t h = PRIME5;
    if (size >= 16) {
        uint32_t lane[4] = {PRIME1 + PRIME2, PRIME2, 0, 0 - PRIME1};
        for (; end - p >= 16; p += 16) {
            for (int i = 0; i < 4; i++)
                lane[i] = rotate(lane[i] + le_u32(p + 4 * i) * PRIME2, 13) * PRIME1;
        }
        h = rotate(lane[0], 1) + rotate(lane[1], 7) + rotate(lane[2], 12) + rotate(lane[3], 18);
    }
    h += (uint32_t)size;
    for (; end - p >= 4; p += 4)
        h = rotate(h + le_u32(p) * PRIME3, 17) * PRIME4;
    for (; p < end; p++)
        h = rotate(h + *p * PRIME5, 11) * PRIME1;
    h = (h ^ h >> 15) * PRIME2;
    h = (h ^ h >> 13) * PRIME3;
    return h ^ h >> 16;
}

enum err lz4_reader_init(struct lz4_reader *r, struct slice in, bool any_checksum)
{
    if (in.size < HEADER_SIZE_MIN || le_u32(in.data) != frame_magic)
        return ERR_MALFORMED;
    uint8_t flags = in.data[4], block_max = in.data[5];
    if ((flags & FLAG_VERSION_MASK) != FLAG_VERSION || (flags & FLAG_RESERVED) ||
        !(flags & FLAG_INDEPENDENT))
        return ERR_MALFORMED;
    if ((block_max & BLOCK_MAX_RESERVED) || block_max >> 4 < 4)
        return ERR_MALFORMED;
    size_t header_size = HEADER_SIZE_MIN + (flags & FLAG_CONTENT_SIZE ? 8u : 0u);
    if (in.size < header_size)
        return ERR_MALFORMED;
    uint8_t checksum = (uint8_t)(lz4_xxh32(in.data + 4, header_size - 5) >> 8);
    if (!any_checksum && in.data[header_size - 1] != checksum)
        return ERR_MALFORMED;
    *r = (struct lz4_reader){
        .at = in.data + header_size,
        .end = in.data + in.size,
        .block_size_max = UINT32_C(1) << (8 + 2 * (block_max >> 4)),
        .has_block_checksum = flags & FLAG_BLOCK_CHECKSUM,
    };
    return ERR_NONE;
}

static enum err read_block(struct lz4_reader *r, struct buf *scratch, size_t size, bool is_stored,
                           struct slice *ret_piece)
{
    if (is_stored) {
        *ret_piece = slice_of(r->at, size);
        return ERR_NONE;
    }
    size_t size_max = size * RATIO_MAX;
    if (size_max > r->block_size_max)
        size_max = r->block_size_max;
    buf_clear(scratch);
    if (!buf_reserve(scratch, size_max))
        return ERR_NO_MEMORY;
    int got =
        LZ4_decompress_safe((const char *)r->at, (char *)scratch->data, (int)size, (int)size_max);
    if (got < 0)
        return ERR_MALFORMED;
    scratch->size = (size_t)got;
    *ret_piece = buf_slice(scratch);
    return ERR_NONE;
}

enum err lz4_reader_next(struct lz4_reader *r, struct buf *scratch, struct slice *ret_piece)
{
    struct slice piece = {r->end, 0};
    while (!r->is_done && !piece.size) {
        if (r->end - r->at < 4)
            return ERR_MALFORMED;
        uint32_t head = le_u32(r->at);
        size_t size = head & ~block_stored;
        r->at += 4;
        if (!size) { /* the end mark; a content checksum behind it is not looked at, as in Kafka */
            r->is_done = true;
            break;
        }
        size_t left = (size_t)(r->end - r->at), tail = r->has_block_checksum ? 4 : 0;
        if (size > r->block_size_max || size > left || tail > left - size)
            return ERR_MALFORMED;
        if (tail && lz4_xxh32(r->at, size) != le_u32(r->at + size))
            return ERR_MALFORMED;
        enum err err = read_block(r, scratch, size, head & block_stored, &piece);
        if (err)
            return err;
        r->at += size + tail;
    }
    *ret_piece = piece;
    return ERR_NONE;
}

void lz4_write_header(struct buf *out)
{
    static const uint8_t header[] = {0x04, 0x22, 0x4d, 0x18, FLAG_VERSION | FLAG_INDEPENDENT,
                                     0x40, 0x82};
    buf_put(out, header, sizeof header);
}

static void put_le_u32(struct buf *out, uint32_t v)
{
    buf_put_i32(out, (int32_t)__builtin_bswap32(v));
}

enum err lz4_write_block(struct buf *out, struct slice in, int level)
{
    size_t from = out->size;
    int bound = LZ4_compressBound((int)in.size);
    put_le_u32(out, 0);
    if (out->failed)
        return ERR_TOO_LARGE;
    if (!buf_reserve(out, (size_t)bound)) {
        /* Near size_max: the block may still fit, compressed or not; find out on the side. */
        if (!out->size_max || out->size_max - out->size < in.size)
            return ERR_TOO_LARGE;
        out->failed = false;
        bound = (int)in.size;
        if (!buf_reserve(out, in.size))
            return ERR_TOO_LARGE;
    }
    const char *source = (const char *)in.data;
    char *target = (char *)out->data + out->size;
    int got = level == LEVEL_FAST ? LZ4_compress_default(source, target, (int)in.size, bound)
                                  : LZ4_compress_HC(source, target, (int)in.size, bound, level);
    uint32_t head = (uint32_t)got;
    if (got <= 0 || (size_t)got >= in.size) {
        memcpy(target, in.data, in.size);
        got = (int)in.size;
        head = (uint32_t)got | block_stored;
    }
    out->size += (size_t)got;
    be_put_u32(out->data + from, __builtin_bswap32(head));
    return ERR_NONE;
}

void lz4_write_end(struct buf *out)
{
    put_le_u32(out, 0);
}
