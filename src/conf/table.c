/* The key tables: constant data made by tools/gen_configs.py, looked up by name or id.
 *
 * A lookup is a binary search over names sorted bytewise; the generator sorts by code point, which
 * is the same for these ASCII names. Pure; any thread. */
#include "conf/table.h"

#include "base/ensure.h"

#include "conf_table.inc"

#define COUNT(array) (int)(sizeof(array) / sizeof((array)[0]))

const struct conf_key *conf_table(enum conf_kind kind, int *ret_count)
{
    static const struct {
        const struct conf_key *keys;
        int count;
    } tables[] = {
        [CONF_KIND_BROKER] = {table_broker_keys, COUNT(table_broker_keys)},
        [CONF_KIND_TOPIC] = {table_topic_keys, COUNT(table_topic_keys)},
        [CONF_KIND_GROUP] = {table_group_keys, COUNT(table_group_keys)},
        [CONF_KIND_CLIENT_METRICS] = {table_metrics_keys, COUNT(table_metrics_keys)},
    };
    ENSURE_CMP((int)kind, <, CONF_KIND_COUNT);
    *ret_count = tables[kind].count;
    return tables[kind].keys;
}

int conf_find(enum conf_kind kind, struct slice name)
{
    int count;
    const struct conf_key *table = conf_table(kind, &count);
    int low = 0, high = count;
    while (low < high) {
        int middle = (low + high) / 2;
        int order = slice_cmp(slice_str(table[middle].name), name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return -1;
}

const struct conf_key *conf_key(enum conf_kind kind, int id)
{
    int count;
    const struct conf_key *table = conf_table(kind, &count);
    ENSURE_CMP(id, >=, 0);
    ENSURE_CMP(id, <, count);
    return &table[id];
}

struct slice conf_listener_key(struct slice name)
{
    const struct slice prefix = SLICE_LIT("listener.name.");
    struct slice listener, key;
    if (name.size <= prefix.size || !slice_eq(slice_sub(name, 0, prefix.size), prefix) ||
        !slice_cut(slice_sub(name, prefix.size, name.size - prefix.size), '.', &listener, &key))
        return SLICE_NULL;
    return key;
}

int conf_find_below_listener(struct slice key)
{
    static const char *const mechanism_keys[] = {
        "sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class",
        "sasl.server.callback.handler.class", "connections.max.reauth.ms"};
    for (int i = 0; i < COUNT(mechanism_keys); i++) {
        struct slice end = slice_str(mechanism_keys[i]);
        if (key.size >= end.size && slice_eq(slice_sub(key, key.size - end.size, end.size), end))
            return conf_find(CONF_KIND_BROKER, end);
    }
    return conf_find(CONF_KIND_BROKER, key);
}
