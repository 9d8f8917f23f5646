/* Keys to options: one function for each module, nothing else in between. */
#include "server/settings.h"

#include "base/mem.h"
#include "meta/image.h"
#include "os/diag.h"

static int32_t int32_of(const struct config *config, enum broker_key key)
{
    int64_t value = config_int(config, key);
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : (int32_t)value;
}

struct settings_files settings_files(int64_t limit, int loop_count, int folder_count,
                                     int listener_count)
{
    enum {
        OWN = 20, /* standard streams, signals, the metadata log; what workers open for a moment */
        LOOP_OWN = 2,
        SHARE = 8, /* one in so many stays for segments, however many connections come */
        SEGMENTS_MIN = 16,
        CONNECTIONS_MIN = 4,
        SEGMENTS_MAX = 4096,
    };
    int64_t rest = limit - OWN - LOOP_OWN * (loop_count + 1) - folder_count - listener_count;
    int64_t segments = rest / SHARE > SEGMENTS_MIN ? rest / SHARE : SEGMENTS_MIN;
    int64_t connections = rest - (segments < SEGMENTS_MAX ? segments : SEGMENTS_MAX);
    if (connections < CONNECTIONS_MIN)
        connections = CONNECTIONS_MIN;
    segments = rest / 2 > SEGMENTS_MIN ? rest / 2 : SEGMENTS_MIN;
    return (struct settings_files){
        .connections = connections < INT32_MAX ? (int32_t)connections : INT32_MAX,
        .segments = segments < SEGMENTS_MAX ? (int)segments : SEGMENTS_MAX,
    };
}

struct net_config settings_net(const struct config *config, int64_t memory,
                               const struct settings_files *files)
{
    struct net_config net;
    net_config_init(&net);
    net.request_size_max = int32_of(config, BROKER_KEY_SOCKET_REQUEST_MAX_BYTES);
    net.connections_max = int32_of(config, BROKER_KEY_MAX_CONNECTIONS);
    if (net.connections_max > files->connections)
        net.connections_max = files->connections;
    net.connections_per_ip_max = int32_of(config, BROKER_KEY_MAX_CONNECTIONS_PER_IP);
    net.idle_max_ms = config_int(config, BROKER_KEY_CONNECTIONS_MAX_IDLE_MS);
    net.queued_size_max = config_int(config, BROKER_KEY_QUEUED_MAX_REQUEST_BYTES);
    /* Kafka's default is no limit; here half of the memory budget always holds. */
    if (net.queued_size_max <= 0)
        net.queued_size_max = memory / 2;
    if (config_is_static(config, BROKER_KEY_SOCKET_SEND_BUFFER_BYTES))
        net.send_buffer_size = int32_of(config, BROKER_KEY_SOCKET_SEND_BUFFER_BYTES);
    if (config_is_static(config, BROKER_KEY_SOCKET_RECEIVE_BUFFER_BYTES))
        net.receive_buffer_size = int32_of(config, BROKER_KEY_SOCKET_RECEIVE_BUFFER_BYTES);
    net.backlog = int32_of(config, BROKER_KEY_SOCKET_LISTEN_BACKLOG_SIZE);
    return net;
}

/* Of one host several times the last counts, as in Kafka. */
static void put_limit(struct net_ip_limit *limits, size_t *count, const struct net_ip_limit *limit)
{
    size_t at = 0;
    while (at < *count && strcmp(limits[at].host, limit->host) != 0)
        at++;
    limits[at] = *limit;
    *count += at == *count;
}

