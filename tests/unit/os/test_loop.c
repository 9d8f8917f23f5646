#include "os_fixture.h"

#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* Waits for a semaphore-like counter without sleeping in steps. */
struct gate {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    int count;
};

static struct gate gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};

static void gate_pass(void)
{
    pthread_mutex_lock(&gate.mutex);
    gate.count++;
    pthread_cond_signal(&gate.changed);
    pthread_mutex_unlock(&gate.mutex);
}

static void gate_wait(void)
{
    pthread_mutex_lock(&gate.mutex);
    while (gate.count == 0)
        pthread_cond_wait(&gate.changed, &gate.mutex);
    gate.count--;
    pthread_mutex_unlock(&gate.mutex);
}

struct run {
    struct loop_task task;
    struct loop_timer timers[3];
    struct loop_watch watch, other;
    struct loop *loop;
    struct io *io;
    int fds[4];
    char trace[128];
    int64_t start_ns, fired_ns;
};

static void note(struct run *run, const char *text)
{
    strncat(run->trace, text, sizeof run->trace - strlen(run->trace) - 1);
}

static struct run *run_of_task(struct loop_task *task)
{
    return LIST_ITEM(task, struct run, task);
}

static void second(struct loop_task *task)
{
    note(run_of_task(task), "second");
    gate_pass();
}

static void first(struct loop_task *task)
{
    struct run *run = run_of_task(task);
    assert_true(loop_is_current(run->loop));
    note(run, "first ");
    task->run = second;
    loop_post(run->loop, task); /* may be posted again once it runs */
}

static void runs_posts(void **state)
{
    struct fixture *f = *state;
    struct run run = {.io = f->io, .loop = loop_start(f->io, "test"), .task.run = first};
    assert_false(loop_is_current(run.loop));
    loop_post(run.loop, &run.task);
    gate_wait();
    assert_string_equal(run.trace, "first second");
    loop_stop(run.loop);
}

static void timer_a(struct loop_timer *timer)
{
    struct run *run = LIST_ITEM(timer, struct run, timers[0]);
    note(run, "a");
    run->fired_ns = io_mono_ns(run->io);
    loop_timer_cancel(run->loop, &run->timers[2]);
    gate_pass();
}

static void timer_b(struct loop_timer *timer)
{
    note(LIST_ITEM(timer, struct run, timers[1]), "b");
}

static void timer_c(struct loop_timer *timer)
{
    note(LIST_ITEM(timer, struct run, timers[2]), "c");
}

static void set_timers(struct loop_task *task)
{
    struct run *run = run_of_task(task);
    run->timers[0].expired = timer_a;
    run->timers[1].expired = timer_b;
    run->timers[2].expired = timer_c;
    run->start_ns = io_mono_ns(run->io);
    loop_timer_set(run->loop, &run->timers[0], run->start_ns + 1000000000000);
    loop_timer_set(run->loop, &run->timers[1], run->start_ns + 5000000);
    loop_timer_set(run->loop, &run->timers[2], run->start_ns + 25000000);
    loop_timer_set(run->loop, &run->timers[0], run->start_ns + 20000000); /* moved */
    assert_true(loop_timer_is_set(&run->timers[2]));
}

static void runs_timers_in_order(void **state)
{
    struct fixture *f = *state;
    struct run run = {.io = f->io, .loop = loop_start(f->io, "test"), .task.run = set_timers};
    loop_post(run.loop, &run.task);
    gate_wait();
    loop_stop(run.loop); /* c was cancelled, so no timer is left */
    assert_string_equal(run.trace, "ba");
    assert_true(run.fired_ns - run.start_ns >= 20000000);
}

static void readable(struct loop_watch *watch, unsigned events)
{
    struct run *run = LIST_ITEM(watch, struct run, watch);
    if (events & LOOP_READABLE) {
        char data[8];
        size_t size;
        assert_int_equal(io_recv(run->io, watch->fd, data, sizeof data, &size), ERR_NONE);
        note(run, "r");
        /* Both sockets are ready in this batch: the second must not be reported any more. */
        loop_watch_remove(run->loop, &run->other);
        assert_int_equal(loop_watch_set(run->loop, watch, LOOP_WRITABLE), ERR_NONE);
    } else if (events & LOOP_WRITABLE) {
        note(run, "w");
        assert_int_equal(loop_watch_set(run->loop, watch, 0), ERR_NONE);
        assert_int_equal(send(run->fds[1], "silent", 6, 0), 6);
        gate_pass();
    } else {
        note(run, "h");
        loop_watch_remove(run->loop, watch);
        gate_pass();
    }
}

static void other_ready(struct loop_watch *watch, unsigned events)
{
    (void)events;
    struct run *run = LIST_ITEM(watch, struct run, other);
    loop_watch_remove(run->loop, &run->watch);
    note(run, "other");
    gate_pass();
}

static void set_watches(struct loop_task *task)
{
    struct run *run = run_of_task(task);
    run->watch = (struct loop_watch){.fd = run->fds[0], .ready = readable};
    run->other = (struct loop_watch){.fd = run->fds[2], .ready = other_ready};
    assert_int_equal(loop_watch_set(run->loop, &run->watch, LOOP_READABLE), ERR_NONE);
    assert_int_equal(loop_watch_set(run->loop, &run->other, LOOP_READABLE), ERR_NONE);
}

static void watches_sockets(void **state)
{
    struct fixture *f = *state;
    struct run run = {.io = f->io, .loop = loop_start(f->io, "test"), .task.run = set_watches};
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, run.fds), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, run.fds + 2), 0);
    assert_int_equal(send(run.fds[1], "x", 1, 0), 1);
    assert_int_equal(send(run.fds[3], "x", 1, 0), 1);
    loop_post(run.loop, &run.task);
    gate_wait();
    assert_string_equal(run.trace, "rw");
    close(run.fds[1]);
    gate_wait();
    assert_string_equal(run.trace, "rwh");
    loop_stop(run.loop);
    close(run.fds[0]);
    close(run.fds[2]);
    close(run.fds[3]);
}

static void count_task(struct loop_task *task)
{
    (void)task;
    static int ran;
    if (++ran % 1000 == 0)
        gate_pass();
}

static void *post_many(void *context)
{
    struct run *run = context;
    static struct loop_task tasks[4][1000];
    static _Atomic(int) next;
    struct loop_task *mine = tasks[next++];
    for (int i = 0; i < 1000; i++) {
        mine[i].run = count_task;
        loop_post(run->loop, &mine[i]);
    }
    return NULL;
}

static void loses_no_post(void **state)
{
    struct fixture *f = *state;
    struct run run = {.io = f->io, .loop = loop_start(f->io, "test")};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, post_many, &run);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < 4; i++)
        gate_wait();
    loop_stop(run.loop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FIXTURE_TEST(runs_posts), FIXTURE_TEST(runs_timers_in_order),
                                       FIXTURE_TEST(watches_sockets), FIXTURE_TEST(loses_no_post)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
