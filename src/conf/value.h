/* One configuration value: text -> typed value by the rules of a key, with Kafka's error texts
 * ("Invalid value abc for configuration retention.ms: Not a number of type LONG"). Pure. */
#ifndef KLAMM_CONF_VALUE_H
#define KLAMM_CONF_VALUE_H

#include "base/arena.h"
#include "base/err.h"
#include "conf/table.h"

struct conf_list {
    const struct slice *items; /* trimmed */
    int32_t count;
};

bool conf_list_has(struct conf_list list, struct slice item);

/* A typed value; which member counts follows from the key's type. */
struct conf_value {
    bool is_null;
    bool boolean;      /* CONF_BOOLEAN */
    int64_t integer;   /* CONF_INT, CONF_SHORT, CONF_LONG */
    double real;       /* CONF_DOUBLE */
    struct slice text; /* the trimmed text of every type; what DescribeConfigs shows, except... */
    struct conf_list list; /* CONF_LIST */
};

/* Parses and validates. A null text gives the null value (validated like any other). Texts of the
 * result are views into `text` or come from the arena. On ERR_INVALID_CONFIG *ret_message (from the
 * arena) is Kafka's sentence. */
enum err conf_value_parse(const struct conf_key *key, struct slice text, struct arena *arena,
                          struct conf_value *ret_value, struct slice *ret_message);

/* A list that names an item twice is taken from the file and for a topic, but not for a broker at
 * run time: ERR_INVALID_CONFIG with Kafka's sentence. */
enum err conf_value_check_repeats(const struct conf_key *key, struct slice text,
                                  struct arena *arena, struct slice *ret_message);

/* What a key takes, in words for the start ("1 to 2147483647"); null for one that is no number. */
struct slice conf_value_range(const struct conf_key *key, struct arena *arena);

/* As Kafka prints a parsed value: lists joined by ',', doubles as Java does ("0.5", "1.0E10"),
 * booleans in lower case. Null for null. */
struct slice conf_value_format(const struct conf_key *key, const struct conf_value *value,
                               struct arena *arena);

#endif
