/* The effective configuration of one topic as plain numbers: topic override > dynamic broker >
 * dynamic default > static broker value (with hours, minutes and ms falling back in Kafka's order)
 * > default. Recomputed by the server when a ConfigRecord of the topic or broker is published; read
 * by store and repl. A plain value: copy it. */
#ifndef KLAMM_CONF_TOPIC_CONFIG_H
#define KLAMM_CONF_TOPIC_CONFIG_H

#include "conf/config.h"

enum topic_timestamp_type {
    TOPIC_TIMESTAMP_CREATE = 0,
    TOPIC_TIMESTAMP_APPEND = 1,
};

/* compression.type; gzip .. zstd have the numbers of the batch attributes. */
enum topic_compression {
    TOPIC_COMPRESSION_PRODUCER = -1, /* keep what the producer sent */
    TOPIC_COMPRESSION_NONE = 0,      /* "uncompressed" */
    TOPIC_COMPRESSION_GZIP = 1,
    TOPIC_COMPRESSION_SNAPPY = 2,
    TOPIC_COMPRESSION_LZ4 = 3,
    TOPIC_COMPRESSION_ZSTD = 4,
};

struct topic_config {
    /* Segments. */
    int32_t segment_size; /* segment.bytes (or internal.segment.bytes) */
    int64_t segment_ms;
    int64_t segment_jitter_ms;
    int32_t index_size_max;      /* segment.index.bytes */
    int32_t index_interval_size; /* index.interval.bytes */
    int64_t file_delete_delay_ms;
    /* Retention and cleaning. */
    bool cleanup_delete, cleanup_compact; /* both false: kept for ever */
    int64_t retention_ms;                 /* -1 = without end */
    int64_t retention_size;               /* retention.bytes; -1 = without end */
    int64_t delete_retention_ms;
    int64_t min_compaction_lag_ms, max_compaction_lag_ms;
    double min_cleanable_dirty_ratio;
    /* Flush; INT64_MAX = left to the system. */
    int64_t flush_messages;
    int64_t flush_ms;
    /* Produce. */
    int32_t max_message_size; /* max.message.bytes */
    int32_t max_decompressed_message_size;
    enum topic_timestamp_type timestamp_type;
    int64_t timestamp_before_max_ms, timestamp_after_max_ms;
    enum topic_compression compression;
    int gzip_level, lz4_level, zstd_level;
    /* Replication. */
    int32_t min_insync_replicas;
    bool unclean_leader_election;
};

/* `overrides` were validated when written; one that is not valid any more counts as absent. */
void topic_config_compute(const struct config *config, struct conf_pairs overrides,
                          struct topic_config *ret_config);

/* The text of one topic key by the same rules (topic override, else the broker's value); for
 * DescribeTopics-like callers and the controller. From the arena; null for null. */
struct slice topic_config_text(const struct config *config, struct conf_pairs overrides,
                               enum topic_key key, struct arena *arena);

#endif
