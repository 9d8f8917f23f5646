/* A door that opens once: how the main thread waits until a node has stopped. Not for loops, which
 * never wait. */
#ifndef KLAMM_OS_LATCH_H
#define KLAMM_OS_LATCH_H

#include <pthread.h>
#include <stdbool.h>

struct latch {
    pthread_mutex_t mutex;
    pthread_cond_t opened;
    bool is_open;
};

void latch_init(struct latch *latch);
void latch_fini(struct latch *latch);
void latch_open(struct latch *latch); /* any thread */
void latch_wait(struct latch *latch); /* returns once it is open */

#endif
