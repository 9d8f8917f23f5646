/* partition.metadata: the topic id of a partition's folder. */
#ifndef KLAMM_STORE_PARTITION_META_H
#define KLAMM_STORE_PARTITION_META_H

#include "base/err.h"
#include "base/uuid.h"

struct io;

/* ERR_NOT_FOUND; ERR_CORRUPT when it cannot be understood. `folder`: the partition's. */
enum err partition_meta_read(struct io *io, const char *folder, struct uuid *ret_id);
enum err partition_meta_write(struct io *io, const char *folder, const struct uuid *id);

#endif
