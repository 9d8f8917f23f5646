/* A condition variable around one flag; the main thread waits, any other opens. */
#include "os/latch.h"

#include "base/ensure.h"

void latch_init(struct latch *latch)
{
    ENSURE(pthread_mutex_init(&latch->mutex, NULL) == 0);
    ENSURE(pthread_cond_init(&latch->opened, NULL) == 0);
    latch->is_open = false;
}

void latch_fini(struct latch *latch)
{
    pthread_cond_destroy(&latch->opened);
    pthread_mutex_destroy(&latch->mutex);
}

void latch_open(struct latch *latch)
{
    pthread_mutex_lock(&latch->mutex);
    latch->is_open = true;
    pthread_cond_broadcast(&latch->opened);
    pthread_mutex_unlock(&latch->mutex);
}

void latch_wait(struct latch *latch)
{
    pthread_mutex_lock(&latch->mutex);
    while (!latch->is_open)
        pthread_cond_wait(&latch->opened, &latch->mutex);
    pthread_mutex_unlock(&latch->mutex);
}
