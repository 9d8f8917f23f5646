/* The records of a new cluster: what `storage format` puts into the bootstrap snapshot 0-0. */
#ifndef KLAMM_META_BOOTSTRAP_H
#define KLAMM_META_BOOTSTRAP_H

#include "base/arena.h"
#include "base/err.h"
#include "meta/image.h"
#include "meta/records.h"

struct bootstrap_level {
    struct slice name;
    int16_t level;
};

/* FeatureLevel records: metadata.version first, then the others by name; a level that is not given
 * is the default of that metadata.version, level 0 is not written, kraft.version never is (it has a
 * control record). */
void bootstrap_records(int16_t metadata_version, const struct bootstrap_level *levels,
                       int32_t level_count, struct meta_records *records);

/* Whether records that were read can become the first ones on top of `base`: all can be replayed
 * and metadata.version is among them. ERR_CORRUPT with a sentence in `arena` otherwise. */
enum err bootstrap_check(const struct meta_records *records, const struct meta_image *base,
                         struct arena *arena, struct slice *ret_text);

#endif
