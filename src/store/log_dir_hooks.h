/* What a log asks of its log folder. Implemented by store/log_dir.c; the logs' side of the seam, so
 * that a log can stand alone (metadata log, tools, tests). Called under the log's lock. */
#ifndef KLAMM_STORE_LOG_DIR_HOOKS_H
#define KLAMM_STORE_LOG_DIR_HOOKS_H

#include "store/log_dirs.h"

struct segment;

struct file_cache *log_dir_cache(const struct log_dir *dir);
/* Unlinks the (renamed) files of a segment after `delay_ms`; takes a reference of its own. */
void log_dir_delete_later(struct log_dir *dir, struct segment *segment, int64_t delay_ms);
/* The log start moved; its checkpoint is to be written soon. */
void log_dir_start_moved(struct log_dir *dir);
/* The next job of the folder writes the recovery points. */
void log_dir_want_recovery_point(struct log_dir *dir);
/* The log has something to flush. */
void log_dir_mark_dirty(struct log_dir *dir, struct log *log);
/* The log goes. */
void log_dir_forget(struct log_dir *dir, struct log *log);

#endif
