#include "api/named.h"

#include "../unit.h"

static void counts_by_name_and_index(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct named named;
    named_init(&named, &arena);
    int32_t *count = named_count(&named, slice_str("t"), NULL, 1);
    assert_int_equal(*count, 0);
    *count = 5;
    assert_int_equal(*named_count(&named, slice_str("t"), NULL, 1), 5);
    assert_int_equal(*named_count(&named, slice_str("t"), NULL, 2), 0);
    assert_int_equal(*named_count(&named, slice_str("u"), NULL, 1), 0);
    assert_int_equal(*named_count(&named, slice_str(""), NULL, 1), 0);
    named_fini(&named);
    arena_fini(&arena);
}

static void counts_by_id(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct named named;
    named_init(&named, &arena);
    struct uuid one = {{1}}, two = {{2}};
    ++*named_count(&named, SLICE_NULL, &one, 0);
    assert_int_equal(*named_count(&named, SLICE_NULL, &one, 0), 1);
    assert_int_equal(*named_count(&named, SLICE_NULL, &two, 0), 0);
    named_fini(&named);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_by_name_and_index),
        cmocka_unit_test(counts_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
