/* Diagnostics: one line, one write to stderr, so that lines of several threads do not mix. Control
 * characters in a message become blanks: a client's text must neither forge lines nor steer the
 * terminal. The level of each module is an atomic that the diag() macro reads before any argument
 * is evaluated. */
#include "os/diag.h"

#include "base/ensure.h"
#include "os/io.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static const char *const module_names[DIAG_MODULE_COUNT] = {
    [DIAG_ROOT] = "root", [DIAG_NET] = "net",   [DIAG_STORE] = "store",
    [DIAG_RAFT] = "raft", [DIAG_META] = "meta", [DIAG_COORD] = "coord",
    [DIAG_REPL] = "repl", [DIAG_API] = "api",   [DIAG_SERVER] = "server",
};
static const char *const level_names[] = {"FATAL", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"};

static _Atomic(int) levels[DIAG_MODULE_COUNT] = {
    [DIAG_ROOT] = DIAG_INFO, [DIAG_NET] = DIAG_INFO,  [DIAG_STORE] = DIAG_INFO,
    [DIAG_RAFT] = DIAG_INFO, [DIAG_META] = DIAG_INFO, [DIAG_COORD] = DIAG_INFO,
    [DIAG_REPL] = DIAG_INFO, [DIAG_API] = DIAG_INFO,  [DIAG_SERVER] = DIAG_INFO,
};
static struct io *clock_io;
static void (*line_sink)(void *context, struct slice line);
static void *sink_context;

void diag_init(struct io *io, void (*sink)(void *context, struct slice line), void *context)
{
    clock_io = io;
    line_sink = sink;
    sink_context = context;
}

static int64_t now_ms(void)
{
    if (clock_io)
        return io_wall_ms(clock_io);
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static size_t at_most(int wanted, size_t room)
{
    return wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room - 1;
}

void diag_write(enum diag_module module, enum diag_level level, const char *format, ...)
{
    ENSURE(module < DIAG_MODULE_COUNT);
    char line[2048];
    int64_t ms = now_ms();
    time_t seconds = (time_t)(ms / 1000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t size = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    size += at_most(snprintf(line + size, sizeof line - size, ".%03dZ %-5s [%s] ", (int)(ms % 1000),
                             level_names[level], module_names[module]),
                    sizeof line - size);
    size_t text = size;
    size_t room = sizeof line - size - 1; /* the line break */
    va_list args;
    va_start(args, format);
    size += at_most(vsnprintf(line + size, room, format, args), room);
    va_end(args);
    for (size_t i = text; i < size; i++)
        if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
            line[i] = ' ';
    if (line_sink) {
        line_sink(sink_context, slice_of(line, size));
        return;
    }
    line[size++] = '\n';
    int saved = errno;
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written; /* nobody is left to tell */
    errno = saved;
}

enum diag_level diag_level_of(enum diag_module module)
{
    return (enum diag_level)atomic_load_explicit(&levels[module], memory_order_relaxed);
}

void diag_set_level(enum diag_module module, enum diag_level level)
{
    atomic_store_explicit(&levels[module], (int)level, memory_order_relaxed);
}

const char *diag_level_name(enum diag_level level)
{
    return level_names[level];
}
