/* The services a handler may use: one struct for each node, built by server/node.c before the first
 * connection is accepted and, but for `config`, unchanged until the last one is gone. Everything in
 * it is safe to use from any loop. */
#ifndef KLAMM_API_CONTEXT_H
#define KLAMM_API_CONTEXT_H

#include "base/slice.h"
#include "os/io.h"

struct config;
struct coordinators;
struct fetch_sessions;
struct log_dirs;
struct partition_table;
struct producer_ids;
struct quorum;
struct replica_moves;

struct api_context {
    struct io *io;
    int32_t node_id;
    struct slice cluster_id;
    /* With what was set at run time (conf/config.h). Replaced by the metadata loop; the one before
     * stays until each loop has come round: not for workers. */
    const struct config *_Atomic config;
    int64_t request_timeout_ms;         /* request.timeout.ms; for workers, too */
    struct quorum *quorum;              /* metadata: images and changes (repl/quorum.h) */
    struct partition_table *partitions; /* partitions this node holds (repl/partition_table.h) */
    struct log_dirs *log_dirs;          /* log folders (store/log_dirs.h) */
    struct replica_moves *moves;        /* between them (repl/replica_moves.h) */
    struct coordinators *groups;        /* group coordinator (api/coordinators.h) */
    struct coordinators *transactions;  /* transaction coordinator; likewise */
    struct fetch_sessions *sessions;    /* api/fetch_session.h */
    struct producer_ids *producer_ids;  /* api/producer_ids.h */
    bool unstable_versions;             /* unstable.api.versions.enable */
    bool advertise_as_reached; /* node endpoints in replies are the address a connection came by */
    _Atomic int64_t flush_count;   /* flushes of partitions under way; likewise */
    _Atomic int64_t duty_count;    /* transactions whose markers are being written; likewise */
    _Atomic int64_t request_count; /* under way; the node waits for them when it stops */
    _Atomic int64_t complained_ns; /* when the last bad request was told; one line a second */
};

#endif
