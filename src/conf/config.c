/* A broker's configuration: layers of texts, parsed once into typed values.
 *
 * Built by the server at start and again after each committed change of a broker's ConfigRecords;
 * immutable from then on, so any thread may read it while it holds a reference. Precedence as in
 * Kafka: dynamic broker, dynamic default, static file, default; a dynamic value of log.retention.ms
 * also hides log.retention.minutes and .hours of weaker layers (and so on for the other groups). */
#include "conf/config.h"

#include "base/ensure.h"
#include "base/mem.h"
#include "conf/config_layers.h"

struct slice conf_pairs_get(struct conf_pairs pairs, struct slice name)
{
    for (int32_t i = 0; i < pairs.count; i++)
        if (slice_eq(pairs.items[i].name, name))
            return pairs.items[i].value;
    return SLICE_NULL;
}

static struct conf_pairs copy_pairs(struct conf_pairs pairs, struct arena *arena)
{
    struct conf_pair *items = arena_array(arena, (size_t)pairs.count + 2, sizeof(*items));
    for (int32_t i = 0; i < pairs.count; i++) {
        items[i].name = arena_dup(arena, pairs.items[i].name);
        items[i].value = arena_dup(arena, pairs.items[i].value);
    }
    return (struct conf_pairs){items, pairs.count};
}

static struct config *config_alloc(void)
{
    struct config *config = mem_zalloc(sizeof(*config));
    atomic_init(&config->references, 1);
    arena_init(&config->arena);
    return config;
}

struct config *config_ref(const struct config *config)
{
    struct config *mine = (struct config *)(uintptr_t)config; /* only the counter changes */
    atomic_fetch_add_explicit(&mine->references, 1, memory_order_relaxed);
    return mine;
}

void config_unref(const struct config *config)
{
    if (!config)
        return;
    struct config *mine = (struct config *)(uintptr_t)config;
    if (atomic_fetch_sub_explicit(&mine->references, 1, memory_order_acq_rel) != 1)
        return;
    arena_fini(&mine->arena);
    mem_free(mine);
}

void config_synonym_ids(int id, int16_t ids[4])
{
    static const int16_t groups[][4] = {
        {BROKER_KEY_LOG_RETENTION_MS, BROKER_KEY_LOG_RETENTION_MINUTES,
         BROKER_KEY_LOG_RETENTION_HOURS, -1},
        {BROKER_KEY_LOG_ROLL_MS, BROKER_KEY_LOG_ROLL_HOURS, -1},
        {BROKER_KEY_LOG_ROLL_JITTER_MS, BROKER_KEY_LOG_ROLL_JITTER_HOURS, -1},
        {BROKER_KEY_LOG_FLUSH_INTERVAL_MS, BROKER_KEY_LOG_FLUSH_SCHEDULER_INTERVAL_MS, -1},
    };
    ids[0] = (int16_t)id;
    ids[1] = -1;
    /* The flush scheduler's interval is the default of the flush interval, not the reverse. */
    if (id == BROKER_KEY_LOG_FLUSH_SCHEDULER_INTERVAL_MS)
        return;
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
        for (int j = 0; j < 4 && groups[i][j] >= 0; j++)
            if (groups[i][j] == id)
                memcpy(ids, groups[i], sizeof(groups[i]));
}

/* Puts one layer over the texts collected so far. */
static void put_layer(struct config *config, enum config_layer layer)
{
    struct conf_pairs pairs = config->layers[layer];
    for (int32_t i = 0; i < pairs.count; i++) {
        int id = conf_find(CONF_KIND_BROKER, pairs.items[i].name);
        if (id < 0)
            continue;
        if (layer != CONFIG_LAYER_STATIC) {
            int16_t ids[4];
            config_synonym_ids(id, ids);
            for (int j = 0; ids[j] >= 0; j++)
                config->texts[ids[j]] = SLICE_NULL;
        }
        config->texts[id] = pairs.items[i].value;
    }
}

/* The key that a person wrote: node.id and broker.id stand for each other (add_id_synonym), and the
 * error names the one that is in the file. */
static const struct conf_key *written_key(const struct config *config, int id)
{
    struct conf_pairs pairs = config->layers[CONFIG_LAYER_STATIC];
    const struct conf_key *key = conf_key(CONF_KIND_BROKER, id);
    /* The copy shares its text with what was written, and stands behind it. */
    if (id != BROKER_KEY_BROKER_ID || conf_pairs_get(pairs, SLICE_LIT("node.id")).data !=
                                          conf_pairs_get(pairs, SLICE_LIT("broker.id")).data)
        return key;
    for (int32_t i = 0; i < pairs.count; i++) {
        if (slice_eq_str(pairs.items[i].name, "broker.id"))
            return key;
        if (slice_eq_str(pairs.items[i].name, "node.id"))
            return conf_key(CONF_KIND_BROKER, BROKER_KEY_NODE_ID);
    }
    return key;
}

