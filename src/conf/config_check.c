/* What must hold between the keys of a broker's configuration.
 *
 * Run at start and for each alteration of a broker's dynamic configuration. The sentences are
 * Kafka's (tools show them; "requirement failed: " is part of what its API answers), each with a
 * hint of Klamm's own for the start: what to write instead. The checks are listed at the end, in
 * the order in which Kafka makes them. Pure. */
#include "base/buf.h"
#include "conf/config_layers.h"

struct check {
    struct config *config;
    struct slice message, hint; /* message set: failed */
};

#define FAIL(c, ...) ((c)->message = arena_printf(&(c)->config->arena, __VA_ARGS__), (void)0)
#define HINT(c, ...) ((c)->hint = arena_printf(&(c)->config->arena, __VA_ARGS__), (void)0)

static int64_t number(const struct check *c, enum broker_key key)
{
    return config_int(c->config, key);
}

static struct slice names_of(struct check *c, const struct listener_list *list)
{
    struct buf b;
    buf_init(&b);
    for (int32_t i = 0; i < list->count; i++)
        buf_printf(&b, "%s%.*s", i ? "," : "", SLICE_FMT(list->items[i].name));
    struct slice text = arena_dup(&c->config->arena, buf_slice(&b));
    buf_fini(&b);
    return text;
}

static void check_ids(struct check *c)
{
    if (number(c, BROKER_KEY_NODE_ID) == number(c, BROKER_KEY_BROKER_ID))
        return;
    FAIL(c, "`node.id` and `broker.id` must be set to the same value. `broker.id` is deprecated, "
            "please use `node.id` instead.");
    HINT(c, "node.id is %lld, broker.id is %lld; leave broker.id out.",
         (long long)number(c, BROKER_KEY_NODE_ID), (long long)number(c, BROKER_KEY_BROKER_ID));
}

static void check_log(struct check *c)
{
    int64_t retention = config_log_retention_ms(c->config);
    if (config_log_roll_ms(c->config) < 1)
        FAIL(c, "requirement failed: log.roll.ms must be greater than or equal to 1");
    else if (config_log_roll_jitter_ms(c->config) < 0)
        FAIL(c, "requirement failed: log.roll.jitter.ms must be greater than or equal to 0");
    else if (retention < 1 && retention != -1)
        FAIL(c, "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or "
                "equal to 1");
    else if (number(c, BROKER_KEY_LOG_CLEANER_THREADS) == 0)
        FAIL(c, "/ by zero"); /* what Kafka answers, for it divides before it looks */
    else if (number(c, BROKER_KEY_LOG_CLEANER_DEDUPE_BUFFER_SIZE) /
                 number(c, BROKER_KEY_LOG_CLEANER_THREADS) <=
             1024 * 1024)
        FAIL(c, "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per "
                "cleaner thread.");
    if (c->message.data && slice_eq_str(c->message, "/ by zero"))
        HINT(c, "log.cleaner.threads must be at least 1.");
}

/* Batches of __consumer_offsets: a codec by its number in batch attributes, 0 to 4. */
static void check_codecs(struct check *c)
{
    static const int16_t keys[] = {BROKER_KEY_OFFSETS_TOPIC_COMPRESSION_CODEC,
                                   BROKER_KEY_SHARE_COORDINATOR_STATE_TOPIC_COMPRESSION_CODEC};
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int64_t codec = number(c, (enum broker_key)keys[i]);
        if (codec >= 0 && codec <= 4)
            continue;
        FAIL(c, "Unknown compression type id: %lld", (long long)codec);
        HINT(c, "%s is one of 0 (none), 1 (gzip), 2 (snappy), 3 (lz4), 4 (zstd).",
             conf_key(CONF_KIND_BROKER, keys[i])->name);
        return;
    }
}

static void check_cordoned(struct check *c)
{
    if (config_is_null(c->config, BROKER_KEY_CORDONED_LOG_DIRS))
        return;
    struct conf_list cordoned = config_list(c->config, BROKER_KEY_CORDONED_LOG_DIRS);
    struct conf_list dirs = config_log_dirs(c->config);
    if (conf_list_has(cordoned, SLICE_LIT("*"))) {
        if (cordoned.count > 1)
            FAIL(c, "requirement failed: When cordoned.log.dirs is set to *, it must not contain "
                    "other values");
        return;
    }
    struct buf b;
    buf_init(&b);
    for (int32_t i = 0; i < cordoned.count; i++)
        if (!conf_list_has(dirs, cordoned.items[i]))
            buf_printf(&b, "%s%.*s", b.size ? ", " : "", SLICE_FMT(cordoned.items[i]));
    if (b.size)
        FAIL(c,
             "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or "
             "log.dir. Missing entries : %.*s",
             SLICE_FMT(buf_slice(&b)));
    buf_fini(&b);
}

