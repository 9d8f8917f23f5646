/* The feature records of a new cluster; see bootstrap.h. Pure. */
#include "meta/bootstrap.h"

#include "meta/features.h"
#include "wire_metadata_records.h"

static void add(struct meta_records *records, struct slice name, int16_t level)
{
    struct feature_level_record r;
    wire_init(&wire_feature_level_record, &r);
    r.name = name;
    r.feature_level = level;
    meta_records_add(records, &wire_feature_level_record, 0, &r);
}

static int16_t level_of(struct slice name, int16_t metadata_version,
                        const struct bootstrap_level *levels, int32_t level_count)
{
    for (int32_t i = 0; i < level_count; i++)
        if (slice_eq(levels[i].name, name))
            return levels[i].level;
    return feature_default_level(name, metadata_version);
}

void bootstrap_records(int16_t metadata_version, const struct bootstrap_level *levels,
                       int32_t level_count, struct meta_records *records)
{
    add(records, FEATURE_METADATA_VERSION, metadata_version);
    struct slice last = SLICE_LIT("");
    for (;;) {
        /* The next name in order: the table is short and not sorted. */
        struct slice next = SLICE_NULL;
        for (size_t i = 0; i < feature_count(); i++) {
            struct slice name = slice_str(feature_at(i)->name);
            if (slice_cmp(name, last) > 0 && (slice_is_null(next) || slice_cmp(name, next) < 0))
                next = name;
        }
        if (slice_is_null(next))
            return;
        last = next;
        int16_t level = level_of(next, metadata_version, levels, level_count);
        if (level > 0 && !slice_eq(next, FEATURE_METADATA_VERSION) &&
            !slice_eq(next, FEATURE_KRAFT_VERSION))
            add(records, next, level);
    }
}
