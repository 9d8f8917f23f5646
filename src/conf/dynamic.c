/* Alterations of dynamic configurations: current overrides and operations in, changes out.
 *
 * The controller calls these under its lock and writes one ConfigRecord for each change. Kafka
 * checks a broker's change first on the broker (errors are INVALID_REQUEST) and everything else on
 * the controller (INVALID_CONFIG); here both happen in one place, with the error that a client
 * would see. What is not decided here: whether a topic exists, names of topics, and the rule of
 * eligible leader replicas for min.insync.replicas (conf_elr_check). Pure. */
#include "conf/dynamic.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/map.h"
#include "conf/config_layers.h"

#include <stdlib.h>

/* A set of overrides that changes while operations are applied. A removed one leaves its place
 * without a value until set_pairs. */
struct pair_set {
    struct conf_pair *items;
    int32_t count;
    struct map places; /* name -> item */
};

static struct conf_result fail(enum err error, struct slice message)
{
    return (struct conf_result){error, message};
}

static const struct conf_result none = {ERR_NONE, {NULL, 0}};

static enum conf_kind kind_of(enum conf_resource_type type)
{
    switch (type) {
    case CONF_RESOURCE_TOPIC: return CONF_KIND_TOPIC;
    case CONF_RESOURCE_GROUP: return CONF_KIND_GROUP;
    case CONF_RESOURCE_CLIENT_METRICS: return CONF_KIND_CLIENT_METRICS;
    case CONF_RESOURCE_BROKER:
    case CONF_RESOURCE_BROKER_LOGGER: break;
    }
    return CONF_KIND_BROKER;
}

static bool type_known(int type)
{
    return type == CONF_RESOURCE_TOPIC || type == CONF_RESOURCE_BROKER ||
           type == CONF_RESOURCE_CLIENT_METRICS || type == CONF_RESOURCE_GROUP;
}

static void set_put(struct pair_set *set, struct slice name, struct slice value)
{
    struct conf_pair *known = map_get(&set->places, name);
    if (known) {
        known->value = value;
        return;
    }
    set->items[set->count] = (struct conf_pair){name, value};
    map_put(&set->places, name, &set->items[set->count++]);
}

static struct pair_set set_of(struct conf_pairs current, int32_t more, struct arena *arena)
{
    struct pair_set set = {
        .items = arena_array(arena, (size_t)current.count + (size_t)more + 1, sizeof(*set.items))};
    map_init(&set.places);
    for (int32_t i = 0; i < current.count; i++)
        set_put(&set, current.items[i].name, current.items[i].value);
    return set;
}

/* What is in the set in the end; the set takes no more. */
static struct conf_pairs set_pairs(struct pair_set *set)
{
    int32_t count = 0;
    for (int32_t i = 0; i < set->count; i++) {
        if (set->items[i].value.data)
            set->items[count++] = set->items[i];
    }
    map_fini(&set->places);
    return (struct conf_pairs){set->items, count};
}

/* --- lists --------------------------------------------------------------------------------------
 */

static void add_part(struct buf *out, bool *any, struct slice part)
{
    if (*any)
        buf_put_str(out, ",");
    buf_put_slice(out, part);
    *any = true;
}

/* The list in force with parts added that it lacks, or with parts taken out. */
static struct slice list_apply(struct slice old, struct slice parts, bool append,
                               struct arena *arena)
{
    struct buf b;
    struct map seen; /* parts to take out, or those there are */
    buf_init(&b);
    map_init(&seen);
    bool any = false;
    struct slice rest = parts, part;
    while (!append && slice_next_part(&rest, ',', &part))
        map_put(&seen, part, &seen);
    rest = old;
    while (slice_next_part(&rest, ',', &part)) {
        if (part.size == 0 || (!append && map_get(&seen, part)))
            continue;
        add_part(&b, &any, part);
        if (append)
            map_put(&seen, part, &seen);
    }
    rest = parts;
    while (append && slice_next_part(&rest, ',', &part))
        if (!map_put(&seen, part, &seen))
            add_part(&b, &any, part);
    map_fini(&seen);
    struct slice text = arena_dup(arena, buf_slice(&b));
    buf_fini(&b);
    return text;
}

/* --- operations ---------------------------------------------------------------------------------
 */

/* May APPEND and SUBTRACT be used on this key? Groups' and client metrics' keys never, as in Kafka.
 */
