/* The four codecs behind one streaming interface. lz4 and snappy come in blocks, which are handed
 * out as they are decoded; gzip (igzip of ISA-L, which decodes more than twice as fast as zlib) and
 * zstd write into a scratch piece of fixed size.
 *
 * Invariant: what a decoder holds follows the size of its input and a constant, never what the
 * input announces; zstd windows are bounded by the library's default of 128 MiB, as in Kafka.
 *
 * Called by the record iterators and the validator on loops and workers. One closed decoder and
 * encoder of each codec is kept per thread until it ends (base/thread_exit.h): setting the
 * contexts up costs more than a small batch does. Levels and framing are those of Kafka (KIP-390,
 * KIP-110). */
#include "record/compress.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "base/thread_exit.h"
#include "record/lz4_frame.h"
#include "record/xerial.h"

#include <isa-l/igzip_lib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

enum {
    SCRATCH_SIZE = 64 * 1024,      /* a piece of gzip or zstd output */
    SCRATCH_KEPT_MAX = 256 * 1024, /* block codecs: what a kept decoder may hold on to */
    ZSTD_KEPT_MAX = 4 * 1024 * 1024,
    GZIP_WINDOW_BITS = 15 + 16, /* zlib: the largest window, gzip wrapper */
    GZIP_MEMORY_LEVEL = 8,
    GZIP_OS_UNKNOWN = 255, /* what Java writes: the same bytes then come out */
};

struct decoder {
    enum codec codec;
    struct slice in;
    size_t at; /* gzip, zstd: bytes of in consumed */
    bool is_done;
    size_t pending; /* zstd: what the library wants next; 0 = between frames */
    struct buf scratch;
    union {
        struct inflate_state *gzip;
        ZSTD_DCtx *zstd;
        struct lz4_reader lz4;
        struct xerial_reader snappy;
    };
};

struct encoder {
    enum codec codec;
    gz_header gzip_header;
    int level;
    struct buf *out;
    struct buf pending; /* lz4, snappy: a block being filled */
    size_t block_size;
    union {
        z_stream *gzip;
        ZSTD_CCtx *zstd;
    };
};

static _Thread_local struct decoder *kept_decoders[CODEC_COUNT];
static _Thread_local struct encoder *kept_encoders[CODEC_COUNT];

static void free_kept(void);
static _Thread_local struct thread_exit kept_exit = {.run = free_kept};

int codec_level_default(enum codec codec)
{
    switch (codec) {
    case CODEC_GZIP: return Z_DEFAULT_COMPRESSION;
    case CODEC_LZ4: return 9;
    case CODEC_ZSTD: return 3;
    case CODEC_NONE:
    case CODEC_SNAPPY: break;
    }
    return 0;
}

/* ---- decoding ---------------------------------------------------------------------------- */

static void decoder_free(struct decoder *d)
{
    if (!d)
        return;
    if (d->codec == CODEC_GZIP)
        mem_free(d->gzip);
    else if (d->codec == CODEC_ZSTD)
        ZSTD_freeDCtx(d->zstd);
    buf_fini(&d->scratch);
    mem_free(d);
}

static struct decoder *decoder_new(enum codec codec)
{
    struct decoder *d = mem_zalloc(sizeof *d);
    d->codec = codec;
    bool is_ready = true;
    if (codec == CODEC_GZIP) {
        d->gzip = mem_try_alloc(sizeof *d->gzip);
        is_ready = d->gzip != NULL;
    } else if (codec == CODEC_ZSTD) {
        d->zstd = ZSTD_createDCtx();
        is_ready = d->zstd != NULL;
    }
    if (codec == CODEC_GZIP || codec == CODEC_ZSTD)
        buf_reserve(&d->scratch, SCRATCH_SIZE);
    if (!is_ready) {
        decoder_free(d);
        return NULL;
    }
    return d;
}

static void gzip_begin_member(struct decoder *d)
{
    isal_inflate_reset(d->gzip);
    d->gzip->crc_flag = ISAL_GZIP;
}

