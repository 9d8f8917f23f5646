/* An event loop: one thread around epoll, a heap of timers and two queues of posted tasks.
 *
 * One turn: due timers, posted tasks, then one epoll_wait for a batch of sockets. System calls are
 * the cost of a broker, so the loop makes as few as it can: a post from the loop's own thread goes
 * to a list without lock or wake-up, a post from elsewhere writes the eventfd only when the loop is
 * (about to be) asleep, and the eventfd is edge-triggered so that nobody has to read it.
 *
 * `asleep` and `posted` are guarded by the mutex; everything else belongs to the loop's thread. A
 * watch that is removed while its batch is being worked off is taken out of the batch, so `ready`
 * is never called on a watch that is gone. */
#include "base/ensure.h"
#include "base/mem.h"
#include "base/thread_exit.h"
#include "os/io_linux_internal.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { BATCH_MAX = 128 };

struct linux_loop {
    struct loop loop; /* first */
    pthread_t thread;
    int epoll_fd, wake_fd;
    struct heap timers;
    struct list own; /* tasks posted by the loop's own thread */
    struct epoll_event batch[BATCH_MAX];
    int batch_count;

    pthread_mutex_t mutex;
    struct list posted; /* tasks posted by others */
    bool asleep, stopping;
};

static _Thread_local struct linux_loop *current;

static struct linux_loop *linux_loop_of(struct loop *loop)
{
    return (struct linux_loop *)(void *)loop;
}

static void run_timers(struct linux_loop *l)
{
    struct heap_node *first = heap_min(&l->timers);
    if (!first)
        return;
    int64_t now_ns = io_mono_ns(l->loop.io);
    /* A timer that sets itself to a time already past waits for the next turn: no starvation. */
    for (size_t left = l->timers.count; left > 0; left--) {
        first = heap_min(&l->timers);
        if (!first || first->key > now_ns)
            break;
        heap_remove(&l->timers, first);
        struct loop_timer *timer = LIST_ITEM(first, struct loop_timer, node);
        timer->expired(timer);
    }
}

static void run_tasks(struct linux_loop *l)
{
    struct list tasks;
    list_init(&tasks);
    pthread_mutex_lock(&l->mutex);
    l->asleep = false;
    list_move_all(&tasks, &l->posted);
    pthread_mutex_unlock(&l->mutex);
    list_move_all(&tasks, &l->own);
    for (struct list *link; (link = list_pop_front(&tasks));) {
        struct loop_task *task = LIST_ITEM(link, struct loop_task, link);
        task->run(task);
    }
}

/* ms until the next timer, rounded up; 0 when there is work, -1 for ever. Declares the loop asleep
 * when it returns anything but 0. */
static int sleep_time_ms(struct linux_loop *l)
{
    if (!list_empty(&l->own))
        return 0;
    int64_t wait_ms = -1;
    struct heap_node *first = heap_min(&l->timers);
    if (first) {
        int64_t left_ns = first->key - io_mono_ns(l->loop.io);
        if (left_ns <= 0)
            return 0;
        wait_ms = left_ns / 1000000 + 1;
        wait_ms = wait_ms > 3600000 ? 3600000 : wait_ms;
    }
    pthread_mutex_lock(&l->mutex);
    bool work = !list_empty(&l->posted) || l->stopping;
    l->asleep = !work;
    pthread_mutex_unlock(&l->mutex);
    return work ? 0 : (int)wait_ms;
}

static void run_sockets(struct linux_loop *l, int wait_ms)
{
    int count = epoll_wait(l->epoll_fd, l->batch, BATCH_MAX, wait_ms);
    ENSURE(count >= 0 || errno == EINTR);
    l->batch_count = count < 0 ? 0 : count;
    for (int i = 0; i < l->batch_count; i++) {
        struct loop_watch *watch = l->batch[i].data.ptr;
        if (!watch)
            continue; /* the wake-up, or removed meanwhile */
        uint32_t got = l->batch[i].events;
        unsigned events = 0;
        if (got & EPOLLIN)
            events |= LOOP_READABLE;
        if (got & EPOLLOUT)
            events |= LOOP_WRITABLE;
        if (got & EPOLLRDHUP)
            events |= LOOP_PEER_CLOSED;
        if (got & (EPOLLHUP | EPOLLERR))
            events |= LOOP_HANGUP;
        watch->ready(watch, events);
    }
    l->batch_count = 0;
}

