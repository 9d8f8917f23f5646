/* The start without a configuration: a folder for one node on one machine, made when it is not
 * there yet. Start-up thread. */
#ifndef KLAMM_SERVER_FIRST_START_H
#define KLAMM_SERVER_FIRST_START_H

#include "base/buf.h"
#include "conf/properties.h"
#include "os/io.h"

struct first_start {
    char *data_path;       /* the folder ... */
    char *properties_path; /* ... and the server.properties in it */
    struct buf text;       /* what that says, or will say once it is written */
    bool is_new;           /* there is nothing yet: first_start_format makes it */
};

/* Looks whether `data_path` holds a formatted folder with a server.properties, and thinks out one
 * for a new folder: `listen` ("HOST:PORT", NULL = 127.0.0.1:9092) goes into it. A folder that holds
 * anything else is refused. Writes nothing, so that a start that is refused later leaves nothing
 * behind. On failure *ret_text (mem_free). first_start_fini in any case. */
enum err first_start_look(struct io *io, const char *data_path, const char *listen,
                          struct first_start *ret_start, char **ret_text);
/* Makes the folder and the files of a new one. */
enum err first_start_format(struct io *io, const struct first_start *start, char **ret_text);
void first_start_fini(struct first_start *start);

/* Puts another client address over what the file says, for this run. */
void first_start_listen(struct properties *properties, const char *listen);

/* `data_path` is the folder that is used, whatever the file in it says: a folder that was moved is
 * taken where it is now; of a copy, whose file names the folder it was copied from, nothing is
 * opened (ERR_ARGUMENT and *ret_text, mem_free). Several log.dirs are the user's own choice. */
enum err first_start_data(struct io *io, struct properties *properties, const char *data_path,
                          char **ret_text);

/* The whole file, up to PROPERTIES_SIZE_MAX. */
enum err first_start_read_file(struct io *io, const char *path, struct buf *out);

/* Whether the properties file of such a start has the key from the start itself. */
bool first_start_wrote(struct slice key);

#endif
