/* The tables of features and metadata versions with their look-ups; see features.h. Pure and
 * constant. A release name stands for its newest level that is ready for production, as the
 * storage and feature tools have it. */
#include "meta/features.h"

static const struct feature features[] = {
#define KLAMM_FEATURE(name, min, max) {name, min, max},
#include "meta_features.inc"
#undef KLAMM_FEATURE
};

static const struct {
    const char *name;
    int16_t level;
    const char *needed;
    int16_t needed_level;
} needs[] = {
#define KLAMM_FEATURE_NEEDS(name, level, needed, needed_level) {name, level, needed, needed_level},
#include "meta_features.inc"
#undef KLAMM_FEATURE_NEEDS
};

static const struct meta_version versions[] = {
#define KLAMM_METADATA_VERSION(level, name, release, production, changed, partition_change, \
                               partition, register_broker, register_controller, flags)      \
    {level,                                                                                 \
     name,                                                                                  \
     release,                                                                               \
     production,                                                                            \
     changed,                                                                               \
     partition_change,                                                                      \
     partition,                                                                             \
     register_broker,                                                                       \
     register_controller,                                                                   \
     flags},
#include "meta_features.inc"
#undef KLAMM_METADATA_VERSION
};

static const struct {
    int16_t metadata_version;
    const char *name;
    int16_t level;
} defaults[] = {
#define KLAMM_FEATURE_DEFAULT(metadata_version, name, level) {metadata_version, name, level},
#include "meta_features.inc"
#undef KLAMM_FEATURE_DEFAULT
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

size_t feature_count(void)
{
    return COUNT(features);
}

const struct feature *feature_at(size_t index)
{
    return &features[index];
}

const struct feature *feature_find(struct slice name)
{
    for (size_t i = 0; i < COUNT(features); i++)
        if (slice_eq_str(name, features[i].name))
            return &features[i];
    return NULL;
}

int16_t feature_default_level(struct slice name, int16_t metadata_version)
{
    for (size_t i = 0; i < COUNT(defaults); i++)
        if (defaults[i].metadata_version == metadata_version &&
            slice_eq_str(name, defaults[i].name))
            return defaults[i].level;
    return 0;
}

bool feature_need(struct slice name, int16_t level, size_t index, struct slice *ret_name,
                  int16_t *ret_level)
{
    for (size_t i = 0; i < COUNT(needs); i++) {
        if (needs[i].level != level || !slice_eq_str(name, needs[i].name))
            continue;
        if (index-- == 0) {
            *ret_name = slice_str(needs[i].needed);
            *ret_level = needs[i].needed_level;
            return true;
        }
    }
    return false;
}

size_t meta_version_count(void)
{
    return COUNT(versions);
}

const struct meta_version *meta_version_at(size_t index)
{
    return &versions[index];
}

const struct meta_version *meta_version_find(int16_t level)
{
    for (size_t i = 0; i < COUNT(versions); i++)
        if (versions[i].level == level)
            return &versions[i];
    return NULL;
}

/* True when `text` is the release, or the release with a third number ("4.4.0"). */
static bool is_release(struct slice text, const char *release)
{
    size_t size = strlen(release);
    if (text.size < size || memcmp(text.data, release, size) != 0)
        return false;
    if (text.size == size)
        return true;
    int64_t patch;
    return text.data[size] == '.' &&
           slice_to_i64(slice_sub(text, size + 1, text.size - size - 1), 0, 999, &patch);
}

const struct meta_version *meta_version_by_name(struct slice text)
{
    const struct meta_version *found = NULL;
    for (size_t i = 0; i < COUNT(versions); i++) {
        if (slice_eq_str(text, versions[i].name))
            return &versions[i];
        if (is_release(text, versions[i].release) && (versions[i].production || !found))
            found = &versions[i];
    }
    return found;
}
