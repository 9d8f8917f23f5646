#include "store/cleaner_map.h"

#include "base/mem.h"

#include "../unit.h"

#include <stdio.h>

static const struct siphash_key secret = {11, 12};

static struct siphash hash_of(const struct cleaner_map *map, int i)
{
    char key[16];
    int size = snprintf(key, sizeof key, "key-%d", i);
    return cleaner_map_hash(map, slice_of(key, (size_t)size));
}

static void keeps_the_last_offset_of_each_key(void **state)
{
    (void)state;
    struct cleaner_map map;
    assert_int_equal(cleaner_map_init(&map, 1 << 20, 0.9, 1000, &secret), ERR_NONE);
    assert_int_equal(map.offset_last, -1);
    for (int i = 0; i < 3000; i++)
        if (i < 2999)
            assert_true(cleaner_map_put(&map, hash_of(&map, i % 999), i));
    assert_int_equal(map.count, 999);
    assert_int_equal(map.offset_last, 2998);
    for (int i = 0; i < 999; i++)
        assert_int_equal(cleaner_map_get(&map, hash_of(&map, i)), i < 2 ? 2997 + i : 1998 + i);
    assert_int_equal(cleaner_map_get(&map, hash_of(&map, 999)), -1);
    assert_int_equal(cleaner_map_get(&map, cleaner_map_hash(&map, SLICE_LIT(""))), -1);
    cleaner_map_fini(&map);
}

static void memory_bounds_it(void **state)
{
    (void)state;
    struct cleaner_map map;
    /* Ten slots, of which nine may be taken. */
    assert_int_equal(cleaner_map_init(&map, 10 * CLEANER_SLOT_SIZE, 0.9, INT64_MAX, &secret),
                     ERR_NONE);
    assert_int_equal(map.slot_count, 10);
    for (int i = 0; i < 9; i++)
        assert_true(cleaner_map_put(&map, hash_of(&map, i), i));
    assert_false(cleaner_map_put(&map, hash_of(&map, 9), 9));
    assert_false(cleaner_map_put(&map, hash_of(&map, 0), 9)); /* a key it has, too */
    assert_int_equal(map.offset_last, 8);
    assert_int_equal(cleaner_map_get(&map, hash_of(&map, 0)), 0);
    assert_int_equal(cleaner_map_get(&map, hash_of(&map, 9)), -1);
    cleaner_map_fini(&map);
    /* Full load still leaves a slot where look-ups end. */
    assert_int_equal(cleaner_map_init(&map, 4 * CLEANER_SLOT_SIZE, 1.0, INT64_MAX, &secret),
                     ERR_NONE);
    for (int i = 0; i < 3; i++)
        assert_true(cleaner_map_put(&map, hash_of(&map, i), i));
    assert_false(cleaner_map_put(&map, hash_of(&map, 3), 3));
    assert_int_equal(cleaner_map_get(&map, hash_of(&map, 3)), -1);
    cleaner_map_fini(&map);
    assert_int_equal(cleaner_map_init(&map, CLEANER_SLOT_SIZE, 0.9, 1, &secret), ERR_ARGUMENT);
    assert_int_equal(cleaner_map_init(&map, 0, 0.9, 1, &secret), ERR_ARGUMENT);
}

/* A short dirty section takes a short map, however large the buffer may be. */
static void few_keys_take_little(void **state)
{
    (void)state;
    struct cleaner_map map;
    assert_int_equal(cleaner_map_init(&map, INT64_C(1) << 40, 0.9, 3, &secret), ERR_NONE);
    assert_true(map.slot_max < 8);
    for (int i = 0; i < 3; i++)
        assert_true(cleaner_map_put(&map, hash_of(&map, i), i));
    assert_int_equal(cleaner_map_get(&map, hash_of(&map, 7)), -1);
    cleaner_map_fini(&map);
}

/* Many more keys than it begins with; each growth finds all of them again. */
static void it_grows_up_to_its_bound(void **state)
{
    (void)state;
    enum { KEYS = 200000, SLOTS = 150000 };
    struct cleaner_map map;
    assert_int_equal(cleaner_map_init(&map, SLOTS * CLEANER_SLOT_SIZE, 0.8, KEYS, &secret),
                     ERR_NONE);
    assert_true(map.slot_count < SLOTS / 4);
    int count = 0;
    while (cleaner_map_put(&map, hash_of(&map, count), count))
        count++;
    assert_int_equal(count, SLOTS * 8 / 10);
    assert_int_equal(map.count, count);
    assert_int_equal(map.slot_count, SLOTS);
    assert_int_equal(map.offset_last, count - 1);
    for (int i = 0; i < KEYS; i++)
        assert_int_equal(cleaner_map_get(&map, hash_of(&map, i)), i < count ? i : -1);
    cleaner_map_fini(&map);
    /* Short of memory it is full as it is. */
    assert_int_equal(cleaner_map_init(&map, SLOTS * CLEANER_SLOT_SIZE, 0.8, KEYS, &secret),
                     ERR_NONE);
    uint64_t first = map.count_grow;
    mem_fail_after(0);
    for (count = 0; cleaner_map_put(&map, hash_of(&map, count), count); count++)
        ;
    mem_fail_after(-1);
    assert_int_equal(count, first);
    for (int i = 0; i < count; i++)
        assert_int_equal(cleaner_map_get(&map, hash_of(&map, i)), i);
    cleaner_map_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_the_last_offset_of_each_key),
        cmocka_unit_test(memory_bounds_it),
        cmocka_unit_test(few_keys_take_little),
        cmocka_unit_test(it_grows_up_to_its_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
