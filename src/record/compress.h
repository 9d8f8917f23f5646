/* Compression as record batches carry it, in both directions and as streams: a decoder hands out
 * its output in pieces that it bounds itself (so a bomb costs time in proportion to its output, but
 * no memory), an encoder appends to a buf whose size_max bounds it.
 *
 * gzip: RFC 1952. snappy: xerial framing; raw snappy is read too. lz4: frames of independent
 * blocks. zstd: frames.
 *
 * Contexts of the libraries and scratch memory are kept for reuse, at most one of a kind per
 * thread, until it ends (base/thread_exit.h). Decoders and encoders are not shared
 * between threads and are closed on the thread that opened them. */
#ifndef KLAMM_RECORD_COMPRESS_H
#define KLAMM_RECORD_COMPRESS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "record/codec.h"

/* Kafka's default level of a codec: gzip -1, lz4 9, zstd 3; 0 for those that have none. */
int codec_level_default(enum codec codec);

/* ---- decoding ---------------------------------------------------------------------------- */

struct decoder;

enum {
    /* lz4 frames of magic 0 message sets: the checksum of the frame header was computed wrongly by
     * old clients, and is not looked at. */
    DECODER_LZ4_ANY_HEADER_CHECKSUM = 1,
};

/* Starts decoding `in`, which must stay in place until decoder_close. CODEC_NONE gives `in` back.
 * ERR_NO_MEMORY; ERR_ARGUMENT for an unknown codec. */
enum err decoder_open(enum codec codec, struct slice in, unsigned flags, struct decoder **ret_d);

/* The next piece of output, never empty until the end; size 0 = the end. The piece stays valid
 * until the next call with this decoder. ERR_MALFORMED: not what the codec writes, or it ends
 * early. ERR_NO_MEMORY. After an error the decoder can only be closed. */
enum err decoder_next(struct decoder *d, struct slice *ret_piece);

/* Accepts NULL. */
void decoder_close(struct decoder *d);

/* ---- encoding ---------------------------------------------------------------------------- */

struct encoder;

/* Output is appended to `out`, which the caller keeps and does not touch until encoder_finish.
 * `level` as in Kafka's configs (codec_level_default). CODEC_NONE copies.
 * ERR_NO_MEMORY; ERR_ARGUMENT for an unknown codec. */
enum err encoder_open(enum codec codec, int level, struct buf *out, struct encoder **ret_e);

/* ERR_TOO_LARGE once out->size_max is passed. */
enum err encoder_write(struct encoder *e, struct slice in);

/* Ends the stream and closes the encoder, also on failure. ERR_TOO_LARGE. */
enum err encoder_finish(struct encoder *e);

/* Gives up an encoder; accepts NULL. What was appended stays. */
void encoder_close(struct encoder *e);

#endif
