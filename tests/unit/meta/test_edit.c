#include "meta_kit.h"

#include "base/mem.h"

static void change(struct kit *kit, uint8_t topic, int32_t index, int32_t leader, int32_t isr_count)
{
    static int32_t isr[2] = {1, 2};
    struct partition_change_record r;
    wire_init(&wire_partition_change_record, &r);
    r.topic_id = kit_id(topic);
    r.partition_id = index;
    r.leader = leader;
    r.isr = isr;
    r.isr_count = isr_count;
    meta_records_add(&kit->records, &wire_partition_change_record, 2, &r);
}

static void a_change_leaves_the_old_image_alone(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_topic(&kit, "t", 1);
    kit_partition(&kit, 1, 0);
    kit_partition(&kit, 1, 1);
    struct meta_image *old = kit_image(&kit, NULL);
    change(&kit, 1, 1, -1, 0);
    struct meta_image *next = kit_image(&kit, meta_image_ref(old));
    const struct meta_topic *before = meta_image_topic(old, SLICE_LIT("t"));
    const struct meta_topic *after = meta_image_topic(next, SLICE_LIT("t"));
    assert_int_equal(before->partitions[1]->leader, 1);
    assert_int_equal(before->partitions[1]->leader_epoch, 0);
    assert_int_equal(after->partitions[1]->leader, -1);
    assert_int_equal(after->partitions[1]->leader_epoch, 1);
    assert_int_equal(after->partitions[1]->partition_epoch, 1);
    assert_int_equal(after->partitions[1]->isr_count, 0);
    assert_ptr_equal(before->partitions[0], after->partitions[0]); /* shared */
    meta_image_unref(old);
    assert_int_equal(meta_image_topic(next, SLICE_LIT("t"))->partitions[0]->leader, 1);
    meta_image_unref(next);
    kit_fini(&kit);
}

