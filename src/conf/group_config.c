/* Rules for the dynamic configuration of one group beyond the type of each value: the limits that
 * the broker sets (group.consumer.min.session.timeout.ms and the like), known assignors, distinct
 * tags.
 *
 * Called when a group's configuration is altered (KIP-848, KIP-932, KIP-1071); the limits also by
 * config_check. Pure. */
#include "base/buf.h"
#include "conf/config_layers.h"

/* In the order in which the broker's own are checked. */
static const struct group_bounds bounds[] = {
    {GROUP_KEY_CONSUMER_HEARTBEAT_INTERVAL_MS, BROKER_KEY_GROUP_CONSUMER_HEARTBEAT_INTERVAL_MS,
     BROKER_KEY_GROUP_CONSUMER_MIN_HEARTBEAT_INTERVAL_MS,
     BROKER_KEY_GROUP_CONSUMER_MAX_HEARTBEAT_INTERVAL_MS},
    {GROUP_KEY_CONSUMER_SESSION_TIMEOUT_MS, BROKER_KEY_GROUP_CONSUMER_SESSION_TIMEOUT_MS,
     BROKER_KEY_GROUP_CONSUMER_MIN_SESSION_TIMEOUT_MS,
     BROKER_KEY_GROUP_CONSUMER_MAX_SESSION_TIMEOUT_MS},
    {GROUP_KEY_CONSUMER_ASSIGNMENT_INTERVAL_MS, BROKER_KEY_GROUP_CONSUMER_ASSIGNMENT_INTERVAL_MS,
     BROKER_KEY_GROUP_CONSUMER_MIN_ASSIGNMENT_INTERVAL_MS,
     BROKER_KEY_GROUP_CONSUMER_MAX_ASSIGNMENT_INTERVAL_MS},
    {GROUP_KEY_SHARE_HEARTBEAT_INTERVAL_MS, BROKER_KEY_GROUP_SHARE_HEARTBEAT_INTERVAL_MS,
     BROKER_KEY_GROUP_SHARE_MIN_HEARTBEAT_INTERVAL_MS,
     BROKER_KEY_GROUP_SHARE_MAX_HEARTBEAT_INTERVAL_MS},
    {GROUP_KEY_SHARE_SESSION_TIMEOUT_MS, BROKER_KEY_GROUP_SHARE_SESSION_TIMEOUT_MS,
     BROKER_KEY_GROUP_SHARE_MIN_SESSION_TIMEOUT_MS, BROKER_KEY_GROUP_SHARE_MAX_SESSION_TIMEOUT_MS},
    {GROUP_KEY_SHARE_ASSIGNMENT_INTERVAL_MS, BROKER_KEY_GROUP_SHARE_ASSIGNMENT_INTERVAL_MS,
     BROKER_KEY_GROUP_SHARE_MIN_ASSIGNMENT_INTERVAL_MS,
     BROKER_KEY_GROUP_SHARE_MAX_ASSIGNMENT_INTERVAL_MS},
    {GROUP_KEY_STREAMS_HEARTBEAT_INTERVAL_MS, BROKER_KEY_GROUP_STREAMS_HEARTBEAT_INTERVAL_MS,
     BROKER_KEY_GROUP_STREAMS_MIN_HEARTBEAT_INTERVAL_MS,
     BROKER_KEY_GROUP_STREAMS_MAX_HEARTBEAT_INTERVAL_MS},
    {GROUP_KEY_STREAMS_SESSION_TIMEOUT_MS, BROKER_KEY_GROUP_STREAMS_SESSION_TIMEOUT_MS,
     BROKER_KEY_GROUP_STREAMS_MIN_SESSION_TIMEOUT_MS,
     BROKER_KEY_GROUP_STREAMS_MAX_SESSION_TIMEOUT_MS},
    {GROUP_KEY_STREAMS_ASSIGNMENT_INTERVAL_MS, BROKER_KEY_GROUP_STREAMS_ASSIGNMENT_INTERVAL_MS,
     BROKER_KEY_GROUP_STREAMS_MIN_ASSIGNMENT_INTERVAL_MS,
     BROKER_KEY_GROUP_STREAMS_MAX_ASSIGNMENT_INTERVAL_MS},
    {GROUP_KEY_SHARE_RECORD_LOCK_DURATION_MS, BROKER_KEY_GROUP_SHARE_RECORD_LOCK_DURATION_MS,
     BROKER_KEY_GROUP_SHARE_MIN_RECORD_LOCK_DURATION_MS,
     BROKER_KEY_GROUP_SHARE_MAX_RECORD_LOCK_DURATION_MS},
    {GROUP_KEY_SHARE_DELIVERY_COUNT_LIMIT, BROKER_KEY_GROUP_SHARE_DELIVERY_COUNT_LIMIT,
     BROKER_KEY_GROUP_SHARE_MIN_DELIVERY_COUNT_LIMIT,
     BROKER_KEY_GROUP_SHARE_MAX_DELIVERY_COUNT_LIMIT},
    {GROUP_KEY_SHARE_PARTITION_MAX_RECORD_LOCKS, BROKER_KEY_GROUP_SHARE_PARTITION_MAX_RECORD_LOCKS,
     BROKER_KEY_GROUP_SHARE_MIN_PARTITION_MAX_RECORD_LOCKS,
     BROKER_KEY_GROUP_SHARE_MAX_PARTITION_MAX_RECORD_LOCKS},
    {GROUP_KEY_STREAMS_NUM_STANDBY_REPLICAS, BROKER_KEY_GROUP_STREAMS_NUM_STANDBY_REPLICAS, -1,
     BROKER_KEY_GROUP_STREAMS_MAX_STANDBY_REPLICAS},
    {GROUP_KEY_STREAMS_NUM_WARMUP_REPLICAS, BROKER_KEY_GROUP_STREAMS_NUM_WARMUP_REPLICAS, -1,
     BROKER_KEY_GROUP_STREAMS_MAX_WARMUP_REPLICAS},
    {GROUP_KEY_STREAMS_TASK_OFFSET_INTERVAL_MS, -1,
     BROKER_KEY_GROUP_STREAMS_MIN_TASK_OFFSET_INTERVAL_MS, -1},
};

