/* Snappy as Kafka carries it: the framing of the xerial library (a 16-byte header, then blocks of
 * big-endian length and raw snappy), or one raw snappy block. Used by record/compress.c only. */
#ifndef KLAMM_RECORD_XERIAL_H
#define KLAMM_RECORD_XERIAL_H

#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

struct xerial_reader {
    const uint8_t *at, *end;
    bool is_raw;
};

/* ERR_MALFORMED on empty input. */
enum err xerial_reader_init(struct xerial_reader *r, struct slice in);

/* The next block as a view of `scratch`, which this call clears and uses; size 0 = the end. Memory
 * follows the compressed size (snappy grows at most about 22 times). */
enum err xerial_reader_next(struct xerial_reader *r, struct buf *scratch, struct slice *ret_piece);

enum { XERIAL_BLOCK_SIZE = 32 * 1024 };

void xerial_write_header(struct buf *out);
/* One block of at most XERIAL_BLOCK_SIZE bytes. ERR_TOO_LARGE. */
enum err xerial_write_block(struct buf *out, struct slice in);

#endif
