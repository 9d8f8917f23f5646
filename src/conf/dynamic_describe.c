/* What DescribeConfigs shows: every entry of a resource with value, source and synonyms.
 *
 * Rules, all seen on a 4.4.0 node (tests/compat/describe_configs.py compares complete lists):
 * - The source is that of the strongest synonym, or "default" when there is none; it says nothing
 *   about whether the value differs from the default.
 * - A broker key lists its group (log.retention.ms, .minutes, .hours) layer by layer, and leaves
 * out what stands before its own name.
 * - A topic key lists its override, then the synonyms of its first broker key.
 * - Internal keys appear only when set, and as they were written. Keys that nobody knows are
 * sensitive, hence without value. Called by the DescribeConfigs and CreateTopics handlers on any
 * thread; pure. */
#include <stdlib.h>

#include "base/map.h"
#include "conf/config_layers.h"
#include "conf/dynamic.h"
#include "conf/topic_config.h"

enum { SYNONYM_MAX = 16 }; /* 4 sources of at most 3 names, and the resource's own */

struct describe {
    const struct config *config;
    struct conf_pairs overrides;
    struct arena *arena;
    bool all;          /* no names were asked for */
    struct map wanted; /* those that were */
    struct conf_entry *entries;
    int32_t count;
    struct conf_synonym synonyms[SYNONYM_MAX]; /* of the entry under way */
};

static bool is_wanted(const struct describe *d, struct slice name)
{
    return d->all || map_get(&d->wanted, name);
}

static void add_synonym(struct conf_entry *entry, struct slice name, struct slice value,
                        enum conf_source source)
{
    entry->synonyms[entry->synonym_count++] =
        (struct conf_synonym){name, entry->sensitive ? SLICE_NULL : value, source};
}

/* Begins an entry; its synonyms are added next, then entry_end. */
static struct conf_entry *entry_begin(struct describe *d, struct slice name, enum conf_type type,
                                      bool sensitive)
{
    struct conf_entry *entry = &d->entries[d->count];
    *entry = (struct conf_entry){.name = name, .type = type, .sensitive = sensitive};
    entry->synonyms = d->synonyms;
    return entry;
}

static void entry_end(struct describe *d, struct conf_entry *entry, struct slice value)
{
    struct conf_synonym *synonyms =
        arena_array(d->arena, (size_t)entry->synonym_count, sizeof(*synonyms));
    if (entry->synonym_count)
        memcpy(synonyms, entry->synonyms, (size_t)entry->synonym_count * sizeof(*synonyms));
    entry->synonyms = synonyms;
    entry->value = entry->sensitive ? SLICE_NULL : value;
    entry->source = entry->synonym_count > 0 ? entry->synonyms[0].source : CONF_SOURCE_DEFAULT;
    entry->is_default = entry->source == CONF_SOURCE_DEFAULT;
    d->count++;
}

/* --- broker keys --------------------------------------------------------------------------------
 */

/* The key that a name of the form listener.name.<listener>[.<mechanism>].<key> overrides, or -1. */
static int listener_base(struct slice name)
{
    struct slice base = conf_listener_key(name);
    return base.data ? conf_find_below_listener(base) : -1;
}

/* The names that count for `name`, strongest first. */
static int names_for(struct slice name, struct slice names[4])
{
    int id = conf_find(CONF_KIND_BROKER, name);
    names[0] = name;
    if (id < 0) {
        int base = listener_base(name);
        if (base < 0)
            return 1;
        names[1] = slice_str(conf_key(CONF_KIND_BROKER, base)->name);
        return 2;
    }
    int16_t ids[4];
    config_synonym_ids(id, ids);
    int count = 0;
    for (; ids[count] >= 0; count++)
        names[count] = slice_str(conf_key(CONF_KIND_BROKER, ids[count])->name);
    return count;
}

static void add_layer(struct conf_entry *entry, struct slice own, const struct slice *names,
                      int count, struct conf_pairs pairs, enum conf_source source)
{
    for (int i = 0; i < count; i++) {
        struct slice value = conf_pairs_get(pairs, names[i]);
        if (slice_is_null(value))
            continue;
        if (entry->synonym_count == 0 && !slice_eq(names[i], own))
            continue; /* stands before the key's own name */
        add_synonym(entry, names[i], value, source);
    }
}

/* Synonyms of a broker key in all four layers. A topic's or group's own synonym, added before, does
 * not count as the broker key's. */
