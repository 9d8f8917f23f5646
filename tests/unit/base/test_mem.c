#include "base/mem.h"

#include "../unit.h"

#include <string.h>

static void the_nth_try_fails_once(void **state)
{
    (void)state;
    mem_fail_after(2);
    for (int i = 0; i < 5; i++) {
        void *p = mem_try_alloc(10);
        assert_true((p == NULL) == (i == 2));
        mem_free(p);
    }
    mem_fail_after(-1);
}

static void printf_and_arrays(void **state)
{
    (void)state;
    char *text = mem_printf("%s-%d", "partition", 12);
    assert_string_equal(text, "partition-12");
    mem_free(text);
    int *numbers = mem_array(100, sizeof *numbers);
    for (int i = 0; i < 100; i++)
        assert_int_equal(numbers[i], 0);
    mem_free(numbers);
    mem_free(NULL);
}

static void arrays_grow_by_doubling(void **state)
{
    (void)state;
    int *items = NULL;
    size_t capacity = 0;
    for (int i = 0; i < 100; i++) {
        items = mem_grow(items, &capacity, (size_t)i, sizeof *items);
        items[i] = i;
    }
    assert_int_equal(capacity, 128);
    for (int i = 0; i < 100; i++)
        assert_int_equal(items[i], i);
    mem_free(items);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_nth_try_fails_once),
        cmocka_unit_test(printf_and_arrays),
        cmocka_unit_test(arrays_grow_by_doubling),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
