/* What a configuration may ask for that Klamm does not serve yet.
 *
 * Most keys of later steps only lose their effect and are named at start (config_note_next). These
 * here would make a node less safe than its operator believes, or part of a cluster that it cannot
 * join: the server refuses to start. A value that nobody meant is refused for every use. The list
 * shrinks as steps are done. Pure. */
#include "base/mem.h"
#include "conf/config_layers.h"

static char *refuse_listener(const struct listener_list *list)
{
    for (int32_t i = 0; i < list->count; i++) {
        const struct listener_address *address = &list->items[i];
        if (address->protocol != SECURITY_PLAINTEXT)
            return mem_printf(
                "listeners: %.*s is a %s listener; Klamm serves PLAINTEXT only so far. "
                "Take it out of listeners, or map %.*s to PLAINTEXT in "
                "listener.security.protocol.map.",
                SLICE_FMT(address->name), security_protocol_name(address->protocol),
                SLICE_FMT(address->name));
    }
    return NULL;
}

static bool names(struct slice list, struct slice name)
{
    struct slice item;
    while (slice_next_part(&list, ',', &item))
        if (slice_eq(slice_trim(item), name))
            return true;
    return false;
}

/* The provider's name in the first "${NAME:...}" of a value, or the first that `wanted` lists. */
static struct slice reference_in(struct slice value, struct slice wanted, bool any)
{
    struct slice before, rest = value, inside, after, name, path;
    while (slice_cut(rest, '{', &before, &rest)) {
        if (before.size == 0 || before.data[before.size - 1] != '$')
            continue;
        if (slice_cut(rest, '}', &inside, &after) && slice_cut(inside, ':', &name, &path) &&
            (any || names(wanted, name)))
            return name;
    }
    return SLICE_NULL;
}

struct slice config_reference_next(const struct config *config, int32_t *at)
{
    struct conf_pairs pairs = config->layers[CONFIG_LAYER_STATIC];
    while (*at < pairs.count) {
        const struct conf_pair *pair = &pairs.items[(*at)++];
        if (!slice_is_null(reference_in(pair->value, SLICE_NULL, true)))
            return pair->name;
    }
    return SLICE_NULL;
}

/* A path or a password that is a reference would be taken literally: a folder named "${env:DIR}".
 */
enum err config_check_references(struct config *config, struct slice *ret_message)
{
    struct conf_pairs pairs = config->layers[CONFIG_LAYER_STATIC];
    struct slice providers = conf_pairs_get(pairs, SLICE_LIT("config.providers"));
    for (int32_t i = 0; i < pairs.count; i++) {
        struct slice name = reference_in(pairs.items[i].value, providers, false);
        if (slice_is_null(name))
            continue;
        *ret_message = arena_printf(
            &config->arena,
            "%.*s: its value holds ${%.*s:...}, which config.providers should fill in; Klamm loads "
            "no config providers. Write the value itself, or let a script write it before the "
            "start.",
            SLICE_FMT(pairs.items[i].name), SLICE_FMT(name));
        return ERR_INVALID_CONFIG;
    }
    return ERR_NONE;
}

enum err config_check_served(const struct config *config, char **ret_message)
{
    struct slice authorizer = config_string(config, BROKER_KEY_AUTHORIZER_CLASS_NAME);
    char *message = refuse_listener(&config->listeners);
    if (!message && authorizer.size > 0)
        message =
            mem_printf("authorizer.class.name=%.*s: Klamm does not check ACLs yet and would let "
                       "everybody in. Take the key out if that is what you want.",
                       SLICE_FMT(authorizer));
    if (!message && (!config->is_broker || !config->is_controller))
        message = mem_printf("process.roles: Klamm runs as one node with both roles so far. Write "
                             "process.roles=broker,controller.");
    if (!message && config->voter_count > 1)
        message =
            mem_printf("controller.quorum.voters names %d voters; Klamm runs as the only one so "
                       "far.",
                       config->voter_count);
    if (!message)
        return ERR_NONE;
    *ret_message = message;
    return ERR_INVALID_CONFIG;
}