static void add_broker_synonyms(struct describe *d, struct conf_entry *entry, struct slice name)
{
    struct slice names[4];
    int count = names_for(name, names);
    int32_t before = entry->synonym_count;
    struct conf_synonym *all = entry->synonyms;
    entry->synonyms = all + before;
    entry->synonym_count = 0;
    const struct conf_pairs *layers = d->config->layers;
    add_layer(entry, name, names, count, layers[CONFIG_LAYER_BROKER], CONF_SOURCE_BROKER);
    add_layer(entry, name, names, count, layers[CONFIG_LAYER_CLUSTER_DEFAULT],
              CONF_SOURCE_BROKER_DEFAULT);
    add_layer(entry, name, names, count, layers[CONFIG_LAYER_STATIC], CONF_SOURCE_STATIC);
    for (int i = 0; i < count; i++) {
        int id = conf_find(CONF_KIND_BROKER, names[i]);
        bool has_default = id >= 0 && !config_layer_is_quota(id);
        const char *text = has_default ? conf_key(CONF_KIND_BROKER, id)->default_text : NULL;
        if (text && (entry->synonym_count > 0 || slice_eq(names[i], name)))
            add_synonym(entry, names[i], slice_str(text), CONF_SOURCE_DEFAULT);
    }
    entry->synonyms = all;
    entry->synonym_count += before;
}

/* The text in force of a name that no table has. */
static struct slice raw_text(const struct config *config, struct slice name)
{
    for (int layer = 0; layer < CONFIG_LAYER_COUNT; layer++) {
        struct slice text = conf_pairs_get(config->layers[layer], name);
        if (text.data)
            return text;
    }
    return SLICE_NULL;
}

/* Begins an entry by the type of a broker key or of the key that its listener name overrides. */
static struct conf_entry *broker_begin(struct describe *d, struct slice name)
{
    int id = conf_find(CONF_KIND_BROKER, name);
    int typed = id >= 0 ? id : listener_base(name);
    const struct conf_key *key = typed >= 0 ? conf_key(CONF_KIND_BROKER, typed) : NULL;
    struct conf_entry *entry =
        entry_begin(d, name, key ? key->type : (enum conf_type)0, !key || conf_is_sensitive(key));
    entry->read_only = id < 0 || conf_key(CONF_KIND_BROKER, id)->update == CONF_READ_ONLY;
    return entry;
}

static void add_broker_entry(struct describe *d, struct slice name)
{
    int id = conf_find(CONF_KIND_BROKER, name);
    struct conf_entry *entry = broker_begin(d, name);
    add_broker_synonyms(d, entry, name);
    bool typed = id >= 0 && !config_layer_is_quota(id) && !conf_key(CONF_KIND_BROKER, id)->internal;
    entry_end(
        d, entry,
        typed ? conf_value_format(conf_key(CONF_KIND_BROKER, id), &d->config->values[id], d->arena)
              : raw_text(d->config, name));
}

static bool has_entry(const struct describe *d, struct slice name)
{
    for (int32_t i = 0; i < d->count; i++)
        if (slice_eq(d->entries[i].name, name))
            return true;
    return false;
}

static void describe_broker(struct describe *d)
{
    for (int id = 0; id < BROKER_KEY_COUNT; id++) {
        const struct conf_key *key = conf_key(CONF_KIND_BROKER, id);
        struct slice name = slice_str(key->name);
        bool hidden = key->internal || config_layer_is_quota(id);
        if (is_wanted(d, name) && (!hidden || raw_text(d->config, name).data))
            add_broker_entry(d, name);
    }
    for (int layer = 0; layer < CONFIG_LAYER_COUNT; layer++) {
        struct conf_pairs pairs = d->config->layers[layer];
        for (int32_t i = 0; i < pairs.count; i++) {
            struct slice name = pairs.items[i].name;
            if (conf_find(CONF_KIND_BROKER, name) < 0 && is_wanted(d, name) && !has_entry(d, name))
                add_broker_entry(d, name);
        }
    }
}

/* Only what is set for all brokers and counts, as it was written. */
static void describe_broker_default(struct describe *d)
{
    struct conf_pairs pairs = config_layer_filter(d->overrides, false, d->arena, NULL);
    for (int32_t i = 0; i < pairs.count; i++) {
        struct slice name = pairs.items[i].name;
        if (!is_wanted(d, name))
            continue;
        struct conf_entry *entry = broker_begin(d, name);
        struct slice names[4];
        int count = names_for(name, names);
        add_layer(entry, name, names, count, pairs, CONF_SOURCE_BROKER_DEFAULT);
        entry_end(d, entry, pairs.items[i].value);
    }
}

/* --- topics, groups, client metrics -------------------------------------------------------------
 */

/* Overrides that this version does not know (written by another one). */
static void add_unknown_overrides(struct describe *d, enum conf_kind kind, enum conf_source source)
{
    for (int32_t i = 0; i < d->overrides.count; i++) {
        struct slice name = d->overrides.items[i].name;
        if (conf_find(kind, name) >= 0 || !is_wanted(d, name))
            continue;
        struct conf_entry *entry = entry_begin(d, name, (enum conf_type)0, true);
        add_synonym(entry, name, SLICE_NULL, source);
        entry_end(d, entry, SLICE_NULL);
    }
}

