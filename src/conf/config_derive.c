/* What a configuration makes of several keys: roles, listeners with their protocols, advertised
 * addresses, the inter-broker listener, quorum voters.
 *
 * Part of building a struct config; the rules are those of KRaft nodes (KIP-595, KIP-853):
 * controller listeners are named by controller.listener.names, are PLAINTEXT without an entry in
 * listener.security.protocol.map as long as that key is not set and nothing uses TLS or SASL, and
 * may be advertised. Checks between these parts are in config_check.c. */
#include "conf/config_layers.h"

#include "base/buf.h"

static bool has_name(struct conf_list list, struct slice name)
{
    for (int32_t i = 0; i < list.count; i++)
        if (slice_eq(list.items[i], name))
            return true;
    return false;
}

static bool is_secure(struct slice name)
{
    return slice_eq_str(name, "SSL") || slice_eq_str(name, "SASL_SSL") ||
           slice_eq_str(name, "SASL_PLAINTEXT");
}

static struct slice listener_name_of(struct slice item)
{
    for (size_t i = 0; i + 3 <= item.size; i++)
        if (memcmp(item.data + i, "://", 3) == 0)
            return slice_sub(item, 0, i);
    return item;
}

/* listener.security.protocol.map, with controller names added where Kafka implies them. */
static void derive_map(struct config *config)
{
    struct slice map = config_string(config, BROKER_KEY_LISTENER_SECURITY_PROTOCOL_MAP);
    config->protocol_map = map;
    if (config_is_static(config, BROKER_KEY_LISTENER_SECURITY_PROTOCOL_MAP))
        return;
    struct conf_list names = config_list(config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    struct conf_list listeners = config_list(config, BROKER_KEY_LISTENERS);
    for (int32_t i = 0; i < names.count; i++)
        if (is_secure(names.items[i]))
            return;
    for (int32_t i = 0; i < listeners.count; i++)
        if (is_secure(listener_name_of(listeners.items[i])))
            return;
    struct buf b;
    buf_init(&b);
    buf_put_slice(&b, map);
    for (int32_t i = 0; i < names.count; i++)
        if (!slice_eq_str(names.items[i], "PLAINTEXT"))
            buf_printf(&b, ",%.*s:PLAINTEXT", SLICE_FMT(names.items[i]));
    config->protocol_map = arena_dup(&config->arena, buf_slice(&b));
    buf_fini(&b);
}

/* The part of `list` whose names are, or are not, controller names. */
static struct listener_list select_listeners(struct config *config,
                                             const struct listener_list *list, bool controller)
{
    struct conf_list names = config_list(config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    struct listener_list part = {
        .items = arena_array(&config->arena, (size_t)list->count + 1, sizeof(*part.items))};
    for (int32_t i = 0; i < list->count; i++)
        if (has_name(names, list->items[i].name) == controller)
            part.items[part.count++] = list->items[i];
    return part;
}

/* For each controller name its advertised address, else the one it is bound to. */
static void derive_advertised_controller(struct config *config, const struct listener_list *all)
{
    struct conf_list names = config_list(config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    struct listener_list list = {
        .items = arena_array(&config->arena, (size_t)names.count + 1, sizeof(*list.items))};
    for (int32_t i = 0; i < names.count; i++) {
        const struct listener_address *found = listener_list_find(all, names.items[i]);
        if (!found || !has_name(names, found->name))
            found = listener_list_find(&config->controller_listeners, names.items[i]);
        if (found)
            list.items[list.count++] = *found;
    }
    config->advertised_controller = list;
}

static enum err derive_listeners(struct config *config, struct slice *ret_message)
{
    struct conf_list texts = config_list(config, BROKER_KEY_LISTENERS);
    enum err error = listener_map_check(config->protocol_map, &config->arena, ret_message);
    if (!error)
        error = listener_list_parse("listeners", &texts, config->protocol_map, LISTENER_RULE_BIND,
                                    &config->arena, &config->listeners, ret_message);
    if (error)
        return error;
    config->controller_listeners = select_listeners(config, &config->listeners, true);
    config->broker_listeners = select_listeners(config, &config->listeners, false);
    struct listener_list advertised = config->listeners;
    if (!config_is_null(config, BROKER_KEY_ADVERTISED_LISTENERS)) {
        texts = config_list(config, BROKER_KEY_ADVERTISED_LISTENERS);
        error =
            listener_list_parse("advertised.listeners", &texts, config->protocol_map,
                                LISTENER_RULE_ADVERTISE, &config->arena, &advertised, ret_message);
        if (error)
            return error;
    }
    config->advertised = select_listeners(config, &advertised, false);
    derive_advertised_controller(config, &advertised);
    return ERR_NONE;
}

static enum err derive_inter_broker(struct config *config, struct slice *ret_message)
{
    struct slice name = config_string(config, BROKER_KEY_INTER_BROKER_LISTENER_NAME);
    if (slice_is_null(name)) {
        config->inter_broker_listener =
            config_string(config, BROKER_KEY_SECURITY_INTER_BROKER_PROTOCOL);
        return ERR_NONE;
    }
    if (config_is_static(config, BROKER_KEY_SECURITY_INTER_BROKER_PROTOCOL)) {
        *ret_message = SLICE_LIT("Only one of inter.broker.listener.name and "
                                 "security.inter.broker.protocol should be set.");
        return ERR_INVALID_CONFIG;
    }
    enum security_protocol protocol;
    if (!listener_protocol(config->protocol_map, name, &protocol)) {
        *ret_message = arena_printf(&config->arena,
                                    "Listener with name %.*s defined in inter.broker.listener.name "
                                    "not found in listener.security.protocol.map.",
                                    SLICE_FMT(name));
        return ERR_INVALID_CONFIG;
    }
    const struct listener_address *found = listener_list_find(&config->listeners, name);
    config->inter_broker_listener = found ? found->name : name;
    return ERR_NONE;
}

/* "host:port" with an optional "[...]" around the host. */
static bool parse_host_port(struct slice s, struct slice *ret_host, uint16_t *ret_port)
{
    struct slice host, port_text;
    int64_t port;
    if (!slice_cut_last(s, ':', &host, &port_text) || host.size == 0 ||
        !slice_to_i64(port_text, 0, UINT16_MAX, &port))
        return false;
    if (host.data[0] == '[' && host.data[host.size - 1] == ']' && host.size > 2)
        host = slice_sub(host, 1, host.size - 2);
    for (size_t i = 0; i < host.size; i++)
        if (!listener_is_host_char(host.data[i]))
            return false;
    *ret_host = host;
    *ret_port = (uint16_t)port;
    return true;
}

static enum err parse_voter(struct slice entry, struct arena *arena, struct config_voter *ret_voter,
                            struct slice *ret_message)
{
    static const char form[] = "Each entry should be in the form `{id}@{host}:{port}`.";
    struct slice id, address, before, after;
    if (!slice_cut(entry, '@', &id, &address) || slice_cut(address, '@', &before, &after)) {
        *ret_message = arena_printf(
            arena, "Invalid configuration value for controller.quorum.voters. %s Found: %.*s", form,
            SLICE_FMT(entry));
        return ERR_INVALID_CONFIG;
    }
    int64_t number;
    if (!slice_to_i64(id, INT32_MIN, INT32_MAX, &number)) {
        *ret_message =
            arena_printf(arena, "Failed to parse voter ID as an integer from %.*s", SLICE_FMT(id));
        return ERR_INVALID_CONFIG;
    }
    if (!parse_host_port(address, &ret_voter->host, &ret_voter->port)) {
        *ret_message =
            arena_printf(arena,
                         "Failed to parse host name from entry %.*s for the configuration "
                         "controller.quorum.voters. %s",
                         SLICE_FMT(entry), form);
        return ERR_INVALID_CONFIG;
    }
    ret_voter->id = (int32_t)number;
    return ERR_NONE;
}

static enum err derive_quorum(struct config *config, struct slice *ret_message)
{
    struct conf_list texts = config_list(config, BROKER_KEY_CONTROLLER_QUORUM_VOTERS);
    config->voters = arena_array(&config->arena, (size_t)texts.count + 1, sizeof(*config->voters));
    for (int32_t i = 0; i < texts.count; i++) {
        enum err error = parse_voter(texts.items[i], &config->arena,
                                     &config->voters[config->voter_count++], ret_message);
        if (error)
            return error;
    }
    texts = config_list(config, BROKER_KEY_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS);
    for (int32_t i = 0; i < texts.count; i++) {
        struct slice host;
        uint16_t port;
        if (parse_host_port(texts.items[i], &host, &port))
            continue;
        *ret_message = arena_printf(&config->arena,
                                    "Failed to parse host name from %.*s for the "
                                    "configuration controller.quorum.bootstrap.servers. Each entry "
                                    "should be in the form \"{host}:{port}\"",
                                    SLICE_FMT(texts.items[i]));
        return ERR_INVALID_CONFIG;
    }
    return ERR_NONE;
}

/* Klamm's own key; it is in no table of Kafka's. */
static enum err derive_own(struct config *config, struct slice *ret_message)
{
    struct slice name = SLICE_LIT("klamm.advertise.as.reached");
    struct slice text = conf_pairs_get(config->layers[CONFIG_LAYER_STATIC], name);
    text = slice_trim(text);
    config->advertise_as_reached = text.data && slice_eq_nocase(text, SLICE_LIT("true"));
    if (!text.data || config->advertise_as_reached || slice_eq_nocase(text, SLICE_LIT("false")))
        return ERR_NONE;
    *ret_message = arena_printf(&config->arena,
                                "Invalid value %.*s for configuration %.*s: Expected value to be "
                                "either true or false",
                                SLICE_FMT(text), SLICE_FMT(name));
    return ERR_INVALID_CONFIG;
}

enum err config_derive(struct config *config, struct slice *ret_message)
{
    struct conf_list roles = config_list(config, BROKER_KEY_PROCESS_ROLES);
    config->is_broker = has_name(roles, SLICE_LIT("broker"));
    config->is_controller = has_name(roles, SLICE_LIT("controller"));
    derive_map(config);
    enum err error = derive_quorum(config, ret_message);
    if (!error)
        error = derive_listeners(config, ret_message);
    if (!error)
        error = derive_inter_broker(config, ret_message);
    if (!error)
        error = derive_own(config, ret_message);
    return error;
}