static struct conf_result check_splittable(enum conf_resource_type type, const struct conf_op *op,
                                           struct arena *arena)
{
    enum conf_kind kind = kind_of(type);
    int id = conf_find(kind, op->name);
    bool list = id >= 0 && conf_key(kind, id)->type == CONF_LIST;
    bool append = op->kind == CONF_OP_APPEND;
    if (type == CONF_RESOURCE_BROKER) {
        if (id < 0 || config_layer_is_quota(id))
            return fail(ERR_INVALID_CONFIG,
                        arena_printf(arena, "Unknown config name: %.*s", SLICE_FMT(op->name)));
        if (!list)
            return fail(ERR_INVALID_CONFIG,
                        arena_printf(arena, "Config value %s is not allowed for config key: %.*s",
                                     append ? "append" : "subtract", SLICE_FMT(op->name)));
        return none;
    }
    if (type == CONF_RESOURCE_TOPIC && list)
        return none;
    return fail(ERR_INVALID_CONFIG,
                arena_printf(arena, "Can't %s to key %.*s because its type is not LIST.",
                             append ? "APPEND" : "SUBTRACT", SLICE_FMT(op->name)));
}

/* The new text of one operation; null removes the override. */
static struct conf_result apply_op(enum conf_resource_type type, struct conf_pairs current,
                                   const struct conf_op *op, struct arena *arena,
                                   struct slice *ret_value)
{
    switch (op->kind) {
    case CONF_OP_SET: *ret_value = op->value; return none;
    case CONF_OP_DELETE: *ret_value = SLICE_NULL; return none;
    case CONF_OP_APPEND:
    case CONF_OP_SUBTRACT: break;
    default:
        /* Kafka's broker looks at its own configs first; its controller has no sentence. */
        if (type == CONF_RESOURCE_BROKER)
            return fail(ERR_INVALID_REQUEST,
                        arena_printf(arena, "Unknown operations type %d", (int)op->kind));
        return fail(ERR_UNKNOWN_SERVER_ERROR, SLICE_NULL);
    }
    struct conf_result result = check_splittable(type, op, arena);
    if (result.error)
        return result;
    struct slice old = conf_pairs_get(current, op->name);
    if (slice_is_null(old)) {
        enum conf_kind kind = kind_of(type);
        old = slice_str(conf_key(kind, conf_find(kind, op->name))->default_text);
    }
    *ret_value = list_apply(old, op->value, op->kind == CONF_OP_APPEND, arena);
    return none;
}

/* The request itself: no key twice, no value missing. */
struct conf_result conf_check_ops(const struct conf_op *ops, int32_t count, struct arena *arena)
{
    struct map seen;
    map_init(&seen);
    bool repeats = false;
    for (int32_t i = 0; i < count; i++)
        repeats = map_put(&seen, ops[i].name, &seen) != NULL || repeats;
    map_fini(&seen);
    if (repeats)
        return fail(ERR_INVALID_REQUEST, SLICE_LIT("Error due to duplicate config keys"));
    struct buf b;
    buf_init(&b);
    bool any = false;
    for (int32_t i = 0; i < count; i++) {
        if (ops[i].kind == CONF_OP_DELETE || ops[i].value.data)
            continue;
        buf_printf(&b, "%s%.*s", any ? ", " : "", SLICE_FMT(ops[i].name));
        any = true;
    }
    struct slice names = arena_dup(arena, buf_slice(&b));
    buf_fini(&b);
    return any ? fail(ERR_INVALID_REQUEST,
                      arena_printf(arena, "Null value not supported for : %.*s", SLICE_FMT(names)))
               : none;
}

/* --- brokers ------------------------------------------------------------------------------------
 */

/* Where a Java HashSet of `count` names would keep this one: its print order is by bucket. */
static uint32_t bucket_of(struct slice name, int32_t count)
{
    uint32_t size = 16;
    while (size < (uint32_t)count * 4 / 3 + 1)
        size *= 2;
    uint32_t hash = (uint32_t)java_hash(name);
    return (hash ^ hash >> 16) & (size - 1);
}

struct placed_name {
    struct slice name;
    uint32_t bucket;
    int32_t order; /* within the bucket */
};

static int compare_places(const void *a, const void *b)
{
    const struct placed_name *x = a, *y = b;
    if (x->bucket != y->bucket)
        return x->bucket < y->bucket ? -1 : 1;
    return (x->order > y->order) - (x->order < y->order);
}

