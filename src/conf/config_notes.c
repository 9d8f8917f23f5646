/* What the start says about each key of the properties file that does nothing, or not what its
 * writer may believe: unknown, for no listener, not built yet, Java code, accepted without effect.
 *
 * A key "listener.name.<listener>.<key>" counts as Kafka reads it: the listener's name stands there
 * in lower case, and no such key has an effect in Klamm yet. Pure; any thread. */
#include "conf/config_layers.h"

static bool eq_lower(struct slice lower, struct slice name)
{
    for (size_t i = 0; i < lower.size && i < name.size; i++) {
        uint8_t c = name.data[i];
        if (lower.data[i] != (c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c))
            return false;
    }
    return lower.size == name.size;
}

/* `rest` begins with the name of the listener and a dot; *ret_key is what follows. */
static bool cut_listener(struct slice rest, struct slice listener, struct slice *ret_key)
{
    if (rest.size <= listener.size || rest.data[listener.size] != '.' ||
        !eq_lower(slice_sub(rest, 0, listener.size), listener))
        return false;
    *ret_key = slice_sub(rest, listener.size + 1, rest.size - listener.size - 1);
    return true;
}

static bool find_listener(const struct config *config, struct slice rest, struct slice *ret_key)
{
    for (int32_t i = 0; i < config->listeners.count; i++)
        if (cut_listener(rest, config->listeners.items[i].name, ret_key))
            return true;
    struct conf_list names = config_list(config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    for (int32_t i = 0; i < names.count; i++)
        if (cut_listener(rest, names.items[i], ret_key))
            return true;
    return false;
}

/* Apache Kafka's config/server.properties sets them: no reason to warn everybody who uses it. */
static bool is_in_everybodys_file(int id)
{
    return id == BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR ||
           id == BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR;
}

static enum config_note note_of(const struct config *config, const struct conf_pair *pair)
{
    static const char prefix[] = "listener.name.";
    enum { PREFIX_SIZE = sizeof prefix - 1 };
    struct slice name = pair->name;
    bool below = slice_starts_with(name, prefix);
    if (below &&
        !find_listener(config, slice_sub(name, PREFIX_SIZE, name.size - PREFIX_SIZE), &name))
        return CONFIG_NOTE_NO_LISTENER;
    if (slice_eq_str(name, "klamm.advertise.as.reached") && !below)
        return CONFIG_NOTE_NONE;
    int id = below ? conf_find_below_listener(name) : conf_find(CONF_KIND_BROKER, name);
    if (id < 0)
        return CONFIG_NOTE_UNKNOWN;
    const struct conf_key *key = conf_key(CONF_KIND_BROKER, id);
    switch (key->support) {
    case CONF_EFFECTIVE: return below ? CONFIG_NOTE_LATER : CONFIG_NOTE_NONE;
    case CONF_ACCEPTED:
        /* config.providers has a line of its own. */
        return id == BROKER_KEY_CONFIG_PROVIDERS ? CONFIG_NOTE_NONE : CONFIG_NOTE_IDLE;
    case CONF_PLUGIN:
        /* Java code of Kafka itself is what its default names: that is built in. */
        if (!pair->value.size ||
            (key->default_text && slice_eq_str(pair->value, key->default_text)))
            return CONFIG_NOTE_NONE;
        return CONFIG_NOTE_PLUGIN;
    case CONF_LATER: break;
    }
    return is_in_everybodys_file(id) ? CONFIG_NOTE_IDLE : CONFIG_NOTE_LATER;
}

struct slice config_note_next(const struct config *config, enum config_note note, int32_t *at)
{
    struct conf_pairs pairs = config->layers[CONFIG_LAYER_STATIC];
    while (*at < pairs.count) {
        const struct conf_pair *pair = &pairs.items[(*at)++];
        if (note_of(config, pair) == note)
            return pair->name;
    }
    return SLICE_NULL;
}