struct net_ip_limit *settings_ip_limits(struct io *io, const struct config *config,
                                        size_t *ret_count)
{
    struct slice text = config_string(config, BROKER_KEY_MAX_CONNECTIONS_PER_IP_OVERRIDES);
    struct slice rest = text, item, host, number;
    size_t count = 0, capacity = 0;
    while (slice_next_part(&rest, ',', &item))
        capacity++;
    struct net_ip_limit *limits = mem_array(capacity + 1, sizeof *limits);
    while (slice_next_part(&text, ',', &item)) {
        struct io_address address;
        int64_t value;
        /* config_check has refused what is not host:limit. */
        if (!slice_cut_last(slice_trim(item), ':', &host, &number) ||
            !slice_to_i64(slice_trim(number), INT32_MIN, INT32_MAX, &value))
            continue;
        if (host.size > 2 && host.data[0] == '[' && host.data[host.size - 1] == ']')
            host = slice_sub(host, 1, host.size - 2);
        char *name = slice_to_cstr(host);
        if (io_resolve(io, name, 0, &address) == ERR_NONE) {
            struct net_ip_limit limit = {.connections_max = (int32_t)value};
            memcpy(limit.host, address.host, sizeof limit.host);
            put_limit(limits, &count, &limit);
        } else {
            diag(DIAG_SERVER, DIAG_WARN,
                 "max.connections.per.ip.overrides: the host %s has no address; its limit has no "
                 "effect",
                 name);
        }
        mem_free(name);
    }
    *ret_count = count;
    return limits;
}

struct coord_config settings_coord(const struct config *config, const struct meta_image *image)
{
    struct coord_config coord;
    coord_config_init(&coord);
    coord.session_timeout_min_ms = int32_of(config, BROKER_KEY_GROUP_MIN_SESSION_TIMEOUT_MS);
    coord.session_timeout_max_ms = int32_of(config, BROKER_KEY_GROUP_MAX_SESSION_TIMEOUT_MS);
    coord.initial_rebalance_delay_ms =
        int32_of(config, BROKER_KEY_GROUP_INITIAL_REBALANCE_DELAY_MS);
    coord.group_size_max = int32_of(config, BROKER_KEY_GROUP_MAX_SIZE);
    coord.offset_metadata_size_max = int32_of(config, BROKER_KEY_OFFSET_METADATA_MAX_BYTES);
    coord.commit_timeout_ms = int32_of(config, BROKER_KEY_OFFSETS_COMMIT_TIMEOUT_MS);
    coord.offsets_retention_ms =
        config_int(config, BROKER_KEY_OFFSETS_RETENTION_MINUTES) * INT64_C(60000);
    coord.retention_check_ms = config_int(config, BROKER_KEY_OFFSETS_RETENTION_CHECK_INTERVAL_MS);
    coord.batch_size_max = int32_of(config, BROKER_KEY_MESSAGE_MAX_BYTES);
    coord.compression = (int8_t)config_int(config, BROKER_KEY_OFFSETS_TOPIC_COMPRESSION_CODEC);
    coord.transaction_timeout_max_ms = int32_of(config, BROKER_KEY_TRANSACTION_MAX_TIMEOUT_MS);
    coord.transaction_abort_check_ms =
        int32_of(config, BROKER_KEY_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS);
    coord.transactional_id_expiration_ms =
        config_int(config, BROKER_KEY_TRANSACTIONAL_ID_EXPIRATION_MS);
    coord.transaction_expiry_check_ms =
        int32_of(config, BROKER_KEY_TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS);
    coord.two_phase_commit_enable =
        config_bool(config, BROKER_KEY_TRANSACTION_TWO_PHASE_COMMIT_ENABLE);
    coord.transaction_version = meta_image_feature(image, SLICE_LIT("transaction.version"));
    return coord;
}

struct cleaner_config settings_cleaner(const struct config *config)
{
    struct cleaner_config cleaner;
    cleaner_config_init(&cleaner);
    cleaner.enabled = config_bool(config, BROKER_KEY_LOG_CLEANER_ENABLE);
    cleaner.threads = int32_of(config, BROKER_KEY_LOG_CLEANER_THREADS);
    cleaner.dedupe_size = config_int(config, BROKER_KEY_LOG_CLEANER_DEDUPE_BUFFER_SIZE);
    cleaner.load_factor = config_double(config, BROKER_KEY_LOG_CLEANER_IO_BUFFER_LOAD_FACTOR);
    cleaner.io_buffer_size = int32_of(config, BROKER_KEY_LOG_CLEANER_IO_BUFFER_SIZE);
    cleaner.io_rate_max = config_double(config, BROKER_KEY_LOG_CLEANER_IO_MAX_BYTES_PER_SECOND);
    cleaner.backoff_ms = config_int(config, BROKER_KEY_LOG_CLEANER_BACKOFF_MS);
    return cleaner;
}

