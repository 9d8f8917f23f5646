/* What a configuration may ask for that Klamm does not serve yet.
 *
 * Most keys of later steps only lose their effect and are named at start (config_later_*). These
 * here would make a node less safe than its operator believes, or part of a cluster that it cannot
 * join: the server refuses to start. The list shrinks as steps are done. Pure. */
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
