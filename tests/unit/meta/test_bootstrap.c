#include "meta_kit.h"

#include "meta/bootstrap.h"

/* Names and levels as one line, in the order of the records. */
static void show(const struct meta_records *records, struct arena *arena, struct buf *out)
{
    for (int32_t i = 0; i < records->count; i++) {
        struct cursor c = cursor_of(meta_records_at(records, i));
        cursor_take(&c, 3);
        struct feature_level_record r;
        assert_int_equal(wire_decode(&wire_feature_level_record, 0, &c, arena, &r), ERR_NONE);
        buf_printf(out, "%.*s=%d ", SLICE_FMT(r.name), r.feature_level);
    }
}

static void check(int16_t version, const struct bootstrap_level *levels, int32_t count,
                  const char *expected)
{
    struct kit kit;
    kit_init(&kit);
    struct buf out;
    buf_init(&out);
    bootstrap_records(version, levels, count, &kit.records);
    show(&kit.records, &kit.arena, &out);
    assert_slice_eq(buf_slice(&out), expected);
    buf_fini(&out);
    kit_fini(&kit);
}

/* The order and the levels of `kafka-storage format` of 4.4.0. */
static void records_of_a_new_cluster(void **state)
{
    (void)state;
    check(33, NULL, 0,
          "metadata.version=33 eligible.leader.replicas.version=1 group.version=1 share.version=2 "
          "streams.version=1 transaction.version=2 ");
    check(7, NULL, 0, "metadata.version=7 ");
    struct bootstrap_level levels[] = {{SLICE_LIT("share.version"), 0},
                                       {SLICE_LIT("kraft.version"), 1}};
    check(33, levels, 2,
          "metadata.version=33 eligible.leader.replicas.version=1 group.version=1 "
          "streams.version=1 transaction.version=2 ");
}

/* Records of a folder that another release formatted: told, not left to a decision. */
static void records_that_cannot_be_replayed(void **state)
{
    (void)state;
    struct kit kit;
    kit_init(&kit);
    struct meta_image *empty = meta_image_empty();
    struct slice text = SLICE_NULL;
    bootstrap_records(33, NULL, 0, &kit.records);
    assert_int_equal(bootstrap_check(&kit.records, empty, &kit.arena, &text), ERR_NONE);
    assert_true(slice_is_null(text));
    meta_records_add_payload(&kit.records, SLICE_LIT("\1\x4d\0"));
    assert_int_equal(bootstrap_check(&kit.records, empty, &kit.arena, &text), ERR_CORRUPT);
    assert_slice_eq(text, "metadata record type 77 is unknown: was the log written by a newer "
                          "release?");
    meta_records_clear(&kit.records);
    kit_feature(&kit, "metadata.version", 35);
    assert_int_equal(bootstrap_check(&kit.records, empty, &kit.arena, &text), ERR_CORRUPT);
    assert_slice_eq(text, "metadata.version 35 is not supported: this release knows 7 to 33");
    meta_records_clear(&kit.records);
    kit_feature(&kit, "share.version", 1);
    assert_int_equal(bootstrap_check(&kit.records, empty, &kit.arena, &text), ERR_CORRUPT);
    assert_slice_eq(text, "no record says which metadata.version the cluster has");
    meta_image_unref(empty);
    kit_fini(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(records_of_a_new_cluster),
                                       cmocka_unit_test(records_that_cannot_be_replayed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
