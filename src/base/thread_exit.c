/* One list for each thread, so that no lock is needed. A hook that keeps something anew while it
 * runs, or makes another do so, is run again: the list is worked off until it is empty.
 *
 * Called by record (codec contexts) on loops and workers, and run by os/loop.c and os/worker.c at
 * the end of their threads. */
#include "base/thread_exit.h"

#include <stddef.h>

static _Thread_local struct thread_exit *hooks;

void thread_exit_add(struct thread_exit *hook)
{
    if (hook->waits)
        return;
    hook->waits = true;
    hook->next = hooks;
    hooks = hook;
}

void thread_exit_run(void)
{
    while (hooks) {
        struct thread_exit *hook = hooks;
        hooks = hook->next;
        hook->waits = false;
        hook->run();
    }
}