/* "<text>: [a, b]" with the names of the set for which `is` holds; no error when there are none. */
static struct conf_result refuse_names(struct conf_pairs set, bool (*is)(struct slice),
                                       const char *text, struct arena *arena)
{
    struct placed_name *names = arena_array(arena, (size_t)set.count + 1, sizeof(*names));
    int32_t count = 0;
    for (int32_t i = 0; i < set.count; i++) {
        if (!is(set.items[i].name))
            continue;
        names[count] =
            (struct placed_name){set.items[i].name, bucket_of(set.items[i].name, set.count), count};
        count++;
    }
    if (count == 0)
        return none;
    qsort(names, (size_t)count, sizeof(*names), compare_places);
    struct buf b;
    buf_init(&b);
    for (int32_t i = 0; i < count; i++)
        buf_printf(&b, "%s%.*s", i ? ", " : "", SLICE_FMT(names[i].name));
    struct slice message = arena_printf(arena, "%s: [%.*s]", text, SLICE_FMT(buf_slice(&b)));
    buf_fini(&b);
    return fail(ERR_INVALID_REQUEST, message);
}

static struct conf_result check_broker_types(struct conf_pairs set, struct arena *arena)
{
    for (int32_t i = 0; i < set.count; i++) {
        struct slice message;
        if (config_layer_check_value(set.items[i].name, set.items[i].value, arena, &message))
            return fail(ERR_INVALID_REQUEST, message);
    }
    return none;
}

/* Refused by a part of the broker that is about to be reconfigured: Kafka wraps the sentence so. */
static struct conf_result refuse_reconfiguration(struct slice sentence, struct arena *arena)
{
    return fail(
        ERR_INVALID_REQUEST,
        arena_printf(arena,
                     "Invalid value org.apache.kafka.common.config.ConfigException: %.*s for "
                     "configuration Invalid dynamic configuration",
                     SLICE_FMT(sentence)));
}

/* What is kept locally of tiered logs (-2: all of it) is not more than what is kept at all. */
static struct conf_result check_local_retention(const struct config *next, struct arena *arena)
{
    const struct {
        int64_t local, total;
        const char *name, *of;
    } pairs[] = {
        {config_int(next, BROKER_KEY_LOG_LOCAL_RETENTION_MS), config_log_retention_ms(next),
         "log.local.retention.ms", "log.retention.ms"},
        {config_int(next, BROKER_KEY_LOG_LOCAL_RETENTION_BYTES),
         config_int(next, BROKER_KEY_LOG_RETENTION_BYTES), "log.local.retention.bytes",
         "log.retention.bytes"},
    };
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (pairs[i].local == -2 || pairs[i].total == -1)
            continue;
        if (pairs[i].local != -1 && pairs[i].local <= pairs[i].total)
            continue;
        const char *why =
            pairs[i].local == -1 ? "Value must not be -1 as" : "Value must not be more than";
        struct slice sentence = arena_printf(
            arena,
            pairs[i].local == -1
                ? "Invalid value %lld for configuration %s: %s %s value is set as %lld."
                : "Invalid value %lld for configuration %s: %s %s property value: %lld",
            (long long)pairs[i].local, pairs[i].name, why, pairs[i].of, (long long)pairs[i].total);
        return refuse_reconfiguration(sentence, arena);
    }
    return none;
}