static enum err decoder_start(struct decoder *d, unsigned flags)
{
    d->at = 0;
    d->is_done = false;
    d->pending = 0;
    switch (d->codec) {
    case CODEC_GZIP:
        if (d->in.size > UINT32_MAX)
            return ERR_MALFORMED;
        isal_inflate_init(d->gzip);
        gzip_begin_member(d);
        d->gzip->next_in = (uint8_t *)(uintptr_t)d->in.data;
        d->gzip->avail_in = (uint32_t)d->in.size;
        return ERR_NONE;
    case CODEC_ZSTD: ZSTD_DCtx_reset(d->zstd, ZSTD_reset_session_only); return ERR_NONE;
    case CODEC_LZ4: return lz4_reader_init(&d->lz4, d->in, flags & DECODER_LZ4_ANY_HEADER_CHECKSUM);
    case CODEC_SNAPPY: return xerial_reader_init(&d->snappy, d->in);
    case CODEC_NONE: break;
    }
    return ERR_NONE;
}

enum err decoder_open(enum codec codec, struct slice in, unsigned flags, struct decoder **ret_d)
{
    if ((unsigned)codec >= CODEC_COUNT)
        return ERR_ARGUMENT;
    struct decoder *d = kept_decoders[codec];
    kept_decoders[codec] = NULL;
    if (!d)
        d = decoder_new(codec);
    if (!d)
        return ERR_NO_MEMORY;
    d->in = in;
    enum err err = decoder_start(d, flags);
    if (err) {
        decoder_close(d);
        return err;
    }
    *ret_d = d;
    return ERR_NONE;
}

/* Java reads members until what follows is none; such a tail is ignored. */
static bool gzip_has_member(const struct decoder *d)
{
    const struct inflate_state *s = d->gzip;
    return s->avail_in >= 18 && s->next_in[0] == 0x1f && s->next_in[1] == 0x8b;
}

static enum err gzip_next(struct decoder *d, struct slice *ret_piece)
{
    struct inflate_state *s = d->gzip;
    s->next_out = d->scratch.data;
    s->avail_out = SCRATCH_SIZE;
    while (!d->is_done && s->avail_out == SCRATCH_SIZE) {
        uint32_t left = s->avail_in;
        int result = isal_inflate(s);
        if (result != ISAL_DECOMP_OK && result != ISAL_END_INPUT)
            return ERR_MALFORMED;
        if (s->block_state == ISAL_BLOCK_FINISH) {
            if (gzip_has_member(d))
                gzip_begin_member(d);
            else
                d->is_done = true;
        } else if (s->avail_out == SCRATCH_SIZE && s->avail_in == left) {
            return ERR_MALFORMED; /* it wants more input, and there is none */
        }
    }
    *ret_piece = slice_of(d->scratch.data, SCRATCH_SIZE - s->avail_out);
    return ERR_NONE;
}

static enum err zstd_next(struct decoder *d, struct slice *ret_piece)
{
    ZSTD_inBuffer in = {d->in.data, d->in.size, d->at};
    ZSTD_outBuffer out = {d->scratch.data, SCRATCH_SIZE, 0};
    while (!out.pos) {
        if (in.pos == in.size && !d->pending)
            break;
        size_t before = in.pos;
        size_t result = ZSTD_decompressStream(d->zstd, &out, &in);
        if (ZSTD_isError(result))
            return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? ERR_NO_MEMORY
                                                                             : ERR_MALFORMED;
        d->pending = result;
        if (result && !out.pos && in.pos == before)
            return ERR_MALFORMED; /* it wants more input, and there is none */
    }
    d->at = in.pos;
    *ret_piece = slice_of(d->scratch.data, out.pos);
    return ERR_NONE;
}

static enum err none_next(struct decoder *d, struct slice *ret_piece)
{
    *ret_piece = slice_of(d->in.data + d->at, d->in.size - d->at);
    d->at = d->in.size;
    return ERR_NONE;
}

enum err decoder_next(struct decoder *d, struct slice *ret_piece)
{
    switch (d->codec) {
    case CODEC_NONE: return none_next(d, ret_piece);
    case CODEC_GZIP: return gzip_next(d, ret_piece);
    case CODEC_SNAPPY: return xerial_reader_next(&d->snappy, &d->scratch, ret_piece);
    case CODEC_LZ4: return lz4_reader_next(&d->lz4, &d->scratch, ret_piece);
    case CODEC_ZSTD: return zstd_next(d, ret_piece);
    }
    return ERR_ARGUMENT;
}

