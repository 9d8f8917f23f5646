#include "../config_text.h"

#include "base/mem.h"
#include "meta/image.h"
#include "os/io_linux.h"
#include "server/settings.h"

#include <stdio.h>

static struct config *node_config(const char *extra)
{
    char text[1024];
    snprintf(text, sizeof text,
             "process.roles=broker,controller\nnode.id=1\n"
             "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
             "controller.listener.names=CONTROLLER\n"
             "controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs=/tmp/x\n%s",
             extra);
    return config_of(text);
}

static const struct settings_files plenty = {.connections = INT32_MAX, .segments = 4096};

/* Whatever the limit, what all may have together is not more than it, as long as it is sane. */
static void files_are_shared_out(void **state)
{
    (void)state;
    for (int64_t limit = 60; limit < 3000000; limit += 1 + limit / 7) {
        struct settings_files files = settings_files(limit, 2, 2, 2);
        assert_true(files.connections >= 4 && files.segments >= 16 && files.segments <= 4096);
        assert_true(files.connections + 16 + 20 + 6 + 4 <= limit + 4);
    }
    assert_int_equal(settings_files(64, 2, 2, 2).connections, 18);
    assert_true(settings_files(1024, 2, 1, 2).connections > 800);
    assert_true(settings_files(524288, 2, 1, 2).connections > 500000);
    struct config *config = node_config("max.connections=50\n");
    struct settings_files few = settings_files(64, 2, 2, 2);
    assert_int_equal(settings_net(config, 1 << 30, &few).connections_max, 18);
    assert_int_equal(settings_net(config, 1 << 30, &plenty).connections_max, 50);
    config_unref(config);
}

/* A limit for one address; of two the last counts. */
static void limits_for_one_address(void **state)
{
    (void)state;
    struct io *io = io_linux_new();
    struct config *config = node_config(
        "max.connections.per.ip.overrides=10.0.0.1:5, 127.0.0.1:7,[::1]:8,10.0.0.1:6\n");
    size_t count;
    struct net_ip_limit *limits = settings_ip_limits(io, config, &count);
    assert_int_equal(count, 3);
    assert_string_equal(limits[0].host, "10.0.0.1");
    assert_int_equal(limits[0].connections_max, 6);
    assert_string_equal(limits[1].host, "127.0.0.1");
    assert_int_equal(limits[1].connections_max, 7);
    assert_string_equal(limits[2].host, "::1");
    mem_free(limits);
    config_unref(config);
    config = node_config("");
    mem_free(settings_ip_limits(io, config, &count));
    assert_int_equal(count, 0);
    config_unref(config);
    io_linux_free(io);
}

static void the_longest_windows(void **state)
{
    (void)state;
    struct config *config = node_config("alter.log.dirs.replication.quota.window.num=2147483647\n"
                                        "alter.log.dirs.replication.quota.window.size.seconds="
                                        "2147483647\n");
    assert_int_equal(settings_moves(config).pause_ms_max, INT64_MAX);
    config_unref(config);
    config = node_config("");
    assert_int_equal(settings_moves(config).pause_ms_max, 11000);
    config_unref(config);
}

/* Kafka's defaults where the file is silent. */
static void defaults(void **state)
{
    (void)state;
    struct config *config = node_config("");
    struct net_config net = settings_net(config, INT64_C(2) << 30, &plenty);
    assert_int_equal(net.request_size_max, 104857600);
    assert_int_equal(net.idle_max_ms, 600000);
    assert_int_equal(net.send_buffer_size, -1);
    assert_int_equal(net.queued_size_max, INT64_C(1) << 30);
    struct meta_image *image = meta_image_empty();
    struct coord_config coord = settings_coord(config, image), kafka;
    meta_image_unref(image);
    coord_config_init(&kafka);
    assert_int_equal(coord.transaction_timeout_max_ms, kafka.transaction_timeout_max_ms);
    assert_int_equal(coord.transaction_abort_check_ms, kafka.transaction_abort_check_ms);
    assert_int_equal(coord.transactional_id_expiration_ms, kafka.transactional_id_expiration_ms);
    assert_int_equal(coord.transaction_expiry_check_ms, kafka.transaction_expiry_check_ms);
    assert_int_equal(coord.two_phase_commit_enable, kafka.two_phase_commit_enable);
    assert_int_equal(coord.transaction_version, 0);
    assert_int_equal(coord.session_timeout_min_ms, kafka.session_timeout_min_ms);
    assert_int_equal(coord.session_timeout_max_ms, kafka.session_timeout_max_ms);
    assert_int_equal(coord.initial_rebalance_delay_ms, kafka.initial_rebalance_delay_ms);
    assert_int_equal(coord.group_size_max, kafka.group_size_max);
    assert_int_equal(coord.offset_metadata_size_max, kafka.offset_metadata_size_max);
    assert_int_equal(coord.commit_timeout_ms, kafka.commit_timeout_ms);
    assert_int_equal(coord.offsets_retention_ms, kafka.offsets_retention_ms);
    assert_int_equal(coord.retention_check_ms, kafka.retention_check_ms);
    assert_int_equal(coord.compression, kafka.compression);
    struct log_dirs_options dirs;
    log_dirs_options_init(&dirs);
    settings_log_dirs(config, &dirs);
    assert_int_equal(dirs.node_id, 1);
    assert_int_equal(dirs.retention_check_ms, 300000);
    config_unref(config);
}

static void the_file_wins(void **state)
{
    (void)state;
    struct config *config = node_config("num.network.threads=7\nsocket.send.buffer.bytes=5000\n"
                                        "offsets.retention.minutes=2\nlog.segment.bytes=1048576\n"
                                        "log.flush.interval.messages=1\n");
    assert_int_equal(settings_loop_count(config, NULL), 7);
    assert_int_equal(settings_net(config, 1 << 30, &plenty).send_buffer_size, 5000);
    struct meta_image *image = meta_image_empty();
    assert_int_equal(settings_coord(config, image).offsets_retention_ms, 120000);
    struct topic_config topic;
    struct log_config log;
    settings_topic(config, image, slice_str("t"), &topic, &log);
    assert_int_equal(log.segment_size_max, 1048576);
    assert_int_equal(log.flush_messages, 1);
    assert_int_equal(topic.flush_messages, 1);
    meta_image_unref(image);
    config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_shared_out), cmocka_unit_test(limits_for_one_address),
        cmocka_unit_test(the_longest_windows),  cmocka_unit_test(defaults),
        cmocka_unit_test(the_file_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
