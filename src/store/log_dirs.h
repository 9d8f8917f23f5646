/* The log folders (log.dirs) of a node: meta.properties, locks, the clean shutdown file, loading
 * all logs in parallel, the text checkpoints, background jobs (retention, flush, checkpoints,
 * delayed deletion), free-space watch, and folders that fail.
 *
 * Order of a node's life:
 *     log_dirs_open -> log_dirs_load (done) -> logs are attached to partitions (log_attach)
 *     -> log_dirs_start -> ... -> log_dirs_stop (done) -> log_dirs_free
 *
 * Threads: everything below may be called from any thread unless it says otherwise; `loop`
 * callbacks run on the loop given. Locks taken inside: LOCK_LOGS (the table of logs) and
 * LOCK_LOG_DIR. */
#ifndef KLAMM_STORE_LOG_DIRS_H
#define KLAMM_STORE_LOG_DIRS_H

#include "os/io.h"
#include "store/cleaner.h"
#include "store/log.h"

struct log_dirs;
struct log_dir;

struct log_dirs_options {
    struct io *io;
    const char *const *paths; /* log.dirs, absolute or relative to the process */
    int path_count;
    const char *paths_key;     /* the key that names them: log.dirs, or log.dir; static */
    const char *metadata_path; /* metadata.log.dir; NULL = the first of paths */
    struct slice cluster_id;   /* null: take what meta.properties says */
    int32_t node_id;
    int recovery_threads;             /* num.recovery.threads.per.data.dir */
    int64_t checkpoint_ms;            /* log.flush.offset.checkpoint.interval.ms */
    int64_t start_checkpoint_ms;      /* log.flush.start.offset.checkpoint.interval.ms */
    int64_t watermark_checkpoint_ms;  /* replica.high.watermark.checkpoint.interval.ms */
    int64_t retention_check_ms;       /* log.retention.check.interval.ms */
    int64_t producer_expiry_check_ms; /* producer.id.expiration.check.interval.ms */
    int64_t initial_delay_ms;         /* log.initial.task.delay.ms */
    int64_t background_flush_size;    /* unflushed bytes that ask for a flush; 16 MB */
    int64_t background_flush_ms;      /* or this long unflushed; 30 s */
    int64_t reserve_client;           /* free bytes below which client produce is refused */
    int64_t reserve_coordinator;      /* ... and coordinator appends */
    int64_t reserve_part; /* the client reserve is at most 1/reserve_part of the file system, the
                             coordinator's a quarter of that, so that a small disk can be used;
                             0 = no such cap */
    struct cleaner_config cleaner;
    int files_max; /* open segment and index files kept by the cache */
    /* A folder went offline (I/O error). Called on `failed_loop` once per folder, no lock held,
     * from log_dirs_load on: who fails before that may still give up and free everything. NULL =
     * nobody asks. */
    struct loop *failed_loop;
    void (*failed)(void *context, struct log_dir *dir);
    void *failed_context;
};
/* Kafka's defaults, and Klamm's for the reserves. */
void log_dirs_options_init(struct log_dirs_options *options);

/* Reads meta.properties and takes the locks. Nothing is written but the lock files, and on failure
 * of a check not even these: what is new or missing is made by log_dirs_load. *ret_text (mem_alloc)
 * says what is wrong and what to do about it: ERR_BUSY (locked by another process), ERR_NOT_FOUND
 * (not formatted: no meta.properties anywhere, or in the metadata folder, or beside partitions),
 * ERR_INCONSISTENT_CLUSTER_ID, ERR_ARGUMENT (node id, duplicate directory id, or a metadata log
 * outside the metadata folder), ERR_CORRUPT, ERR_IO (the metadata folder or all others failed; any
 * other one only goes offline). */
enum err log_dirs_open(const struct log_dirs_options *options, struct log_dirs **ret_dirs,
                       char **ret_text);
/* Frees all; without log_dirs_stop before, as if killed: then on the loop of log_dirs_start, with
 * no job under way. Logs must be detached. */
void log_dirs_free(struct log_dirs *dirs);

/* Makes new folders and their meta.properties, takes away the clean shutdown files, reads the
 * checkpoints. Loads every log of every online folder on workers, then calls `done` on `loop`.
 * Topic folders that end in -delete are queued for deletion; -stray ones are left alone. A damaged
 * folder goes offline; the rest loads. __cluster_metadata-0 is left to the quorum (log_open). */