void decoder_close(struct decoder *d)
{
    if (!d)
        return;
    bool is_large = d->codec == CODEC_ZSTD ? ZSTD_sizeof_DCtx(d->zstd) > ZSTD_KEPT_MAX
                                           : d->scratch.capacity > SCRATCH_KEPT_MAX;
    if (kept_decoders[d->codec] || is_large) {
        decoder_free(d);
        return;
    }
    kept_decoders[d->codec] = d;
    thread_exit_add(&kept_exit);
}

/* ---- encoding ---------------------------------------------------------------------------- */

static void encoder_free(struct encoder *e)
{
    if (!e)
        return;
    if (e->codec == CODEC_GZIP && e->gzip) {
        deflateEnd(e->gzip);
        mem_free(e->gzip);
    } else if (e->codec == CODEC_ZSTD) {
        ZSTD_freeCCtx(e->zstd);
    }
    buf_fini(&e->pending);
    mem_free(e);
}

static enum err gzip_open(struct encoder *e)
{
    e->gzip = mem_zalloc(sizeof *e->gzip);
    if (deflateInit2(e->gzip, e->level, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) == Z_OK)
        return ERR_NONE;
    mem_free(e->gzip);
    e->gzip = NULL;
    return ERR_NO_MEMORY;
}

static enum err encoder_new(enum codec codec, int level, struct encoder **ret_e)
{
    struct encoder *e = mem_zalloc(sizeof *e);
    enum err err = ERR_NONE;
    e->codec = codec;
    e->level = level;
    switch (codec) {
    case CODEC_GZIP: err = gzip_open(e); break;
    case CODEC_ZSTD:
        e->zstd = ZSTD_createCCtx();
        err = e->zstd ? ERR_NONE : ERR_NO_MEMORY;
        break;
    case CODEC_LZ4: e->block_size = LZ4_BLOCK_SIZE; break;
    case CODEC_SNAPPY: e->block_size = XERIAL_BLOCK_SIZE; break;
    case CODEC_NONE: break;
    }
    if (err) {
        encoder_free(e);
        return err;
    }
    *ret_e = e;
    return ERR_NONE;
}

/* Frees what this thread keeps for reuse. */
static void free_kept(void)
{
    for (int i = 0; i < CODEC_COUNT; i++) {
        decoder_free(kept_decoders[i]);
        encoder_free(kept_encoders[i]);
        kept_decoders[i] = NULL;
        kept_encoders[i] = NULL;
    }
}

/* Makes a kept or new encoder ready for a stream. */
static void encoder_start(struct encoder *e, struct buf *out)
{
    e->out = out;
    buf_clear(&e->pending);
    switch (e->codec) {
    case CODEC_GZIP:
        deflateReset(e->gzip);
        e->gzip_header = (gz_header){.os = GZIP_OS_UNKNOWN};
        deflateSetHeader(e->gzip, &e->gzip_header);
        break;
    case CODEC_ZSTD:
        ZSTD_CCtx_reset(e->zstd, ZSTD_reset_session_only);
        ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, e->level);
        break;
    case CODEC_LZ4: lz4_write_header(out); break;
    case CODEC_SNAPPY: xerial_write_header(out); break;
    case CODEC_NONE: break;
    }
}

enum err encoder_open(enum codec codec, int level, struct buf *out, struct encoder **ret_e)
{
    if ((unsigned)codec >= CODEC_COUNT)
        return ERR_ARGUMENT;
    struct encoder *e = kept_encoders[codec];
    kept_encoders[codec] = NULL;
    if (e && codec == CODEC_GZIP && e->level != level) {
        encoder_free(e);
        e = NULL;
    }
    if (!e) {
        enum err err = encoder_new(codec, level, &e);
        if (err)
            return err;
    }
    e->level = level;
    encoder_start(e, out);
    *ret_e = e;
    return ERR_NONE;
}

/* Room at the end of `out` for the next piece of a stream; what of it was used is added to size by
 * the caller. False at size_max. */
static bool reserve_piece(struct buf *out)
{
    if (out->failed)
        return false;
    size_t room = 4096;
    if (out->size_max && out->size_max - out->size < room)
        room = out->size_max - out->size;
    if (!room) {
        out->failed = true;
        return false;
    }
    return buf_reserve(out, room);
}