/* The keys without a default: the first that is missing, in Kafka's order, is named, and what to
 * write for each: nobody should have to start once for every one of them. */
static enum err check_required(struct config *config, struct slice *ret_message,
                               struct slice *ret_hint)
{
    static const struct {
        int16_t id;
        const char *hint;
    } required[] = {
        {BROKER_KEY_PROCESS_ROLES, "Write process.roles=broker,controller."},
        {BROKER_KEY_NODE_ID, "Write node.id=1, or another number from 0 to 2147483647 that no "
                             "other node of the cluster has."},
        {BROKER_KEY_CONTROLLER_LISTENER_NAMES, "Write controller.listener.names=CONTROLLER, and "
                                               "put CONTROLLER://host:port into listeners."},
    };
    const char *first = NULL;
    struct slice hint = SLICE_LIT("");
    for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
        if (!slice_is_null(config->texts[required[i].id]))
            continue;
        first = first ? first : conf_key(CONF_KIND_BROKER, required[i].id)->name;
        hint = arena_printf(&config->arena, "%.*s%s%s", SLICE_FMT(hint), hint.size ? " " : "",
                            required[i].hint);
    }
    if (!first)
        return ERR_NONE;
    *ret_message = arena_printf(
        &config->arena, "Missing required configuration \"%s\" which has no default value.", first);
    *ret_hint = hint;
    return ERR_INVALID_CONFIG;
}

/* Kafka's sentence about a number says what is wrong with it, not all that would be right. */
static struct slice range_hint(struct config *config, const struct conf_key *key)
{
    struct slice range = conf_value_range(key, &config->arena);
    if (slice_is_null(range))
        return SLICE_NULL;
    return arena_printf(&config->arena, "Allowed are %.*s.", SLICE_FMT(range));
}

/* Parses all layers into config->texts and values. The first bad value ends it with a message, and
 * a hint for the start. */
static enum err parse_layers(struct config *config, struct slice *ret_message,
                             struct slice *ret_hint)
{
    for (int layer = CONFIG_LAYER_COUNT; layer-- > 0;)
        put_layer(config, (enum config_layer)layer);
    for (int id = 0; id < BROKER_KEY_COUNT; id++) {
        const struct conf_key *key = conf_key(CONF_KIND_BROKER, id);
        struct slice text = config->texts[id];
        if (slice_is_null(text) && key->required)
            continue;
        if (slice_is_null(text))
            text = slice_str(key->default_text);
        enum err error =
            conf_value_parse(key, text, &config->arena, &config->values[id], ret_message);
        if (error) {
            key = written_key(config, id);
            *ret_hint = range_hint(config, key);
            return conf_value_parse(key, text, &config->arena, &config->values[id], ret_message);
        }
    }
    return check_required(config, ret_message, ret_hint);
}

/* Kafka takes node.id for broker.id and the reverse when one of them is missing. */
static void add_id_synonym(struct conf_pairs *pairs)
{
    struct conf_pair *items = (struct conf_pair *)(uintptr_t)pairs->items;
    struct slice node = conf_pairs_get(*pairs, SLICE_LIT("node.id"));
    struct slice broker = conf_pairs_get(*pairs, SLICE_LIT("broker.id"));
    if (node.data && !broker.data)
        items[pairs->count++] = (struct conf_pair){SLICE_LIT("broker.id"), node};
    else if (broker.data && !node.data)
        items[pairs->count++] = (struct conf_pair){SLICE_LIT("node.id"), broker};
}

/* "requirement failed: " is how Kafka's API answers; a person at the start need not read it. */
static struct slice without_requirement(struct slice message)
{
    static const char prefix[] = "requirement failed: ";
    size_t size = sizeof(prefix) - 1;
    if (message.size > size && memcmp(message.data, prefix, size) == 0)
        return slice_sub(message, size, message.size - size);
    return message;
}

/* Kafka's sentences end with or without their mark; the advice behind them is one of its own. */
static const char *hint_separator(struct slice message, struct slice hint)
{
    if (!hint.size || !message.size)
        return "";
    uint8_t last = message.data[message.size - 1];
    return last == '.' || last == '?' ? " " : ". ";
}

