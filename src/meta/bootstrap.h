/* Feature levels: the ranges that 4.4.0 supports, their defaults, what each needs, and the feature
 * records of a new cluster. Pure tables, made from schema/features.tsv and metadata-versions.tsv.
 */
#ifndef KLAMM_META_BOOTSTRAP_H
#define KLAMM_META_BOOTSTRAP_H

#include "base/slice.h"
#include "meta/records.h"

struct feature {
    const char *name;
    int16_t min, max; /* supported range; max is the latest for production */
};

/* All features with their ranges, in the order that Kafka registers them. */
extern const struct feature features_supported[];
extern const int32_t features_supported_count;
/* NULL for an unknown name. */
const struct feature *feature_find(struct slice name);
/* The level that a new cluster at this metadata.version gets. */
int16_t feature_default_level(struct slice name, int16_t metadata_version);
/* False when a level needs others: *ret_name and *ret_level name the first that is not met by
 * `level_of`. */
bool feature_dependencies_met(struct slice name, int16_t level,
                              int16_t (*level_of)(void *context, struct slice name), void *context,
                              struct slice *ret_name, int16_t *ret_level);

/* "4.4-IV2" for 33; NULL when unknown. */
const char *metadata_version_name(int16_t level);
/* Level of "4.4-IV2", of a release ("4.4", "4.4.0") or -1. */
int16_t metadata_version_of(struct slice text);

#endif