const struct group_bounds *group_config_bounds(size_t *ret_count)
{
    *ret_count = sizeof(bounds) / sizeof(bounds[0]);
    return bounds;
}

static bool within(const struct config *config, const struct group_bounds *limit, int64_t value,
                   struct arena *arena, struct slice *ret_message)
{
    const char *name = conf_key(CONF_KIND_GROUP, limit->group_key)->name;
    long long min = INT64_MIN, max = INT64_MAX;
    if (limit->min >= 0)
        min = config_int(config, (enum broker_key)limit->min);
    if (limit->max >= 0)
        max = config_int(config, (enum broker_key)limit->max);
    if (value >= min && value <= max)
        return true;
    if (limit->min < 0)
        *ret_message = arena_printf(arena, "%s must be less than or equal to %lld", name, max);
    else if (limit->max < 0)
        *ret_message = arena_printf(arena, "%s must be greater than or equal to %lld", name, min);
    else
        *ret_message =
            arena_printf(arena, "%s must be in the range %lld to %lld inclusive.", name, min, max);
    return false;
}

static bool assignor_known(const struct config *config, struct slice name, struct arena *arena,
                           struct slice *ret_message)
{
    struct conf_list known = config_list(config, BROKER_KEY_GROUP_STREAMS_ASSIGNORS);
    struct buf b;
    buf_init(&b);
    bool found = false;
    for (int32_t i = 0; i < known.count; i++) {
        found = found || slice_eq(known.items[i], name);
        buf_printf(&b, "%s%.*s", i ? ", " : "", SLICE_FMT(known.items[i]));
    }
    if (!found)
        *ret_message = arena_printf(arena,
                                    "streams.assignor.name '%.*s' is not a registered task "
                                    "assignor. Registered assignors are: [%.*s].",
                                    SLICE_FMT(name), SLICE_FMT(buf_slice(&b)));
    buf_fini(&b);
    return found;
}

/* The list is parsed into distinct items: fewer than were written means that one came twice. */
static bool tags_distinct(struct slice text, const struct conf_value *value)
{
    int32_t written = text.size > 0;
    for (size_t i = 0; i < text.size; i++)
        written += text.data[i] == ',';
    return value->list.count >= written;
}

static enum err check_one(const struct config *config, int id, struct slice text,
                          struct arena *arena, struct slice *ret_message)
{
    const struct conf_key *key = conf_key(CONF_KIND_GROUP, id);
    struct conf_value value;
    enum err error = conf_value_parse(key, text, arena, &value, ret_message);
    if (error)
        return error;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (bounds[i].group_key == id &&
            !within(config, &bounds[i], value.integer, arena, ret_message))
            return ERR_INVALID_CONFIG;
    if (id == GROUP_KEY_STREAMS_ASSIGNOR_NAME &&
        !assignor_known(config, value.text, arena, ret_message))
        return ERR_INVALID_CONFIG;
    if (id == GROUP_KEY_STREAMS_RACK_AWARE_ASSIGNMENT_TAGS && !tags_distinct(value.text, &value)) {
        *ret_message = SLICE_LIT("streams.rack.aware.assignment.tags must not contain duplicate "
                                 "tag keys.");
        return ERR_INVALID_CONFIG;
    }
    return ERR_NONE;
}

enum err group_config_check(const struct config *config, struct conf_pairs overrides,
                            struct arena *arena, struct slice *ret_message)
{
    for (int32_t i = 0; i < overrides.count; i++) {
        if (conf_find(CONF_KIND_GROUP, overrides.items[i].name) >= 0)
            continue;
        *ret_message = arena_printf(arena, "Unknown group config name: %.*s",
                                    SLICE_FMT(overrides.items[i].name));
        return ERR_INVALID_CONFIG;
    }
    for (int32_t i = 0; i < overrides.count; i++) {
        int id = conf_find(CONF_KIND_GROUP, overrides.items[i].name);
        enum err error = check_one(config, id, overrides.items[i].value, arena, ret_message);
        if (error)
            return error;
    }
    return ERR_NONE;
}
