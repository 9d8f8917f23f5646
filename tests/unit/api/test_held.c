#include "api/held.h"
#include "harness.h"

static void which_error(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 2), 0);
    struct api_context *context = node_context(h.node);
    struct partition *partition;
    assert_int_equal(held_find(context, slice_str("t"), NULL, 1, &partition), ERR_NONE);
    struct uuid id = partition->topic_id, zero = UUID_ZERO;
    partition_unref(partition);
    assert_int_equal(held_find(context, SLICE_NULL, &id, 0, &partition), ERR_NONE);
    partition_unref(partition);
    assert_int_equal(held_find(context, slice_str("t"), NULL, 2, &partition),
                     ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(held_find(context, slice_str("t"), NULL, -1, &partition),
                     ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(held_find(context, slice_str("u"), NULL, 0, &partition),
                     ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(held_find(context, SLICE_NULL, &zero, 0, &partition), ERR_UNKNOWN_TOPIC_ID);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(which_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
