/* What a module keeps for each thread (library contexts, scratch memory) and must give back when
 * the thread ends. The module below registers; whoever runs threads (os) calls thread_exit_run as
 * the last thing on each. */
#ifndef KLAMM_BASE_THREAD_EXIT_H
#define KLAMM_BASE_THREAD_EXIT_H

#include <stdbool.h>

/* One for each module and thread: a static _Thread_local object of the module. */
struct thread_exit {
    void (*run)(void); /* frees what the calling thread keeps; it may be kept anew afterwards */
    struct thread_exit *next;
    bool waits;
};

/* Has hook->run called when the calling thread ends. Nothing happens when it waits already, so it
 * may be called with each thing kept. */
void thread_exit_add(struct thread_exit *hook);

/* Runs the hooks of the calling thread, the last added first, and forgets them. A program that
 * keeps no memory at its end calls it on the main thread too. */
void thread_exit_run(void);

#endif