enum err config_new(const struct properties *properties, struct config **ret_config,
                    char **ret_message)
{
    struct config *config = config_alloc();
    size_t count = properties_count(properties);
    struct conf_pair *items = arena_array(&config->arena, count + 1, sizeof(*items));
    for (size_t i = 0; i < count; i++) {
        const struct property *property = properties_at(properties, i);
        items[i] = (struct conf_pair){property->key, property->value};
    }
    struct conf_pairs *pairs = &config->layers[CONFIG_LAYER_STATIC];
    *pairs = copy_pairs((struct conf_pairs){items, (int32_t)count}, &config->arena);
    add_id_synonym(pairs);
    struct slice message = SLICE_NULL, hint = SLICE_NULL;
    enum err error = config_check_references(config, &message);
    if (!error)
        error = parse_layers(config, &message, &hint);
    if (!error)
        error = config_derive(config, &message);
    if (!error)
        error = config_check(config, &message, &hint);
    if (error) {
        message = without_requirement(message);
        *ret_message = mem_printf("%.*s%s%.*s", SLICE_FMT(message), hint_separator(message, hint),
                                  SLICE_FMT(hint));
        config_unref(config);
        return error;
    }
    *ret_config = config;
    return ERR_NONE;
}

/* A new configuration with the static layer of `config` under the given dynamic ones. */
static struct config *with_layers(const struct config *config, struct conf_pairs broker,
                                  struct conf_pairs cluster_default)
{
    struct config *copy = config_alloc();
    copy->layers[CONFIG_LAYER_STATIC] =
        copy_pairs(config->layers[CONFIG_LAYER_STATIC], &copy->arena);
    copy->layers[CONFIG_LAYER_CLUSTER_DEFAULT] = copy_pairs(cluster_default, &copy->arena);
    copy->layers[CONFIG_LAYER_BROKER] = copy_pairs(broker, &copy->arena);
    return copy;
}

enum err config_try_dynamic(const struct config *config, struct conf_pairs broker,
                            struct conf_pairs cluster_default, struct arena *arena,
                            struct config **ret_config, struct slice *ret_message)
{
    struct config *copy = with_layers(config, broker, cluster_default);
    struct slice message = SLICE_NULL, hint;
    enum err error = parse_layers(copy, &message, &hint);
    if (!error)
        error = config_derive(copy, &message);
    if (!error)
        error = config_check(copy, &message, &hint);
    if (error) {
        *ret_message = arena_dup(arena, message);
        config_unref(copy);
        return error;
    }
    *ret_config = copy;
    return ERR_NONE;
}

struct config *config_with_dynamic(const struct config *config, struct conf_pairs broker,
                                   struct conf_pairs cluster_default)
{
    const struct conf_pairs none = {NULL, 0};
    struct arena arena;
    struct buf ignored;
    arena_init(&arena);
    buf_init(&ignored);
    broker = config_layer_filter(broker, true, &arena, &ignored);
    cluster_default = config_layer_filter(cluster_default, false, &arena, &ignored);
    /* Each value is right, but not always all together. Kafka's broker then stays with the layer
     * that it came to first, either of them; here the stronger one. */
    const struct {
        struct conf_pairs broker, cluster_default;
        const char *left_out;
    } tries[] = {
        {broker, cluster_default, NULL},
        {broker, none, "all others of the default of all brokers"},
        {none, cluster_default, "all others of this broker"},
        {none, none, "all others"},
    };
    enum { TRIES = sizeof(tries) / sizeof(tries[0]) };
    struct config *copy = NULL;
    struct slice message = SLICE_NULL, other;
    for (int i = 0; i < TRIES && !copy; i++) {
        if (config_try_dynamic(config, tries[i].broker, tries[i].cluster_default, &arena, &copy,
                               i == 0 ? &message : &other))
            continue;
        if (tries[i].left_out)
            buf_printf(&ignored, "%s%s (%.*s)", ignored.size ? ", " : "", tries[i].left_out,
                       SLICE_FMT(message));
    }
    ENSURE(copy); /* the properties file alone was checked at the start */
    if (ignored.size > 0)
        copy->ignored = arena_dup(&copy->arena, buf_slice(&ignored));
    buf_fini(&ignored);
    arena_fini(&arena);
    return copy;
}

struct slice config_ignored(const struct config *config)
{
    return config->ignored;
}

/* --- getters ------------------------------------------------------------------------------------
 */

