/* Producer snapshot files: the producer state of a log up to the offset in the file's name. */
#ifndef KLAMM_STORE_PRODUCER_SNAPSHOT_H
#define KLAMM_STORE_PRODUCER_SNAPSHOT_H

#include "store/producer_state.h"

struct buf;
struct io;
struct slice;

/* File bytes to state: adds those producers that have an open transaction or
 * wrote after now_ms - expiry_ms. ERR_CORRUPT leaves the state cleared. */
enum err producer_snapshot_decode(struct slice bytes, int64_t now_ms, int64_t expiry_ms,
                                  struct producer_state *state);

/* "FOLDER/00000000000000000000.snapshot". */
enum err producer_snapshot_write(struct io *io, const char *folder, int64_t offset,
                                 const struct producer_state *state);
enum err producer_snapshot_read(struct io *io, const char *folder, int64_t offset, int64_t now_ms,
                                int64_t expiry_ms, struct producer_state *state);
enum err producer_snapshot_delete(struct io *io, const char *folder, int64_t offset);

#endif
