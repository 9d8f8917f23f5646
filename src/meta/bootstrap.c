/* The feature records of a new cluster; see bootstrap.h. Pure. */
#include "meta/bootstrap.h"

#include "meta/edit.h"
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

enum err bootstrap_check(const struct meta_records *records, const struct meta_image *base,
                         struct arena *arena, struct slice *ret_text)
{
    struct meta_edit *edit = meta_edit_new(base);
    enum err e = ERR_NONE;
    for (int32_t i = 0; i < records->count && e == ERR_NONE; i++)
        e = meta_edit_replay(edit, meta_records_at(records, i), arena, ret_text);
    if (e == ERR_NONE) {
        struct meta_image *image = meta_edit_image(edit, *meta_image_provenance(base));
        if (meta_image_metadata_version(image) < 0) {
            *ret_text = SLICE_LIT("no record says which metadata.version the cluster has");
            e = ERR_CORRUPT;
        }
        meta_image_unref(image);
    }
    meta_edit_free(edit);
    return e;
}
