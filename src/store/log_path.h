/* The folder of one partition, shared by its log, the segments and the jobs that outlive either. It
 * is renamed while files in it are in use: when the partition is deleted, or its log takes the
 * place of another one. A new partition may then get the old name, so a job that works by name
 * without the log's lock does so under this one: it finds its own folder or none. */
#ifndef KLAMM_STORE_LOG_PATH_H
#define KLAMM_STORE_LOG_PATH_H

#include "base/err.h"
#include "base/slice.h"
#include "os/lock.h"

#include <stdbool.h>
#include <stdint.h>

struct io;

struct log_path {
    uint32_t refs;
    struct lock lock; /* held for calls on small files and names, by whoever has no other hold */
    char *text;       /* read it under the log's lock or this one; changed under both */
    bool has_epochs;
    uint32_t epochs_version; /* of the newest durable leader-epoch-checkpoint */
};

struct log_path *log_path_new(const char *text);
struct log_path *log_path_ref(struct log_path *path); /* any thread */
void log_path_unref(struct log_path *path);           /* any thread; accepts NULL */

/* Renames the folder. The log's lock is held, or nobody else has the log. */
enum err log_path_rename(struct log_path *path, struct io *io, const char *to);

/* Any thread, the log's lock held or not. */

/* Replaces leader-epoch-checkpoint, unless a durable one of this `version` or a later one is there
 * (versions count up and may wrap). Several may come at once, and late. */
enum err log_path_write_epochs(struct log_path *path, struct io *io, struct slice bytes,
                               uint32_t version, bool sync);
/* Makes the producer snapshot at `offset` durable; ERR_NONE when it is not there. */
enum err log_path_sync_snapshot(struct log_path *path, struct io *io, int64_t offset);
/* Makes the names in the folder durable, and with `parent_too` the folder's own. */
enum err log_path_sync_names(struct log_path *path, struct io *io, bool parent_too);

#endif