static void check_replication(struct check *c)
{
    int64_t wait = number(c, BROKER_KEY_REPLICA_FETCH_WAIT_MAX_MS);
    if (wait > number(c, BROKER_KEY_REPLICA_SOCKET_TIMEOUT_MS))
        FAIL(c, "requirement failed: replica.socket.timeout.ms should always be at least "
                "replica.fetch.wait.max.ms to prevent unnecessary socket timeouts");
    else if (wait > number(c, BROKER_KEY_REPLICA_LAG_TIME_MAX_MS))
        FAIL(c, "requirement failed: replica.fetch.wait.max.ms should always be less than or equal "
                "to replica.lag.time.max.ms to prevent frequent changes in ISR");
}

static struct slice voters_text(struct check *c)
{
    struct buf b;
    buf_init(&b);
    for (int32_t i = 0; i < c->config->voter_count; i++)
        buf_printf(&b, "%s%d", i ? ", " : "", c->config->voters[i].id);
    struct slice text = arena_dup(&c->config->arena, buf_slice(&b));
    buf_fini(&b);
    return text;
}

static void check_quorum(struct check *c)
{
    struct config *config = c->config;
    bool voter = false;
    for (int32_t i = 0; i < config->voter_count; i++) {
        voter = voter || config->voters[i].id == config_node_id(config);
        if (slice_eq_str(config->voters[i].host, "0.0.0.0")) {
            FAIL(c, "Host string (0.0.0.0) is not routeable");
            HINT(c,
                 "controller.quorum.voters needs the address by which other nodes reach voter "
                 "%d.",
                 config->voters[i].id);
            return;
        }
    }
    if (config->voter_count == 0 &&
        config_list(config, BROKER_KEY_CONTROLLER_QUORUM_BOOTSTRAP_SERVERS).count == 0) {
        FAIL(c, "If using process.roles, either controller.quorum.bootstrap.servers must contain "
                "the set of bootstrap controllers or controller.quorum.voters must contain a "
                "parseable set of controllers.");
        HINT(c, "For one node write controller.quorum.bootstrap.servers=<its controller listener, "
                "host:port>.");
    } else if (!config->is_controller && voter) {
        FAIL(c,
             "requirement failed: If process.roles contains just the 'broker' role, the node id %d "
             "must not be included in the set of voters controller.quorum.voters=Set(%.*s)",
             config_node_id(config), SLICE_FMT(voters_text(c)));
    } else if (config->is_controller && config->voter_count > 0 && !voter) {
        FAIL(c,
             "requirement failed: If process.roles contains the 'controller' role, the node id %d "
             "must be included in the set of voters controller.quorum.voters=Set(%.*s)",
             config_node_id(config), SLICE_FMT(voters_text(c)));
    }
}

/* A node that is a controller: its controller listeners are bound, and nothing else on a pure one.
 */
