/* The API families: one file each, one exported table each. dispatch.c walks this list. */
#ifndef KLAMM_API_FAMILIES_H
#define KLAMM_API_FAMILIES_H

#include "api/dispatch.h"

#define API_FAMILIES(X)        \
    X(api_acls)                \
    X(api_client_quotas)       \
    X(api_cluster)             \
    X(api_configs)             \
    X(api_configs_alter)       \
    X(api_fetch)               \
    X(api_find_coordinator)    \
    X(api_groups)              \
    X(api_init_producer_id)    \
    X(api_list_offsets)        \
    X(api_log_dirs)            \
    X(api_log_requests)        \
    X(api_metadata)            \
    X(api_offset_fetch)        \
    X(api_offsets)             \
    X(api_produce)             \
    X(api_producers)           \
    X(api_quorum_requests)     \
    X(api_replicas)            \
    X(api_topic_partitions)    \
    X(api_topics)              \
    X(api_txn_marker_requests) \
    X(api_txn_offset_commit)   \
    X(api_txn_requests)        \
    X(api_versions)

#define API_FAMILY_DECLARE(name) extern const struct api_family name;
API_FAMILIES(API_FAMILY_DECLARE)
#undef API_FAMILY_DECLARE

#endif