/* Pools of threads may at most double or halve in one step. */
static struct conf_result check_threads(const struct config *config, struct conf_pairs set,
                                        struct arena *arena)
{
    static const int16_t pools[] = {
        BROKER_KEY_BACKGROUND_THREADS,
        BROKER_KEY_NUM_IO_THREADS,
        BROKER_KEY_NUM_NETWORK_THREADS,
        BROKER_KEY_NUM_RECOVERY_THREADS_PER_DATA_DIR,
        BROKER_KEY_NUM_REPLICA_FETCHERS,
        BROKER_KEY_REMOTE_LOG_MANAGER_COPIER_THREAD_POOL_SIZE,
        BROKER_KEY_REMOTE_LOG_MANAGER_EXPIRATION_THREAD_POOL_SIZE,
        BROKER_KEY_REMOTE_LOG_MANAGER_FOLLOWER_THREAD_POOL_SIZE,
        BROKER_KEY_REMOTE_LOG_READER_THREADS,
        BROKER_KEY_LOG_CLEANER_THREADS,
    };
    for (size_t i = 0; i < sizeof(pools) / sizeof(pools[0]); i++) {
        const char *name = conf_key(CONF_KIND_BROKER, pools[i])->name;
        int64_t wanted, now = config_int(config, (enum broker_key)pools[i]);
        struct slice text = slice_trim(conf_pairs_get(set, slice_str(name)));
        if (!text.data || !slice_to_i64(text, 0, INT32_MAX, &wanted))
            continue;
        bool cleaner = pools[i] == BROKER_KEY_LOG_CLEANER_THREADS;
        struct slice why = SLICE_NULL;
        if (wanted < now / 2)
            why = cleaner
                      ? arena_printf(arena,
                                     "Log cleaner threads cannot be reduced to less than half "
                                     "the current value %lld",
                                     (long long)now)
                      : arena_printf(arena, "value should be at least half the current value %lld",
                                     (long long)now);
        else if (wanted > now * 2)
            why = cleaner
                      ? arena_printf(arena,
                                     "Log cleaner threads cannot be increased to more than double "
                                     "the current value %lld",
                                     (long long)now)
                      : arena_printf(arena,
                                     "value should not be greater than double the current value "
                                     "%lld",
                                     (long long)now);
        if (!why.data)
            continue;
        struct slice sentence =
            cleaner ? why
                    : arena_printf(arena,
                                   "Dynamic thread count update validation failed for %s=%lld, "
                                   "%.*s",
                                   name, (long long)wanted, SLICE_FMT(why));
        return refuse_reconfiguration(sentence, arena);
    }
    return none;
}

static struct conf_result check_broker_name(struct slice name, const struct config *config,
                                            struct arena *arena)
{
    int64_t id;
    if (name.size == 0)
        return none;
    if (!slice_to_i64(name, INT32_MIN, INT32_MAX, &id))
        return fail(
            ERR_INVALID_REQUEST,
            arena_printf(arena, "Node id must be an integer, but it is: %.*s", SLICE_FMT(name)));
    if (id != config_node_id(config))
        return fail(ERR_INVALID_REQUEST,
                    arena_printf(arena, "Unexpected broker id, expected %d, but received %.*s",
                                 config_node_id(config), SLICE_FMT(name)));
    return none;
}

static struct conf_result validate_broker(struct slice name, const struct config *config,
                                          struct conf_pairs set, struct arena *arena)
{
    bool one = name.size > 0;
    struct conf_result result =
        refuse_names(set, config_layer_read_only, "Cannot update these configs dynamically", arena);
    if (!result.error)
        result = refuse_names(set, config_layer_listener_only,
                              "These security configs can be dynamically updated only per-listener "
                              "using the listener prefix",
                              arena);
    if (!result.error)
        result = check_broker_types(set, arena);
    if (!result.error && !one)
        result = refuse_names(set, config_layer_per_broker,
                              "Cannot update these configs at default cluster level, broker id "
                              "must be specified",
                              arena);
    if (result.error)
        return result;
    struct conf_pairs broker = one ? set : config->layers[CONFIG_LAYER_BROKER];
    struct conf_pairs all = one ? config->layers[CONFIG_LAYER_CLUSTER_DEFAULT] : set;
    struct slice message;
    struct config *next;
    if (config_try_dynamic(config, broker, all, arena, &next, &message))
        return fail(ERR_INVALID_REQUEST, message);
    result = check_local_retention(next, arena);
    config_unref(next);
    return result.error ? result : check_threads(config, set, arena);
}

/* --- topics, client metrics ---------------------------------------------------------------------
 */