static enum err gzip_write(struct encoder *e, struct slice in, bool is_end)
{
    z_stream *z = e->gzip;
    struct buf *out = e->out;
    for (;;) {
        uInt part = in.size > (1u << 30) ? 1u << 30 : (uInt)in.size;
        bool is_last = part == in.size;
        if (!part && !is_end)
            return ERR_NONE;
        if (!reserve_piece(out))
            return ERR_TOO_LARGE;
        size_t room = out->capacity - out->size;
        z->next_in = (Bytef *)(uintptr_t)in.data;
        z->avail_in = part;
        z->next_out = out->data + out->size;
        z->avail_out = room > UINT32_MAX ? UINT32_MAX : (uInt)room;
        uInt before = z->avail_out;
        int result = deflate(z, is_end && is_last ? Z_FINISH : Z_NO_FLUSH);
        ENSURE(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR);
        out->size += before - z->avail_out;
        in.data += part - z->avail_in;
        in.size -= part - z->avail_in;
        if (result == Z_STREAM_END)
            return ERR_NONE;
    }
}

static enum err zstd_write(struct encoder *e, struct slice slice, bool is_end)
{
    ZSTD_inBuffer in = {slice.data, slice.size, 0};
    struct buf *out = e->out;
    for (;;) {
        if (!reserve_piece(out))
            return ERR_TOO_LARGE;
        ZSTD_outBuffer piece = {out->data + out->size, out->capacity - out->size, 0};
        size_t result =
            ZSTD_compressStream2(e->zstd, &piece, &in, is_end ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(result))
            return ERR_NO_MEMORY;
        out->size += piece.pos;
        if (is_end ? result == 0 : in.pos == in.size)
            return ERR_NONE;
    }
}

static enum err write_block(struct encoder *e, struct slice block)
{
    return e->codec == CODEC_LZ4 ? lz4_write_block(e->out, block, e->level)
                                 : xerial_write_block(e->out, block);
}

static enum err block_write(struct encoder *e, struct slice in)
{
    enum err err = ERR_NONE;
    while (in.size && !err) {
        size_t part = e->block_size - e->pending.size;
        part = part < in.size ? part : in.size;
        if (part == e->block_size) { /* whole blocks need no copy */
            err = write_block(e, slice_of(in.data, part));
        } else {
            buf_put(&e->pending, in.data, part);
            if (e->pending.size == e->block_size) {
                err = write_block(e, buf_slice(&e->pending));
                buf_clear(&e->pending);
            }
        }
        in.data += part;
        in.size -= part;
    }
    return err;
}

enum err encoder_write(struct encoder *e, struct slice in)
{
    switch (e->codec) {
    case CODEC_NONE: buf_put_slice(e->out, in); return e->out->failed ? ERR_TOO_LARGE : ERR_NONE;
    case CODEC_GZIP: return gzip_write(e, in, false);
    case CODEC_ZSTD: return zstd_write(e, in, false);
    case CODEC_LZ4:
    case CODEC_SNAPPY: return block_write(e, in);
    }
    return ERR_ARGUMENT;
}

static enum err finish(struct encoder *e)
{
    struct slice empty = {(const uint8_t *)"", 0};
    enum err err = ERR_NONE;
    switch (e->codec) {
    case CODEC_NONE: break;
    case CODEC_GZIP: err = gzip_write(e, empty, true); break;
    case CODEC_ZSTD: err = zstd_write(e, empty, true); break;
    case CODEC_LZ4:
    case CODEC_SNAPPY:
        if (e->pending.size)
            err = write_block(e, buf_slice(&e->pending));
        if (!err && e->codec == CODEC_LZ4)
            lz4_write_end(e->out);
        break;
    }
    return err ? err : e->out->failed ? ERR_TOO_LARGE : ERR_NONE;
}

enum err encoder_finish(struct encoder *e)
{
    enum err err = finish(e);
    encoder_close(e);
    return err;
}

void encoder_close(struct encoder *e)
{
    if (!e)
        return;
    bool is_large = e->codec == CODEC_ZSTD && ZSTD_sizeof_CCtx(e->zstd) > ZSTD_KEPT_MAX;
    if (kept_encoders[e->codec] || is_large) {
        encoder_free(e);
        return;
    }
    kept_encoders[e->codec] = e;
    thread_exit_add(&kept_exit);
}
