/* Files that a compaction, a split or a deletion left half done when the node died. */
#ifndef KLAMM_STORE_LOG_LEFTOVERS_H
#define KLAMM_STORE_LOG_LEFTOVERS_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct io;

/* Finishes what the names in a partition's folder tell, as Kafka does at start. *ret_changed: files
 * were removed or renamed, so the names must be listed again. */
enum err log_leftovers_finish(struct io *io, const char *folder, char **names, size_t count,
                              bool *ret_changed);

#endif
