/* Listening sockets. All accept on loop 0; the connection is made there and opens on its own loop.
 *
 * Accepting pauses (its watch stays, silent) when max.connections is reached, until a connection
 * closes or the limit changes, and when descriptors run out or the system refuses one after the
 * other, until a connection closes or a short time passed. Clients wait in the backlog meanwhile.
 */
#include "net/listener.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "net/conn_internal.h"
#include "net/net_internal.h"
#include "os/diag.h"

enum { ACCEPT_BATCH_MAX = 64, PAUSE_MS = 200 };
#define TELL_NS INT64_C(60000000000)

struct listener {
    struct net *net;
    struct list link; /* net->listeners */
    struct listener_info info;
    struct loop_watch watch;
    struct loop_task start_task;
    struct loop_timer pause_timer;
    int64_t told_ns; /* when it was last told why nobody is accepted; 0: never */
    bool started;
};

const struct listener_info *listener_info(const struct listener *listener)
{
    return &listener->info;
}

static void set_watch(struct listener *listener, unsigned events)
{
    enum err e = loop_watch_set(listener->net->loops[0].loop, &listener->watch, events);
    if (e)
        diag(DIAG_NET, DIAG_ERROR, "listener %s cannot accept: %s", listener->info.name,
             err_name(e));
}

static void pause_awhile(struct listener *listener, const char *why)
{
    struct net *net = listener->net;
    int64_t now_ns = io_mono_ns(net->io);
    if (!listener->told_ns || now_ns - listener->told_ns > TELL_NS) {
        diag(DIAG_NET, DIAG_WARN, "listener %s: %s; connections wait meanwhile",
             listener->info.name, why);
        listener->told_ns = now_ns;
    }
    atomic_store(&net->accept_paused, true);
    set_watch(listener, 0);
    loop_timer_set(net->loops[0].loop, &listener->pause_timer,
                   now_ns + PAUSE_MS * INT64_C(1000000));
}

/* Pauses unless room came up meanwhile. */
static bool pause_full(struct listener *listener)
{
    struct net *net = listener->net;
    atomic_store(&net->accept_paused, true);
    if (net_has_room(net))
        return false; /* the pause ends with the next close; harmless */
    set_watch(listener, 0);
    return true;
}

static void take_connection(struct listener *listener, int fd, const struct io_address *local,
                            const struct io_address *peer)
{
    struct net *net = listener->net;
    if (net_admit(net, peer->host) != NET_ADMIT) {
        diag(DIAG_NET, DIAG_INFO,
             "refusing a connection of %s on listener %s: it has as many as "
             "max.connections.per.ip allows",
             peer->host, listener->info.name);
        count(&net->refused, 1);
        io_close(net->io, fd);
        return;
    }
    lock_take(&net->lock);
    int32_t send_size = net->config.send_buffer_size;
    int32_t receive_size = net->config.receive_buffer_size;
    lock_release(&net->lock);
    if (send_size >= 0 || receive_size >= 0)
        io_set_buffers(net->io, fd, send_size, receive_size);
    conn_open(net_pick_loop(net), listener, fd, local, peer);
}

static void accept_ready(struct loop_watch *watch, unsigned events)
{
    (void)events;
    struct listener *listener = LIST_ITEM(watch, struct listener, watch);
    struct net *net = listener->net;
    int refused = 0;
    for (int i = 0; i < ACCEPT_BATCH_MAX; i++) {
        if (!net_has_room(net) && pause_full(listener))
            return;
        int fd;
        struct io_address local, peer;
        enum err e = io_accept(net->io, watch->fd, &fd, &local, &peer);
        if (e == ERR_AGAIN)
            return;
        if (e == ERR_TOO_MANY_FILES || e == ERR_NO_MEMORY) {
            count(&net->pauses_files, 1);
            pause_awhile(listener, "no file descriptors left");
            return;
        }
        if (e)
            refused++; /* the trouble of one client that is gone, but not of so many */
        else
            take_connection(listener, fd, &local, &peer);
        if (refused == ACCEPT_BATCH_MAX)
            pause_awhile(listener, io_error_text(net->io, e));
    }
}

static void pause_over(struct loop_timer *timer)
{
    set_watch(LIST_ITEM(timer, struct listener, pause_timer), LOOP_READABLE);
}

void listener_continue_all(struct net *net)
{
    if (!atomic_exchange(&net->accept_paused, false))
        return;
    LIST_FOREACH(link, &net->listeners)
    {
        struct listener *listener = LIST_ITEM(link, struct listener, link);
        loop_timer_cancel(net->loops[0].loop, &listener->pause_timer);
        if (listener->started)
            set_watch(listener, LOOP_READABLE);
    }
}

static void start_run(struct loop_task *task)
{
    struct listener *listener = LIST_ITEM(task, struct listener, start_task);
    if (atomic_load(&listener->net->stopping))
        return;
    listener->started = true;
    set_watch(listener, LOOP_READABLE);
}

enum err listener_open(struct net *net, const struct listener_info *info,
                       const struct io_address *address, struct listener **ret_listener)
{
    int fd;
    struct io_address bound;
    enum err e = io_bind(net->io, address, &fd, &bound);
    if (e)
        return e;
    struct listener *listener = mem_zalloc(sizeof *listener);
    listener->net = net;
    listener->info = *info;
    listener->info.bound = bound;
    listener->watch = (struct loop_watch){.fd = fd, .ready = accept_ready};
    listener->start_task.run = start_run;
    listener->pause_timer.expired = pause_over;
    list_push_back(&net->listeners, &listener->link);
    *ret_listener = listener;
    return ERR_NONE;
}

enum err listener_start(struct listener *listener)
{
    struct net *net = listener->net;
    lock_take(&net->lock);
    int32_t backlog = net->config.backlog;
    lock_release(&net->lock);
    enum err e = io_listen(net->io, listener->watch.fd, backlog);
    if (!e)
        loop_post(net->loops[0].loop, &listener->start_task);
    return e;
}

void listener_close_all(struct net *net)
{
    LIST_FOREACH(link, &net->listeners)
    {
        struct listener *listener = LIST_ITEM(link, struct listener, link);
        if (listener->watch.fd < 0)
            continue;
        if (listener->started)
            loop_watch_remove(net->loops[0].loop, &listener->watch);
        loop_timer_cancel(net->loops[0].loop, &listener->pause_timer);
        io_close(net->io, listener->watch.fd);
        listener->watch.fd = -1;
        listener->started = false;
    }
}

void listener_free_all(struct net *net)
{
    for (struct list *link; (link = list_pop_front(&net->listeners));)
        mem_free(LIST_ITEM(link, struct listener, link));
}