static struct conf_result validate_topic(struct slice name, const struct config *config,
                                         struct conf_pairs set, struct arena *arena)
{
    if (name.size == 0)
        return fail(ERR_INVALID_REQUEST, SLICE_LIT("Default topic resources are not allowed."));
    for (int32_t i = 0; i < set.count; i++)
        if (conf_find(CONF_KIND_TOPIC, set.items[i].name) < 0)
            return fail(ERR_INVALID_CONFIG, arena_printf(arena, "Unknown topic config name: %.*s",
                                                         SLICE_FMT(set.items[i].name)));
    struct conf_value value;
    for (int32_t i = 0; i < set.count; i++) {
        const struct conf_key *key =
            conf_key(CONF_KIND_TOPIC, conf_find(CONF_KIND_TOPIC, set.items[i].name));
        struct slice message;
        if (conf_value_parse(key, set.items[i].value, arena, &value, &message))
            return fail(ERR_INVALID_CONFIG, message);
    }
    topic_config_value(config, set, TOPIC_KEY_MIN_COMPACTION_LAG_MS, arena, &value);
    int64_t lag_min = value.integer;
    topic_config_value(config, set, TOPIC_KEY_MAX_COMPACTION_LAG_MS, arena, &value);
    if (lag_min > value.integer)
        return fail(ERR_INVALID_CONFIG,
                    arena_printf(arena,
                                 "conflict topic config setting min.compaction.lag.ms (%lld) > "
                                 "max.compaction.lag.ms (%lld)",
                                 (long long)lag_min, (long long)value.integer));
    topic_config_value(config, set, TOPIC_KEY_REMOTE_STORAGE_ENABLE, arena, &value);
    if (value.boolean)
        return fail(
            ERR_INVALID_CONFIG,
            SLICE_LIT("Tiered Storage functionality is disabled in the broker. Topic cannot "
                      "be configured with remote log storage."));
    return none;
}

/* Past what a backslash at `at` begins; \Q quotes up to \E, or to the end. */
static bool skip_escape(struct slice s, size_t *at)
{
    if (++*at == s.size)
        return false;
    if (s.data[*at] != 'Q')
        return true;
    const uint8_t *end = memmem(s.data + *at, s.size - *at, "\\E", 2);
    *at = end ? (size_t)(end - s.data) + 1 : s.size - 1;
    return true;
}

/* Past a class that begins at `at`; false when it has no end. A ']' in front stands for itself. */
static bool skip_class(struct slice s, size_t *at)
{
    int depth = 0;
    bool first = false;
    for (size_t i = *at; i < s.size; i++) {
        char c = (char)s.data[i];
        bool was_first = first;
        first = false;
        if (c == '\\') {
            i++;
        } else if (c == '[') {
            depth++;
            first = true;
            if (i + 1 < s.size && s.data[i + 1] == '^')
                i++;
        } else if (c == ']' && !was_first && --depth == 0) {
            *at = i;
            return true;
        }
    }
    return false;
}

/* Past the head of a group that begins at `at`, as "(?i:" or "(?<name>"; "(?i)" ends in front of
 * its bracket. */
static bool skip_group_head(struct slice s, size_t *at)
{
    size_t i = *at + 1;
    if (i == s.size || s.data[i] != '?')
        return true;
    while (++i < s.size)
        if (s.data[i] == ':' || s.data[i] == '>' || s.data[i] == '!' || s.data[i] == ')') {
            *at = s.data[i] == ')' ? i - 1 : i;
            return true;
        }
    return false;
}

/* Past "{3}" at `at`. A range would need a ',', which ends the item. */
static bool skip_count(struct slice s, size_t *at)
{
    size_t i = *at + 1;
    while (i < s.size && s.data[i] >= '0' && s.data[i] <= '9')
        i++;
    if (i == s.size || s.data[i] != '}' || i == *at + 1)
        return false;
    *at = i;
    return true;
}

/* A pattern is a Java regular expression; this refuses what cannot be one: brackets without their
 * other half, a quantifier without operand, a lone backslash. */
static bool pattern_plausible(struct slice s)
{
    int depth = 0;
    enum { NOTHING, OPERAND, REPEATED, CLOSED } before = NOTHING; /* x, x*, x*? */
    for (size_t i = 0; i < s.size; i++) {
        char c = (char)s.data[i];
        bool ok = true;
        if (c == '*' || c == '+' || c == '?') {
            ok = before == OPERAND || (before == REPEATED && c != '*');
            before = before == OPERAND ? REPEATED : CLOSED;
            if (!ok)
                return false;
            continue;
        }
        if (c == '{') {
            if (!skip_count(s, &i))
                return false;
            before = REPEATED;
            continue;
        }
        before = c == '(' || c == '|' ? NOTHING : OPERAND;
        if (c == '\\')
            ok = skip_escape(s, &i);
        else if (c == '[')
            ok = skip_class(s, &i);
        else if (c == '(')
            ok = ++depth > 0 && skip_group_head(s, &i);
        else if (c == ')')
            ok = --depth >= 0;
        if (!ok)
            return false;
    }
    return depth == 0 && s.size > 0;
}

