/* The API families: one file each, one exported table each. dispatch.c walks this list. */
#ifndef KLAMM_API_FAMILIES_H
#define KLAMM_API_FAMILIES_H

#include "api/dispatch.h"

#define API_FAMILIES(X) \
    X(api_versions)     \
    X(api_metadata)     \
    X(api_produce)      \
    X(api_fetch)        \
    X(api_list_offsets) \
    X(api_groups)       \
    X(api_producer_ids) \
    X(api_topics)       \
    X(api_configs)      \
    X(api_log)          \
    X(api_cluster)

#define API_FAMILY_DECLARE(name) extern const struct api_family name;
API_FAMILIES(API_FAMILY_DECLARE)
#undef API_FAMILY_DECLARE

#endif