struct log_dirs_load {
    struct log_config default_config;
    /* Effective config of a topic, called on workers; NULL: default_config for all. */
    void (*config)(void *context, struct slice topic, struct log_config *ret_config);
    /* No producer id from here on was given out before this start; <= 0: none was at all. */
    int64_t producer_id_next;
    void (*done)(struct log_dirs_load *load);
    void *context;
    enum err err;   /* ERR_NONE, ERR_IO when no folder is left, ERR_TOO_MANY_FILES, ERR_EXISTS when
                       a partition lies in two folders, ERR_BUSY when a new one is locked */
    char *text;     /* with an error: which folders, or NULL; the caller's (mem_free) */
    int32_t loaded; /* logs */
    int32_t recovered; /* of these, with recovery */
};
void log_dirs_load(struct log_dirs *dirs, struct loop *loop, struct log_dirs_load *load);

/* Starts the background jobs, timed on `loop`. */
void log_dirs_start(struct log_dirs *dirs, struct loop *loop);

/* New settings of the cleaner; any thread, after log_dirs_start. */
void log_dirs_configure_cleaner(struct log_dirs *dirs, const struct cleaner_config *config);

/* Ends the background jobs, closes all logs (in parallel, flushed), writes the checkpoints and the
 * clean shutdown file of every folder whose logs all closed, then `done` on the loop of
 * log_dirs_start (or `loop`). Logs must not be appended to any more; log_detach them first. */
struct log_dirs_stop {
    int64_t broker_epoch; /* for the clean shutdown file; -1 = unknown */
    void (*done)(struct log_dirs_stop *stop);
    void *context;
};
void log_dirs_stop(struct log_dirs *dirs, struct loop *loop, struct log_dirs_stop *stop);

/* ---- logs ----------------------------------------------------------------------------------- */

/* NULL when there is none. The log stays valid until log_dirs_delete, log_dirs_discard
 * or log_dirs_free. */
struct log *log_dirs_get(struct log_dirs *dirs, struct slice topic, int32_t partition);

/* Wishes that the log, if it is made without a folder being named, be made in `dir`. Forgotten once
 * it is made, and at the end; of at most LOG_DIRS_WISHES_MAX logs, further ones are not heard. */
enum { LOG_DIRS_WISHES_MAX = 10000 };
void log_dirs_wish(struct log_dirs *dirs, struct log_dir *dir, struct slice topic,
                   int32_t partition);

/* The log, created if absent: in `dir`, or with NULL where it was wished for (log_dirs_wish), else
 * in the online folder with the fewest logs.
 * Creates the folder and partition.metadata. ERR_KAFKA_STORAGE_ERROR when no folder is online. */
enum err log_dirs_create(struct log_dirs *dirs, struct log_dir *dir, struct slice topic,
                         int32_t partition, const struct uuid *topic_id,
                         const struct log_config *config, struct log **ret_log);

/* Removes the log: its folder is renamed to NAME.HEX-delete (or -stray) at once and its files are
 * removed file.delete.delay.ms later. Detaches; call it with no lock held. `log` is gone. */
enum err log_dirs_delete(struct log_dirs *dirs, struct log *log, bool stray);

/* Calls visit(context, log) for all logs, futures too (LOCK_LOGS held; logs themselves are not
 * locked). */
void log_dirs_each(struct log_dirs *dirs, void (*visit)(void *context, struct log *log),
                   void *context);
int32_t log_dirs_log_count(struct log_dirs *dirs);

/* ---- moving to another folder ---------------------------------------------------------------
 *
 * A *future* log is filled in another folder to take the place of the log of its partition
 * (AlterReplicaLogDirs): its folder is TOPIC-PARTITION.HEX-future, and log_dirs_get does not find
 * it. Its holder attaches it to a lock of class LOCK_FUTURE, which is taken inside the partition's.
 * A start loads those that it finds (log_dirs_each). log_dirs_delete removes one. */

bool log_is_future(const struct log *log);
/* An empty future log that begins at `base`, in `dir`. */
enum err log_dirs_create_future(struct log_dirs *dirs, struct log_dir *dir, struct slice topic,
                                int32_t partition, const struct uuid *topic_id,
                                const struct log_config *config, int64_t base,
                                struct log **ret_future);
/* The future takes the place of `current`, a log of `topic`, so that no crash leaves two of the
 * same name or none. In this order; only the first and the last take the locks of the logs, and
 * only the others wait for a disk:
 *
 * 1. log_dirs_replace_begin: the folder of `current` becomes a -delete one, and `future` is the log
 *    of the table; both locks held. On failure all is as before. The flushes of `future` wait from
 *    now on.
 * 2. log_dir_sync of the folder that `current` is in.
 * 3. log_dirs_replace_end: `log`, the future that was, gets its name, and may be flushed. Again
 *    when it failed.
 * 4. log_dir_sync of the folder that it is in.
 * 5. log_dirs_discard frees `current`. */
