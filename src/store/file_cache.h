/* The files of segments, opened on demand and closed again, least recently used first, so that any
 * number of partitions lives with a bounded number of file descriptors.
 *
 * A `struct log_file` is embedded in its segment. To use its descriptor it is pinned; a pinned file
 * is never closed. Pinning and opening happen under the lock that covers the segment's log;
 * unpinning may happen on any thread (a range was sent). The cache's own lock is a leaf. */
#ifndef KLAMM_STORE_FILE_CACHE_H
#define KLAMM_STORE_FILE_CACHE_H

#include "base/err.h"
#include "base/list.h"

#include <stdint.h>

struct file_cache;
struct io;
struct segment;

struct log_file {
    struct list lru; /* linked while open and not pinned */
    struct segment *segment;
    int fd; /* -1: closed */
    uint32_t pins;
    uint8_t kind; /* enum segment_file */
};

/* At most `files_max` descriptors stay open beyond those that are pinned. Counted references:
 * segments that outlive their log (ranges under way) keep the cache alive. */
struct file_cache *file_cache_new(struct io *io, int files_max);
struct file_cache *file_cache_ref(struct file_cache *cache);
void file_cache_unref(struct file_cache *cache);
struct io *file_cache_io(const struct file_cache *cache);
int file_cache_open_count(struct file_cache *cache);
/* True when pins hold half of what may be open: who can do without another one should. */
bool file_cache_is_short(struct file_cache *cache);

void log_file_init(struct log_file *file, struct segment *segment, uint8_t kind);
/* Opens it if need be; `create`: makes the file when it is not there (else ERR_NOT_FOUND). When the
 * process has no descriptor left, idle ones are closed and the open is tried again. */
enum err log_file_pin(struct log_file *file, bool create, int *ret_fd);
void log_file_unpin(struct log_file *file);
/* Closes it when it is not pinned: the segment goes, or its file was replaced. */
void log_file_close(struct log_file *file);

#endif
