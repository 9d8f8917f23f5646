/* Formats a node's folders: meta.properties in each, and in that of the metadata log the bootstrap
 * snapshot 0-0 with feature levels and, for a dynamic quorum, kraft.version and the first voters.
 * Used by `klamm storage format` and by the start without a configuration; blocks, any thread. */
#ifndef KLAMM_REPL_QUORUM_FORMAT_H
#define KLAMM_REPL_QUORUM_FORMAT_H

#include "base/err.h"
#include "base/uuid.h"
#include "meta/records.h"

struct io;

struct quorum_format_voter {
    int32_t id;
    struct slice host;
    uint16_t port;
    struct uuid directory_id;
};

struct quorum_format {
    struct io *io;
    struct slice cluster_id;
    int32_t node_id;
    bool has_metadata;                /* the folder being formatted holds the metadata log */
    int16_t kraft_version;            /* 0: static voters; 1: dynamic */
    struct slice controller_listener; /* name in the voters' endpoints */
    const struct quorum_format_voter *voters;
    int32_t voter_count;                  /* 0: the snapshot names none */
    const struct meta_records *bootstrap; /* feature levels and what else a cluster starts from */
    /* The caller starts the quorum in this folder before it says that it is ready, which syncs the
     * metadata log's folder: not done here then. */
    bool start_follows;
};

/* Formats one folder, created when absent. `directory_id` becomes its directory.id. meta.properties
 * comes last: a folder without it is not formatted. ret_text: mem_free. */
enum err quorum_format_dir(const struct quorum_format *format, const char *dir,
                           const struct uuid *directory_id, char **ret_text);
/* A directory or cluster id that Kafka could have handed out. */
struct uuid quorum_format_id(struct io *io);

#endif
