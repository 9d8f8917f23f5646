#include "meta_kit.h"

#include "meta/loader.h"

static enum err feed(struct meta_loader *loader, struct kit *kit, int64_t *offset)
{
    enum err e = ERR_NONE;
    for (int32_t i = 0; i < kit->records.count && e == ERR_NONE; i++) {
        struct slice text;
        e = meta_loader_record(loader, meta_records_at(&kit->records, i),
                               (struct meta_provenance){(*offset)++, 3, 100}, &kit->arena, &text);
    }
    meta_records_clear(&kit->records);
    return e;
}

static void mark(struct kit *kit, const struct wire_schema *schema)
{
    struct begin_transaction_record r;
    wire_init(schema, &r);
    meta_records_add(&kit->records, schema, 0, &r);
}

static void each_batch_ends_in_an_image(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *empty = meta_image_empty();
    struct meta_loader loader;
    meta_loader_init(&loader, empty);
    meta_image_unref(empty);
    int64_t offset = 10;
    kit_topic(&kit, "t", 1);
    assert_int_equal(feed(&loader, &kit, &offset), ERR_NONE);
    assert_true(meta_loader_batch_end(&loader));
    assert_false(meta_loader_batch_end(&loader));
    assert_int_equal(meta_image_topic_count(loader.image), 1);
    assert_int_equal(meta_image_provenance(loader.image)->offset, 10);
    assert_int_equal(meta_image_provenance(loader.image)->epoch, 3);
    meta_loader_fini(&loader);
    kit_fini(&kit);
}

static void transactions_count_from_their_end(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *empty = meta_image_empty();
    struct meta_loader loader;
    meta_loader_init(&loader, empty);
    meta_image_unref(empty);
    int64_t offset = 0;
    mark(&kit, &wire_begin_transaction_record);
    kit_topic(&kit, "t", 1);
    assert_int_equal(feed(&loader, &kit, &offset), ERR_NONE);
    assert_false(meta_loader_batch_end(&loader));
    assert_int_equal(loader.transaction_offset, 0);
    assert_int_equal(meta_image_topic_count(loader.image), 0);
    mark(&kit, &wire_abort_transaction_record);
    mark(&kit, &wire_begin_transaction_record);
    kit_topic(&kit, "u", 2);
    mark(&kit, &wire_end_transaction_record);
    kit_topic(&kit, "v", 3);
    assert_int_equal(feed(&loader, &kit, &offset), ERR_NONE);
    assert_true(meta_loader_batch_end(&loader));
    assert_null(meta_image_topic(loader.image, SLICE_LIT("t")));
    assert_non_null(meta_image_topic(loader.image, SLICE_LIT("u")));
    assert_non_null(meta_image_topic(loader.image, SLICE_LIT("v")));
    meta_loader_fini(&loader);
    kit_fini(&kit);
}

static void marks_out_of_order_are_corruption(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *empty = meta_image_empty();
    struct meta_loader loader;
    meta_loader_init(&loader, empty);
    meta_image_unref(empty);
    int64_t offset = 0;
    mark(&kit, &wire_end_transaction_record);
    assert_int_equal(feed(&loader, &kit, &offset), ERR_CORRUPT);
    mark(&kit, &wire_begin_transaction_record);
    mark(&kit, &wire_begin_transaction_record);
    assert_int_equal(feed(&loader, &kit, &offset), ERR_CORRUPT);
    meta_loader_fini(&loader);
    kit_fini(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_batch_ends_in_an_image),
        cmocka_unit_test(transactions_count_from_their_end),
        cmocka_unit_test(marks_out_of_order_are_corruption),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
