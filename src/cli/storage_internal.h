/* What the storage*.c files share. */
#ifndef KLAMM_CLI_STORAGE_INTERNAL_H
#define KLAMM_CLI_STORAGE_INTERNAL_H

#include "conf/config.h"
#include "os/io.h"

enum { STORAGE_LIST_MAX = 64 };

struct storage_args {
    const char *command;
    const char *config;
    const char *cluster_id;
    const char *release_version;
    const char *initial_controllers;
    const char *features[STORAGE_LIST_MAX];
    int feature_count;
    bool scram; /* --add-scram was given */
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

int storage_format(struct io *io, const struct storage_args *args);

#endif
