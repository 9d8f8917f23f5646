/* The LZ4 frame format as far as Kafka uses it: independent blocks, optional block checksums; one
 * frame, and what follows it is ignored. Used by record/compress.c only. */
#ifndef KLAMM_RECORD_LZ4_FRAME_H
#define KLAMM_RECORD_LZ4_FRAME_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

/* XXH32 with seed 0, the checksum of frame headers and blocks. */
uint32_t lz4_xxh32(const uint8_t *data, size_t size);

struct lz4_reader {
    const uint8_t *at, *end;
    uint32_t block_size_max;
    bool has_block_checksum;
    bool is_done;
};

/* Reads the frame header. ERR_MALFORMED: no such frame, dependent blocks, reserved bits, or (unless
 * any_checksum) a wrong header checksum. */
enum err lz4_reader_init(struct lz4_reader *r, struct slice in, bool any_checksum);

/* The next block as a view of `scratch` (cleared and used by this call) or of the input; size 0 =
 * the end. Memory follows the compressed size, at most 4 MiB. */
enum err lz4_reader_next(struct lz4_reader *r, struct buf *scratch, struct slice *ret_piece);

enum { LZ4_BLOCK_SIZE = 64 * 1024 };

/* The 7 bytes that open a frame of 64 KiB blocks without checksums. */
void lz4_write_header(struct buf *out);
/* One block of at most LZ4_BLOCK_SIZE bytes. `level` 9 is the fast compressor, as in Kafka, others
 * the high one. ERR_NO_MEMORY. */
enum err lz4_write_block(struct buf *out, struct slice in, int level);
void lz4_write_end(struct buf *out);

#endif
