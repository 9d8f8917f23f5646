/* Sets of topic partitions: order, repetition, removal, copies. */
#include "../unit.h"

#include "base/buf.h"
#include "coord/partition_set.h"

static void expect(const struct partition_set *set, const char *text)
{
    struct buf b;
    size_t count = 0;
    buf_init(&b);
    for (size_t i = 0; i < set->topic_count; i++) {
        assert_true(set->topics[i].count > 0);
        for (size_t p = 0; p < set->topics[i].count; p++, count++)
            buf_printf(&b, "%.*s-%d ", SLICE_FMT(set->topics[i].name),
                       (int)set->topics[i].partitions[p]);
    }
    buf_put_i8(&b, 0);
    assert_string_equal((const char *)b.data, text);
    assert_int_equal(count, set->count);
    buf_fini(&b);
}

static void test_order(void **state)
{
    (void)state;
    struct partition_set set;
    partition_set_init(&set);
    assert_true(partition_set_add(&set, SLICE_LIT("b"), 1));
    assert_true(partition_set_add(&set, SLICE_LIT("c"), 7));
    assert_true(partition_set_add(&set, SLICE_LIT("a"), 2));
    assert_true(partition_set_add(&set, SLICE_LIT("b"), 9));
    assert_true(partition_set_add(&set, SLICE_LIT("b"), 0));
    assert_true(partition_set_add(&set, SLICE_LIT("b"), 5));
    assert_true(partition_set_add(&set, SLICE_LIT(""), 0));
    assert_false(partition_set_add(&set, SLICE_LIT("b"), 5));
    assert_false(partition_set_add(&set, SLICE_LIT("c"), 7));
    expect(&set, "-0 a-2 b-0 b-1 b-5 b-9 c-7 ");
    assert_true(partition_set_has(&set, SLICE_LIT("b"), 5));
    assert_false(partition_set_has(&set, SLICE_LIT("b"), 4));
    assert_false(partition_set_has(&set, SLICE_LIT("b"), 10));
    assert_false(partition_set_has(&set, SLICE_LIT("bb"), 5));
    partition_set_fini(&set);
    expect(&set, "");
}

static void test_remove(void **state)
{
    (void)state;
    struct partition_set set = {0};
    for (int32_t i = 0; i < 10; i++)
        partition_set_add(&set, i % 2 ? SLICE_LIT("odd") : SLICE_LIT("even"), i);
    assert_true(partition_set_remove(&set, SLICE_LIT("odd"), 5));
    assert_false(partition_set_remove(&set, SLICE_LIT("odd"), 5));
    assert_false(partition_set_remove(&set, SLICE_LIT("none"), 5));
    for (int32_t i = 0; i < 10; i += 2)
        assert_true(partition_set_remove(&set, SLICE_LIT("even"), i));
    expect(&set, "odd-1 odd-3 odd-7 odd-9 ");
    assert_true(partition_set_add(&set, SLICE_LIT("even"), 4));
    expect(&set, "even-4 odd-1 odd-3 odd-7 odd-9 ");
    partition_set_fini(&set);
}

static void test_copy(void **state)
{
    (void)state;
    struct partition_set a = {0}, b = {0};
    partition_set_add(&a, SLICE_LIT("t"), 3);
    partition_set_add(&a, SLICE_LIT("u"), 1);
    partition_set_add(&b, SLICE_LIT("old"), 1);
    partition_set_copy(&b, &a);
    partition_set_remove(&a, SLICE_LIT("u"), 1);
    partition_set_add(&b, SLICE_LIT("t"), 1);
    expect(&a, "t-3 ");
    expect(&b, "t-1 t-3 u-1 ");
    partition_set_fini(&a);
    partition_set_copy(&b, &a);
    expect(&b, "");
    partition_set_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_remove),
        cmocka_unit_test(test_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
