/* The records of a new cluster: what `storage format` puts into the bootstrap snapshot 0-0. */
#ifndef KLAMM_META_BOOTSTRAP_H
#define KLAMM_META_BOOTSTRAP_H

#include "base/err.h"
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

#endif