static void no_leader_in_a_change_keeps_its_epoch(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_topic(&kit, "t", 1);
    kit_partition(&kit, 1, 0);
    change(&kit, 1, 0, -2, 2);
    change(&kit, 1, 0, 1, -1); /* the same leader again: a bump */
    struct meta_image *image = kit_image(&kit, NULL);
    const struct meta_partition *p = meta_image_topic(image, SLICE_LIT("t"))->partitions[0];
    assert_int_equal(p->leader, 1);
    assert_int_equal(p->leader_epoch, 1);
    assert_int_equal(p->partition_epoch, 2);
    assert_int_equal(p->isr_count, 2);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void remove_topic(struct kit *kit, uint8_t id)
{
    struct remove_topic_record r;
    wire_init(&wire_remove_topic_record, &r);
    r.topic_id = kit_id(id);
    meta_records_add(&kit->records, &wire_remove_topic_record, 0, &r);
}

static void removed_topics_take_their_configs_along(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_topic(&kit, "t", 1);
    kit_partition(&kit, 1, 0);
    kit_config(&kit, META_RESOURCE_TOPIC, "t", "retention.ms", "1");
    struct meta_image *image = kit_image(&kit, NULL);
    remove_topic(&kit, 1);
    kit_topic(&kit, "t", 2); /* the name is free again, in the same batch too */
    image = kit_image(&kit, image);
    assert_int_equal(meta_image_topic_count(image), 1);
    assert_int_equal(meta_image_config_count(image), 0);
    struct uuid id = kit_id(1);
    assert_null(meta_image_topic_by_id(image, &id));
    meta_image_unref(image);
    kit_fini(&kit);
}

/* A name that is given, taken away and given again in one batch is held by one topic. */
static void names_of_one_batch_are_held_once(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *empty = meta_image_empty();
    struct meta_edit *edit = meta_edit_new(empty);
    static const enum err expected[] = {ERR_NONE, ERR_NONE, ERR_NONE, ERR_NONE, ERR_CORRUPT};
    kit_topic(&kit, "t", 1);
    kit_topic(&kit, "u", 2);
    remove_topic(&kit, 1);
    kit_topic(&kit, "t", 1); /* the same id too */
    kit_topic(&kit, "t", 3);
    struct slice text;
    for (int32_t i = 0; i < 5; i++)
        assert_int_equal(
            meta_edit_replay(edit, meta_records_at(&kit.records, i), &kit.arena, &text),
            expected[i]);
    assert_slice_eq(text, "TopicRecord for t, a topic that exists");
    meta_edit_free(edit);
    meta_image_unref(empty);
    kit_fini(&kit);
}

static int64_t time_of_topics(int count)
{
    struct kit kit;
    kit_init(&kit);
    for (int i = 0; i < count; i++) {
        struct topic_record r;
        wire_init(&wire_topic_record, &r);
        r.name = arena_printf(&kit.arena, "topic-%d", i);
        memcpy(r.topic_id.bytes, &i, sizeof i);
        meta_records_add(&kit.records, &wire_topic_record, 0, &r);
    }
    int64_t before = kit_cpu_ns();
    struct meta_image *image = kit_image(&kit, NULL);
    int64_t took = kit_cpu_ns() - before;
    assert_int_equal(meta_image_topic_count(image), count);
    meta_image_unref(image);
    kit_fini(&kit);
    return took;
}

/* A snapshot is one batch to the edit: sixteen times the topics may not take 256 times as long. */
static void topics_of_a_snapshot_cost_no_more_than_their_number(void **state)
{
    (void)state;
    assert_true(time_of_topics(16000) < 60 * time_of_topics(1000));
}

static void configs_are_set_replaced_and_removed(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_config(&kit, META_RESOURCE_GROUP, "g", "m", "1");
    kit_config(&kit, META_RESOURCE_GROUP, "g", "z", "2");
    kit_config(&kit, META_RESOURCE_GROUP, "g", "a", "");
    kit_config(&kit, META_RESOURCE_GROUP, "g", "m", "3");
    struct meta_image *image = kit_image(&kit, NULL);
    const struct meta_config *config =
        meta_image_config(image, META_RESOURCE_GROUP, SLICE_LIT("g"));
    assert_int_equal(config->entry_count, 3);
    assert_slice_eq(config->entries[1].name, "m");
    assert_slice_eq(config->entries[1].value, "3");
    assert_slice_eq(config->entries[0].value, "");
    kit_config(&kit, META_RESOURCE_GROUP, "g", "m", NULL);
    kit_config(&kit, META_RESOURCE_GROUP, "g", "a", NULL);
    kit_config(&kit, META_RESOURCE_GROUP, "g", "z", NULL);
    image = kit_image(&kit, image);
    assert_int_equal(meta_image_config_count(image), 0);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void registrations(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_broker(&kit, 1, 7, true);
    struct meta_image *image = kit_image(&kit, NULL);
    struct broker_registration_change_record r;
    wire_init(&wire_broker_registration_change_record, &r);
    r.broker_id = 1;
    r.broker_epoch = 7;
    r.fenced = -1;
    r.in_controlled_shutdown = 1;
    r.cordoned_log_dirs_count = 0;
    meta_records_add(&kit.records, &wire_broker_registration_change_record, 3, &r);
    image = kit_image(&kit, image);
    const struct meta_broker *broker = meta_image_broker(image, 1);
    assert_false(broker->fenced);
    assert_true(broker->in_controlled_shutdown);
    assert_int_equal(broker->cordoned_count, 0);
    assert_int_equal(broker->dir_count, 1);
    assert_slice_eq(broker->endpoints[0].name, "PLAINTEXT");
    r.broker_epoch = 8;
    meta_records_add(&kit.records, &wire_broker_registration_change_record, 3, &r);
    struct slice text = kit_refused(&kit, image);
    assert_slice_eq(text, "BrokerRegistrationChangeRecord for broker 1 with epoch 8, but its epoch "
                          "is 7");
    struct unregister_broker_record gone = {1, 7};
    meta_records_add(&kit.records, &wire_unregister_broker_record, 0, &gone);
    image = kit_image(&kit, image);
    assert_null(meta_image_broker(image, 1));
    meta_image_unref(image);
    kit_fini(&kit);
}

static void kept_records_come_back_byte_for_byte(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct user_scram_credential_record r = {.name = SLICE_LIT("alice"),
                                             .mechanism = 1,
                                             .salt = SLICE_LIT("s"),
                                             .stored_key = SLICE_LIT("k"),
                                             .server_key = SLICE_LIT("v"),
                                             .iterations = 4096};
    meta_records_add(&kit.records, &wire_user_scram_credential_record, 0, &r);
    uint8_t bytes[64];
    struct slice payload = meta_records_at(&kit.records, 0);
    memcpy(bytes, payload.data, payload.size);
    size_t size = payload.size;
    struct meta_image *image = kit_image(&kit, NULL);
    assert_int_equal(meta_image_blob_count(image, META_BLOB_SCRAM), 1);
    payload = meta_image_blob_at(image, META_BLOB_SCRAM, 0)->payload;
    assert_int_equal(payload.size, size);
    assert_memory_equal(payload.data, bytes, size);
    struct remove_user_scram_credential_record gone = {SLICE_LIT("alice"), 1};
    meta_records_add(&kit.records, &wire_remove_user_scram_credential_record, 0, &gone);
    image = kit_image(&kit, image);
    assert_int_equal(meta_image_blob_count(image, META_BLOB_SCRAM), 0);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *image = meta_image_empty();
    struct slice text;
    static const uint8_t unknown[] = {1, 99, 0, 0}, newer[] = {1, 2, 1, 0}, cut[] = {1, 2, 0, 5},
                         frame[] = {2, 2, 0, 0};
    meta_records_add_payload(&kit.records, slice_of(unknown, sizeof unknown));
    text = kit_refused(&kit, image);
    assert_slice_eq(text, "metadata record type 99 is unknown: was the log "
                          "written by a newer release?");
    meta_records_add_payload(&kit.records, slice_of(newer, sizeof newer));
    text = kit_refused(&kit, image);
    assert_slice_eq(text, "TopicRecord version 1 is unknown: was the log "
                          "written by a newer release?");
    meta_records_add_payload(&kit.records, slice_of(cut, sizeof cut));
    kit_refused(&kit, image);
    meta_records_add_payload(&kit.records, slice_of(frame, sizeof frame));
    kit_refused(&kit, image);
    kit_partition(&kit, 1, 0);
    kit_refused(&kit, image);
    remove_topic(&kit, 1);
    kit_refused(&kit, image);
    kit_feature(&kit, "metadata.version", 40);
    kit_refused(&kit, image);
    meta_image_unref(image);
    kit_topic(&kit, "t", 1);
    image = kit_image(&kit, NULL);
    kit_topic(&kit, "t", 2);
    kit_refused(&kit, image);
    kit_partition(&kit, 1, 1 << 30);
    kit_refused(&kit, image);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void every_record_type_is_known(void **state)
{
    (void)state;
    for (size_t i = 0; i < wire_schemas_count; i++) {
        const struct wire_schema *schema = wire_schemas[i];
        if (schema->folder != WIRE_METADATA_LOG)
            continue;
        struct kit kit;
        kit_init(&kit);
        void *record = arena_alloc(&kit.arena, wire_schema_size(schema));
        wire_init(schema, record);
        meta_records_add(&kit.records, schema, schema->last, record);
        struct meta_image *empty = meta_image_empty();
        struct meta_edit *edit = meta_edit_new(empty);
        struct slice text = SLICE_NULL;
        enum err e = meta_edit_replay(edit, meta_records_at(&kit.records, 0), &kit.arena, &text);
        if (e != ERR_NONE) { /* refused for what it says, not for its type */
            char *line = slice_to_cstr(text);
            assert_null(strstr(line, "unknown"));
            assert_null(strstr(line, "cannot be read"));
            mem_free(line);
        }
        meta_edit_free(edit);
        meta_image_unref(empty);
        kit_fini(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_change_leaves_the_old_image_alone),
        cmocka_unit_test(no_leader_in_a_change_keeps_its_epoch),
        cmocka_unit_test(removed_topics_take_their_configs_along),
        cmocka_unit_test(names_of_one_batch_are_held_once),
        cmocka_unit_test(topics_of_a_snapshot_cost_no_more_than_their_number),
        cmocka_unit_test(configs_are_set_replaced_and_removed),
        cmocka_unit_test(registrations),
        cmocka_unit_test(kept_records_come_back_byte_for_byte),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(every_record_type_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
