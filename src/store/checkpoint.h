/* The text checkpoints of a log folder: "TOPIC PARTITION OFFSET" lines under a version and a count.
 * One object is either read (checkpoint_read, then checkpoint_get) or filled and written
 * (checkpoint_put, then checkpoint_write). Not locked; its holder's lock covers it. */
#ifndef KLAMM_STORE_CHECKPOINT_H
#define KLAMM_STORE_CHECKPOINT_H

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"

struct io;

#define CHECKPOINT_RECOVERY_POINT "recovery-point-offset-checkpoint"
#define CHECKPOINT_LOG_START      "log-start-offset-checkpoint"
#define CHECKPOINT_HIGH_WATERMARK "replication-offset-checkpoint"
#define CHECKPOINT_CLEANER        "cleaner-offset-checkpoint"

struct checkpoint {
    struct buf text; /* what was read, or the lines to write */
    uint32_t count;
    int64_t *offsets;   /* of what was read */
    struct map entries; /* "TOPIC PARTITION" -> one of offsets */
};

void checkpoint_init(struct checkpoint *checkpoint);
void checkpoint_fini(struct checkpoint *checkpoint);

/* An absent file gives an empty checkpoint. ERR_CORRUPT leaves it empty. */
enum err checkpoint_read(struct checkpoint *checkpoint, struct io *io, const char *folder,
                         const char *name);
bool checkpoint_get(const struct checkpoint *checkpoint, struct slice topic, int32_t partition,
                    int64_t *ret_offset);

void checkpoint_put(struct checkpoint *checkpoint, struct slice topic, int32_t partition,
                    int64_t offset);
/* Replaces the file. */
enum err checkpoint_write(const struct checkpoint *checkpoint, struct io *io, const char *folder,
                          const char *name, bool sync);

/* Walks the lines of such a file's text: checks version and count, and calls `line` for each line
 * (split at its blanks into 2 or 3 fields). ERR_CORRUPT when the text or `line` (false) says so. */
enum err checkpoint_parse(struct slice text, int fields,
                          bool (*line)(void *context, const struct slice *field, uint32_t index),
                          void *context);

#endif