enum err log_dirs_replace_begin(struct log_dirs *dirs, struct slice topic, struct log *current,
                                struct log *future);
enum err log_dirs_replace_end(struct log *log);
/* Makes the names in the folder durable. No lock held. ERR_IO also when it is offline. */
enum err log_dir_sync(struct log_dir *dir);
/* Detaches and frees a log that was replaced. Its files are removed file.delete.delay.ms later, or,
 * unless it is known that the name of its folder is durable (`settled`), by the next start. No lock
 * held. */
void log_dirs_discard(struct log_dirs *dirs, struct log *log, bool settled);
/* The future, which a start found without a log of `topic`, becomes that. It is not attached; no
 * lock held. On failure it is as before, or the folder went offline. */
enum err log_dirs_promote(struct log_dirs *dirs, struct slice topic, struct log *future);
/* Writes the folder's checkpoints now. No lock held. */
enum err log_dir_checkpoint(struct log_dir *dir);

/* High watermark as checkpointed by the run before; -1 when not there. */
int64_t log_dirs_watermark(struct log_dirs *dirs, struct slice topic, int32_t partition);

/* For tests and tools: runs all background work that is due at `now_ms` on this thread. */
void log_dirs_run_now(struct log_dirs *dirs, int64_t now_ms);

/* ---- folders -------------------------------------------------------------------------------- */

int log_dirs_count(const struct log_dirs *dirs);
struct log_dir *log_dirs_at(const struct log_dirs *dirs, int index);
/* The path of a partition that an online folder holds (mem_free), or NULL. From log_dirs_open on.
 */
char *log_dirs_find_partition(const struct log_dirs *dirs);
/* The folder of the metadata log. */
struct log_dir *log_dirs_metadata(const struct log_dirs *dirs);
struct slice log_dirs_cluster_id(const struct log_dirs *dirs);

const char *log_dir_path(const struct log_dir *dir);
const struct uuid *log_dir_id(const struct log_dir *dir); /* directory.id */
bool log_dir_online(const struct log_dir *dir);
/* log_dirs_open found no meta.properties in it. */
bool log_dir_is_new(const struct log_dir *dir);
/* A cordoned folder (cordoned.log.dirs) keeps what it has and is not chosen for new logs, as long
 * as another one can be. Any thread. */
void log_dir_cordon(struct log_dir *dir, bool cordoned);
bool log_dir_cordoned(const struct log_dir *dir);
/* Marks it offline after an I/O error seen by someone else (the metadata log). */
void log_dir_fail(struct log_dir *dir, const char *what);
/* Total and free bytes as last polled; false when unknown. */
bool log_dir_space(const struct log_dir *dir, struct io_space *ret_space);
/* ERR_NONE or ERR_DISK_FULL: may an append of this origin be made in the folder now? */
enum err log_dir_admits(const struct log_dir *dir, enum log_origin origin);
/* Before the first write of a start that nothing speaks against any more: on a full disk some of
 * the reserve is set free. A start that is refused must not use it up. */
void log_dirs_start_room(struct log_dirs *dirs);
/* Sets some of the reserve of the metadata log's folder free, after a write there found the disk
 * full; false when there is none (the last of it is for starts). Any thread. */
bool log_dirs_make_room(struct log_dirs *dirs, bool starting);
/* True when answers under way hold so many files open that another one should do with less. */
bool log_dirs_files_short(const struct log_dirs *dirs);
/* After a power cut logs may have lost their ends, and those of the transaction coordinator epochs
 * that were given out: of no producer id below this one may another epoch be. 0 = nothing was lost.
 * From the end of log_dirs_load on; kept over later starts. */
int64_t log_dirs_producer_id_trusted(const struct log_dirs *dirs);
/* Broker epoch of the clean shutdown files found at start; -1 when a folder had none, or that of
 * another run: it was away at the last one. */
int64_t log_dirs_clean_broker_epoch(const struct log_dirs *dirs);

/* ---- meta.properties ------------------------------------------------------------------------ */

struct log_meta {
    int32_t version; /* 1; 0 is an old one (broker.id, no directory id) */
    char cluster_id[64];
    int32_t node_id;          /* -1: not there */
    struct uuid directory_id; /* zero: not there */
};
/* ERR_NOT_FOUND, ERR_CORRUPT, ERR_IO. `path` is the folder. */
enum err log_meta_read(struct io *io, const char *path, struct log_meta *ret_meta);
/* Written to a temporary file, synced, renamed. */
enum err log_meta_write(struct io *io, const char *path, const struct log_meta *meta);

#endif