static void describe_topic(struct describe *d)
{
    for (int id = 0; id < TOPIC_KEY_COUNT; id++) {
        const struct conf_key *key = conf_key(CONF_KIND_TOPIC, id);
        struct slice name = slice_str(key->name);
        bool set = conf_pairs_get(d->overrides, name).data != NULL;
        if (!is_wanted(d, name) || (key->internal && !set))
            continue;
        struct slice value = key->internal ? conf_pairs_get(d->overrides, name)
                                           : topic_config_text(d->config, d->overrides,
                                                               (enum topic_key)id, d->arena);
        struct conf_entry *entry = entry_begin(d, name, key->type, conf_is_sensitive(key));
        if (set)
            add_synonym(entry, name, value, CONF_SOURCE_TOPIC);
        if (key->fallbacks)
            add_broker_synonyms(d, entry,
                                slice_str(conf_key(CONF_KIND_BROKER, key->fallbacks[0])->name));
        entry_end(d, entry, value);
    }
    add_unknown_overrides(d, CONF_KIND_TOPIC, CONF_SOURCE_TOPIC);
}

/* A group's value: its own, else the broker's, else the default. */
static struct slice group_text(struct describe *d, int id, struct slice own)
{
    const struct conf_key *key = conf_key(CONF_KIND_GROUP, id);
    struct conf_value value;
    struct slice message;
    if (own.data && !conf_value_parse(key, own, d->arena, &value, &message))
        return conf_value_format(key, &value, d->arena);
    if (!key->fallbacks)
        return slice_str(key->default_text);
    const struct conf_value *broker = &d->config->values[key->fallbacks[0]];
    if (id == GROUP_KEY_STREAMS_ASSIGNOR_NAME) /* the broker lists all of them, its first counts */
        return broker->list.count > 0 ? broker->list.items[0] : SLICE_NULL;
    return conf_value_format(key, broker, d->arena);
}

static void describe_group(struct describe *d)
{
    for (int id = 0; id < GROUP_KEY_COUNT; id++) {
        const struct conf_key *key = conf_key(CONF_KIND_GROUP, id);
        struct slice name = slice_str(key->name);
        struct slice own = conf_pairs_get(d->overrides, name);
        if (!is_wanted(d, name) || (key->internal && !own.data))
            continue;
        struct slice value = key->internal ? own : group_text(d, id, own);
        struct conf_entry *entry = entry_begin(d, name, key->type, conf_is_sensitive(key));
        if (own.data)
            add_synonym(entry, name, value, CONF_SOURCE_GROUP);
        if (key->fallbacks)
            add_broker_synonyms(d, entry,
                                slice_str(conf_key(CONF_KIND_BROKER, key->fallbacks[0])->name));
        else if (key->default_text)
            add_synonym(entry, name, slice_str(key->default_text), CONF_SOURCE_DEFAULT);
        entry_end(d, entry, value);
    }
    add_unknown_overrides(d, CONF_KIND_GROUP, CONF_SOURCE_GROUP);
}

static void describe_metrics(struct describe *d)
{
    for (int id = 0; id < METRICS_KEY_COUNT; id++) {
        const struct conf_key *key = conf_key(CONF_KIND_CLIENT_METRICS, id);
        struct slice name = slice_str(key->name), text = slice_str(key->default_text), message;
        struct slice own = conf_pairs_get(d->overrides, name);
        if (!is_wanted(d, name))
            continue;
        struct conf_entry *entry = entry_begin(d, name, key->type, false);
        struct conf_value value;
        if (own.data && !conf_value_parse(key, own, d->arena, &value, &message)) {
            text = conf_value_format(key, &value, d->arena);
            add_synonym(entry, name, text, CONF_SOURCE_CLIENT_METRICS);
        }
        entry_end(d, entry, text);
    }
}

static int by_name(const void *a, const void *b)
{
    return slice_cmp(((const struct conf_entry *)a)->name, ((const struct conf_entry *)b)->name);
}

void conf_describe(enum conf_resource_type type, struct slice name, const struct config *config,
                   struct conf_pairs overrides, const struct slice *keys, int32_t key_count,
                   struct arena *arena, struct conf_entry **ret_entries, int32_t *ret_count)
{
    size_t room = BROKER_KEY_COUNT + (size_t)overrides.count;
    for (int layer = 0; layer < CONFIG_LAYER_COUNT; layer++)
        room += (size_t)config->layers[layer].count;
    struct describe d = {
        .config = config, .overrides = overrides, .arena = arena, .all = !keys || key_count <= 0};
    map_init(&d.wanted);
    for (int32_t i = 0; !d.all && i < key_count; i++)
        map_put(&d.wanted, keys[i], &d);
    d.entries = arena_array(arena, room, sizeof(*d.entries));
    switch (type) {
    case CONF_RESOURCE_TOPIC: describe_topic(&d); break;
    case CONF_RESOURCE_GROUP: describe_group(&d); break;
    case CONF_RESOURCE_CLIENT_METRICS: describe_metrics(&d); break;
    case CONF_RESOURCE_BROKER:
        if (name.size > 0)
            describe_broker(&d);
        else
            describe_broker_default(&d);
        break;
    case CONF_RESOURCE_BROKER_LOGGER: break;
    }
    map_fini(&d.wanted);
    qsort(d.entries, (size_t)d.count, sizeof(*d.entries), by_name);
    *ret_entries = d.entries;
    *ret_count = d.count;
}
