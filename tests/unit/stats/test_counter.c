/* Counters: adds of one owner and of several threads. */
#include "../unit.h"

#include <pthread.h>

#include "stats/counter.h"

static struct counter shared;

static void *add_many(void *arg)
{
    for (int i = 0; i < 100000; i++)
        counter_add_shared(&shared, 2);
    return arg;
}

static void test_one_owner(void **state)
{
    (void)state;
    struct counter c = {0};
    assert_int_equal(counter_read(&c), 0);
    counter_add(&c, 5);
    counter_add(&c, UINT64_MAX); /* wraps, as a difference of two readings expects */
    assert_int_equal(counter_read(&c), 4);
    counter_set(&c, 9);
    assert_int_equal(counter_read(&c), 9);
}

static void test_several_threads(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, NULL), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(counter_read(&shared), 800000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_owner),
        cmocka_unit_test(test_several_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
