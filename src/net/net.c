/* The frame around connections: limits, counters, memory, idle connections, stopping.
 *
 * Limits are counted under one lock, taken once when a connection comes and once when it goes. Each
 * loop keeps its connections in the order of their last activity, so one timer for each loop closes
 * idle ones and activity costs a list move. Like Kafka, a connection with a request under way is
 * never idle; one that sent half a frame is.
 *
 * Stopping: loop 0 closes the listeners, each loop closes its connections, `alive` counts loops and
 * connections down, and whoever reaches zero posts `done`. */
#include "net/net.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "net/conn_internal.h"
#include "net/net_internal.h"
#include "os/diag.h"

#include <limits.h>

/* How long half a frame may stand still while memory is short; also how often idle and stalled
 * connections are looked for. */
enum { STALLED_MS = 10000 };

struct host {
    int32_t connections;
    char text[64];
};

void net_config_init(struct net_config *config)
{
    *config = (struct net_config){
        .request_size_max = 104857600,
        .connections_max = INT32_MAX,
        .connections_per_ip_max = INT32_MAX,
        .idle_max_ms = 600000,
        .queued_size_max = -1,
        .small_frame_size = 16 * 1024,
        .send_buffer_size = -1,
        .receive_buffer_size = -1,
        .backlog = 50,
    };
}

/* ---- idle connections -------------------------------------------------------------------------
 */

void net_watch_idle(struct net_loop *nl)
{
    int64_t idle_max_ms = atomic_load(&nl->net->idle_max_ms);
    if (idle_max_ms < 0 || idle_max_ms > INT64_MAX / 4) /* so that no sum wraps */
        idle_max_ms = INT64_MAX / 4;
    if (list_empty(&nl->conns) || loop_timer_is_set(&nl->idle_timer))
        return;
    struct conn *oldest = LIST_ITEM(nl->conns.next, struct conn, lru);
    int64_t due_ms = oldest->active_ms + idle_max_ms;
    int64_t now_ms = io_mono_ms(nl->net->io);
    int64_t step_ms = atomic_load(&nl->net->budget.waiters) > 0 ? STALLED_MS / 10 : STALLED_MS;
    due_ms = due_ms > now_ms + step_ms ? now_ms + step_ms : due_ms;
    /* Many connections fall due together: looking at most ten times a second costs nothing. */
    due_ms = due_ms < now_ms + 100 ? now_ms + 100 : due_ms;
    loop_timer_set(nl->loop, &nl->idle_timer, due_ms * 1000000);
}

/* While others wait for memory: who began a frame and sends no more of it, or has a large answer
 * and does not read it, must not keep its part. */
static void close_stalled(struct net_loop *nl, int64_t before_ms)
{
    LIST_FOREACH(link, &nl->conns)
    {
        struct conn *conn = LIST_ITEM(link, struct conn, lru);
        if (conn->active_ms > before_ms)
            break;
        bool half_read = conn->body && !conn->busy && !conn->waits_memory;
        bool unread = conn->charged && conn->waits_writable;
        if (!half_read && !unread)
            continue;
        diag(DIAG_NET, DIAG_WARN,
             "closing the connection of %s:%u: memory for requests is used up and %s within %d s",
             conn->peer.host, conn->peer.port,
             half_read ? "the rest of its request did not come"
                       : "it read nothing of a large answer",
             STALLED_MS / 1000);
        count(&nl->net->stalled, 1);
        conn_close(conn);
    }
}

void net_close_idle(struct conn *conn)
{
    diag(DIAG_NET, DIAG_DEBUG, "closing the idle connection of %s:%u", conn->peer.host,
         conn->peer.port);
    count(&conn->home->net->idle_closed, 1);
    conn_close(conn);
}

