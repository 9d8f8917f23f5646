#include "base/map.h"

#include "../unit.h"

#include <stdlib.h>

/* Against a plain array: random puts, replaces and removes of 300 keys. */
static void agrees_with_an_array(void **state)
{
    (void)state;
    enum { KEYS = 300, STEPS = 20000 };
    uint32_t keys[KEYS];
    void *want[KEYS] = {0};
    struct map m;
    map_init(&m);
    uint32_t seed = 1;
    size_t count = 0;
    for (uint32_t i = 0; i < KEYS; i++)
        keys[i] = i * 65536;
    for (int step = 1; step <= STEPS; step++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t k = (seed >> 8) % KEYS;
        void *value = (seed >> 20) % 3 ? (void *)(uintptr_t)step : NULL;
        void *old = value ? map_put(&m, MAP_KEY(keys[k]), value) : map_remove(&m, MAP_KEY(keys[k]));
        assert_ptr_equal(old, want[k]);
        count += (size_t)(value != NULL) - (size_t)(want[k] != NULL);
        want[k] = value;
        assert_int_equal(map_count(&m), count);
    }
    for (uint32_t k = 0; k < KEYS; k++)
        assert_ptr_equal(map_get(&m, MAP_KEY(keys[k])), want[k]);
    map_fini(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agrees_with_an_array)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