static bool match_ok(struct slice item)
{
    static const char *const names[] = {"client_instance_id",    "client_id",
                                        "client_software_name",  "client_software_version",
                                        "client_source_address", "client_source_port"};
    struct slice name, pattern;
    if (!slice_cut(item, '=', &name, &pattern))
        return false;
    name = slice_trim(name);
    if (memchr(pattern.data, '=', pattern.size))
        return false; /* Kafka splits at each */
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (slice_eq_str(name, names[i]))
            return pattern_plausible(slice_trim(pattern));
    return false;
}

static struct conf_result validate_metrics(struct slice name, struct conf_pairs set,
                                           struct arena *arena)
{
    if (name.size == 0)
        return fail(ERR_INVALID_REQUEST, SLICE_LIT("Subscription name can't be empty"));
    for (int32_t i = 0; i < set.count; i++) {
        int id = conf_find(CONF_KIND_CLIENT_METRICS, set.items[i].name);
        if (id < 0)
            return fail(ERR_INVALID_REQUEST,
                        arena_printf(arena, "Unknown client metrics configuration: %.*s",
                                     SLICE_FMT(set.items[i].name)));
        struct conf_value value;
        struct slice message;
        if (conf_value_parse(conf_key(CONF_KIND_CLIENT_METRICS, id), set.items[i].value, arena,
                             &value, &message))
            return fail(ERR_INVALID_CONFIG, message);
        if (id == METRICS_KEY_INTERVAL_MS && (value.integer < 100 || value.integer > 3600000))
            return fail(ERR_INVALID_REQUEST,
                        arena_printf(arena,
                                     "Invalid value %lld for interval.ms, interval must be between "
                                     "100 and 3600000 (1 hour)",
                                     (long long)value.integer));
        for (int32_t j = 0; id == METRICS_KEY_MATCH && j < value.list.count; j++)
            if (!match_ok(value.list.items[j]))
                return fail(ERR_INVALID_CONFIG,
                            arena_printf(arena, "Illegal client matching pattern: %.*s",
                                         SLICE_FMT(value.list.items[j])));
    }
    return none;
}

static struct conf_result validate_group(struct slice name, const struct config *config,
                                         struct conf_pairs set, struct arena *arena)
{
    struct slice message;
    if (name.size == 0)
        return fail(ERR_INVALID_REQUEST, SLICE_LIT("Default group resources are not allowed."));
    if (group_config_check(config, set, arena, &message))
        return fail(ERR_INVALID_CONFIG, message);
    return none;
}

struct conf_result conf_validate(enum conf_resource_type type, struct slice name,
                                 const struct config *config, struct conf_pairs overrides,
                                 struct arena *arena)
{
    switch (type) {
    case CONF_RESOURCE_TOPIC: return validate_topic(name, config, overrides, arena);
    case CONF_RESOURCE_BROKER: return validate_broker(name, config, overrides, arena);
    case CONF_RESOURCE_CLIENT_METRICS: return validate_metrics(name, overrides, arena);
    case CONF_RESOURCE_GROUP: return validate_group(name, config, overrides, arena);
    case CONF_RESOURCE_BROKER_LOGGER: break;
    }
    return fail(ERR_INVALID_REQUEST, arena_printf(arena, "Unknown resource type %d", (int)type));
}

/* --- alterations --------------------------------------------------------------------------------
 */

/* Is there anything to write? For brokers always: Kafka makes them read their values again. */
static bool is_change(enum conf_resource_type type, struct conf_pairs current,
                      const struct conf_pair *pair)
{
    return type == CONF_RESOURCE_BROKER ||
           !slice_eq(conf_pairs_get(current, pair->name), pair->value);
}

static struct conf_result check_resource(enum conf_resource_type type, struct slice name,
                                         const struct config *config, struct arena *arena)
{
    if (!type_known((int)type))
        return fail(ERR_INVALID_REQUEST,
                    arena_printf(arena, "Unknown resource type %d", (int)type));
    return type == CONF_RESOURCE_BROKER ? check_broker_name(name, config, arena) : none;
}

/* Kafka has no such limit; but a broker takes names that no table has, each of them is looked at
 * again with each change, and no resource has a fifth as many keys of its own. */
