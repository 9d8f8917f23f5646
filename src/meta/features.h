/* Feature levels and metadata versions: the ranges that 4.4.0 supports, defaults, what each level
 * needs, and what a metadata.version says about records. Constant tables made from
 * schema/features.tsv and schema/metadata-versions.tsv; any thread. */
#ifndef KLAMM_META_FEATURES_H
#define KLAMM_META_FEATURES_H

#include "base/slice.h"

struct feature {
    const char *name;
    int16_t min, max; /* supported range; max is the latest for production */
};

#define FEATURE_METADATA_VERSION SLICE_LIT("metadata.version")
#define FEATURE_KRAFT_VERSION    SLICE_LIT("kraft.version")
#define FEATURE_ELR_VERSION      SLICE_LIT("eligible.leader.replicas.version")

size_t feature_count(void);
const struct feature *feature_at(size_t index); /* metadata.version first, then kraft.version */
const struct feature *feature_find(struct slice name); /* NULL for an unknown name */
/* The level that a new cluster at this metadata.version gets; 0 = none. */
int16_t feature_default_level(struct slice name, int16_t metadata_version);
/* What level `level` of `name` needs, one after another: index 0, 1 ... false at the end. */
bool feature_need(struct slice name, int16_t level, size_t index, struct slice *ret_name,
                  int16_t *ret_level);

/* What a metadata.version brought. */
enum meta_version_flags {
    META_HAS_CONTROLLER_REGISTRATION = 1,
    META_HAS_CORDONED_DIRS = 2,
    META_HAS_DIRECTORY_ASSIGNMENT = 4,
    META_HAS_ELR = 8,
    META_HAS_EPOCH_BUMP_ON_SHRINK = 16, /* up to 3.6 only */
    META_HAS_TRANSACTIONS = 32,
    META_HAS_MIGRATION = 64,
    META_HAS_SCRAM = 128,
};

struct meta_version {
    int16_t level;
    const char *name;    /* "4.4-IV2" */
    const char *release; /* "4.4" */
    bool production;
    bool metadata_changed; /* going below this level could lose metadata */
    int16_t partition_change_version, partition_version; /* of the records */
    int16_t register_broker_version, register_controller_version;
    unsigned flags;
};

/* NULL when unknown. */
const struct meta_version *meta_version_find(int16_t level);
/* By name ("4.4-IV2") or release ("4.4", "4.4.0": its newest production level); NULL when unknown.
 */
const struct meta_version *meta_version_by_name(struct slice text);
size_t meta_version_count(void);
const struct meta_version *meta_version_at(size_t index); /* rising levels */

#endif