static const struct conf_value *value_of(const struct config *config, enum broker_key key)
{
    ENSURE_CMP((int)key, <, (int)BROKER_KEY_COUNT);
    return &config->values[key];
}

static enum conf_type type_of(enum broker_key key)
{
    return conf_key(CONF_KIND_BROKER, (int)key)->type;
}

bool config_bool(const struct config *config, enum broker_key key)
{
    ENSURE_CMP(type_of(key), ==, CONF_BOOLEAN);
    return value_of(config, key)->boolean;
}

int64_t config_int(const struct config *config, enum broker_key key)
{
    enum conf_type type = type_of(key);
    ENSURE(type == CONF_INT || type == CONF_SHORT || type == CONF_LONG);
    return value_of(config, key)->integer;
}

double config_double(const struct config *config, enum broker_key key)
{
    ENSURE_CMP(type_of(key), ==, CONF_DOUBLE);
    return value_of(config, key)->real;
}

struct slice config_string(const struct config *config, enum broker_key key)
{
    enum conf_type type = type_of(key);
    ENSURE(type == CONF_STRING || type == CONF_CLASS || type == CONF_PASSWORD);
    const struct conf_value *value = value_of(config, key);
    return value->is_null ? SLICE_NULL : value->text;
}

struct conf_list config_list(const struct config *config, enum broker_key key)
{
    ENSURE_CMP(type_of(key), ==, CONF_LIST);
    return value_of(config, key)->list;
}

bool config_is_null(const struct config *config, enum broker_key key)
{
    return value_of(config, key)->is_null;
}

bool config_is_static(const struct config *config, enum broker_key key)
{
    const char *name = conf_key(CONF_KIND_BROKER, (int)key)->name;
    return conf_pairs_get(config->layers[CONFIG_LAYER_STATIC], slice_str(name)).data != NULL;
}

int32_t config_node_id(const struct config *config)
{
    return (int32_t)config_int(config, BROKER_KEY_NODE_ID);
}

bool config_is_controller(const struct config *config)
{
    return config->is_controller;
}

struct conf_list config_log_dirs(const struct config *config)
{
    return config_is_null(config, BROKER_KEY_LOG_DIRS) ? config_list(config, BROKER_KEY_LOG_DIR)
                                                       : config_list(config, BROKER_KEY_LOG_DIRS);
}

struct slice config_metadata_log_dir(const struct config *config)
{
    struct slice dir = config_string(config, BROKER_KEY_METADATA_LOG_DIR);
    return dir.data ? dir : config_log_dirs(config).items[0];
}

/* The first of the keys that is not null, in milliseconds. */
static int64_t first_of(const struct config *config, enum broker_key ms, enum broker_key next,
                        int64_t factor)
{
    if (!config_is_null(config, ms))
        return config_int(config, ms);
    return config_int(config, next) * factor;
}

int64_t config_log_retention_ms(const struct config *config)
{
    int64_t ms =
        config_is_null(config, BROKER_KEY_LOG_RETENTION_MINUTES)
            ? first_of(config, BROKER_KEY_LOG_RETENTION_MS, BROKER_KEY_LOG_RETENTION_HOURS, 3600000)
            : first_of(config, BROKER_KEY_LOG_RETENTION_MS, BROKER_KEY_LOG_RETENTION_MINUTES,
                       60000);
    return ms < 0 ? -1 : ms;
}

int64_t config_log_roll_ms(const struct config *config)
{
    return first_of(config, BROKER_KEY_LOG_ROLL_MS, BROKER_KEY_LOG_ROLL_HOURS, 3600000);
}

int64_t config_log_roll_jitter_ms(const struct config *config)
{
    return first_of(config, BROKER_KEY_LOG_ROLL_JITTER_MS, BROKER_KEY_LOG_ROLL_JITTER_HOURS,
                    3600000);
}

const struct listener_list *config_listeners(const struct config *config)
{
    return &config->listeners;
}

const struct listener_list *config_controller_listeners(const struct config *config)
{
    return &config->controller_listeners;
}

const struct listener_list *config_advertised_listeners(const struct config *config)
{
    return &config->advertised;
}

const struct listener_list *config_advertised_controller_listeners(const struct config *config)
{
    return &config->advertised_controller;
}

const struct config_voter *config_quorum_voters(const struct config *config, int32_t *ret_count)
{
    *ret_count = config->voter_count;
    return config->voters;
}

bool config_advertise_as_reached(const struct config *config)
{
    return config->advertise_as_reached;
}