static struct conf_result check_count(int32_t count, int32_t before, struct arena *arena)
{
    if (count <= CONF_OVERRIDES_MAX || count <= before)
        return none;
    return fail(ERR_POLICY_VIOLATION,
                arena_printf(arena, "A resource may have at most %d configs, not %d.",
                             CONF_OVERRIDES_MAX, count));
}

/* Records that the broker passes over must not be what an alteration of others fails by. */
static struct conf_pairs counting_of(enum conf_resource_type type, struct slice name,
                                     struct conf_pairs current, struct arena *arena)
{
    if (type != CONF_RESOURCE_BROKER)
        return current;
    return config_layer_filter(current, name.size > 0, arena, NULL);
}

struct conf_result conf_alter(enum conf_resource_type type, struct slice name,
                              const struct config *config, struct conf_pairs current,
                              const struct conf_op *ops, int32_t op_count, struct arena *arena,
                              struct conf_changes *ret_changes)
{
    struct conf_result result = conf_check_ops(ops, op_count, arena);
    if (!result.error)
        result = check_resource(type, name, config, arena);
    if (result.error)
        return result;
    struct conf_pairs counting = counting_of(type, name, current, arena);
    struct pair_set all = set_of(current, op_count, arena);
    struct pair_set set = set_of(counting, op_count, arena);
    struct conf_changes changes = {arena_array(arena, (size_t)op_count + 1, sizeof(*changes.items)),
                                   0};
    for (int32_t i = 0; i < op_count && !result.error; i++) {
        struct conf_pair pair = {.name = ops[i].name};
        result = apply_op(type, counting, &ops[i], arena, &pair.value);
        if (result.error)
            break;
        if (is_change(type, current, &pair))
            changes.items[changes.count++] = pair;
        set_put(&set, pair.name, pair.value);
        set_put(&all, pair.name, pair.value);
    }
    struct conf_pairs next = set_pairs(&set);
    int32_t count = set_pairs(&all).count;
    if (!result.error)
        result = conf_validate(type, name, config, next, arena);
    if (!result.error)
        result = check_count(count, current.count, arena);
    if (!result.error)
        *ret_changes = changes;
    return result;
}

struct conf_result conf_alter_all(enum conf_resource_type type, struct slice name,
                                  const struct config *config, struct conf_pairs current,
                                  struct conf_pairs wanted, struct arena *arena,
                                  struct conf_changes *ret_changes)
{
    struct conf_op *ops = arena_array(arena, (size_t)wanted.count + 1, sizeof(*ops));
    for (int32_t i = 0; i < wanted.count; i++)
        ops[i] = (struct conf_op){wanted.items[i].name, CONF_OP_SET, wanted.items[i].value};
    struct conf_result result = conf_check_ops(ops, wanted.count, arena);
    if (!result.error)
        result = check_resource(type, name, config, arena);
    if (!result.error)
        result = conf_validate(type, name, config, wanted, arena);
    if (!result.error)
        result = check_count(wanted.count, current.count, arena);
    if (result.error)
        return result;
    size_t room = (size_t)wanted.count + (size_t)current.count + 1;
    struct conf_changes changes = {arena_array(arena, room, sizeof(*changes.items)), 0};
    for (int32_t i = 0; i < wanted.count; i++)
        if (is_change(type, current, &wanted.items[i]))
            changes.items[changes.count++] = wanted.items[i];
    for (int32_t i = 0; i < current.count; i++)
        if (slice_is_null(conf_pairs_get(wanted, current.items[i].name)))
            changes.items[changes.count++] = (struct conf_pair){current.items[i].name, SLICE_NULL};
    *ret_changes = changes;
    return result;
}

struct conf_result conf_elr_check(enum conf_resource_type type, struct slice name,
                                  const struct conf_changes *changes)
{
    for (int32_t i = 0; i < changes->count && type == CONF_RESOURCE_BROKER; i++) {
        if (!slice_eq_str(changes->items[i].name, "min.insync.replicas"))
            continue;
        if (name.size > 0)
            return fail(ERR_INVALID_CONFIG, SLICE_LIT("Broker-level min.insync.replicas cannot be "
                                                      "altered while ELR is enabled."));
        if (slice_is_null(changes->items[i].value))
            return fail(ERR_INVALID_CONFIG, SLICE_LIT("Cluster-level min.insync.replicas cannot be "
                                                      "removed while ELR is enabled."));
    }
    return none;
}
