/* The inside of the cleaner, shared by cleaner.c, cleaner_pick.c, cleaner_round.c and
 * cleaner_checkpoint.c; nobody else includes it. */
#ifndef KLAMM_STORE_CLEANER_INTERNAL_H
#define KLAMM_STORE_CLEANER_INTERNAL_H

#include "store/cleaner.h"
#include "store/cleaner_filter.h"
#include "store/cleaner_group.h"
#include "store/cleaner_keys.h"
#include "store/cleaner_output.h"
#include "store/log_dirs_internal.h"

/* ---- logs (cleaner_pick.c) --------------------------------------------------------------------
 */

/* How dirty a log is. */
struct cleaner_dirt {
    int64_t first_dirty; /* cleaned up to here */
    int64_t offset_end;  /* may be cleaned up to here: the base of a segment */
    int64_t clean_size, dirty_size;
    double ratio;
    bool due;     /* max.compaction.lag.ms has passed */
    bool unknown; /* there are more files to look at: ask again. Set also with false */
};
/* Under the log's lock. Corrects log->first_dirty when it lies outside the log. False: there is
 * nothing that could be cleaned. Opens CLEANER_LOOKS_MAX files at most, of segments that nobody
 * asked before; for the others it is as if they were young. */
enum { CLEANER_LOOKS_MAX = 64 };
bool cleaner_dirt_of(struct log *log, int64_t now_ms, struct cleaner_dirt *ret_dirt);

/* Whether its topic is compacted and it can be cleaned. Under its lock. */
bool cleaner_compacts(const struct log *log);

/* ---- rounds (cleaner_round.c) -----------------------------------------------------------------
 */

enum cleaner_stage {
    CLEANER_ABORTED, /* reads the transaction indexes */
    CLEANER_KEYS,    /* fills the map */
    CLEANER_GROUP,   /* begins the next group */
    CLEANER_FILTER,  /* cleans a segment of the group */
    CLEANER_SWAP,    /* the group's new segment takes its place */
    CLEANER_END,
};

/* Where the reading of the transaction indexes stands. */
struct cleaner_aborted {
    struct segment **segments; /* all of the log, as of the beginning; NULL once they were read */
    uint32_t count, at;
    uint32_t entry;      /* of segments[at], the next one */
    int64_t offset_last; /* of the entry before; -1: none */
    bool mended;         /* segments[at] was made again */
};

struct cleaner_round {
    struct log_dirs *dirs;
    struct log_dir *dir;
    char *name; /* the key in the table; the log may be deleted meanwhile */
    int64_t serial;
    uint32_t truncations;
    struct log_config config;
    struct cleaner_dirt dirt;
    int64_t now_ms, started_ns;
    enum cleaner_stage stage;
    enum err err;      /* why it ended early; ERR_CLOSED: the log changed under it */
    const char *where; /* what it was doing then */

    /* Segments up to dirt.offset_end, each with a reference, as of the beginning. */
    struct segment **segments;
    struct cleaner_part *parts;
    uint32_t count;
    uint32_t at;                      /* the one being read */
    uint32_t group_from, group_count; /* the group under way */
    int64_t mtime_ms;                 /* of the one being read */
    int64_t legacy_horizon_ms;        /* older ones lose tombstones of magic 0 and 1 */

    struct cleaner_aborted aborted;

    struct segment_scan scan;
    bool open; /* `scan` is under way in segments[at] */
    uint8_t *window;
    uint32_t window_size;

    int64_t map_memory; /* this task's share of the dedupe buffer */
    double load_factor;
    struct cleaner_map map;
    struct cleaner_txns keys_txns, txns;
    struct cleaner_keys keys;
    struct cleaner_filter filter;
    struct cleaner_last *lasts;
    struct cleaner_output output;
    int64_t reserve;    /* bytes to leave free on the disk */
    int64_t offset_end; /* of what the map knows: cleaned up to here at the end */
    uint64_t size_read, size_kept;
};

/* The log with its lock taken (log_walk_leave), if the round may go on; NULL: it has ended. */
struct log *cleaner_round_enter(struct cleaner_round *round, struct lock **ret_lock);

/* ---- aborted transactions (cleaner_aborted.c) --------------------------------------------------
 */

/* Under the log's lock: takes references to all segments of the log. */
void cleaner_aborted_init(struct cleaner_round *round, struct log *log);
void cleaner_aborted_fini(struct cleaner_round *round);
/* Reads about `size` bytes of the transaction indexes. ERR_NOT_FOUND: that was the last of them.
 * ERR_CLOSED: the round has ended. */
enum err cleaner_aborted_step(struct cleaner_round *round, uint32_t size, uint64_t *ret_bytes);

/* What a round may take of log.cleaner.dedupe.buffer.size. */
int64_t cleaner_share(const struct cleaner_config *config);
/* The round of the filthiest log that is to be cleaned; NULL when there is none. */
struct cleaner_round *cleaner_pick(struct log_dirs *dirs, const struct cleaner_config *config,
                                   int64_t now_ms);
/* Begins a round of `log`, under its lock: afterwards log->cleaning is set. */
struct cleaner_round *cleaner_round_new(struct log *log, const struct cleaner_dirt *dirt,
                                        const struct cleaner_config *config, int64_t now_ms);
/* Goes on for about `size` bytes; how many it read and wrote. False: it is over. */
bool cleaner_round_step(struct cleaner_round *round, uint32_t size, uint64_t *ret_bytes);
/* Ends it, at any time, and tells what became of it; true when the log was cleaned. */
bool cleaner_round_free(struct cleaner_round *round);

/* ---- the checkpoint (cleaner_checkpoint.c) ----------------------------------------------------
 */

/* Writes cleaner-offset-checkpoint of the folders where it changed. One thread at a time. */
void cleaner_write_checkpoints(struct log_dirs *dirs);

#endif
