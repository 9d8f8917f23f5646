/* Effective topic configuration: override, broker layers with their units, defaults. */
#include "conf/topic_config.h"
#include "fixture.h"

static void test_defaults(void **state)
{
    (void)state;
    struct config *config = config_of(NODE);
    struct topic_config c;
    topic_config_compute(config, NO_PAIRS, &c);
    assert_int_equal(c.segment_size, 1073741824);
    assert_int_equal(c.segment_ms, 604800000);
    assert_int_equal(c.segment_jitter_ms, 0);
    assert_int_equal(c.index_size_max, 10485760);
    assert_int_equal(c.index_interval_size, 4096);
    assert_int_equal(c.file_delete_delay_ms, 60000);
    assert_true(c.cleanup_delete && !c.cleanup_compact);
    assert_int_equal(c.retention_ms, 604800000);
    assert_int_equal(c.retention_size, -1);
    assert_int_equal(c.delete_retention_ms, 86400000);
    assert_true(c.max_compaction_lag_ms == INT64_MAX && c.min_compaction_lag_ms == 0);
    assert_true(c.min_cleanable_dirty_ratio == 0.5);
    assert_true(c.flush_messages == INT64_MAX && c.flush_ms == INT64_MAX);
    assert_int_equal(c.max_message_size, 1048588);
    assert_int_equal(c.max_decompressed_message_size, 2147483639);
    assert_int_equal(c.timestamp_type, TOPIC_TIMESTAMP_CREATE);
    assert_int_equal(c.timestamp_after_max_ms, 3600000);
    assert_true(c.timestamp_before_max_ms == INT64_MAX);
    assert_int_equal(c.compression, TOPIC_COMPRESSION_PRODUCER);
    assert_int_equal(c.gzip_level, -1);
    assert_int_equal(c.lz4_level, 9);
    assert_int_equal(c.zstd_level, 3);
    assert_int_equal(c.min_insync_replicas, 1);
    assert_false(c.unclean_leader_election);
    config_unref(config);
}

static void test_layers(void **state)
{
    (void)state;
    struct topic_config c;
    struct config *plain = config_of(NODE "log.retention.hours=2\nlog.roll.hours=3\n"
                                          "log.roll.jitter.hours=1\n"
                                          "log.flush.scheduler.interval.ms=77\n");
    topic_config_compute(plain, NO_PAIRS, &c);
    assert_int_equal(c.retention_ms, 7200000);
    assert_int_equal(c.segment_ms, 10800000);
    assert_int_equal(c.segment_jitter_ms, 3600000);
    assert_int_equal(c.flush_ms, 77);

    struct config *minutes = config_of(NODE "log.retention.hours=2\nlog.retention.minutes=5\n");
    topic_config_compute(minutes, NO_PAIRS, &c);
    assert_int_equal(c.retention_ms, 300000);
    config_unref(minutes);

    /* A dynamic value of the milliseconds hides the static hours. */
    struct config *all = config_with_dynamic(plain, NO_PAIRS, PAIRS(PAIR("log.retention.ms", "9")));
    topic_config_compute(all, NO_PAIRS, &c);
    assert_int_equal(c.retention_ms, 9);
    struct config *one = config_with_dynamic(plain, PAIRS(PAIR("log.retention.ms", "-1")),
                                             PAIRS(PAIR("log.retention.ms", "9")));
    topic_config_compute(one, NO_PAIRS, &c);
    assert_int_equal(c.retention_ms, -1);
    topic_config_compute(one, PAIRS(PAIR("retention.ms", "4")), &c);
    assert_int_equal(c.retention_ms, 4);
    config_unref(one);
    config_unref(all);
    config_unref(plain);
}

static void test_overrides(void **state)
{
    (void)state;
    struct config *config = config_of(NODE);
    struct topic_config c;
    topic_config_compute(
        config,
        PAIRS(PAIR("cleanup.policy", "compact, delete"), PAIR("compression.type", "zstd"),
              PAIR("message.timestamp.type", "LogAppendTime"),
              PAIR("internal.segment.bytes", "100"), PAIR("segment.bytes", "2000000"),
              PAIR("preallocate", "true"), PAIR("max.message.bytes", "not a number"),
              PAIR("unclean.leader.election.enable", "TRUE")),
        &c);
    assert_true(c.cleanup_delete && c.cleanup_compact);
    assert_int_equal(c.compression, TOPIC_COMPRESSION_ZSTD);
    assert_int_equal(c.timestamp_type, TOPIC_TIMESTAMP_APPEND);
    assert_int_equal(c.segment_size, 100);
    assert_true(c.unclean_leader_election);
    assert_int_equal(c.max_message_size, 1048588); /* an invalid override counts as absent */
    topic_config_compute(config, PAIRS(PAIR("cleanup.policy", "")), &c);
    assert_true(!c.cleanup_delete && !c.cleanup_compact);
    struct arena arena;
    arena_init(&arena);
    assert_slice_eq(topic_config_text(config, NO_PAIRS, TOPIC_KEY_RETENTION_MS, &arena),
                    "604800000");
    arena_fini(&arena);
    config_unref(config);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_overrides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
