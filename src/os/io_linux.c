/* The product's struct io: its table of functions, clock, randomness and threads. Files, paths,
 * sockets, loops, workers and process matters stand in their own files.
 *
 * io_linux_new starts no thread and takes well below a millisecond, for a node must be ready within
 * ten. SIGPIPE is ignored for the process because sendfile has no flag to suppress it. */
#include "os/io_linux.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "os/io_linux_internal.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <sys/random.h>
#include <time.h>

static int64_t clock_ns(clockid_t id)
{
    struct timespec now;
    ENSURE(clock_gettime(id, &now) == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t linux_wall_ms(struct io *io)
{
    (void)io;
    return clock_ns(CLOCK_REALTIME) / 1000000;
}

static int64_t linux_mono_ns(struct io *io)
{
    (void)io;
    return clock_ns(CLOCK_MONOTONIC);
}

static void linux_random(struct io *io, void *ret_bytes, size_t size)
{
    (void)io;
    uint8_t *at = ret_bytes;
    while (size > 0) {
        ssize_t got = getrandom(at, size, 0);
        ENSURE(got > 0 || errno == EINTR);
        if (got > 0) {
            at += got;
            size -= (size_t)got;
        }
    }
}

static void linux_submit(struct io *io, struct io_job *job)
{
    worker_pool_submit(&io_linux_of(io)->workers, job);
}

static const struct io_ops linux_ops = {
    .wall_ms = linux_wall_ms,
    .mono_ns = linux_mono_ns,
    .random = linux_random,
    .open = linux_open,
    .close = linux_close,
    .pread = linux_pread,
    .pwritev = linux_pwritev,
    .fsync = linux_fsync,
    .fdatasync = linux_fdatasync,
    .truncate = linux_truncate,
    .fstat = linux_fstat,
    .is_cached = linux_is_cached,
    .stat = linux_stat,
    .rename = linux_rename,
    .unlink = linux_unlink,
    .mkdir = linux_mkdir,
    .rmdir = linux_rmdir,
    .sync_dir = linux_sync_dir,
    .set_mtime = linux_set_mtime,
    .list_dir = linux_list_dir,
    .space = linux_space,
    .absolute_path = linux_absolute_path,
    .lock_file = linux_lock_file,
    .error_text = linux_error_text,
    .loop_start = linux_loop_start,
    .loop_stop = linux_loop_stop,
    .loop_is_current = linux_loop_is_current,
    .loop_post = linux_loop_post,
    .timer_set = linux_timer_set,
    .timer_cancel = linux_timer_cancel,
    .watch_set = linux_watch_set,
    .watch_remove = linux_watch_remove,
    .resolve = linux_resolve,
    .bind = linux_bind,
    .listen = linux_listen,
    .accept = linux_accept,
    .connect = linux_connect,
    .connect_result = linux_connect_result,
    .recv = linux_recv,
    .sendv = linux_sendv,
    .sendfile = linux_sendfile,
    .set_buffers = linux_set_buffers,
    .submit = linux_submit,
    .on_stop = linux_on_stop,
    .memory_limit = linux_memory_limit,
    .raise_file_limit = linux_raise_file_limit,
    .processors = linux_processors,
    .boot_id = linux_boot_id,
};

struct io *io_linux_new(void)
{
    struct io_linux *l = mem_zalloc(sizeof *l);
    l->io.ops = &linux_ops;
    worker_pool_init(&l->workers);
    signal(SIGPIPE, SIG_IGN);
    /* One heap for each loop and one for the workers is enough; glibc's eight per core only keep
     * freed frames from being used again. */
    mallopt(M_ARENA_MAX, linux_processors(&l->io) + 1);
    return &l->io;
}

void io_linux_free(struct io *io)
{
    if (!io)
        return;
    struct io_linux *l = io_linux_of(io);
    worker_pool_fini(&l->workers);
    stop_signal_free(l->stop_signal);
    mem_free(l);
}

pthread_t thread_start(const char *name, void *(*run)(void *), void *context)
{
    pthread_attr_t attr;
    ENSURE(pthread_attr_init(&attr) == 0);
    ENSURE(pthread_attr_setstacksize(&attr, THREAD_STACK_SIZE) == 0);
    /* Signals are for the thread that asked for them (io_on_stop): new threads block them all. */
    sigset_t all, old;
    sigfillset(&all);
    ENSURE(pthread_sigmask(SIG_SETMASK, &all, &old) == 0);
    pthread_t thread;
    int failed = pthread_create(&thread, &attr, run, context);
    ENSURE_CMP(failed, ==, 0);
    ENSURE(pthread_sigmask(SIG_SETMASK, &old, NULL) == 0);
    pthread_attr_destroy(&attr);
    char short_name[16];
    snprintf(short_name, sizeof short_name, "%s", name);
    pthread_setname_np(thread, short_name);
    return thread;
}
