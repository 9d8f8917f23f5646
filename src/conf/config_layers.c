/* Which dynamic settings of a broker count.
 *
 * The metadata log may hold ConfigRecords that no broker takes: Apache Kafka's controllers write
 * what they are told without a look at the key, other releases know other values. A 4.4.0 broker
 * leaves these out one by one and obeys the rest, and so does Klamm: keys that are set in the file
 * only, keys of one broker among the defaults of all, stores of keys outside a listener, and values
 * that are not valid. What is left out is in no layer, hence not shown, and no later alteration
 * fails by it. Alterations refuse the same four (conf/dynamic.c). Pure; any thread. */
#include "conf/config_layers.h"

bool config_layer_read_only(struct slice name)
{
    int id = conf_find(CONF_KIND_BROKER, name);
    return id >= 0 && conf_key(CONF_KIND_BROKER, id)->update == CONF_READ_ONLY;
}

bool config_layer_listener_only(struct slice name)
{
    return slice_starts_with(name, "ssl.keystore.") || slice_starts_with(name, "ssl.truststore.") ||
           slice_eq_str(name, "ssl.key.password");
}

bool config_layer_per_broker(struct slice name)
{
    struct slice key = conf_listener_key(name);
    if (key.data)
        return !slice_eq_str(key, "max.connections") &&
               !slice_eq_str(key, "max.connection.creation.rate") &&
               !slice_eq_str(key, "num.network.threads");
    int id = conf_find(CONF_KIND_BROKER, name);
    return id >= 0 && conf_key(CONF_KIND_BROKER, id)->update == CONF_PER_BROKER;
}

bool config_layer_is_quota(int id)
{
    return id == BROKER_KEY_LEADER_REPLICATION_THROTTLED_RATE ||
           id == BROKER_KEY_FOLLOWER_REPLICATION_THROTTLED_RATE ||
           id == BROKER_KEY_REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND;
}

enum err config_layer_check_value(struct slice name, struct slice text, struct arena *arena,
                                  struct slice *ret_message)
{
    struct slice base = conf_listener_key(name);
    int id = conf_find(CONF_KIND_BROKER, base.data ? base : name);
    struct conf_value value;
    if (id < 0)
        return ERR_NONE;
    const struct conf_key *key = conf_key(CONF_KIND_BROKER, id);
    enum err error = conf_value_check_repeats(key, text, arena, ret_message);
    if (!error)
        error = conf_value_parse(key, text, arena, &value, ret_message);
    if (error)
        return error;
    /* Kafka loads the class, by its name as it stands; Klamm has only those that Kafka brings. */
    if (key->type != CONF_CLASS ||
        (slice_starts_with(text, "org.apache.kafka.") && !memchr(text.data, ',', text.size)))
        return ERR_NONE;
    *ret_message = arena_printf(arena,
                                "Invalid value %.*s for configuration %s: Class %.*s could not be "
                                "found.",
                                SLICE_FMT(text), key->name, SLICE_FMT(text));
    return ERR_INVALID_CONFIG;
}

/* NULL: it counts. */
static const char *why_not(const struct conf_pair *pair, bool one_broker, struct arena *arena)
{
    struct slice message;
    if (config_layer_read_only(pair->name))
        return "set in the properties file only";
    if (config_layer_listener_only(pair->name))
        return "set below listener.name.<listener>. only";
    if (!one_broker && config_layer_per_broker(pair->name))
        return "not for all brokers at once";
    if (config_layer_check_value(pair->name, pair->value, arena, &message))
        return "value not valid"; /* which may be a secret */
    return NULL;
}

struct conf_pairs config_layer_filter(struct conf_pairs pairs, bool one_broker, struct arena *arena,
                                      struct buf *ignored)
{
    struct conf_pair *items = arena_array(arena, (size_t)pairs.count + 1, sizeof(*items));
    int32_t count = 0;
    for (int32_t i = 0; i < pairs.count; i++) {
        const char *why = why_not(&pairs.items[i], one_broker, arena);
        if (!why)
            items[count++] = pairs.items[i];
        else if (ignored)
            buf_printf(ignored, "%s%.*s (%s%s)", ignored->size ? ", " : "",
                       SLICE_FMT(pairs.items[i].name), one_broker ? "" : "default of all brokers; ",
                       why);
    }
    return (struct conf_pairs){items, count};
}
