/* The leader epochs of a log: at which offset each epoch began (leader-epoch-checkpoint). Pure
 * memory but for read and write; under the log's lock. Epochs and offsets strictly rise. */
#ifndef KLAMM_STORE_LEADER_EPOCHS_H
#define KLAMM_STORE_LEADER_EPOCHS_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct io;

struct leader_epoch {
    int32_t epoch;
    int64_t offset_first;
};

struct leader_epochs {
    struct leader_epoch *entries;
    uint32_t count, capacity;
    /* Of what the file should hold, and of what is there. */
    uint32_t version, version_written;
    bool last_is_empty; /* the last entry has no batch yet, and the file need not have it */
};

void leader_epochs_init(struct leader_epochs *epochs);
void leader_epochs_fini(struct leader_epochs *epochs);

/* ERR_NOT_FOUND, ERR_CORRUPT: empty. `folder`: the partition's. */
enum err leader_epochs_read(struct leader_epochs *epochs, struct io *io, const char *folder);
/* The file's text. */
void leader_epochs_encode(const struct leader_epochs *epochs, struct buf *out);
static inline bool leader_epochs_dirty(const struct leader_epochs *epochs)
{
    return epochs->version != epochs->version_written;
}

/* A batch at `offset` is of `epoch`. Entries at or above either are dropped first, as Kafka does;
 * an epoch that is the latest already changes nothing. */
void leader_epochs_assign(struct leader_epochs *epochs, int32_t epoch, int64_t offset);
/* The same for an epoch that begins at the log's end and has no batch yet. */
void leader_epochs_begin(struct leader_epochs *epochs, int32_t epoch, int64_t offset);
int32_t leader_epochs_latest(const struct leader_epochs *epochs);             /* -1: none */
int32_t leader_epochs_at(const struct leader_epochs *epochs, int64_t offset); /* -1: unknown */
/* The largest epoch <= `epoch` and where it ends (`log_end` for the latest); (-1, -1) unknown. */
void leader_epochs_end(const struct leader_epochs *epochs, int32_t epoch, int64_t log_end,
                       int32_t *ret_epoch, int64_t *ret_end);
/* The log now ends / starts at `offset`. */
void leader_epochs_truncate_end(struct leader_epochs *epochs, int64_t offset);
void leader_epochs_truncate_start(struct leader_epochs *epochs, int64_t offset);
void leader_epochs_clear(struct leader_epochs *epochs);

#endif