static bool may_end(struct linux_loop *l)
{
    pthread_mutex_lock(&l->mutex);
    bool end = l->stopping && list_empty(&l->posted) && list_empty(&l->own);
    pthread_mutex_unlock(&l->mutex);
    return end;
}

static void *loop_main(void *context)
{
    struct linux_loop *l = context;
    current = l;
    do {
        run_timers(l);
        run_tasks(l);
        if (may_end(l))
            break;
        run_sockets(l, sleep_time_ms(l));
    } while (true);
    thread_exit_run();
    return NULL;
}

struct loop *linux_loop_start(struct io *io, const char *name)
{
    struct linux_loop *l = mem_zalloc(sizeof *l);
    l->loop.io = io;
    heap_init(&l->timers);
    list_init(&l->own);
    list_init(&l->posted);
    ENSURE(pthread_mutex_init(&l->mutex, NULL) == 0);
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ENSURE(l->epoll_fd >= 0 && l->wake_fd >= 0);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.ptr = NULL};
    ENSURE(epoll_ctl(l->epoll_fd, EPOLL_CTL_ADD, l->wake_fd, &event) == 0);
    l->thread = thread_start(name, loop_main, l);
    return &l->loop;
}

static void wake(struct linux_loop *l)
{
    uint64_t one = 1;
    ssize_t written = write(l->wake_fd, &one, sizeof one);
    ENSURE(written == (ssize_t)sizeof one || errno == EAGAIN);
}

void linux_loop_stop(struct loop *loop)
{
    struct linux_loop *l = linux_loop_of(loop);
    ENSURE(current != l);
    pthread_mutex_lock(&l->mutex);
    l->stopping = true;
    pthread_mutex_unlock(&l->mutex);
    wake(l);
    pthread_join(l->thread, NULL);
    ENSURE(l->timers.count == 0);
    heap_fini(&l->timers);
    close(l->epoll_fd);
    close(l->wake_fd);
    pthread_mutex_destroy(&l->mutex);
    mem_free(l);
}

bool linux_loop_is_current(struct loop *loop)
{
    return current == linux_loop_of(loop);
}

void linux_loop_post(struct loop *loop, struct loop_task *task)
{
    struct linux_loop *l = linux_loop_of(loop);
    if (current == l) {
        list_push_back(&l->own, &task->link);
        return;
    }
    pthread_mutex_lock(&l->mutex);
    list_push_back(&l->posted, &task->link);
    bool asleep = l->asleep;
    l->asleep = false;
    /* Waking under the mutex: the loop cannot end and close the descriptor in between. */
    if (asleep)
        wake(l);
    pthread_mutex_unlock(&l->mutex);
}

void linux_timer_set(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns)
{
    struct linux_loop *l = linux_loop_of(loop);
    heap_remove(&l->timers, &timer->node);
    heap_add(&l->timers, &timer->node, deadline_ns);
}

void linux_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    heap_remove(&linux_loop_of(loop)->timers, &timer->node);
}

enum err linux_watch_set(struct loop *loop, struct loop_watch *watch, unsigned events)
{
    struct linux_loop *l = linux_loop_of(loop);
    if (watch->registered && watch->events == events)
        return ERR_NONE;
    struct epoll_event event = {.data.ptr = watch};
    if (events & LOOP_READABLE)
        event.events |= EPOLLIN;
    if (events & LOOP_WRITABLE)
        event.events |= EPOLLOUT;
    if (events & LOOP_PEER_CLOSED)
        event.events |= EPOLLRDHUP;
    int op = watch->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    if (epoll_ctl(l->epoll_fd, op, watch->fd, &event) < 0)
        return errno_to_err(errno);
    watch->registered = true;
    watch->events = events;
    return ERR_NONE;
}

void linux_watch_remove(struct loop *loop, struct loop_watch *watch)
{
    struct linux_loop *l = linux_loop_of(loop);
    if (!watch->registered)
        return;
    struct epoll_event event = {0};
    ENSURE(epoll_ctl(l->epoll_fd, EPOLL_CTL_DEL, watch->fd, &event) == 0);
    watch->registered = false;
    watch->events = 0;
    for (int i = 0; i < l->batch_count; i++)
        if (l->batch[i].data.ptr == watch)
            l->batch[i].data.ptr = NULL;
}
