/* listeners, advertised.listeners and listener.security.protocol.map: parsing and the checks of
 * Kafka 4.4 on them (names, ports, hosts, IPv6 in brackets, duplicates). Pure. */
#ifndef KLAMM_CONF_LISTENER_LIST_H
#define KLAMM_CONF_LISTENER_LIST_H

#include "base/arena.h"
#include "base/err.h"
#include "base/security_protocol.h"
#include "conf/value.h"

struct listener_address {
    struct slice name; /* upper case, e.g. "PLAINTEXT" */
    struct slice host; /* without brackets; "" = all addresses */
    uint16_t port;     /* 0 = any free port */
    enum security_protocol protocol;
};

struct listener_list {
    struct listener_address *items;
    int32_t count;
};

const char *security_protocol_name(enum security_protocol protocol);

/* The protocol of a listener name by listener.security.protocol.map; false when it has none. */
bool listener_protocol(struct slice map, struct slice name, enum security_protocol *ret_protocol);

/* Every entry of the map must name a known protocol. */
enum err listener_map_check(struct slice map, struct arena *arena, struct slice *ret_message);

enum listener_rule {
    LISTENER_RULE_BIND,      /* listeners: ports and names distinct */
    LISTENER_RULE_ADVERTISE, /* advertised.listeners: one port may serve several names */
};

/* Parses a list whose items are "NAME://host:port". `key` is named in messages. On
 * ERR_INVALID_CONFIG *ret_message says what is wrong. */
enum err listener_list_parse(const char *key, const struct conf_list *texts, struct slice map,
                             enum listener_rule rule, struct arena *arena,
                             struct listener_list *ret_list, struct slice *ret_message);

/* What host names and addresses are made of, as Kafka's pattern has it. */
bool listener_is_host_char(uint8_t c);

/* By name in any case; NULL when absent. */
const struct listener_address *listener_list_find(const struct listener_list *list,
                                                  struct slice name);

#endif
