#include "meta_kit.h"

#include "meta/image.h"
#include "meta/records_build.h"

/* From a 4.4.0 metadata log (kafka-dump-log shows FEATURE_LEVEL_RECORD, metadata.version 33):
 * frame 1, type 12, version 0, compact string, int16, no tags. */
static const uint8_t feature_33[] = "\x01\x0c\x00\x11metadata.version\x00\x21";

static void a_record_is_framed_as_kafka_frames_it(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    kit_feature(&kit, "metadata.version", 33);
    struct slice got = meta_records_at(&kit.records, 0);
    assert_int_equal(got.size, sizeof feature_33);
    assert_memory_equal(got.data, feature_33, sizeof feature_33);
    kit_fini(&kit);
}

static void lists_grow_and_are_cut(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    for (int i = 0; i < 100; i++)
        kit_feature(&kit, "group.version", (int16_t)i);
    meta_records_add_payload(&kit.records, SLICE_LIT("xyz"));
    assert_slice_eq(meta_records_at(&kit.records, 100), "xyz");
    meta_records_cut(&kit.records, 1);
    kit_feature(&kit, "share.version", 1);
    assert_int_equal(kit.records.count, 2);
    assert_int_equal(kit.records.bytes.size,
                     meta_records_at(&kit.records, 0).size + meta_records_at(&kit.records, 1).size);
    meta_records_cut(&kit.records, 0);
    assert_int_equal(kit.records.bytes.size, 0);
    kit_fini(&kit);
}

static void partitions_say_what_a_version_can_say(void **state)
{
    (void)state;
    int32_t one[] = {1};
    struct uuid dir = kit_id(3), topic = kit_id(4);
    struct meta_partition p = {.leader = 1,
                               .replica_count = 1,
                               .isr_count = 1,
                               .elr_count = 1,
                               .replicas = one,
                               .isr = one,
                               .elr = one,
                               .directories = &dir};
    struct partition_record r;
    meta_partition_to_record(&p, &topic, 2, meta_version_find(33), &r);
    assert_int_equal(r.partition_id, 2);
    assert_int_equal(r.directories_count, 1);
    assert_int_equal(r.eligible_leader_replicas_count, 1);
    assert_int_equal(r.last_known_elr_count, -1);
    meta_partition_to_record(&p, &topic, 2, meta_version_find(16), &r);
    assert_int_equal(r.directories_count, 0);
    assert_int_equal(r.eligible_leader_replicas_count, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_framed_as_kafka_frames_it),
        cmocka_unit_test(lists_grow_and_are_cut),
        cmocka_unit_test(partitions_say_what_a_version_can_say),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
