/* The cache of fetch sessions; see the header for the rules. Session ids are random and positive,
 * as in Kafka, so that a client of a node that restarted does not meet somebody else's session. */
#include "api/fetch_session.h"

#include "base/be.h"
#include "base/mem.h"

#include <stdatomic.h>

enum { NAME_SIZE_MAX = 32767, KEY_SIZE_MAX = NAME_SIZE_MAX + 4 };

struct fetch_sessions {
    struct io *io;
    struct lock lock;
    int32_t session_max;
    int64_t size_max;
    _Atomic int64_t size; /* of all partitions kept */
    struct map by_id;
    struct list idle_first;
};

/* A partition of a session with its key behind it. */
struct kept_partition {
    struct fetch_partition partition;
    size_t key_size;
    uint8_t key[];
};

struct fetch_sessions *fetch_sessions_new(struct io *io, int32_t session_max, int64_t size_max)
{
    struct fetch_sessions *sessions = mem_zalloc(sizeof *sessions);
    sessions->io = io;
    sessions->session_max = session_max;
    sessions->size_max = size_max;
    lock_init(&sessions->lock, LOCK_LEAF);
    map_init(&sessions->by_id);
    list_init(&sessions->idle_first);
    return sessions;
}

/* What one partition takes, with its place in the map. */
static int64_t kept_size(size_t key_size)
{
    enum { MAP_SHARE = 32 };
    return (int64_t)(sizeof(struct kept_partition) + key_size + MAP_SHARE);
}

static void free_partition(struct fetch_session *session, struct fetch_partition *partition)
{
    struct kept_partition *kept = LIST_ITEM(partition, struct kept_partition, partition);
    atomic_fetch_sub(&session->sessions->size, kept_size(kept->key_size));
    partition_unref(partition->partition);
    mem_free(kept);
}

static void session_free(struct fetch_session *session)
{
    LIST_FOREACH(node, &session->partitions)
    free_partition(session, LIST_ITEM(node, struct fetch_partition, link));
    map_fini(&session->by_key);
    mem_free(session);
}

void fetch_sessions_free(struct fetch_sessions *sessions)
{
    if (!sessions)
        return;
    LIST_FOREACH(node, &sessions->idle_first)
    session_free(LIST_ITEM(node, struct fetch_session, link));
    map_fini(&sessions->by_id);
    lock_fini(&sessions->lock);
    mem_free(sessions);
}

/* Lock held. */
static struct fetch_session *get(struct fetch_sessions *sessions, int32_t id)
{
    return map_get(&sessions->by_id, MAP_KEY(id));
}

/* Lock held. Out of the cache; returns it when the caller must free it. */
static struct fetch_session *take_out(struct fetch_sessions *sessions,
                                      struct fetch_session *session)
{
    map_remove(&sessions->by_id, MAP_KEY(session->id));
    list_remove(&session->link);
    session->removed = true;
    return session->in_use ? NULL : session;
}

/* Lock held. */
static void wait_for(struct fetch_session *session, struct fetch_session_waiter *waiter)
{
    list_push_back(&session->waiters, &waiter->link);
    if (session->holder)
        parked_wake(session->holder);
}

enum err fetch_sessions_use(struct fetch_sessions *sessions, int32_t id, int32_t epoch, bool by_id,
                            struct fetch_session_waiter *waiter, struct fetch_session **ret_session)
{
    enum err err = ERR_NONE;
    int64_t now_ms = io_mono_ms(sessions->io);
    lock_take(&sessions->lock);
    struct fetch_session *session = get(sessions, id);
    if (!session)
        err = ERR_FETCH_SESSION_ID_NOT_FOUND;
    else if (session->epoch != epoch)
        err = ERR_INVALID_FETCH_SESSION_EPOCH;
    else if (session->by_id != by_id)
        err = ERR_FETCH_SESSION_TOPIC_ID_ERROR;
    else if (session->in_use) {
        wait_for(session, waiter);
        err = ERR_AGAIN;
    } else {
        session->in_use = true;
        session->used_ms = now_ms;
        session->epoch = session->epoch == INT32_MAX ? 1 : session->epoch + 1;
        list_remove(&session->link);
        list_push_back(&sessions->idle_first, &session->link);
        *ret_session = session;
    }
    lock_release(&sessions->lock);
    return err;
}

static bool is_too_big(const struct fetch_sessions *sessions)
{
    return atomic_load(&sessions->size) > sessions->size_max;
}

/* Lock held. True when there is room now. */
static bool make_room(struct fetch_sessions *sessions, int64_t now_ms,
                      struct fetch_session **ret_evicted)
{
    if (is_too_big(sessions))
        return false;
    if ((int32_t)map_count(&sessions->by_id) < sessions->session_max)
        return true;
    if (list_empty(&sessions->idle_first))
        return false;
    struct fetch_session *oldest = LIST_ITEM(sessions->idle_first.next, struct fetch_session, link);
    if (now_ms - oldest->used_ms <= FETCH_SESSION_EVICTION_MS)
        return false;
    *ret_evicted = take_out(sessions, oldest);
    return true;
}

