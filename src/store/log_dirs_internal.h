/* The inside of the log folders, shared by the log_dir*.c files; nobody else includes it.
 *
 * Locks: `table_lock` (LOCK_LOGS) covers the table of logs and who visits them (log_walk.c). It is
 * held for memory work alone, never while a log's lock, or a disk, is awaited. `lock`
 * (LOCK_LOG_DIR) covers a folder's lists. Flags read by every append are atomics. */
#ifndef KLAMM_STORE_LOG_DIRS_INTERNAL_H
#define KLAMM_STORE_LOG_DIRS_INTERNAL_H

#include "base/map.h"
#include "os/io.h"
#include "os/lock.h"
#include "store/checkpoint.h"
#include "store/log_dir_hooks.h"
#include "store/log_internal.h"

#define LOG_DIR_CLEAN_FILE ".kafka_cleanshutdown"

/* Something to remove from disk later. */
struct log_deletion {
    struct list link;
    int64_t due_ms;          /* monotonic */
    struct segment *segment; /* its renamed files; NULL: the folder `path` */
    char *path;
};

struct log_boot {
    char id[IO_BOOT_ID_SIZE];
    int64_t producer_id_trusted;
    bool damaged; /* when found: there is a file, and what it says cannot be told */
    bool written; /* the folder's file says this */
};

struct log_wish {
    struct log_dir *dir;
    char name[]; /* the key */
};

struct log_dir {
    struct log_dirs *dirs;
    char *path;
    struct uuid id;
    char *unusable; /* why it was offline from the start */
    int lock_fd;
    bool is_metadata;   /* only holds the metadata log, is not in log.dirs */
    bool clean;         /* was shut down cleanly */
    bool is_formatted;  /* meta.properties was found ... */
    bool meta_complete; /* ... and says all that it says today */
    int64_t broker_epoch;
    struct log_boot boot;         /* by log_boot_note; workers of the load and of the stop */
    uint32_t online, failed_told; /* atomics */
    uint32_t cordoned;            /* atomic */
    uint32_t failed_waits;        /* atomic: to be told once somebody listens */
    uint32_t space_state;         /* atomic: enum log_space */
    struct lock lock;
    struct io_space space;
    bool space_known;
    struct list dirty;     /* logs with something to flush */
    struct list deletions; /* by due time as far as delays are equal */
    bool starts_moved;     /* a log start moved since its checkpoint */
    bool recovery_wanted;  /* the cleaner waits for a checkpoint of recovery points */
    uint32_t names_gone;   /* atomic: folders went that a power cut may bring back (log_table.c) */
    uint32_t reserve_kept; /* atomic: the reserve is as large as it should be */
    int32_t log_count;
    /* As found at start. */
    struct checkpoint recovery_points, log_starts, watermarks, cleaned;
    struct lock checkpoint_lock; /* while recovery, start and watermark checkpoints are written */
    uint32_t written_crc[3];     /* of the checkpoint texts last written; checkpoint_lock */
    uint32_t cleaned_crc;        /* ... of the cleaner's, which one task at a time writes */
    int64_t next_recovery_ms, next_start_ms, next_watermark_ms, next_retention_ms, next_expiry_ms;
    struct loop_task failed_task;
    struct io_job job;
    bool job_busy; /* on the loop */
};

enum log_space { LOG_SPACE_OK, LOG_SPACE_LOW, LOG_SPACE_CRITICAL };

struct log_dirs {
    struct io *io;
    uint32_t telling; /* atomic: failures of folders are told */
    struct log_dirs_options options;
    struct file_cache *cache;
    struct lock table_lock;
    struct lock_signal visits_ended; /* of a log; table_lock */
    struct map logs;                 /* name -> struct log */
    struct map wishes;               /* name -> struct log_wish */
    struct log_dir **dirs;
    int dir_count; /* of log.dirs; the metadata folder may come after them */
    int folder_count;
    struct log_dir *metadata;
    char *cluster_id;
    int32_t node_id;             /* -1: none is known */
    int64_t producer_id_trusted; /* from the end of the load on */
    struct loop *loop;
    struct loop_timer timer;
    struct loop_task start_task, stop_task;
    bool stopping;
    int busy; /* jobs under way, on the loop */
    struct cleaner *cleaner;
    struct log_dirs_stop *stop;
};

/* The path of NAME in the folder (mem_alloc). */
char *log_dir_file(const struct log_dir *dir, const char *name);
/* "TOPIC-PARTITION" into its parts; false when it is not that. */
bool log_dir_parse_name(const char *name, struct slice *ret_topic, int32_t *ret_partition);
/* log_dirs_load.c: the same of a partition's folder or that of a future log. */
bool log_dir_parse_folder(const char *name, struct slice *ret_topic, int32_t *ret_partition);
/* True for "….<32 hex digits>-SUFFIX". */
bool log_dir_has_suffix(const char *name, const char *suffix);
/* log_table.c: FOLDER/TOPIC-PARTITION.HEX and the suffix, with a random HEX (mem_alloc); the
 * topic's part is cut so that the name fits a file name. */
