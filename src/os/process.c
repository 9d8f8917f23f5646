/* What a node asks about its own process: signals that end it, memory and descriptors it may use,
 * and since when its machine runs.
 *
 * SIGTERM and SIGINT are blocked and read from a signalfd on a loop, so that stopping is an event
 * like any other. The memory limit is the least of the machine's memory and the limits of the
 * cgroup the process is in and of its parents (version 2, or the memory controller of version 1).
 */
#include "base/ensure.h"
#include "base/mem.h"
#include "base/slice.h"
#include "os/io_linux.h"
#include "os/io_linux_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct stop_signal {
    struct loop *loop;
    struct loop_task start;
    struct loop_watch watch;
    void (*stop)(void *context);
    void *context;
};

static void stop_signal_ready(struct loop_watch *watch, unsigned events)
{
    (void)events;
    struct stop_signal *s = LIST_ITEM(watch, struct stop_signal, watch);
    struct signalfd_siginfo info;
    if (read(watch->fd, &info, sizeof info) == (ssize_t)sizeof info)
        s->stop(s->context);
}

static void stop_signal_start(struct loop_task *task)
{
    struct stop_signal *s = LIST_ITEM(task, struct stop_signal, start);
    enum err e = loop_watch_set(s->loop, &s->watch, LOOP_READABLE);
    ENSURE_CMP(e, ==, ERR_NONE);
}

static sigset_t stop_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    return set;
}

void io_linux_exit(int status)
{
    _exit(status);
}

void io_linux_hold_stop(void)
{
    sigset_t set = stop_signals();
    ENSURE(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

enum err linux_on_stop(struct io *io, struct loop *loop, void (*stop)(void *context), void *context)
{
    struct io_linux *l = io_linux_of(io);
    ENSURE(!l->stop_signal);
    sigset_t set = stop_signals();
    io_linux_hold_stop();
    int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (fd < 0)
        return errno_to_err(errno);
    struct stop_signal *s = mem_zalloc(sizeof *s);
    *s = (struct stop_signal){
        .loop = loop,
        .start.run = stop_signal_start,
        .watch = {.fd = fd, .ready = stop_signal_ready},
        .stop = stop,
        .context = context,
    };
    l->stop_signal = s;
    loop_post(loop, &s->start);
    return ERR_NONE;
}

/* Once the loop is gone; its epoll descriptor, and so the watch, went with it. */
void stop_signal_free(struct stop_signal *s)
{
    if (!s)
        return;
    close(s->watch.fd);
    mem_free(s);
}

/* The text of a small file of the kernel, NUL-terminated; false when it cannot be read. */
static bool read_text(const char *path, char *ret_text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    ssize_t got = read(fd, ret_text, size - 1);
    close(fd);
    if (got < 0)
        return false;
    ret_text[got] = '\0';
    return true;
}

/* A limit in bytes; INT64_MAX for "max", a missing file or anything else. */
static int64_t read_limit(const char *folder, const char *name)
{
    char path[1280], text[64];
    int64_t value = 0;
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) >= sizeof path ||
        !read_text(path, text, sizeof text) ||
        !slice_to_i64(slice_trim(slice_str(text)), 1, INT64_MAX, &value))
        return INT64_MAX;
    return value;
}

/* The least limit on the way from root + group up to root. */
static int64_t least_limit(const char *root, const char *group, const char *name)
{
    char folder[1024];
    int64_t least = read_limit(root, name);
    if ((size_t)snprintf(folder, sizeof folder, "%s%s", root, group) >= sizeof folder)
        return least;
    size_t root_size = strlen(root);
    for (char *end = folder + strlen(folder); end > folder + root_size;) {
        int64_t limit = read_limit(folder, name);
        least = limit < least ? limit : least;
        while (end > folder + root_size && *--end != '/')
            ;
        *end = '\0';
    }
    return least;
}

static int64_t cgroup_limit(void)
{
    char text[4096];
    if (!read_text("/proc/self/cgroup", text, sizeof text))
        return INT64_MAX;
    int64_t least = INT64_MAX;
    char *next;
    for (char *line = text; *line; line = next) {
        char *end = strchr(line, '\n');
        next = end ? end + 1 : line + strlen(line);
        if (end)
            *end = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        controllers++;
        int64_t limit = INT64_MAX;
        if (!*controllers)
            limit = least_limit("/sys/fs/cgroup", group, "memory.max");
        else if (strstr(controllers, "memory"))
            limit = least_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
        least = limit < least ? limit : least;
    }
    return least;
}

int64_t linux_memory_limit(struct io *io)
{
    (void)io;
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    int64_t group = cgroup_limit();
    return group < machine ? group : machine;
}

int64_t linux_raise_file_limit(struct io *io)
{
    (void)io;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return 1024;
    struct rlimit raised = {limit.rlim_max, limit.rlim_max};
    if (limit.rlim_cur < limit.rlim_max && setrlimit(RLIMIT_NOFILE, &raised) == 0)
        limit = raised;
    return limit.rlim_cur > INT32_MAX ? INT32_MAX : (int64_t)limit.rlim_cur;
}

int linux_processors(struct io *io)
{
    (void)io;
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
        return CPU_COUNT(&set);
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 ? (int)online : 1;
}

/* The kernel draws it at each boot. In a container it is that of the machine, whose page cache it
 * is. */
enum err linux_boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE])
{
    int fd;
    enum err err = linux_open(io, "/proc/sys/kernel/random/boot_id", IO_READ, &fd);
    if (err)
        return err;
    char text[IO_BOOT_ID_SIZE];
    size_t size;
    err = linux_pread(io, fd, text, sizeof text, 0, &size);
    linux_close(io, fd);
    if (err)
        return err;
    size_t length = 0;
    while (length < size && text[length] > ' ')
        length++;
    if (length == 0 || length >= sizeof text)
        return ERR_CORRUPT;
    memcpy(ret_id, text, length);
    ret_id[length] = 0;
    return ERR_NONE;
}
