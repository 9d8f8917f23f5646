#include "os/worker.h"

#include "base/thread_exit.h"

#include "os_fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

enum { JOBS = 300 };

struct counted {
    struct io_job job;
    int index;
};

static struct loop *loop;
static int done_count, order[JOBS], order_count;
static atomic_int running, running_max, overlap;

static void run_counted(struct io_job *job)
{
    struct counted *c = LIST_ITEM(job, struct counted, job);
    int now = atomic_fetch_add(&running, 1) + 1;
    if (job->lane && now > 1)
        overlap = 1;
    if (now > running_max)
        running_max = now;
    if (!job->lane)
        usleep(2000);
    else
        order[order_count++] = c->index;
    atomic_fetch_sub(&running, 1);
}

static void counted_done(struct io_job *job)
{
    assert_true(loop_is_current(job->loop));
    pthread_mutex_lock(&mutex);
    done_count++;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void submit_all(struct fixture *f, struct counted *jobs, int count, struct io_lane *lane)
{
    done_count = 0;
    loop = loop_start(f->io, "test");
    for (int i = 0; i < count; i++) {
        jobs[i] = (struct counted){
            .job = {.run = run_counted, .done = counted_done, .loop = loop, .lane = lane},
            .index = i};
        io_submit(f->io, &jobs[i].job);
    }
    pthread_mutex_lock(&mutex);
    while (done_count < count)
        pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    loop_stop(loop);
}

static struct counted all[JOBS];

static void a_lane_keeps_order(void **state)
{
    struct io_lane lane = {0};
    submit_all(*state, all, JOBS, &lane);
    assert_int_equal(overlap, 0);
    assert_int_equal(order_count, JOBS);
    for (int i = 0; i < JOBS; i++)
        assert_int_equal(order[i], i);
}

static void jobs_without_lane_run_side_by_side(void **state)
{
    running_max = 0;
    submit_all(*state, all, 24, NULL);
    assert_in_range(running_max, 2, WORKER_THREADS_MAX);
}

static void run_free(struct io_job *job)
{
    free(job);
}

static void a_job_without_done_frees_itself(void **state)
{
    struct fixture *f = *state;
    struct io_lane lane = {0};
    for (int i = 0; i < 20; i++) {
        struct io_job *job = calloc(1, sizeof *job);
        job->run = run_free;
        job->lane = i % 2 ? &lane : NULL;
        io_submit(f->io, job);
    }
    io_linux_free(f->io); /* runs what is queued */
    f->io = io_linux_new();
}

static atomic_int exits;

static void count_exit(void)
{
    exits++;
}

static _Thread_local struct thread_exit exit_hook = {.run = count_exit};

static void run_hooked(struct io_job *job)
{
    (void)job;
    thread_exit_add(&exit_hook);
}

static void task_hooked(struct loop_task *task)
{
    (void)task;
    thread_exit_add(&exit_hook);
}

static void threads_give_back_what_they_keep(void **state)
{
    struct fixture *f = *state;
    exits = 0;
    struct io_job job = {.run = run_hooked};
    io_submit(f->io, &job);
    io_linux_free(f->io);
    assert_int_equal(exits, 1);
    f->io = io_linux_new();
    struct loop_task task = {.run = task_hooked};
    struct loop *hooked = loop_start(f->io, "test");
    loop_post(hooked, &task);
    loop_stop(hooked);
    assert_int_equal(exits, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FIXTURE_TEST(a_lane_keeps_order),
                                       FIXTURE_TEST(jobs_without_lane_run_side_by_side),
                                       FIXTURE_TEST(a_job_without_done_frees_itself),
                                       FIXTURE_TEST(threads_give_back_what_they_keep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