struct fetch_session *fetch_sessions_create(struct fetch_sessions *sessions, bool by_id)
{
    struct fetch_session *session = mem_zalloc(sizeof *session);
    session->epoch = 1;
    session->sessions = sessions;
    session->by_id = by_id;
    session->in_use = true;
    session->used_ms = io_mono_ms(sessions->io);
    list_init(&session->partitions);
    list_init(&session->waiters);
    map_init(&session->by_key);
    list_init(&session->link);
    struct fetch_session *evicted = NULL;
    lock_take(&sessions->lock);
    bool room = make_room(sessions, session->used_ms, &evicted);
    while (room && (session->id <= 0 || get(sessions, session->id))) {
        io_random(sessions->io, &session->id, sizeof session->id);
        session->id &= INT32_MAX;
    }
    if (room) {
        map_put(&sessions->by_id, MAP_KEY(session->id), session);
        list_push_back(&sessions->idle_first, &session->link);
    }
    lock_release(&sessions->lock);
    if (evicted)
        session_free(evicted);
    if (!room) {
        session_free(session);
        return NULL;
    }
    return session;
}

void fetch_session_end(struct fetch_sessions *sessions, struct fetch_session *session)
{
    lock_take(&sessions->lock);
    session->in_use = false;
    session->holder = NULL;
    bool removed = session->removed;
    /* All try again: the first gets it, and its epoch refuses the others as in Kafka. */
    for (struct list *link; (link = list_pop_front(&session->waiters));) {
        struct fetch_session_waiter *waiter = LIST_ITEM(link, struct fetch_session_waiter, link);
        waiter->ready(waiter);
    }
    struct fetch_session *evicted = NULL;
    if (is_too_big(sessions) && !list_empty(&sessions->idle_first))
        evicted =
            take_out(sessions, LIST_ITEM(sessions->idle_first.next, struct fetch_session, link));
    lock_release(&sessions->lock);
    if (removed)
        session_free(session);
    if (evicted)
        session_free(evicted);
}

bool fetch_sessions_leave(struct fetch_sessions *sessions, struct fetch_session_waiter *waiter)
{
    lock_take(&sessions->lock);
    bool waits = !list_empty(&waiter->link);
    list_remove(&waiter->link);
    lock_release(&sessions->lock);
    return waits;
}

void fetch_session_hold(struct fetch_session *session, struct parked *holder)
{
    lock_take(&session->sessions->lock);
    session->holder = holder;
    if (holder && !list_empty(&session->waiters))
        parked_wake(holder);
    lock_release(&session->sessions->lock);
}

void fetch_sessions_remove(struct fetch_sessions *sessions, int32_t id)
{
    lock_take(&sessions->lock);
    struct fetch_session *session = get(sessions, id);
    if (session)
        session = take_out(sessions, session);
    lock_release(&sessions->lock);
    if (session)
        session_free(session);
}

/* ---- a session in use ---- */

static struct slice key_of(struct slice topic, const struct uuid *topic_id, int32_t index,
                           uint8_t *key)
{
    size_t size = 16;
    if (topic.data) {
        size = topic.size;
        memcpy(key, topic.data, size);
    } else {
        memcpy(key, topic_id->bytes, size);
    }
    be_put_u32(key + size, (uint32_t)index);
    return slice_of(key, size + 4);
}

struct fetch_partition *fetch_session_put(struct fetch_session *session,
                                          const struct fetch_partition *like)
{
    uint8_t bytes[KEY_SIZE_MAX];
    struct slice key = key_of(like->topic, &like->topic_id, like->index, bytes);
    struct fetch_partition *found = map_get(&session->by_key, key);
    if (found)
        return found;
    struct kept_partition *kept = mem_zalloc(sizeof *kept + key.size);
    memcpy(kept->key, key.data, key.size);
    kept->key_size = key.size;
    atomic_fetch_add(&session->sessions->size, kept_size(key.size));
    struct fetch_partition *partition = &kept->partition;
    partition->topic_id = like->topic_id;
    if (like->topic.data)
        partition->topic = slice_of(kept->key, like->topic.size);
    partition->index = like->index;
    partition->told_watermark = partition->told_log_start = -1;
    list_push_back(&session->partitions, &partition->link);
    map_put(&session->by_key, slice_of(kept->key, key.size), partition);
    return partition;
}

void fetch_session_drop(struct fetch_session *session, struct slice topic,
                        const struct uuid *topic_id, int32_t index)
{
    uint8_t bytes[KEY_SIZE_MAX];
    struct fetch_partition *found =
        map_remove(&session->by_key, key_of(topic, topic_id, index, bytes));
    if (!found)
        return;
    list_remove(&found->link);
    free_partition(session, found);
}
