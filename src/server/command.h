/* `klamm server [--data DIR] [--listen HOST:PORT] [--override KEY=VALUE]... [--memory
 * BYTES|PERCENT%]
 * [--ready-fd N] [server.properties]`: the node as a process. With a properties file it is Kafka's
 * node; without one it is a node for one machine, made on the spot in DIR (default ./klamm-data).
 */
#ifndef KLAMM_SERVER_COMMAND_H
#define KLAMM_SERVER_COMMAND_H

#include "base/err.h"
#include "os/io.h"

enum { SERVER_OVERRIDES_MAX = 256 };

struct server_options {
    const char *properties_path; /* NULL: no-config start */
    const char *data_path;       /* --data; NULL = ./klamm-data */
    const char *listen;          /* --listen; NULL = 127.0.0.1:9092 */
    /* --override: "KEY=VALUE", in their order; later ones win */
    const char *overrides[SERVER_OVERRIDES_MAX];
    int override_count;
    int ready_fd;       /* -1 = none */
    int64_t memory;     /* --memory in bytes; 0 = not given */
    int memory_percent; /* --memory in percent of machine or cgroup; 0 = not given */
};

/* ERR_ARGUMENT: *ret_text (mem_free) says what is wrong with the words after `server`. */
enum err server_options_parse(int argc, char *const *argv, struct server_options *ret_options,
                              char **ret_text);

/* Runs until the node has stopped; main thread. Returns the exit status; what went wrong is told as
 * diagnostics. */
int server_run(struct io *io, const struct server_options *options);

#endif
