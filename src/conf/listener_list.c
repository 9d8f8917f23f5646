/* Listener addresses: "NAME://host:port" lists and the map of names to security protocols.
 *
 * The grammar is Kafka's: everything before the last "://" is the name (compared in upper case),
 * the host is letters, digits and -%._: with or without brackets, the last ':' begins the port. Two
 * listeners may share a port only as one IPv4 and one IPv6 address, or when it is 0. Called by
 * config at start and for altered listeners; pure. */
#include "conf/listener_list.h"

#include "base/buf.h"

static const char *const protocol_names[] = {"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"};

const char *security_protocol_name(enum security_protocol protocol)
{
    return protocol_names[protocol];
}

static bool protocol_of(struct slice text, enum security_protocol *ret_protocol)
{
    for (int i = 0; i < 4; i++) {
        if (slice_eq_nocase(text, slice_str(protocol_names[i]))) {
            *ret_protocol = (enum security_protocol)i;
            return true;
        }
    }
    return false;
}

/* The next item of a comma separated text; false at its end. */
static bool next_item(struct slice *rest, struct slice *ret_item)
{
    if (!slice_next_part(rest, ',', ret_item))
        return false;
    *ret_item = slice_trim(*ret_item);
    return true;
}

static void split_last(struct slice s, uint8_t at, struct slice *ret_left, struct slice *ret_right)
{
    if (!slice_cut_last(s, at, ret_left, ret_right)) {
        *ret_left = s;
        *ret_right = SLICE_NULL;
        return;
    }
    *ret_left = slice_trim(*ret_left);
    *ret_right = slice_trim(*ret_right);
}

bool listener_protocol(struct slice map, struct slice name, enum security_protocol *ret_protocol)
{
    bool found = false;
    struct slice item;
    while (next_item(&map, &item)) {
        struct slice left, right;
        split_last(item, ':', &left, &right);
        enum security_protocol protocol;
        if (slice_eq_nocase(left, name) && right.data && protocol_of(right, &protocol)) {
            *ret_protocol = protocol; /* a later entry of the same name wins */
            found = true;
        }
    }
    return found;
}

enum err listener_map_check(struct slice map, struct arena *arena, struct slice *ret_message)
{
    struct slice item;
    while (next_item(&map, &item)) {
        if (item.size == 0)
            continue;
        struct slice left, right;
        split_last(item, ':', &left, &right);
        enum security_protocol protocol;
        if (right.data && protocol_of(right, &protocol))
            continue;
        static const char form[] =
            "each entry is NAME:PROTOCOL with PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL";
        if (right.data)
            *ret_message = arena_printf(arena,
                                        "Invalid security protocol `%.*s` defined in "
                                        "listener.security.protocol.map; %s",
                                        SLICE_FMT(right), form);
        else
            *ret_message = arena_printf(arena,
                                        "Error parsing configuration property "
                                        "'listener.security.protocol.map': %.*s has no ':'; %s",
                                        SLICE_FMT(item), form);
        return ERR_INVALID_CONFIG;
    }
    return ERR_NONE;
}

bool listener_is_host_char(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c && strchr("-%._:", c));
}

static struct slice upper(struct arena *arena, struct slice s)
{
    uint8_t *copy = arena_alloc(arena, s.size + 1);
    for (size_t i = 0; i < s.size; i++)
        copy[i] = s.data[i] >= 'a' && s.data[i] <= 'z' ? (uint8_t)(s.data[i] - 32) : s.data[i];
    return slice_of(copy, s.size);
}

/* Name, host and port of one item; *ret_port is not bounded yet. */
static bool parse_item(struct slice item, struct arena *arena, struct listener_address *ret,
                       int64_t *ret_port)
{
    size_t mark = item.size;
    for (size_t i = 0; i + 3 <= item.size; i++)
        if (memcmp(item.data + i, "://", 3) == 0)
            mark = i;
    if (mark == item.size)
        return false;
    struct slice host, port;
    split_last(slice_sub(item, mark + 3, item.size - mark - 3), ':', &host, &port);
    if (slice_is_null(port) || !slice_to_i64(port, INT32_MIN, INT32_MAX, ret_port) ||
        port.data[0] == '+')
        return false;
    if (host.size > 0 && host.data[0] == '[')
        host = slice_sub(host, 1, host.size - 1);
    if (host.size > 0 && host.data[host.size - 1] == ']')
        host = slice_sub(host, 0, host.size - 1);
    for (size_t i = 0; i < host.size; i++)
        if (!listener_is_host_char(host.data[i]))
            return false;
    ret->name = upper(arena, slice_sub(item, 0, mark));
    ret->host = arena_dup(arena, host);
    return true;
}

