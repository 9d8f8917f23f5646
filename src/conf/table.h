/* The tables of configuration keys, made at build time by tools/gen_configs.py from schema/configs-
 * *.tsv and schema/config-support.tsv: broker, topic, group and client-metrics keys of Kafka 4.4.
 *
 * A key has an id in the enum of its kind: the name in upper case with '_' for '.' and '-', after
 * BROKER_, TOPIC_, GROUP_ or METRICS_ and KEY: "log.segment.bytes" -> BROKER_KEY_LOG_SEGMENT_BYTES,
 * "segment.bytes" -> TOPIC_KEY_SEGMENT_BYTES. Ids index the tables and follow the order of names.
 * Everything here is constant; any thread may read it. */
#ifndef KLAMM_CONF_TABLE_H
#define KLAMM_CONF_TABLE_H

#include "base/slice.h"
#include "conf_keys.h"

/* Numbers as in DescribeConfigs (ConfigType). */
enum conf_type {
    CONF_BOOLEAN = 1,
    CONF_STRING = 2,
    CONF_INT = 3,
    CONF_SHORT = 4,
    CONF_LONG = 5,
    CONF_DOUBLE = 6,
    CONF_LIST = 7,
    CONF_CLASS = 8,
    CONF_PASSWORD = 9,
};

enum conf_kind {
    CONF_KIND_BROKER,
    CONF_KIND_TOPIC,
    CONF_KIND_GROUP,
    CONF_KIND_CLIENT_METRICS,
};
enum { CONF_KIND_COUNT = 4 };

enum conf_update {
    CONF_READ_ONLY,    /* only at start, from the properties file */
    CONF_PER_BROKER,   /* dynamic, for one broker at a time (unless a listener's own key) */
    CONF_CLUSTER_WIDE, /* dynamic, for one broker or as default of all */
};

/* What Klamm does with a broker key (schema/config-support.tsv). */
enum conf_support {
    CONF_EFFECTIVE, /* works as in Kafka */
    CONF_ACCEPTED, /* read, checked and shown; has no effect by design (JVM classes and the like) */
    CONF_PLUGIN,   /* names Java code, which is not loaded: said once at start */
    CONF_LATER,    /* read, checked and shown; its effect is not built yet: said once at start */
};

/* What a value must be beyond its type. */
enum conf_valid_kind {
    CONF_VALID_ANY,
    CONF_VALID_RANGE,        /* min <= value <= max; or_value is allowed besides when has_or */
    CONF_VALID_ENUM,         /* one of words */
    CONF_VALID_ENUM_NOCASE,  /* one of words, in any case */
    CONF_VALID_LIST,         /* list rules below; words, when given, name the items allowed */
    CONF_VALID_NON_NULL,     /* null is refused */
    CONF_VALID_NON_EMPTY,    /* "" is refused; null is allowed */
    CONF_VALID_THROTTLED,    /* "*" or partition:broker pairs */
    CONF_VALID_OFFSET_RESET, /* latest, earliest or by_duration:<ISO 8601 duration> */
};

struct conf_valid {
    enum conf_valid_kind kind;
    bool has_min, has_max, has_or;
    bool list_distinct, list_empty_ok, list_null_ok; /* CONF_VALID_LIST */
    double min, max;                                 /* for doubles */
    int64_t min_i, max_i, or_value;                  /* for integers */
    const char *const *words;                        /* NULL-terminated, in Kafka's order */
};

struct conf_key {
    const char *name;
    const char *default_text; /* NULL: null, or none when required */
    enum conf_type type;
    enum conf_update update;   /* broker keys; others are always dynamic */
    enum conf_support support; /* broker keys */
    bool required;             /* has no default */
    bool internal;             /* shown by DescribeConfigs only when it is set */
    struct conf_valid valid;
    const int16_t *fallbacks; /* broker keys: ids that also give this value, in order; -1 ends it.
                                 topic and group keys: broker ids of the default, in order */
    const int32_t *factors;   /* topic keys: factor of each fallback (hours to ms) */
};

/* The table of a kind; *ret_count keys, sorted by name. */
const struct conf_key *conf_table(enum conf_kind kind, int *ret_count);

/* The id of a key name, or -1. */
int conf_find(enum conf_kind kind, struct slice name);

/* The key of an id that is known to be right (an enum constant or what conf_find gave). */
const struct conf_key *conf_key(enum conf_kind kind, int id);

/* The key in a name of the form "listener.name.<listener>.<key>"; null for other names. */
struct slice conf_listener_key(struct slice name);

/* The id of the broker key that such a key stands for; a SASL mechanism may stand before some of
 * them ("plain.sasl.jaas.config"). -1: none. */
int conf_find_below_listener(struct slice key);

/* Passwords: never shown. */
static inline bool conf_is_sensitive(const struct conf_key *key)
{
    return key->type == CONF_PASSWORD;
}

#endif