char *log_dir_suffixed_path(const struct log_dir *dir, struct slice topic, int32_t partition,
                            const char *suffix);
/* log_table.c: a new log in `path`; what was begun is removed again when it fails. */
enum err log_dir_open_new(struct log_dir *dir, const struct log_open_options *options,
                          const struct uuid *topic_id, struct log **ret_log);
/* log_future.c: makes a log just opened a future one: its key is the name of its folder. */
void log_dir_mark_future(struct log *log);
/* Posts that the folder failed, if it did and that was not told. Any thread. */
void log_dir_tell(struct log_dir *dir);
/* Fails the folder when `err` is an I/O error; gives `err` back. Any thread. */
enum err log_dir_check(struct log_dir *dir, enum err err, const char *what);
/* The same; that something is no longer there (ERR_NOT_FOUND) is an I/O error, too. */
enum err log_dir_check_there(struct log_dir *dir, enum err err, const char *what);

/* log_dir.c: bytes that the cleaner must leave free, as of the last poll: the reserve below which
 * clients are refused, or, when they are already, that of the coordinators. It gives back more than
 * it takes. */
int64_t log_dir_reserve(struct log_dir *dir);

/* log_dirs_check.c: refuses what cannot be started from; writes nothing. */
enum err log_dirs_check(struct log_dirs *dirs, char **ret_text);
/* The folder, which a call failed in, goes offline; the others live, if there are any and the
 * metadata's is one of them. */
void log_dir_unusable(struct log_dir *dir, enum err err);
/* The key of the configuration that names the folder. */
const char *log_dir_key(const struct log_dir *dir);
/* log_dirs.c: the first writes of a start: missing folders and meta.properties are made, the clean
 * shutdown files taken away. ERR_BUSY: a folder made meanwhile is locked by another process. */
enum err log_dirs_join(struct log_dirs *dirs, char **ret_text);

/* log_dir_clean.c: the clean shutdown file. */
void log_dir_take_clean_file(struct log_dir *dir);
enum err log_dir_write_clean_file(struct log_dir *dir, int64_t broker_epoch);

/* log_boot.c: by the load, before any log; the file, unless it is up to date. */
void log_boot_note(struct log_dirs *dirs, int64_t producer_id_next);
enum err log_boot_write(struct log_dir *dir);

/* log_reserve.c: the first in log_dirs_open and after loading, the second in the folder's job. */
void log_reserve_give_back(struct log_dir *dir);
void log_reserve_keep(struct log_dir *dir);

/* log_delete.c */
void log_dir_delete_folder_later(struct log_dir *dir, const char *path, int64_t delay_ms);
/* Removes what is due; INT64_MAX: everything. */
void log_dir_run_deletions(struct log_dir *dir, int64_t now_ms);
void log_dir_forget_deletions(struct log_dir *dir);

/* log_walk.c */
typedef void log_walk_visit(struct log *log, void *context);
/* Table lock held: a visit begins. The log stays until it ends, and so does its holder's lock. */
void log_walk_begin(struct log *log);
/* With a visit begun and no lock held: takes the lock that covers the log and returns it. */
struct lock *log_walk_take(struct log *log);
/* The log of that name if it is still the same one: a visit begun, the lock that covers it taken.
 */
struct log *log_walk_enter(struct log_dirs *dirs, const char *name, int64_t serial,
                           struct lock **ret_lock);
/* Lets go of `lock`, as it was taken, and ends the visit. */
void log_walk_leave(struct log_dirs *dirs, struct log *log, struct lock *lock);
/* The same; in between its holder is told that the log was flushed. */
void log_walk_leave_flushed(struct log_dirs *dirs, struct log *log, struct lock *lock);
/* Table lock held, which it lets go of meanwhile: waits until nobody visits the log. */
void log_walk_await(struct log_dirs *dirs, const struct log *log);
/* Visits the logs of `dir` (NULL: all), one after the other, each with its lock taken. One that is
 * created or deleted meanwhile may be missed, or hide another one: for work that comes again. */
void log_walk_each(struct log_dirs *dirs, const struct log_dir *dir, log_walk_visit *visit,
                   void *context);
/* The same, and none is missed that was there at the beginning. */
void log_walk_all(struct log_dir *dir, log_walk_visit *visit, void *context);

/* log_dirs_jobs.c */
/* On the loop, when a job that counted in `busy` ended. */
void log_dirs_job_ended(struct log_dirs *dirs);
enum err log_dir_write_checkpoints(struct log_dir *dir, bool recovery, bool starts, bool watermarks,
                                   bool sync);
void log_dir_poll_space(struct log_dir *dir);
void log_dirs_stop_timer(struct log_dirs *dirs);
/* Called on the loop when no job is under way any more. */
void log_dirs_close_all(struct log_dirs *dirs);

#endif
