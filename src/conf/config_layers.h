/* What config, config_check, dynamic and describe share of a configuration: the texts of its layers
 * and the values made of them. Not for users of the module: they call config.h. */
#ifndef KLAMM_CONF_CONFIG_LAYERS_H
#define KLAMM_CONF_CONFIG_LAYERS_H

#include <stdatomic.h>

#include "base/buf.h"
#include "conf/config.h"

/* Strongest first, as synonyms are listed. */
enum config_layer {
    CONFIG_LAYER_BROKER,          /* dynamic, this broker */
    CONFIG_LAYER_CLUSTER_DEFAULT, /* dynamic, all brokers */
    CONFIG_LAYER_STATIC,          /* the properties file */
};
enum { CONFIG_LAYER_COUNT = 3 };

struct config {
    atomic_int references;
    struct arena arena;
    /* Names and texts of each layer as they were written, known keys and others. */
    struct conf_pairs layers[CONFIG_LAYER_COUNT];
    /* The text in force of each known key, null where the default stands. A dynamic value of one
     * key hides weaker values of the keys that fall back to it, as in Kafka. */
    struct slice texts[BROKER_KEY_COUNT];
    struct conf_value values[BROKER_KEY_COUNT];
    /* Made of several keys by config_derive. */
    struct listener_list listeners, broker_listeners, controller_listeners;
    struct listener_list advertised, advertised_controller;
    struct slice inter_broker_listener; /* name */
    struct slice protocol_map;          /* listener.security.protocol.map with implied entries */
    struct config_voter *voters;
    int32_t voter_count;
    bool is_broker, is_controller, advertise_as_reached;
    struct slice ignored; /* what config_ignored tells */
};

/* Null when absent. */
struct slice conf_pairs_get(struct conf_pairs pairs, struct slice name);

/* Settings that no broker takes at run time: keys of the properties file, ... */
bool config_layer_read_only(struct slice name);
/* ... stores of keys and certificates, which change for one listener at a time, ... */
bool config_layer_listener_only(struct slice name);
/* ... and, as default of all brokers, what each broker has for itself. */
bool config_layer_per_broker(struct slice name);
/* Limits of replication: no keys of the file, and without an entry until they are set. */
bool config_layer_is_quota(int id);
/* A value by the rules of the key, also below a listener's name; names that no table has take any.
 * On ERR_INVALID_CONFIG *ret_message is Kafka's sentence. */
enum err config_layer_check_value(struct slice name, struct slice text, struct arena *arena,
                                  struct slice *ret_message);
/* What counts of a dynamic layer, in its order: those of one broker, or the default of all. The
 * names of the others, each with the reason, are added to `ignored` (may be NULL). */
struct conf_pairs config_layer_filter(struct conf_pairs pairs, bool one_broker, struct arena *arena,
                                      struct buf *ignored);

/* The configuration of `config` with the given dynamic layers, checked as Kafka checks an
 * alteration of a broker. On error *ret_message is from `arena`. */
enum err config_try_dynamic(const struct config *config, struct conf_pairs broker,
                            struct conf_pairs cluster_default, struct arena *arena,
                            struct config **ret_config, struct slice *ret_message);

/* Listeners, voters, roles: fills what is made of several keys. */
enum err config_derive(struct config *config, struct slice *ret_message);

/* Refuses a value that a provider named in config.providers should fill in: none is loaded. */
enum err config_check_references(struct config *config, struct slice *ret_message);

/* What must hold between keys (Kafka's checks at start and at each dynamic change). *ret_message is
 * from config->arena: Kafka's sentence; *ret_hint what to write instead, or null. */
enum err config_check(struct config *config, struct slice *ret_message, struct slice *ret_hint);

/* The typed value of a topic key: override (when valid), else the broker's, else the default. */
void topic_config_value(const struct config *config, struct conf_pairs overrides, enum topic_key id,
                        struct arena *arena, struct conf_value *ret_value);

/* A setting of groups that the broker limits: a group's own and what groups have by default. */
struct group_bounds {
    int16_t group_key;
    int16_t broker_key; /* the default; -1: Kafka does not hold it to the limits */
    int16_t min, max;   /* broker keys; -1: none */
};
const struct group_bounds *group_config_bounds(size_t *ret_count);

/* Group overrides: each value within the broker's limits. */
enum err group_config_check(const struct config *config, struct conf_pairs overrides,
                            struct arena *arena, struct slice *ret_message);

/* The broker keys that give one value together, strongest first, -1 at the end: the group that `id`
 * belongs to, or only itself. `ids` has room for 4. */
void config_synonym_ids(int id, int16_t ids[4]);

#endif
