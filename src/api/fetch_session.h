/* Incremental fetch sessions (KIP-227): the partitions a consumer fetches, remembered between its
 * requests, so that a request names only what changed and an answer only what has news.
 *
 * One cache for the node, under one leaf lock held for look-ups. A session is used by one request
 * at a time: fetch_sessions_use marks it, fetch_session_end gives it back; between, the request's
 * loop works on it without a lock. A second request for a session in use waits for it, and the
 * first one, if it is parked, is answered now, so that they follow each other as in Kafka. Sessions
 * are evicted when the cache is full, the longest unused first, after EVICTION_MS without use; one
 * that is in use goes when it is given back. When their partitions take more memory than the cache
 * may have, there are no new sessions, and the longest unused ones go. */
#ifndef KLAMM_API_FETCH_SESSION_H
#define KLAMM_API_FETCH_SESSION_H

#include "base/list.h"
#include "base/map.h"
#include "base/uuid.h"
#include "repl/partition.h"
#include "repl/partition_table.h"

struct fetch_session;
struct fetch_sessions;

/* One partition of a fetch, in a session or of a single request. */
struct fetch_partition {
    struct list link;     /* in the order of answering */
    struct slice topic;   /* null when fetched by id */
    struct uuid topic_id; /* zero when fetched by name */
    int32_t index;
    struct partition *partition; /* referenced; NULL: not held by this node */
    int64_t offset;
    int32_t current_epoch, last_fetched_epoch;
    int32_t size_max;
    /* What the client was told last; -1 = nothing. */
    int64_t told_watermark, told_log_start;

    /* for the request under way */
    struct fetch_result *result;
    struct watch watch;
    bool watched;
};

struct fetch_session {
    int32_t id;
    int32_t epoch; /* that the next request must have */
    bool by_id;    /* fetched by topic id (version 13 and later) */
    bool in_use;
    bool removed; /* out of the cache: freed when given back */
    int64_t used_ms;
    struct list waiters;   /* of struct fetch_session_waiter */
    struct parked *holder; /* the request that uses it, while parked */
    struct fetch_sessions *sessions;
    struct list partitions; /* of struct fetch_partition */
    struct map by_key;      /* of the same */
    struct list link;       /* in the cache, longest unused first */
};

/* A request that waits for a session in use; `ready` tells it to try again: on any thread, with the
 * cache locked, so it only posts. */
struct fetch_session_waiter {
    struct list link;
    void (*ready)(struct fetch_session_waiter *waiter);
};

enum { FETCH_SESSION_EVICTION_MS = 120000 };

/* At most session_max sessions that take at most about size_max bytes together. */
struct fetch_sessions *fetch_sessions_new(struct io *io, int32_t session_max, int64_t size_max);
void fetch_sessions_free(struct fetch_sessions *sessions); /* accepts NULL */

/* The session of an incremental request, marked as in use and moved to its next epoch.
 * FETCH_SESSION_ID_NOT_FOUND, INVALID_FETCH_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR.
 * ERR_AGAIN: another request uses it; `waiter` is in line and `ready` will come. */
enum err fetch_sessions_use(struct fetch_sessions *sessions, int32_t id, int32_t epoch, bool by_id,
                            struct fetch_session_waiter *waiter,
                            struct fetch_session **ret_session);
/* Out of the line; false when `ready` was called. */
bool fetch_sessions_leave(struct fetch_sessions *sessions, struct fetch_session_waiter *waiter);
/* The request that uses the session parks, or (NULL) parks no more. Wakes it if others wait. */
void fetch_session_hold(struct fetch_session *session, struct parked *holder);
/* A new, empty session in use; NULL when the cache is full of younger ones. */
struct fetch_session *fetch_sessions_create(struct fetch_sessions *sessions, bool by_id);
/* Gives it back. */
void fetch_session_end(struct fetch_sessions *sessions, struct fetch_session *session);
void fetch_sessions_remove(struct fetch_sessions *sessions, int32_t id); /* absent: nothing */

/* The partition of a session in use; added at the end when absent (told nothing yet). `like` gives
 * the key. */
struct fetch_partition *fetch_session_put(struct fetch_session *session,
                                          const struct fetch_partition *like);
void fetch_session_drop(struct fetch_session *session, struct slice topic,
                        const struct uuid *topic_id, int32_t index);

#endif
