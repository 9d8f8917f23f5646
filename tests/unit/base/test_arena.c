#include "base/arena.h"

#include "../unit.h"

static void pieces_are_zeroed_aligned_and_apart(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    uint8_t *last = NULL;
    for (size_t size = 1; size < 3000; size += 37) {
        uint8_t *p = arena_alloc(&a, size);
        assert_int_equal((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(p[i], 0);
        memset(p, 0xee, size);
        assert_ptr_not_equal(p, last);
        last = p;
    }
    arena_fini(&a);
}

static void limit_refuses_and_bounded_alloc_does_not(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    a.size_max = 4096;
    assert_null(arena_try_alloc(&a, 5000));
    assert_null(arena_try_alloc(&a, SIZE_MAX));
    assert_non_null(arena_try_alloc(&a, 2000));
    assert_non_null(arena_alloc(&a, 100000));
    arena_fini(&a);
    assert_int_equal(a.size_max, 4096);
}

static void null_strings_stay_null(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    assert_null(arena_dup(&a, SLICE_NULL).data);
    assert_non_null(arena_dup(&a, slice_of("", 0)).data);
    assert_null(arena_cstr(&a, SLICE_NULL));
    assert_string_equal(arena_cstr(&a, SLICE_LIT("ab")), "ab");
    assert_slice_eq(arena_printf(&a, "%d-%s", 7, "x"), "7-x");
    arena_fini(&a);
}

static void a_text_fits_in_a_kafka_string(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    char *long_text = arena_alloc(&a, 40000);
    memset(long_text, 'x', 32767);
    struct slice whole = arena_printf(&a, "%s", long_text);
    assert_int_equal(whole.size, 32767);
    assert_int_equal(whole.data[32766], 'x');
    memset(long_text, 'x', 39999);
    struct slice cut = arena_printf(&a, "%s", long_text);
    assert_int_equal(cut.size, 32767);
    assert_memory_equal(cut.data + 32763, "x...", 4);
    /* Characters of two bytes, the first at an odd place: none is cut in two. */
    for (size_t i = 0; i < 39998; i += 2)
        memcpy(long_text + i, "\xc3\xa9", 2);
    cut = arena_printf(&a, "x%s", long_text);
    assert_int_equal(cut.size, 32766);
    assert_memory_equal(cut.data + 32761, "\xc3\xa9...", 5);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_zeroed_aligned_and_apart),
        cmocka_unit_test(limit_refuses_and_bounded_alloc_does_not),
        cmocka_unit_test(null_strings_stay_null),
        cmocka_unit_test(a_text_fits_in_a_kafka_string),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