enum family {
    FAMILY_NAME,
    FAMILY_IPV4,
    FAMILY_IPV6,
};

static enum family family_of(struct slice host)
{
    size_t digits = 0, dots = 0, colons = 0;
    for (size_t i = 0; i < host.size; i++) {
        digits += host.data[i] >= '0' && host.data[i] <= '9';
        dots += host.data[i] == '.';
        colons += host.data[i] == ':';
    }
    if (colons >= 2)
        return FAMILY_IPV6;
    return dots == 3 && digits + dots == host.size ? FAMILY_IPV4 : FAMILY_NAME;
}

static struct slice joined(const struct conf_list *texts, struct arena *arena)
{
    struct buf b;
    buf_init(&b);
    for (int32_t i = 0; i < texts->count; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "[", SLICE_FMT(texts->items[i]));
    buf_put_str(&b, "]");
    struct slice text = arena_dup(arena, buf_slice(&b));
    buf_fini(&b);
    return text;
}

/* Why two listeners cannot stand together; null when they can. */
static struct slice clash(const struct listener_address *a, const struct listener_address *b,
                          struct slice texts, enum listener_rule rule, struct arena *arena)
{
    if (slice_eq(a->name, b->name))
        return arena_printf(arena, "Each listener must have a different name, listeners: %.*s",
                            SLICE_FMT(texts));
    if (rule == LISTENER_RULE_ADVERTISE || a->port != b->port || a->port == 0)
        return SLICE_NULL;
    enum family fa = family_of(a->host), fb = family_of(b->host);
    if (fa == FAMILY_NAME && fb == FAMILY_NAME)
        return arena_printf(arena, "Each listener must have a different port, listeners: %.*s",
                            SLICE_FMT(texts));
    if (fa == FAMILY_NAME || fb == FAMILY_NAME)
        return arena_printf(arena,
                            "Each listener must have a different port unless exactly one listener "
                            "has an IPv4 address and the other IPv6 address, listeners: %.*s, "
                            "port: %d",
                            SLICE_FMT(texts), a->port);
    if (fa == fb)
        return arena_printf(arena,
                            "If you have two listeners on the same port then one needs to be IPv4 "
                            "and the other IPv6, listeners: %.*s, port: %d",
                            SLICE_FMT(texts), a->port);
    return SLICE_NULL;
}

static enum err refuse(const char *key, struct slice texts, struct slice why, struct arena *arena,
                       struct slice *ret_message)
{
    *ret_message = arena_printf(arena, "Error creating broker listeners from '%.*s': %.*s (%s)",
                                SLICE_FMT(texts), SLICE_FMT(why), key);
    return ERR_INVALID_CONFIG;
}

enum err listener_list_parse(const char *key, const struct conf_list *texts, struct slice map,
                             enum listener_rule rule, struct arena *arena,
                             struct listener_list *ret_list, struct slice *ret_message)
{
    struct listener_list list = {
        .items = arena_array(arena, (size_t)texts->count + 1, sizeof(*list.items))};
    struct slice all = joined(texts, arena);
    for (int32_t i = 0; i < texts->count; i++) {
        struct listener_address *address = &list.items[list.count++];
        struct slice item = texts->items[i];
        int64_t port = 0;
        struct slice why = SLICE_NULL;
        if (!parse_item(item, arena, address, &port))
            why = arena_printf(arena,
                               "Unable to parse %.*s to a broker endpoint; write NAME://host:port "
                               "(an IPv6 host in brackets, no host for all addresses)",
                               SLICE_FMT(item));
        else if (port < 0 || port > 65535)
            why = arena_printf(arena, "port %lld of %.*s is not in 0 to 65535", (long long)port,
                               SLICE_FMT(item));
        else if (!listener_protocol(map, address->name, &address->protocol))
            why = arena_printf(arena,
                               "No security protocol defined for listener %.*s; add "
                               "%.*s:PLAINTEXT (or another protocol) to "
                               "listener.security.protocol.map",
                               SLICE_FMT(address->name), SLICE_FMT(address->name));
        if (why.data)
            return refuse(key, all, why, arena, ret_message);
        address->port = (uint16_t)port;
    }
    for (int32_t i = 0; i < list.count; i++) {
        for (int32_t j = 0; j < i; j++) {
            struct slice why = clash(&list.items[i], &list.items[j], all, rule, arena);
            if (why.data)
                return refuse(key, all, why, arena, ret_message);
        }
    }
    *ret_list = list;
    return ERR_NONE;
}

const struct listener_address *listener_list_find(const struct listener_list *list,
                                                  struct slice name)
{
    for (int32_t i = 0; i < list->count; i++)
        if (slice_eq_nocase(list->items[i].name, name))
            return &list->items[i];
    return NULL;
}
