/* The threads behind io_submit: a few, started when a job finds none idle. Jobs of one lane run one
 * at a time, in the order of their submission; others in any order. Any thread submits. */
#ifndef KLAMM_OS_WORKER_H
#define KLAMM_OS_WORKER_H

#include "os/io.h"

#include <pthread.h>

enum { WORKER_THREADS_MAX = 8 };

struct worker_pool {
    pthread_mutex_t mutex;
    pthread_cond_t more;
    struct list queue; /* of io_job.link */
    pthread_t threads[WORKER_THREADS_MAX];
    int thread_count, idle_count;
    int queued_count;
    bool stopping;
};

void worker_pool_init(struct worker_pool *pool);
/* Runs what is queued, then joins the threads. */
void worker_pool_fini(struct worker_pool *pool);
void worker_pool_submit(struct worker_pool *pool, struct io_job *job);

#endif
