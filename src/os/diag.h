/* Diagnostics: what a node tells its operator, one line each on stderr:
 *   2026-11-30T16:54:46.123Z INFO  [store] message
 * Levels can be changed at run time for each module (BROKER_LOGGER configs). Any thread. Modules
 * below `api` return errors instead of printing; they use this only for events that have no caller
 * (a background job that fails, a folder going offline). Never prints secrets. */
#ifndef KLAMM_OS_DIAG_H
#define KLAMM_OS_DIAG_H

#include "base/slice.h"

struct io;

enum diag_level { DIAG_FATAL, DIAG_ERROR, DIAG_WARN, DIAG_INFO, DIAG_DEBUG, DIAG_TRACE };

enum diag_module {
    DIAG_ROOT,
    DIAG_NET,
    DIAG_STORE,
    DIAG_RAFT,
    DIAG_META,
    DIAG_COORD,
    DIAG_REPL,
    DIAG_API,
    DIAG_SERVER,
    DIAG_MODULE_COUNT,
};

/* Writes through `io` clocks; set once before other threads start. NULL sink = stderr. */
void diag_init(struct io *io, void (*sink)(void *context, struct slice line), void *context);
void diag_write(enum diag_module module, enum diag_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
enum diag_level diag_level_of(enum diag_module module);
void diag_set_level(enum diag_module module, enum diag_level level);
const char *diag_level_name(enum diag_level level); /* "INFO", ... */

#define diag(module, level, ...) \
    ((level) <= diag_level_of(module) ? diag_write(module, level, __VA_ARGS__) : (void)0)

#endif
