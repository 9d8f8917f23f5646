#include "meta_kit.h"

#include "meta/loader.h"
#include "meta/snapshot.h"

static enum err collect(void *context, struct slice payload)
{
    meta_records_add_payload(context, payload);
    return ERR_NONE;
}

static void order(const struct meta_records *records, struct buf *out)
{
    for (int32_t i = 0; i < records->count; i++) {
        struct cursor c = cursor_of(meta_records_at(records, i));
        cursor_uvarint(&c);
        buf_printf(out, "%u ", cursor_uvarint(&c));
    }
}

static struct meta_image *full_image(struct kit *kit)
{
    kit_config(kit, META_RESOURCE_TOPIC, "t", "retention.ms", "1");
    kit_topic(kit, "t", 1);
    kit_partition(kit, 1, 0);
    kit_partition(kit, 1, 1);
    kit_broker(kit, 1, 3, false);
    kit_feature(kit, "group.version", 1);
    kit_feature(kit, "metadata.version", 33);
    struct producer_ids_record ids = {1, 3, 5000};
    meta_records_add(&kit->records, &wire_producer_ids_record, 0, &ids);
    struct register_controller_record controller;
    wire_init(&wire_register_controller_record, &controller);
    controller.controller_id = 1;
    meta_records_add(&kit->records, &wire_register_controller_record, 0, &controller);
    return kit_image(kit, NULL);
}

static void records_come_in_kafkas_order(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *image = full_image(&kit);
    assert_int_equal(meta_snapshot_write(image, collect, &kit.records), ERR_NONE);
    struct buf out;
    buf_init(&out);
    order(&kit.records, &out);
    assert_slice_eq(buf_slice(&out), "12 12 0 27 2 3 3 4 15 ");
    buf_fini(&out);
    meta_image_unref(image);
    kit_fini(&kit);
}

static void a_snapshot_loads_into_the_same_image(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *image = full_image(&kit);
    assert_int_equal(meta_snapshot_write(image, collect, &kit.records), ERR_NONE);
    struct meta_records first;
    meta_records_init(&first);
    for (int32_t i = 0; i < kit.records.count; i++)
        meta_records_add_payload(&first, meta_records_at(&kit.records, i));
    struct meta_image *again = kit_image(&kit, NULL);
    assert_int_equal(meta_snapshot_write(again, collect, &kit.records), ERR_NONE);
    assert_int_equal(kit.records.bytes.size, first.bytes.size);
    assert_memory_equal(kit.records.bytes.data, first.bytes.data, first.bytes.size);
    assert_int_equal(meta_image_next_producer_id(again), 5000);
    assert_int_equal(meta_image_broker(again, 1)->epoch, 3);
    meta_records_fini(&first);
    meta_image_unref(image);
    meta_image_unref(again);
    kit_fini(&kit);
}

static enum err fail_at_once(void *context, struct slice payload)
{
    (void)payload;
    ++*(int *)context;
    return ERR_DISK_FULL;
}

static void the_first_error_ends_it(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *image = full_image(&kit);
    int calls = 0;
    assert_int_equal(meta_snapshot_write(image, fail_at_once, &calls), ERR_DISK_FULL);
    assert_int_equal(calls, 1);
    meta_image_unref(image);
    kit_fini(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_come_in_kafkas_order),
        cmocka_unit_test(a_snapshot_loads_into_the_same_image),
        cmocka_unit_test(the_first_error_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
