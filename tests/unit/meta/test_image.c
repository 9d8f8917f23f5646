#include "../config_text.h"
#include "meta_kit.h"

static void an_empty_image(void **state)
{
    (void)state;
    struct meta_image *image = meta_image_empty();
    assert_int_equal(meta_image_topic_count(image), 0);
    assert_int_equal(meta_image_metadata_version(image), -1);
    assert_int_equal(meta_image_next_producer_id(image), -1);
    assert_int_equal(meta_image_provenance(image)->offset, -1);
    assert_null(meta_image_topic(image, SLICE_LIT("t")));
    assert_null(meta_image_topic_seek(image, SLICE_NULL, false));
    assert_null(meta_image_broker(image, 1));
    assert_null(meta_image_config(image, META_RESOURCE_TOPIC, SLICE_LIT("t")));
    meta_image_unref(image);
    meta_image_unref(NULL);
}

static void topics_by_name_and_id_in_order(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_topic(&kit, "bb", 2);
    kit_partition(&kit, 2, 0);
    kit_partition(&kit, 2, 1);
    kit_topic(&kit, "a", 1);
    kit_partition(&kit, 1, 0);
    struct meta_image *image = kit_image(&kit, NULL);
    assert_int_equal(meta_image_topic_count(image), 2);
    char names[16] = "";
    META_IMAGE_FOREACH_TOPIC(topic, image)
    strncat(names, (const char *)topic->name.data, topic->name.size);
    assert_string_equal(names, "abb");
    struct uuid id = kit_id(2);
    const struct meta_topic *topic = meta_image_topic_by_id(image, &id);
    assert_ptr_equal(topic, meta_image_topic(image, SLICE_LIT("bb")));
    assert_int_equal(topic->partition_count, 2);
    const struct meta_partition *p = meta_topic_partition(topic, 1);
    assert_int_equal(p->leader, 1);
    assert_true(meta_partition_has_replica(p, 1));
    assert_false(meta_partition_has_replica(p, 2));
    struct uuid dir = kit_id(77), found = meta_partition_directory(p, 1);
    assert_true(uuid_eq(&dir, &found));
    found = meta_partition_directory(p, 2);
    assert_true(uuid_is_zero(&found));
    /* Whoever has no broker is offline; of a broker's directories those it told are online. */
    assert_true(meta_image_replica_is_offline(image, p, 1));
    struct uuid told = kit_id(5);
    struct meta_broker broker = {.dirs = &told, .dir_count = 1};
    assert_true(meta_broker_dir_is_online(&broker, told));
    assert_false(meta_broker_dir_is_online(&broker, dir));
    assert_true(meta_broker_dir_is_online(&broker, META_DIR_UNASSIGNED));
    assert_false(meta_broker_dir_is_online(&broker, META_DIR_LOST));
    broker.dir_count = 0;
    assert_true(meta_broker_dir_is_online(&broker, dir));
    assert_null(meta_topic_partition(topic, 2));
    assert_null(meta_topic_partition(topic, -1));
    assert_ptr_equal(meta_image_topic_seek(image, SLICE_LIT("a"), true), topic);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void brokers_and_configs(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_broker(&kit, 2, 5, true);
    kit_broker(&kit, 1, 4, false);
    kit_config(&kit, META_RESOURCE_BROKER, "", "b", "2");
    kit_config(&kit, META_RESOURCE_BROKER, "", "a", "1");
    kit_config(&kit, META_RESOURCE_TOPIC, "t", "c", "3");
    struct meta_image *image = kit_image(&kit, NULL);
    assert_int_equal(meta_image_broker_count(image), 2);
    assert_int_equal(meta_image_broker_at(image, 0)->id, 1);
    assert_true(meta_image_broker_is_active(image, 1));
    assert_false(meta_image_broker_is_active(image, 2));
    assert_false(meta_image_broker_is_active(image, 3));
    const struct meta_broker *broker = meta_image_broker(image, 2);
    const struct meta_endpoint *e = meta_broker_endpoint(broker, SLICE_LIT("PLAINTEXT"));
    assert_slice_eq(e->host, "localhost");
    assert_null(meta_broker_endpoint(broker, SLICE_LIT("SSL")));
    assert_int_equal(meta_image_config_count(image), 2);
    const struct meta_config *config =
        meta_image_config(image, META_RESOURCE_BROKER, SLICE_LIT(""));
    assert_int_equal(config->entry_count, 2);
    assert_slice_eq(config->entries[0].name, "a");
    assert_slice_eq(meta_config_get(config, SLICE_LIT("b")), "2");
    assert_true(slice_is_null(meta_config_get(config, SLICE_LIT("c"))));
    assert_true(slice_is_null(meta_config_get(NULL, SLICE_LIT("c"))));
    meta_image_unref(image);
    kit_fini(&kit);
}

/* The broker's own over the default of all, over the file. */
static void the_configuration_of_a_node(void **state)
{
    (void)state;
    struct config *file = config_of("process.roles=broker,controller\nnode.id=12\n"
                                    "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\n"
                                    "controller.listener.names=CONTROLLER\n"
                                    "controller.quorum.voters=12@localhost:9093\n"
                                    "message.max.bytes=1\nlog.segment.bytes=1048577\n");
    struct kit kit;
    kit_init(&kit);
    kit_config(&kit, META_RESOURCE_BROKER, "", "message.max.bytes", "2");
    kit_config(&kit, META_RESOURCE_BROKER, "", "log.retention.ms", "2");
    kit_config(&kit, META_RESOURCE_BROKER, "12", "log.retention.ms", "3");
    kit_config(&kit, META_RESOURCE_BROKER, "1", "log.retention.ms", "4");
    struct meta_image *image = kit_image(&kit, NULL);
    struct config *config = meta_image_node_config(image, file);
    assert_int_equal(config_int(config, BROKER_KEY_LOG_SEGMENT_BYTES), 1048577);
    assert_int_equal(config_int(config, BROKER_KEY_MESSAGE_MAX_BYTES), 2);
    assert_int_equal(config_log_retention_ms(config), 3);
    config_unref(config);
    config_unref(file);
    meta_image_unref(image);
    kit_fini(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_image),
        cmocka_unit_test(topics_by_name_and_id_in_order),
        cmocka_unit_test(brokers_and_configs),
        cmocka_unit_test(the_configuration_of_a_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
