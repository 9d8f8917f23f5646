/* A broker's configuration: properties file, typed and checked, with the dynamic layers on top.
 *
 * A struct config is immutable and reference counted: the server builds one at start, and a new one
 * (config_with_dynamic) whenever a ConfigRecord of this broker or of the cluster default was
 * committed. Readers on any thread hold a reference, or read one that outlives them.
 *
 * Typed getters take the id of a key: config_int(config, BROKER_KEY_NUM_NETWORK_THREADS). The id's
 * type must fit the getter (asserted). They give the effective value of the key alone: dynamic
 * broker > dynamic default > static > default. Groups of keys that fall back to each other
 * (log.retention.ms, .minutes, .hours ...) have getters of their own: config_log_retention_ms ...;
 * per-topic values come from topic_config_compute (conf/topic_config.h). */
#ifndef KLAMM_CONF_CONFIG_H
#define KLAMM_CONF_CONFIG_H

#include "conf/listener_list.h"
#include "conf/properties.h"
#include "conf/table.h"
#include "conf/value.h"

struct config;

/* Overrides of one resource, as the metadata image keeps them: name -> value text. */
struct conf_pair {
    struct slice name;
    struct slice value;
};
struct conf_pairs {
    const struct conf_pair *items;
    int32_t count;
};

/* Builds a configuration from a properties file's content (any key may be unknown or misspelled;
 * see config_note_next). Runs Kafka's checks at start: types and ranges, node.id, process.roles,
 * quorum, listeners and what hangs together. On ERR_INVALID_CONFIG *ret_message (mem_alloc,
 * mem_free it) has one sentence: key, value, what is allowed and what to write instead. */
enum err config_new(const struct properties *properties, struct config **ret_config,
                    char **ret_message);
/* To be asked by the server after config_new: ERR_INVALID_CONFIG with a message (mem_free) when the
 * configuration asks for what Klamm does not serve yet and must not ignore: listeners other than
 * PLAINTEXT, an authorizer, other roles, several voters. */
enum err config_check_served(const struct config *config, char **ret_message);
struct config *config_ref(const struct config *config);
void config_unref(const struct config *config); /* accepts NULL */

/* The same static configuration under other dynamic layers. Settings that no broker takes at run
 * time and values that are not valid (a controller of Apache Kafka writes both) are left out one by
 * one; of layers that cannot stand together the broker's own stays, or else the other. */
struct config *config_with_dynamic(const struct config *config, struct conf_pairs broker,
                                   struct conf_pairs cluster_default);
/* What was left out, for the operator: names with reasons in one line; null when nothing was. */
struct slice config_ignored(const struct config *config);

/* Typed getters. */
bool config_bool(const struct config *config, enum broker_key key);
/* CONF_INT, CONF_SHORT and CONF_LONG keys. A null gives -1 (config_is_null tells). */
int64_t config_int(const struct config *config, enum broker_key key);
double config_double(const struct config *config, enum broker_key key);
/* CONF_STRING, CONF_CLASS, CONF_PASSWORD; null slice for null. The bytes live as long as config. */
struct slice config_string(const struct config *config, enum broker_key key);
struct conf_list config_list(const struct config *config, enum broker_key key);
bool config_is_null(const struct config *config, enum broker_key key);
/* True when the properties file sets the key. */
bool config_is_static(const struct config *config, enum broker_key key);

/* What is made of several keys. */
int32_t config_node_id(const struct config *config);
bool config_is_controller(const struct config *config);
struct conf_list config_log_dirs(const struct config *config);     /* log.dirs, else log.dir */
struct slice config_metadata_log_dir(const struct config *config); /* else the first log dir */
int64_t config_log_retention_ms(const struct config *config);      /* -1 = without end */
int64_t config_log_roll_ms(const struct config *config);
int64_t config_log_roll_jitter_ms(const struct config *config);

/* All of `listeners`; those of controller.listener.names. */
const struct listener_list *config_listeners(const struct config *config);
const struct listener_list *config_controller_listeners(const struct config *config);
/* advertised.listeners, else listeners, for broker names and for controller names. A host "" stands
 * for this machine's own name (the server puts it in). */
const struct listener_list *config_advertised_listeners(const struct config *config);
const struct listener_list *config_advertised_controller_listeners(const struct config *config);

/* controller.quorum.voters ("1@host:9093,..."), parsed; and controller.quorum.bootstrap.servers. */
struct config_voter {
    int32_t id;
    struct slice host;
    uint16_t port;
};
const struct config_voter *config_quorum_voters(const struct config *config, int32_t *ret_count);

/* klamm.advertise.as.reached (default false): Klamm's own key. */
bool config_advertise_as_reached(const struct config *config);

/* What is to be said once at start about a key of the file (conf/config_notes.c). */
enum config_note {
    CONFIG_NOTE_NONE,
    CONFIG_NOTE_UNKNOWN,     /* no table knows it: misspelled, or of a plugin */
    CONFIG_NOTE_NO_LISTENER, /* below listener.name. stands what is no listener of this node */
    CONFIG_NOTE_LATER,       /* known, without effect in Klamm yet */
    CONFIG_NOTE_PLUGIN,      /* names Java code other than Kafka's own, which is not loaded */
    CONFIG_NOTE_IDLE, /* accepted without effect; or without effect yet, but from the file that
                         everybody starts with */
};
/* The next key of the file with that note, from *at on (0 at first); null behind the last. */
struct slice config_note_next(const struct config *config, enum config_note note, int32_t *at);
/* Likewise those whose value holds "${PROVIDER:...}". Nothing fills that in here; as in Kafka
 * without config.providers it is taken as it stands. */
struct slice config_reference_next(const struct config *config, int32_t *at);

#endif
