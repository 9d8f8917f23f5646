/* The product's `struct io`: Linux system calls, one thread for each loop, a few worker threads.
 *
 * Built and freed on the main thread. Free it when its loops are stopped and no job is under way.
 */
#ifndef KLAMM_OS_IO_LINUX_H
#define KLAMM_OS_IO_LINUX_H

struct io;

/* Keeps SIGTERM and SIGINT until io_on_stop hears them: first thing in the process of a node, so
 * that one asked to stop while it starts ends in order. */
void io_linux_hold_stop(void);

/* Ends the process at once, whatever its threads wait for. */
_Noreturn void io_linux_exit(int status);

/* Never NULL. Ignores SIGPIPE for the process. Starts no thread: workers come with the first job.
 */
struct io *io_linux_new(void);
void io_linux_free(struct io *io); /* accepts NULL; waits for jobs that run */

#endif