void settings_log_dirs(const struct config *config, struct log_dirs_options *options)
{
    options->node_id = config_node_id(config);
    options->recovery_threads = int32_of(config, BROKER_KEY_NUM_RECOVERY_THREADS_PER_DATA_DIR);
    options->checkpoint_ms = config_int(config, BROKER_KEY_LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS);
    options->start_checkpoint_ms =
        config_int(config, BROKER_KEY_LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS);
    options->watermark_checkpoint_ms =
        config_int(config, BROKER_KEY_REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS);
    options->retention_check_ms = config_int(config, BROKER_KEY_LOG_RETENTION_CHECK_INTERVAL_MS);
    options->producer_expiry_check_ms =
        config_int(config, BROKER_KEY_PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS);
    options->initial_delay_ms = config_int(config, BROKER_KEY_LOG_INITIAL_TASK_DELAY_MS);
    options->cleaner = settings_cleaner(config);
}

/* Folders are named as log.dirs does; "*" is all of them. */
static bool is_cordoned(const struct config *config, int index)
{
    struct conf_list list = config_list(config, BROKER_KEY_CORDONED_LOG_DIRS);
    struct conf_list dirs = config_log_dirs(config);
    struct slice path = index < dirs.count ? dirs.items[index] : SLICE_NULL;
    for (int32_t i = 0; i < list.count; i++)
        if (slice_eq(list.items[i], path) || slice_eq_str(list.items[i], "*"))
            return true;
    return false;
}

void settings_cordon(const struct config *config, struct log_dirs *dirs)
{
    for (int i = 0; i < log_dirs_count(dirs); i++)
        log_dir_cordon(log_dirs_at(dirs, i), is_cordoned(config, i));
}

struct replica_moves_config settings_moves(const struct config *config)
{
    int64_t window_s =
        config_int(config, BROKER_KEY_ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_NUM) *
        config_int(config, BROKER_KEY_ALTER_LOG_DIRS_REPLICATION_QUOTA_WINDOW_SIZE_SECONDS);
    return (struct replica_moves_config){
        .threads = config_is_null(config, BROKER_KEY_NUM_REPLICA_ALTER_LOG_DIRS_THREADS)
                       ? 0
                       : int32_of(config, BROKER_KEY_NUM_REPLICA_ALTER_LOG_DIRS_THREADS),
        .rate = config_int(config, BROKER_KEY_REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND),
        .pause_ms_max = window_s < INT64_MAX / 1000 ? window_s * 1000 : INT64_MAX,
    };
}

int settings_loop_count(const struct config *config, struct io *io)
{
    if (config_is_static(config, BROKER_KEY_NUM_NETWORK_THREADS))
        return int32_of(config, BROKER_KEY_NUM_NETWORK_THREADS);
    return io_processors(io);
}

void settings_topic(const struct config *config, const struct meta_image *image, struct slice topic,
                    struct topic_config *ret_config, struct log_config *ret_log_config)
{
    struct topic_config t;
    topic_config_compute(config, meta_image_overrides(image, META_RESOURCE_TOPIC, topic), &t);
    struct log_config log;
    log_config_init(&log);
    log.segment_size_max = t.segment_size;
    log.segment_ms = t.segment_ms;
    log.segment_jitter_ms = t.segment_jitter_ms;
    log.index_size_max = t.index_size_max;
    log.index_interval = t.index_interval_size;
    log.retention_ms = t.retention_ms;
    log.retention_size = t.retention_size;
    log.file_delete_delay_ms = t.file_delete_delay_ms;
    log.flush_messages = t.flush_messages;
    log.flush_ms = t.flush_ms;
    log.producer_expiry_ms = config_int(config, BROKER_KEY_PRODUCER_ID_EXPIRATION_MS);
    log.verify_transactions =
        config_bool(config, BROKER_KEY_TRANSACTION_PARTITION_VERIFICATION_ENABLE);
    log.cleanup_delete = t.cleanup_delete;
    log.cleanup_compact = t.cleanup_compact;
    log.dirty_ratio_min = t.min_cleanable_dirty_ratio;
    log.compact_lag_min_ms = t.min_compaction_lag_ms;
    log.compact_lag_max_ms = t.max_compaction_lag_ms;
    log.delete_retention_ms = t.delete_retention_ms;
    log.record_size_max = t.max_decompressed_message_size;
    *ret_config = t;
    *ret_log_config = log;
}