static void idle_expired(struct loop_timer *timer)
{
    struct net_loop *nl = LIST_ITEM(timer, struct net_loop, idle_timer);
    int64_t now_ms = io_mono_ms(nl->net->io);
    if (atomic_load(&nl->net->budget.waiters) > 0)
        close_stalled(nl, now_ms - STALLED_MS);
    int64_t idle_max_ms = atomic_load(&nl->net->idle_max_ms);
    int64_t before_ms = idle_max_ms < 0 ? INT64_MIN : now_ms - idle_max_ms;
    LIST_FOREACH(link, &nl->conns)
    {
        struct conn *conn = LIST_ITEM(link, struct conn, lru);
        if (conn->active_ms > before_ms)
            break;
        if (conn->busy) {
            conn_touch(conn, now_ms);
            continue;
        }
        net_close_idle(conn);
    }
    net_watch_idle(nl);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

void net_wake_waiting(struct net *net)
{
    for (int i = 0; i < net->loop_count; i++)
        if (!atomic_exchange(&net->loops[i].wake_posted, true))
            loop_post(net->loops[i].loop, &net->loops[i].wake_task);
}

void net_release_memory(struct net *net, size_t size)
{
    if (budget_release(&net->budget, size))
        net_wake_waiting(net);
}

void net_memory_take(struct net *net, size_t size)
{
    budget_extra_take(&net->budget, size);
}

void net_memory_give(struct net *net, size_t size)
{
    if (budget_extra_release(&net->budget, size))
        net_wake_waiting(net);
}

static void wake_run(struct loop_task *task)
{
    struct net_loop *nl = LIST_ITEM(task, struct net_loop, wake_task);
    atomic_store(&nl->wake_posted, false);
    struct list woken;
    list_init(&woken);
    list_move_all(&woken, &nl->waiting);
    /* In the order they began to wait; who finds no memory queues up again in the same order. */
    for (struct list *link; (link = list_pop_front(&woken));)
        conn_memory_ready(LIST_ITEM(link, struct conn, wait));
}

/* ---- limits -----------------------------------------------------------------------------------
 */

static int32_t host_limit(const struct net *net, const char *host)
{
    for (size_t i = 0; i < net->ip_limit_count; i++)
        if (strcmp(net->ip_limits[i].host, host) == 0)
            return net->ip_limits[i].connections_max;
    return net->config.connections_per_ip_max;
}

bool net_has_room(struct net *net)
{
    lock_take(&net->lock);
    bool room = net->connections < net->config.connections_max;
    lock_release(&net->lock);
    return room;
}

enum net_admission net_admit(struct net *net, const char *text)
{
    enum net_admission result = NET_ADMIT;
    lock_take(&net->lock);
    struct host *host = map_get(&net->hosts, slice_str(text));
    int32_t now = host ? host->connections : 0;
    if (net->connections >= net->config.connections_max) {
        result = NET_FULL;
    } else if (now >= host_limit(net, text)) {
        result = NET_REFUSE;
    } else {
        if (!host) {
            host = mem_zalloc(sizeof *host);
            memcpy(host->text, text, strnlen(text, sizeof host->text - 1));
            map_put(&net->hosts, slice_str(host->text), host);
        }
        host->connections++;
        net->connections++;
    }
    lock_release(&net->lock);
    return result;
}

void net_leave(struct net *net, const char *text)
{
    lock_take(&net->lock);
    struct host *host = map_get(&net->hosts, slice_str(text));
    ENSURE(host && host->connections > 0);
    if (--host->connections == 0) {
        map_remove(&net->hosts, slice_str(text));
        mem_free(host);
    }
    net->connections--;
    lock_release(&net->lock);
    if (atomic_load(&net->accept_paused) && !atomic_exchange(&net->accept_posted, true))
        loop_post(net->loops[0].loop, &net->accept_task);
}

static void accept_again(struct loop_task *task)
{
    struct net *net = LIST_ITEM(task, struct net, accept_task);
    atomic_store(&net->accept_posted, false);
    listener_continue_all(net);
}

struct net_loop *net_pick_loop(struct net *net)
{
    struct net_loop *best = &net->loops[0];
    for (int i = 1; i < net->loop_count; i++)
        if (atomic_load(&net->loops[i].conn_count) < atomic_load(&best->conn_count))
            best = &net->loops[i];
    return best;
}

static void config_store(struct net *net, const struct net_config *config)
{
    lock_take(&net->lock);
    net->config = *config;
    lock_release(&net->lock);
    atomic_store(&net->request_size_max, config->request_size_max);
    atomic_store(&net->small_frame_size, config->small_frame_size);
    atomic_store(&net->idle_max_ms, config->idle_max_ms);
    atomic_store(&net->budget.limit, config->queued_size_max);
}

/* ---- life -------------------------------------------------------------------------------------
 */

void net_alive_down(struct net *net)
{
    if (atomic_fetch_sub(&net->alive, 1) == 1)
        loop_post(net->loops[0].loop, &net->done_task);
}

static void stop_loop(struct loop_task *task)
{
    struct net_loop *nl = LIST_ITEM(task, struct net_loop, stop_task);
    nl->stopped = true;
    LIST_FOREACH(link, &nl->conns)
    conn_close(LIST_ITEM(link, struct conn, lru));
    loop_timer_cancel(nl->loop, &nl->idle_timer);
    net_alive_down(nl->net);
}

static void stop_run(struct loop_task *task)
{
    struct net *net = LIST_ITEM(task, struct net, stop_task);
    listener_close_all(net);
    for (int i = 0; i < net->loop_count; i++)
        loop_post(net->loops[i].loop, &net->loops[i].stop_task);
}

static void done_run(struct loop_task *task)
{
    struct net *net = LIST_ITEM(task, struct net, done_task);
    if (net->done)
        net->done(net->done_context);
}

struct net *net_new(struct io *io, const struct net_config *config, struct loop *const *loops,
                    int loop_count, const struct net_handler *handler, void *context)
{
    ENSURE_CMP(loop_count, >, 0);
    struct net *net = mem_zalloc(sizeof *net + (size_t)loop_count * sizeof net->loops[0]);
    net->io = io;
    net->handler = *handler;
    net->context = context;
    net->loop_count = loop_count;
    budget_init(&net->budget, config->queued_size_max);
    lock_init(&net->lock, LOCK_TABLE);
    map_init(&net->hosts);
    list_init(&net->listeners);
    config_store(net, config);
    net->accept_task.run = accept_again;
    net->stop_task.run = stop_run;
    net->done_task.run = done_run;
    atomic_store(&net->alive, loop_count);
    for (int i = 0; i < loop_count; i++) {
        struct net_loop *nl = &net->loops[i];
        nl->net = net;
        nl->loop = loops[i];
        list_init(&nl->conns);
        list_init(&nl->waiting);
        nl->idle_timer.expired = idle_expired;
        nl->stop_task.run = stop_loop;
        nl->wake_task.run = wake_run;
    }
    return net;
}

void net_configure(struct net *net, const struct net_config *config)
{
    config_store(net, config);
    net_wake_waiting(net); /* there may be more memory now */
    if (atomic_load(&net->accept_paused) && !atomic_exchange(&net->accept_posted, true))
        loop_post(net->loops[0].loop, &net->accept_task);
}

void net_limit_ips(struct net *net, const struct net_ip_limit *limits, size_t count)
{
    struct net_ip_limit *copy = mem_array(count, sizeof *copy);
    if (count)
        memcpy(copy, limits, count * sizeof *copy);
    lock_take(&net->lock);
    struct net_ip_limit *before = net->ip_limits;
    net->ip_limits = copy;
    net->ip_limit_count = count;
    lock_release(&net->lock);
    mem_free(before);
}

void net_stop(struct net *net, void (*done)(void *context), void *context)
{
    ENSURE(!atomic_exchange(&net->stopping, true));
    net->done = done;
    net->done_context = context;
    loop_post(net->loops[0].loop, &net->stop_task);
}

bool net_is_busy(const struct net *net)
{
    return atomic_load(&net->job_count) > 0;
}

void net_free(struct net *net)
{
    if (!net)
        return;
    ENSURE(!net_is_busy(net));
    ENSURE_CMP(net->connections, ==, 0);
    ENSURE_CMP(atomic_load(&net->budget.used), ==, 0);
    if (!atomic_load(&net->stopping))
        listener_close_all(net);
    listener_free_all(net);
    for (int i = 0; i < net->loop_count; i++) {
        mem_free(net->loops[i].read_chunk);
        chunk_pool_fini(&net->loops[i].pool);
    }
    map_fini(&net->hosts);
    mem_free(net->ip_limits);
    lock_fini(&net->lock);
    mem_free(net);
}

struct net_counters net_counters(struct net *net)
{
    struct net_counters c = {
        .connections_accepted = atomic_load(&net->accepted),
        .connections_closed = atomic_load(&net->closed),
        .connections_refused = atomic_load(&net->refused),
        .connections_idle_closed = atomic_load(&net->idle_closed),
        .connections_stalled_closed = atomic_load(&net->stalled),
        .frames_bad = atomic_load(&net->frames_bad),
        .queued_size = atomic_load(&net->budget.used),
        .pauses_memory = atomic_load(&net->pauses_memory),
        .pauses_files = atomic_load(&net->pauses_files),
    };
    lock_take(&net->lock);
    c.connections = net->connections;
    lock_release(&net->lock);
    for (int i = 0; i < net->loop_count; i++) {
        c.frames += atomic_load(&net->loops[i].frames);
        c.received_size += atomic_load(&net->loops[i].received_size);
        c.sent_size += atomic_load(&net->loops[i].sent_size);
    }
    return c;
}