static void check_controller_listeners(struct check *c)
{
    struct config *config = c->config;
    struct conf_list names = config_list(config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    if (!config->is_broker && config->broker_listeners.count > 0) {
        FAIL(c, "requirement failed: The listeners config must only contain KRaft controller "
                "listeners from controller.listener.names when process.roles=controller");
        HINT(c, "These are not controller listeners: %.*s.",
             SLICE_FMT(names_of(c, &config->broker_listeners)));
        return;
    }
    if (config->advertised_controller.count == 0) {
        FAIL(c, "requirement failed: controller.listener.names must contain at least one value "
                "appearing in the 'listeners' configuration when running the KRaft controller "
                "role");
        HINT(c, "Add %.*s://host:port to listeners.", SLICE_FMT(names.items[0]));
        return;
    }
    for (int32_t i = 0; i < names.count; i++) {
        bool bound = false;
        for (int32_t j = 0; j < config->listeners.count; j++)
            bound = bound || slice_eq(config->listeners.items[j].name, names.items[i]);
        if (bound)
            continue;
        FAIL(c, "requirement failed: controller.listener.names must only contain values appearing "
                "in the 'listeners' configuration when running the KRaft controller role");
        HINT(c, "Add %.*s://host:port to listeners.", SLICE_FMT(names.items[i]));
        return;
    }
}

/* A node that is a broker only. */
static void check_no_controller_listeners(struct check *c)
{
    struct config *config = c->config;
    if (config->controller_listeners.count > 0) {
        FAIL(c, "requirement failed: controller.listener.names must not contain a value appearing "
                "in the 'listeners' configuration when running KRaft with just the broker role");
        HINT(c, "Take %.*s out of listeners.",
             SLICE_FMT(names_of(c, &config->controller_listeners)));
        return;
    }
    struct conf_list names = config_list(config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    for (int32_t i = 0; i < names.count; i++) {
        enum security_protocol protocol;
        if (listener_protocol(config->protocol_map, names.items[i], &protocol))
            continue;
        FAIL(c,
             "Controller listener with name %.*s defined in controller.listener.names not found in "
             "listener.security.protocol.map  (an explicit security mapping for each controller "
             "listener is required if listener.security.protocol.map is non-empty, or if there are "
             "security protocols other than PLAINTEXT in use)",
             SLICE_FMT(names.items[i]));
        return;
    }
}

static void check_roles(struct check *c)
{
    if (c->config->is_controller)
        check_controller_listeners(c);
    else
        check_no_controller_listeners(c);
}

static void check_broker_listeners(struct check *c)
{
    struct config *config = c->config;
    const struct listener_list *advertised = &config->advertised;
    if (!config->is_broker)
        return;
    struct slice names = names_of(c, advertised);
    if (advertised->count == 0) {
        FAIL(c,
             "requirement failed: There must be at least one broker advertised listener. Perhaps "
             "all listeners appear in controller.listener.names?");
        HINT(c, "Add PLAINTEXT://host:port to listeners.");
        return;
    }
    if (!listener_list_find(advertised, config->inter_broker_listener)) {
        FAIL(c,
             "requirement failed: inter.broker.listener.name must be a listener name defined in "
             "advertised.listeners. The valid options based on currently configured listeners are "
             "%.*s",
             SLICE_FMT(names));
        HINT(c, "Write inter.broker.listener.name=%.*s (now: %.*s).",
             SLICE_FMT(advertised->items[0].name), SLICE_FMT(config->inter_broker_listener));
        return;
    }
    for (int32_t i = 0; i < advertised->count; i++) {
        if (listener_list_find(&config->listeners, advertised->items[i].name))
            continue;
        FAIL(c,
             "requirement failed: advertised.listeners listener names must be equal to or a subset "
             "of the ones defined in listeners. Found %.*s. The valid options based on the current "
             "configuration are %.*s",
             SLICE_FMT(names), SLICE_FMT(names_of(c, &config->listeners)));
        return;
    }
}

static void check_routable(struct check *c, const struct listener_list *list)
{
    bool given = !config_is_null(c->config, BROKER_KEY_ADVERTISED_LISTENERS);
    for (int32_t i = 0; i < list->count && !c->message.data; i++) {
        const struct listener_address *address = &list->items[i];
        if (!slice_eq_str(address->host, "0.0.0.0"))
            continue;
        FAIL(c, "requirement failed: advertised.listeners cannot use the nonroutable meta-address "
                "0.0.0.0. Use a routable IP address.");
        HINT(c,
             "%s, so listener %.*s would be advertised as 0.0.0.0:%d; write "
             "advertised.listeners=%.*s://<the name or address that clients reach>:%d%s",
             given ? "advertised.listeners says it" : "advertised.listeners is not set",
             SLICE_FMT(address->name), address->port, SLICE_FMT(address->name), address->port,
             given ? "." : ", or klamm.advertise.as.reached=true with listeners=...://:port.");
    }
}

/* A controller listener bound to 0.0.0.0 is fine as long as nobody advertises that. */
static void check_advertised(struct check *c)
{
    check_routable(c, &c->config->advertised);
    if (!c->message.data && !config_is_null(c->config, BROKER_KEY_ADVERTISED_LISTENERS))
        check_routable(c, &c->config->advertised_controller);
}

/* early.start.listeners names listeners of this node. */
static void check_early_start(struct check *c)
{
    struct conf_list names = config_list(c->config, BROKER_KEY_CONTROLLER_LISTENER_NAMES);
    struct conf_list early = config_list(c->config, BROKER_KEY_EARLY_START_LISTENERS);
    for (int32_t i = 0; i < early.count; i++) {
        if (listener_list_find(&c->config->listeners, early.items[i]) ||
            conf_list_has(names, early.items[i]))
            continue;
        FAIL(c,
             "early.start.listeners contains listener %.*s, but this is not contained in listeners "
             "or controller.listener.names",
             SLICE_FMT(early.items[i]));
        return;
    }
}

/* "host:number,..." of max.connections.per.ip.overrides. */
static void check_per_ip(struct check *c)
{
    struct slice text = config_string(c->config, BROKER_KEY_MAX_CONNECTIONS_PER_IP_OVERRIDES);
    if (number(c, BROKER_KEY_MAX_CONNECTIONS_PER_IP) == 0 && text.size == 0) {
        FAIL(c, "requirement failed: max.connections.per.ip can be set to zero only if "
                "max.connections.per.ip.overrides property is set.");
        return;
    }
    struct slice item, host, number_text;
    /* Java's split drops what is empty at the end. */
    while (text.size > 0 && (text.data[text.size - 1] == ',' || text.data[text.size - 1] == ' '))
        text.size--;
    while (text.size > 0 && slice_next_part(&text, ',', &item)) {
        item = slice_trim(item);
        int64_t limit;
        if (slice_cut_last(item, ':', &host, &number_text) && host.size > 0 &&
            slice_to_i64(slice_trim(number_text), INT32_MIN, INT32_MAX, &limit))
            continue;
        FAIL(c,
             "Error parsing configuration property 'max.connections.per.ip.overrides': '%.*s' is "
             "not of the form host:limit",
             SLICE_FMT(item));
        return;
    }
}

static void check_connections(struct check *c)
{
    int64_t queued = number(c, BROKER_KEY_QUEUED_MAX_REQUEST_BYTES);
    int64_t idle = number(c, BROKER_KEY_CONNECTIONS_MAX_IDLE_MS);
    int64_t delay = number(c, BROKER_KEY_CONNECTION_FAILED_AUTHENTICATION_DELAY_MS);
    if (queued > 0 && queued < number(c, BROKER_KEY_SOCKET_REQUEST_MAX_BYTES)) {
        FAIL(c, "requirement failed: queued.max.request.bytes must be larger or equal to "
                "socket.request.max.bytes");
        return;
    }
    check_per_ip(c);
    if (!c->message.data && idle >= 0 && delay >= idle)
        FAIL(c,
             "requirement failed: connection.failed.authentication.delay.ms=%lld should always be "
             "less than connections.max.idle.ms=%lld to prevent failed authentication responses "
             "from timing out",
             (long long)delay, (long long)idle);
}

/* The classic protocol is always on; assignors are those that Kafka brings along. */
static void check_protocols(struct check *c)
{
    struct conf_list protocols =
        config_list(c->config, BROKER_KEY_GROUP_COORDINATOR_REBALANCE_PROTOCOLS);
    struct conf_list assignors = config_list(c->config, BROKER_KEY_GROUP_CONSUMER_ASSIGNORS);
    static const char own[] = "org.apache.kafka.";
    if (!conf_list_has(protocols, SLICE_LIT("classic"))) {
        FAIL(c, "Disabling the 'classic' protocol is not supported.");
        HINT(c, "Add classic to group.coordinator.rebalance.protocols.");
        return;
    }
    for (int32_t i = 0; i < assignors.count; i++) {
        struct slice name = assignors.items[i];
        if (slice_eq_str(name, "uniform") || slice_eq_str(name, "range") ||
            (name.size > sizeof(own) && memcmp(name.data, own, sizeof(own) - 1) == 0))
            continue;
        FAIL(c,
             "Invalid value %.*s for configuration group.consumer.assignors: Class cannot be found",
             SLICE_FMT(name));
        HINT(c, "Klamm has the assignors uniform and range; it does not load Java classes.");
        return;
    }
}

static const char *name_of(int16_t key)
{
    return conf_key(CONF_KIND_BROKER, key)->name;
}

/* What groups have by default lies between the limits, too. */
static void check_groups(struct check *c)
{
    size_t count;
    const struct group_bounds *all = group_config_bounds(&count);
    for (size_t i = 0; i < count; i++) {
        const struct group_bounds *b = &all[i];
        if (b->broker_key < 0)
            continue;
        int64_t value = number(c, (enum broker_key)b->broker_key);
        int64_t max = number(c, (enum broker_key)b->max);
        int64_t min = b->min < 0 ? INT64_MIN : number(c, (enum broker_key)b->min);
        if (max < min)
            FAIL(c, "%s must be greater than or equal to %s", name_of(b->max), name_of(b->min));
        else if (value < min)
            FAIL(c, "%s must be greater than or equal to %s", name_of(b->broker_key),
                 name_of(b->min));
        else if (value > max)
            FAIL(c, "%s must be less than or equal to %s", name_of(b->broker_key), name_of(b->max));
        else
            continue;
        HINT(c, "%s is %lld, allowed are %lld to %lld.", name_of(b->broker_key), (long long)value,
             (long long)(b->min < 0 ? 0 : min), (long long)max);
        return;
    }
}

enum err config_check(struct config *config, struct slice *ret_message, struct slice *ret_hint)
{
    static void (*const checks[])(struct check *) = {
        check_ids,         check_codecs,      check_log,         check_cordoned,
        check_replication, check_quorum,      check_roles,       check_broker_listeners,
        check_advertised,  check_early_start, check_connections, check_protocols,
        check_groups,
    };
    struct check c = {.config = config};
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
        checks[i](&c);
        if (!c.message.data)
            continue;
        *ret_message = c.message;
        *ret_hint = c.hint;
        return ERR_INVALID_CONFIG;
    }
    return ERR_NONE;
}
