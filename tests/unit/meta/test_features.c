#include "../unit.h"

#include "meta/features.h"

static void ranges_of_the_release(void **state)
{
    (void)state;
    assert_int_equal(feature_count(), 7);
    const struct feature *f = feature_find(SLICE_LIT("metadata.version"));
    assert_int_equal(f->min, 7);
    assert_int_equal(f->max, 33);
    f = feature_find(SLICE_LIT("share.version"));
    assert_int_equal(f->min, 0);
    assert_int_equal(f->max, 2);
    assert_null(feature_find(SLICE_LIT("share.versio")));
}

static void defaults_follow_metadata_version(void **state)
{
    (void)state;
    assert_int_equal(feature_default_level(SLICE_LIT("share.version"), 33), 2);
    assert_int_equal(feature_default_level(SLICE_LIT("share.version"), 28), 1);
    assert_int_equal(feature_default_level(SLICE_LIT("share.version"), 27), 0);
    assert_int_equal(feature_default_level(SLICE_LIT("kraft.version"), 20), 0);
    assert_int_equal(feature_default_level(SLICE_LIT("kraft.version"), 21), 1);
}

static void needs_of_a_level(void **state)
{
    (void)state;
    struct slice name;
    int16_t level;
    assert_true(feature_need(FEATURE_ELR_VERSION, 1, 0, &name, &level));
    assert_slice_eq(name, "metadata.version");
    assert_int_equal(level, 23);
    assert_false(feature_need(FEATURE_ELR_VERSION, 1, 1, &name, &level));
    assert_false(feature_need(FEATURE_ELR_VERSION, 0, 0, &name, &level));
}

static void versions_by_name_and_release(void **state)
{
    (void)state;
    assert_int_equal(meta_version_by_name(SLICE_LIT("4.4-IV2"))->level, 33);
    assert_int_equal(meta_version_by_name(SLICE_LIT("4.0"))->level, 25);
    assert_int_equal(meta_version_by_name(SLICE_LIT("4.0.1"))->level, 25);
    assert_int_equal(meta_version_by_name(SLICE_LIT("3.3"))->level, 7);
    assert_null(meta_version_by_name(SLICE_LIT("4")));
    assert_null(meta_version_by_name(SLICE_LIT("4.0.x")));
    assert_null(meta_version_by_name(SLICE_LIT("9.9")));
}

static void record_versions(void **state)
{
    (void)state;
    const struct meta_version *v = meta_version_find(33);
    assert_int_equal(v->partition_version, 2);
    assert_int_equal(v->partition_change_version, 2);
    assert_int_equal(v->register_broker_version, 4);
    assert_true(v->flags & META_HAS_ELR);
    v = meta_version_find(7);
    assert_int_equal(v->partition_version, 0);
    assert_int_equal(v->register_broker_version, 1);
    assert_false(v->flags & META_HAS_DIRECTORY_ASSIGNMENT);
    assert_null(meta_version_find(6));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_of_the_release), cmocka_unit_test(defaults_follow_metadata_version),
        cmocka_unit_test(needs_of_a_level),      cmocka_unit_test(versions_by_name_and_release),
        cmocka_unit_test(record_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
