#include "store/cleaner_group.h"

#include "../unit.h"

static const struct cleaner_group_limits limits = {100, 1000, 1000};

static void sizes_bound_a_group(void **state)
{
    (void)state;
    struct cleaner_part parts[] = {{0, 40, 8, 12}, {10, 60, 8, 12}, {20, 1, 8, 12}};
    assert_int_equal(cleaner_group_next(parts, 3, &limits), 2);
    parts[1].size = 61;
    assert_int_equal(cleaner_group_next(parts, 3, &limits), 1);
    assert_int_equal(cleaner_group_next(parts + 1, 2, &limits), 2);
    parts[0].size = 4000; /* segment.bytes was lowered since */
    assert_int_equal(cleaner_group_next(parts, 3, &limits), 1);
    parts[0].size = 1;
    parts[0].index_size = 993;
    assert_int_equal(cleaner_group_next(parts, 3, &limits), 1);
    parts[0].index_size = 992;
    assert_int_equal(cleaner_group_next(parts, 3, &limits), 2);
    parts[0].index_size = 0;
    parts[0].time_index_size = 989;
    assert_int_equal(cleaner_group_next(parts, 3, &limits), 1);
}

/* Indexes have 31 bits for an offset. A segment ends where the next one begins. */
static void offsets_bound_a_group(void **state)
{
    (void)state;
    struct cleaner_group_limits far = limits;
    far.offset_end = 5 + INT64_C(0x80000000);
    struct cleaner_part parts[] = {{5, 1, 0, 0}, {1000, 1, 0, 0}, {2000, 1, 0, 0}};
    assert_int_equal(cleaner_group_next(parts, 3, &far), 3);
    far.offset_end++;
    assert_int_equal(cleaner_group_next(parts, 3, &far), 2);
    parts[2].size = 0; /* no offset of it needs a place */
    assert_int_equal(cleaner_group_next(parts, 3, &far), 3);
    parts[2].base = 6 + INT64_C(0x80000000);
    assert_int_equal(cleaner_group_next(parts, 3, &far), 1);
}

static void a_group_has_a_bound(void **state)
{
    (void)state;
    struct cleaner_part parts[CLEANER_GROUP_MAX + 1];
    for (int i = 0; i <= CLEANER_GROUP_MAX; i++)
        parts[i] = (struct cleaner_part){i, 0, 0, 0};
    assert_int_equal(cleaner_group_next(parts, CLEANER_GROUP_MAX + 1, &limits), CLEANER_GROUP_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_bound_a_group),
        cmocka_unit_test(offsets_bound_a_group),
        cmocka_unit_test(a_group_has_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
