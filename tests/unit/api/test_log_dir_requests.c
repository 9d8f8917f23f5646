#include "harness.h"

static const struct describe_log_dirs_response *describe(struct harness *h, const char *topic)
{
    struct describe_log_dirs_request body;
    wire_init(&wire_describe_log_dirs_request, &body);
    body.topics_count = -1;
    if (topic) {
        struct describe_log_dirs_request_describable_log_dir_topic *t =
            describe_log_dirs_request_topics_new(&h->arena, &body, 1);
        t->topic = slice_str(topic);
        int32_t *partitions =
            describe_log_dirs_request_describable_log_dir_topic_partitions_new(&h->arena, t, 3);
        partitions[0] = 1;
        partitions[1] = 1;
        partitions[2] = 9;
    }
    const struct describe_log_dirs_response *r =
        harness_call(h, WIRE_API_DESCRIBE_LOG_DIRS, 5, &body);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->results_count, 1);
    assert_slice_eq(r->results[0].log_dir, h->dir);
    return r;
}

static void sizes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "b", 2), 0);
    assert_int_equal(harness_create(&h, "a", 1), 0);
    harness_produce(&h, "b", 1, 3);
    const struct describe_log_dirs_response *r = describe(&h, NULL);
    assert_int_equal(r->results[0].topics_count, 2);
    assert_slice_eq(r->results[0].topics[0].name, "a");
    assert_slice_eq(r->results[0].topics[1].name, "b");
    assert_int_equal(r->results[0].topics[1].partitions_count, 2);
    assert_int_equal(r->results[0].topics[1].partitions[0].partition_size, 0);
    assert_true(r->results[0].topics[1].partitions[1].partition_size > 61);
    assert_true(r->results[0].total_bytes >= r->results[0].usable_bytes);
    assert_true(r->results[0].usable_bytes > 0);
    /* Asked for twice, shown once; what is not here is left out. */
    r = describe(&h, "b");
    assert_int_equal(r->results[0].topics_count, 1);
    assert_int_equal(r->results[0].topics[0].partitions_count, 1);
    r = describe(&h, "none");
    assert_int_equal(r->results[0].topics_count, 0);
    harness_end(&h);
}

static int16_t move(struct harness *h, const char *path, const char *topic, int32_t partition)
{
    struct alter_replica_log_dirs_request body;
    wire_init(&wire_alter_replica_log_dirs_request, &body);
    struct alter_replica_log_dirs_request_alter_replica_log_dir *dir =
        alter_replica_log_dirs_request_dirs_new(&h->arena, &body, 1);
    dir->path = slice_str(path);
    struct alter_replica_log_dirs_request_alter_replica_log_dir_topic *t =
        alter_replica_log_dirs_request_alter_replica_log_dir_topics_new(&h->arena, dir, 1);
    t->name = slice_str(topic);
    *alter_replica_log_dirs_request_alter_replica_log_dir_topic_partitions_new(&h->arena, t, 1) =
        partition;
    const struct alter_replica_log_dirs_response *r =
        harness_call(h, WIRE_API_ALTER_REPLICA_LOG_DIRS, 2, &body);
    assert_slice_eq(r->results[0].topic_name, topic);
    return r->results[0].partitions[0].error_code;
}

static void moves(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(move(&h, "/nowhere", "t", 0), ERR_LOG_DIR_NOT_FOUND);
    assert_int_equal(move(&h, "/nowhere", "none", 0), ERR_LOG_DIR_NOT_FOUND);
    assert_int_equal(move(&h, h.dir, "none", 0), ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(move(&h, h.dir, "t", 9), ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(move(&h, h.dir, "t", 0), 0);
    harness_end(&h);
}

static int16_t cordon(struct harness *h, const char *value)
{
    struct incremental_alter_configs_request body;
    wire_init(&wire_incremental_alter_configs_request, &body);
    struct incremental_alter_configs_request_alter_configs_resource *item =
        incremental_alter_configs_request_resources_new(&h->arena, &body, 1);
    item->resource_type = 4;
    item->resource_name = slice_str("1");
    struct incremental_alter_configs_request_alterable_config *config =
        incremental_alter_configs_request_alter_configs_resource_configs_new(&h->arena, item, 1);
    config->name = slice_str("cordoned.log.dirs");
    config->value = slice_str(value);
    const struct incremental_alter_configs_response *r =
        harness_call(h, WIRE_API_INCREMENTAL_ALTER_CONFIGS, 1, &body);
    return r->responses[0].error_code;
}

static void cordoned(void **state)
{
    (void)state;
    struct harness h = harness_start();
    harness_open(&h, "cordoned.log.dirs=*\n");
    /* There is no other folder. */
    assert_int_equal(harness_create(&h, "t", 1), ERR_INVALID_REPLICATION_FACTOR);
    assert_true(describe(&h, NULL)->results[0].is_cordoned);
    assert_int_equal(cordon(&h, ""), 0);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_false(describe(&h, NULL)->results[0].is_cordoned);
    assert_int_equal(move(&h, h.dir, "t", 0), 0);
    assert_int_equal(cordon(&h, h.dir), 0);
    assert_true(describe(&h, NULL)->results[0].is_cordoned);
    assert_int_equal(move(&h, h.dir, "t", 0), ERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(harness_create(&h, "u", 1), ERR_INVALID_REPLICATION_FACTOR);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(moves),
        cmocka_unit_test(cordoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
