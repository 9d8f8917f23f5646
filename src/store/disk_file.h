/* Whole small files: reading one, and replacing one so that a crash leaves the old or the new. */
#ifndef KLAMM_STORE_DISK_FILE_H
#define KLAMM_STORE_DISK_FILE_H

#include "base/buf.h"
#include "base/err.h"

struct io;

/* Appends the file's bytes to `out`. ERR_NOT_FOUND; ERR_TOO_LARGE above size_max. */
enum err disk_file_read(struct io *io, const char *path, size_t size_max, struct buf *out);
/* Writes "PATH.tmp", syncs it when asked to, renames it over `path` and then syncs the folder. */
enum err disk_file_replace(struct io *io, const char *path, struct slice bytes, bool sync);
/* Syncs the folder that holds `path`. */
enum err disk_file_sync_parent(struct io *io, const char *path);

#endif
