/* Worker threads for what may block: fsync, rolling, recovery, unlinking, reading cold pages.
 *
 * Everything of the pool and of all lanes is guarded by one mutex, held for list work only. A lane
 * has at most one job in the queue or running (lane->running); the others wait in lane->waiting and
 * move up one by one. The lane is advanced before `done` is posted, so that `done` may free it. A
 * job without `done` may be freed by its `run`: nothing of it is touched afterwards.
 *
 * A thread starts only when a job finds nobody idle, so an idle node has none. */
#include "os/worker.h"

#include "base/ensure.h"
#include "base/thread_exit.h"
#include "os/io_linux_internal.h"

void worker_pool_init(struct worker_pool *pool)
{
    *pool = (struct worker_pool){0};
    ENSURE(pthread_mutex_init(&pool->mutex, NULL) == 0);
    ENSURE(pthread_cond_init(&pool->more, NULL) == 0);
    list_init(&pool->queue);
}

/* With the mutex held. */
static void queue_add(struct worker_pool *pool, struct io_job *job)
{
    list_push_back(&pool->queue, &job->link);
    pool->queued_count++;
}

static void job_done_task(struct loop_task *task)
{
    struct io_job *job = LIST_ITEM(task, struct io_job, task);
    job->done(job);
}

static void run_job(struct worker_pool *pool, struct io_job *job)
{
    struct io_lane *lane = job->lane;
    struct loop *loop = job->done ? job->loop : NULL;
    job->run(job);
    if (lane) {
        pthread_mutex_lock(&pool->mutex);
        struct list *next = list_pop_front(&lane->waiting);
        lane->running = next != NULL;
        if (next)
            queue_add(pool, LIST_ITEM(next, struct io_job, link));
        pthread_mutex_unlock(&pool->mutex); /* this thread looks at the queue next */
    }
    if (loop) {
        job->task.run = job_done_task;
        loop_post(loop, &job->task);
    }
}

static void *worker_main(void *context)
{
    struct worker_pool *pool = context;
    pthread_mutex_lock(&pool->mutex);
    for (;;) {
        while (list_empty(&pool->queue) && !pool->stopping) {
            pool->idle_count++;
            pthread_cond_wait(&pool->more, &pool->mutex);
            pool->idle_count--;
        }
        struct list *link = list_pop_front(&pool->queue);
        if (!link)
            break;
        pool->queued_count--;
        pthread_mutex_unlock(&pool->mutex);
        run_job(pool, LIST_ITEM(link, struct io_job, link));
        pthread_mutex_lock(&pool->mutex);
    }
    pthread_mutex_unlock(&pool->mutex);
    thread_exit_run();
    return NULL;
}

void worker_pool_submit(struct worker_pool *pool, struct io_job *job)
{
    pthread_mutex_lock(&pool->mutex);
    ENSURE(!pool->stopping);
    struct io_lane *lane = job->lane;
    if (lane && !lane->started) {
        list_init(&lane->waiting);
        lane->started = true;
    }
    if (lane && lane->running) {
        list_push_back(&lane->waiting, &job->link);
        pthread_mutex_unlock(&pool->mutex);
        return;
    }
    if (lane)
        lane->running = true;
    queue_add(pool, job);
    bool enough = pool->idle_count >= pool->queued_count;
    if (!enough && pool->thread_count < WORKER_THREADS_MAX) {
        pool->threads[pool->thread_count] = thread_start("klamm-worker", worker_main, pool);
        pool->thread_count++;
    } else {
        pthread_cond_signal(&pool->more);
    }
    pthread_mutex_unlock(&pool->mutex);
}

void worker_pool_fini(struct worker_pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    pool->stopping = true;
    pthread_cond_broadcast(&pool->more);
    pthread_mutex_unlock(&pool->mutex);
    for (int i = 0; i < pool->thread_count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->more);
    pthread_mutex_destroy(&pool->mutex);
}
