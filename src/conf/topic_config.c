/* The effective configuration of a topic from its overrides and the broker's configuration.
 *
 * A topic key without override takes the first of its broker keys that is set (log.retention.ms,
 * else .minutes, else .hours, with their factors), as schema/configs-topic.tsv lists them.
 * Recomputed when a ConfigRecord is published; pure. */
#include "conf/topic_config.h"

#include "base/ensure.h"
#include "conf/config_layers.h"

/* The broker value behind a topic key: its id, and its factor. -1 when there is none. */
static int fallback_of(const struct config *config, const struct conf_key *key, int64_t *ret_factor)
{
    if (!key->fallbacks)
        return -1;
    for (int i = 0; key->fallbacks[i] >= 0; i++) {
        *ret_factor = key->factors[i];
        if (!config->values[key->fallbacks[i]].is_null)
            return key->fallbacks[i];
    }
    return -1;
}

void topic_config_value(const struct config *config, struct conf_pairs overrides, enum topic_key id,
                        struct arena *arena, struct conf_value *ret_value)
{
    const struct conf_key *key = conf_key(CONF_KIND_TOPIC, (int)id);
    struct slice text = conf_pairs_get(overrides, slice_str(key->name));
    struct slice message;
    if (text.data && !conf_value_parse(key, text, arena, ret_value, &message))
        return;
    int64_t factor = 1;
    int broker = fallback_of(config, key, &factor);
    if (broker >= 0) {
        *ret_value = config->values[broker];
        ret_value->integer *= factor;
        /* log.retention: any negative number of the broker means no limit. */
        if (id == TOPIC_KEY_RETENTION_MS && ret_value->integer < 0)
            ret_value->integer = -1;
        return;
    }
    /* The table's defaults are valid (tests/unit/conf/test_value.c). */
    ENSURE(!conf_value_parse(key, slice_str(key->default_text), arena, ret_value, &message));
}

struct slice topic_config_text(const struct config *config, struct conf_pairs overrides,
                               enum topic_key key, struct arena *arena)
{
    struct conf_value value;
    topic_config_value(config, overrides, key, arena, &value);
    return conf_value_format(conf_key(CONF_KIND_TOPIC, (int)key), &value, arena);
}

struct source {
    const struct config *config;
    struct conf_pairs overrides;
    struct arena arena;
};

static struct conf_value get(struct source *s, enum topic_key key)
{
    struct conf_value value;
    topic_config_value(s->config, s->overrides, key, &s->arena, &value);
    return value;
}

static int64_t get_i64(struct source *s, enum topic_key key)
{
    return get(s, key).integer;
}

static int32_t get_i32(struct source *s, enum topic_key key)
{
    return (int32_t)get(s, key).integer;
}

static enum topic_compression compression_of(struct slice text)
{
    static const char *const names[] = {"uncompressed", "gzip", "snappy", "lz4", "zstd"};
    for (int i = 0; i < 5; i++)
        if (slice_eq_str(text, names[i]))
            return (enum topic_compression)i;
    return TOPIC_COMPRESSION_PRODUCER;
}

static void compute_segments(struct source *s, struct topic_config *c)
{
    struct conf_value internal = get(s, TOPIC_KEY_INTERNAL_SEGMENT_BYTES);
    c->segment_size =
        internal.is_null ? get_i32(s, TOPIC_KEY_SEGMENT_BYTES) : (int32_t)internal.integer;
    c->segment_ms = get_i64(s, TOPIC_KEY_SEGMENT_MS);
    c->segment_jitter_ms = get_i64(s, TOPIC_KEY_SEGMENT_JITTER_MS);
    c->index_size_max = get_i32(s, TOPIC_KEY_SEGMENT_INDEX_BYTES);
    c->index_interval_size = get_i32(s, TOPIC_KEY_INDEX_INTERVAL_BYTES);
    c->file_delete_delay_ms = get_i64(s, TOPIC_KEY_FILE_DELETE_DELAY_MS);
}

static void compute_retention(struct source *s, struct topic_config *c)
{
    struct conf_list policy = get(s, TOPIC_KEY_CLEANUP_POLICY).list;
    c->cleanup_delete = conf_list_has(policy, SLICE_LIT("delete"));
    c->cleanup_compact = conf_list_has(policy, SLICE_LIT("compact"));
    c->retention_ms = get_i64(s, TOPIC_KEY_RETENTION_MS);
    c->retention_size = get_i64(s, TOPIC_KEY_RETENTION_BYTES);
    c->delete_retention_ms = get_i64(s, TOPIC_KEY_DELETE_RETENTION_MS);
    c->min_compaction_lag_ms = get_i64(s, TOPIC_KEY_MIN_COMPACTION_LAG_MS);
    c->max_compaction_lag_ms = get_i64(s, TOPIC_KEY_MAX_COMPACTION_LAG_MS);
    c->min_cleanable_dirty_ratio = get(s, TOPIC_KEY_MIN_CLEANABLE_DIRTY_RATIO).real;
}

void topic_config_compute(const struct config *config, struct conf_pairs overrides,
                          struct topic_config *ret_config)
{
    struct source source = {.config = config, .overrides = overrides};
    struct source *s = &source;
    arena_init(&s->arena);
    struct topic_config c = {0};
    compute_segments(s, &c);
    compute_retention(s, &c);
    c.flush_messages = get_i64(s, TOPIC_KEY_FLUSH_MESSAGES);
    c.flush_ms = get_i64(s, TOPIC_KEY_FLUSH_MS);
    c.max_message_size = get_i32(s, TOPIC_KEY_MAX_MESSAGE_BYTES);
    c.max_decompressed_message_size = get_i32(s, TOPIC_KEY_MAX_DECOMPRESSED_MESSAGE_BYTES);
    c.timestamp_type = slice_eq_str(get(s, TOPIC_KEY_MESSAGE_TIMESTAMP_TYPE).text, "LogAppendTime")
                           ? TOPIC_TIMESTAMP_APPEND
                           : TOPIC_TIMESTAMP_CREATE;
    c.timestamp_before_max_ms = get_i64(s, TOPIC_KEY_MESSAGE_TIMESTAMP_BEFORE_MAX_MS);
    c.timestamp_after_max_ms = get_i64(s, TOPIC_KEY_MESSAGE_TIMESTAMP_AFTER_MAX_MS);
    c.compression = compression_of(get(s, TOPIC_KEY_COMPRESSION_TYPE).text);
    c.gzip_level = get_i32(s, TOPIC_KEY_COMPRESSION_GZIP_LEVEL);
    c.lz4_level = get_i32(s, TOPIC_KEY_COMPRESSION_LZ4_LEVEL);
    c.zstd_level = get_i32(s, TOPIC_KEY_COMPRESSION_ZSTD_LEVEL);
    c.min_insync_replicas = get_i32(s, TOPIC_KEY_MIN_INSYNC_REPLICAS);
    c.unclean_leader_election = get(s, TOPIC_KEY_UNCLEAN_LEADER_ELECTION_ENABLE).boolean;
    arena_fini(&s->arena);
    *ret_config = c;
}
