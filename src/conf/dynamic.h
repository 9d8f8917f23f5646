/* Dynamic configuration of brokers, topics, groups and client metrics: what an alteration does, and
 * what DescribeConfigs shows. Pure: current overrides in, changes or entries out.
 *
 * The controller (AlterConfigs, IncrementalAlterConfigs, CreateTopics) calls conf_alter_* and
 * writes one ConfigRecord for each change; the broker (DescribeConfigs, CreateTopics' reply) calls
 * conf_describe. BROKER_LOGGER is not handled here. Any thread. */
#ifndef KLAMM_CONF_DYNAMIC_H
#define KLAMM_CONF_DYNAMIC_H

#include "conf/config.h"

/* Numbers as on the wire and in ConfigRecord. */
enum conf_resource_type {
    CONF_RESOURCE_TOPIC = 2,
    CONF_RESOURCE_BROKER = 4,
    CONF_RESOURCE_BROKER_LOGGER = 8,
    CONF_RESOURCE_CLIENT_METRICS = 16,
    CONF_RESOURCE_GROUP = 32,
};

enum conf_source {
    CONF_SOURCE_UNKNOWN = 0,
    CONF_SOURCE_TOPIC = 1,
    CONF_SOURCE_BROKER = 2,
    CONF_SOURCE_BROKER_DEFAULT = 3,
    CONF_SOURCE_STATIC = 4,
    CONF_SOURCE_DEFAULT = 5,
    CONF_SOURCE_BROKER_LOGGER = 6,
    CONF_SOURCE_CLIENT_METRICS = 7,
    CONF_SOURCE_GROUP = 8,
};

enum conf_op_kind {
    CONF_OP_SET = 0,
    CONF_OP_DELETE = 1,
    CONF_OP_APPEND = 2,
    CONF_OP_SUBTRACT = 3,
};

/* Overrides that one resource may have; more are refused with POLICY_VIOLATION. */
enum { CONF_OVERRIDES_MAX = 2000 };

struct conf_op {
    struct slice name;
    enum conf_op_kind kind;
    struct slice value; /* null allowed with DELETE only */
};

/* What to write: one ConfigRecord each. A null value removes the override. */
struct conf_changes {
    struct conf_pair *items;
    int32_t count;
};

/* The outcome of an alteration; error ERR_NONE and a null message when it may be done. */
struct conf_result {
    enum err error;       /* INVALID_CONFIG, INVALID_REQUEST, UNSUPPORTED ... */
    struct slice message; /* Kafka's sentence, from the arena */
};

/* What every alteration must meet, loggers' too: no key twice, no value missing. */
struct conf_result conf_check_ops(const struct conf_op *ops, int32_t count, struct arena *arena);

/* IncrementalAlterConfigs for one resource. `config` is the configuration of the node that decides
 * (for defaults and fallbacks), `current` the overrides that are written (what a
 * broker passes over of them is passed over here). Whether the resource exists
 * (topic, broker) is the caller's question. *ret_changes is from the arena, untouched on error. An
 * operation that changes nothing gives no change, except for brokers (Kafka writes the record again
 * there). */
struct conf_result conf_alter(enum conf_resource_type type, struct slice name,
                              const struct config *config, struct conf_pairs current,
                              const struct conf_op *ops, int32_t op_count, struct arena *arena,
                              struct conf_changes *ret_changes);

/* AlterConfigs (legacy): `wanted` replaces everything; keys not named go back to their default. */
struct conf_result conf_alter_all(enum conf_resource_type type, struct slice name,
                                  const struct config *config, struct conf_pairs current,
                                  struct conf_pairs wanted, struct arena *arena,
                                  struct conf_changes *ret_changes);

/* The complete set of overrides of a resource: names known, values valid, allowed together. What
 * CreateTopics asks for its configs. */
struct conf_result conf_validate(enum conf_resource_type type, struct slice name,
                                 const struct config *config, struct conf_pairs overrides,
                                 struct arena *arena);

/* While eligible leader replicas are enabled, min.insync.replicas of a broker may not be altered
 * and the cluster's default not be removed. The controller, which knows the feature level, asks
 * this with the changes it is about to write. */
struct conf_result conf_elr_check(enum conf_resource_type type, struct slice name,
                                  const struct conf_changes *changes);

struct conf_synonym {
    struct slice name;
    struct slice value; /* null when sensitive */
    enum conf_source source;
};

struct conf_entry {
    struct slice name;
    struct slice value; /* null when sensitive or null */
    enum conf_source source;
    bool is_default; /* source is CONF_SOURCE_DEFAULT (for DescribeConfigs v0 shapes) */
    bool read_only;
    bool sensitive;
    enum conf_type type;           /* 0 = not known (a key that no table has) */
    struct conf_synonym *synonyms; /* in Kafka's order, strongest first */
    int32_t synonym_count;
};

/* All entries that DescribeConfigs shows for a resource, sorted by name.
 * - TOPIC, GROUP, CLIENT_METRICS: `overrides` are those of the resource.
 * - BROKER with a name: `overrides` is not used: the layers are in `config`.
 * - BROKER with name "": the cluster-wide dynamic defaults only, those in `overrides`.
 * `keys` limits the answer to these names (none = all, as in Kafka; unknown names give nothing). */
void conf_describe(enum conf_resource_type type, struct slice name, const struct config *config,
                   struct conf_pairs overrides, const struct slice *keys, int32_t key_count,
                   struct arena *arena, struct conf_entry **ret_entries, int32_t *ret_count);

#endif
