/* What the storage*.c files share. */
#ifndef KLAMM_CLI_STORAGE_INTERNAL_H
#define KLAMM_CLI_STORAGE_INTERNAL_H

#include "conf/config.h"
#include "os/io.h"

struct meta_records;
struct meta_version;

enum { STORAGE_LIST_MAX = 64 };

/* The values of an option that may be repeated. */
struct storage_list {
    const char *items[STORAGE_LIST_MAX];
    int count;
};

struct storage_args {
    const char *command;
    const char *config;
    const char *cluster_id;
    const char *release_version;
    const char *initial_controllers;
    struct storage_list features;
    struct storage_list scram; /* the values of --add-scram */
    bool ignore_formatted, standalone, no_initial_controllers;
    bool help;
};

/* False: what is wrong was printed. */
bool storage_parse(int argc, char **argv, struct storage_args *ret_args);
void storage_usage(const char *command, bool to_stderr);

/* The node's configuration from a file; NULL when it was refused, which was printed. */
struct config *storage_load_config(struct io *io, const char *path);
/* log.dirs and metadata.log.dir, sorted, each once; mem_free the array and its texts. */
char **storage_dirs(const struct config *config, int *ret_count);
void storage_free_dirs(char **dirs, int count);

/* Says that there is no metadata.version `name`, and which there are. */
void storage_unknown_version(const char *name, bool production_only);

/* Adds a record for each --add-scram. False: what is wrong was printed, and no password with it. */
bool storage_add_scram(struct io *io, const struct storage_args *args,
                       const struct meta_version *version, struct meta_records *records);

int storage_format(struct io *io, const struct storage_args *args);

#endif
