/* Xerial snappy framing. Streams may follow each other (each with its header); a tail of less than
 * four bytes is ignored, both as the Java library does it. Raw snappy without framing is what some
 * clients send and Kafka accepts.
 *
 * Invariant: no block is decoded into more memory than its own size can explain.
 *
 * Called by record/compress.c on any thread. */
#include "record/xerial.h"

#include <snappy-c.h>

static const uint8_t header[16] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1};

enum {
    MAGIC_SIZE = 8,
    RATIO_MAX = 22, /* three bytes copy at most 64 */
    SLACK = 64,
};

static bool at_header(const struct xerial_reader *r)
{
    return (size_t)(r->end - r->at) >= sizeof header && memcmp(r->at, header, MAGIC_SIZE) == 0;
}

enum err xerial_reader_init(struct xerial_reader *r, struct slice in)
{
    if (!in.size)
        return ERR_MALFORMED;
    struct xerial_reader fresh = {.at = in.data, .end = in.data + in.size};
    fresh.is_raw = !at_header(&fresh);
    *r = fresh;
    return ERR_NONE;
}

static enum err read_block(const uint8_t *data, size_t size, struct buf *scratch)
{
    size_t size_out;
    if (snappy_uncompressed_length((const char *)data, size, &size_out) != SNAPPY_OK ||
        size_out > size * RATIO_MAX + SLACK)
        return ERR_MALFORMED;
    buf_clear(scratch);
    if (!buf_reserve(scratch, size_out ? size_out : 1))
        return ERR_NO_MEMORY;
    if (snappy_uncompress((const char *)data, size, (char *)scratch->data, &size_out) != SNAPPY_OK)
        return ERR_MALFORMED;
    scratch->size = size_out;
    return ERR_NONE;
}

enum err xerial_reader_next(struct xerial_reader *r, struct buf *scratch, struct slice *ret_piece)
{
    buf_clear(scratch);
    while (!scratch->size) {
        if (!r->is_raw && at_header(r))
            r->at += sizeof header;
        size_t left = (size_t)(r->end - r->at), size = left;
        if (!r->is_raw) {
            if (left < 4)
                break;
            size = be_u32(r->at);
            if (size > left - 4)
                return ERR_MALFORMED;
            r->at += 4;
        } else if (!left) {
            break;
        }
        enum err err = read_block(r->at, size, scratch);
        if (err)
            return err;
        r->at += size;
    }
    *ret_piece = buf_slice(scratch);
    return ERR_NONE;
}

void xerial_write_header(struct buf *out)
{
    buf_put(out, header, sizeof header);
}

enum err xerial_write_block(struct buf *out, struct slice in)
{
    size_t from = out->size, size = snappy_max_compressed_length(in.size);
    buf_put_i32(out, 0);
    if (!buf_reserve(out, size))
        return ERR_TOO_LARGE;
    snappy_compress((const char *)in.data, in.size, (char *)out->data + out->size, &size);
    out->size += size;
    be_put_u32(out->data + from, (uint32_t)size);
    return ERR_NONE;
}
