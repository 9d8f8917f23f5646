#include "net_fixture.h"

#include "net/chunk.h"
#include "net/net_internal.h"
#include "os/io_ops.h"

static bool always_current(struct loop *loop)
{
    (void)loop;
    return true;
}

static void pools_by_size(void **state)
{
    (void)state;
    static const struct io_ops ops = {.loop_is_current = always_current};
    struct io io = {&ops};
    struct loop loop = {&io};
    struct net net = {.io = &io};
    struct net_loop home = {.net = &net, .loop = &loop};
    budget_init(&net.budget, 0);
    assert_int_equal(chunk_capacity(100), 100);
    assert_int_equal(chunk_capacity(40000), 65536);
    assert_int_equal(chunk_capacity(65537), 131072);
    assert_int_equal(chunk_capacity(1000000), 1048576);
    assert_int_equal(chunk_capacity(1048577), 1048577);

    struct chunk *a = chunk_new(&home, 100000);
    assert_int_equal(a->capacity, 131072);
    assert_true(budget_take(&net.budget, a->capacity, false, NULL));
    a->charged = a->capacity;
    chunk_ref(a);
    chunk_unref(a);
    assert_int_equal(atomic_load(&net.budget.used), 131072);
    chunk_unref(a);
    assert_int_equal(atomic_load(&net.budget.used), 0);
    assert_ptr_equal(chunk_new(&home, 128000), a); /* the same memory again */
    chunk_unref(a);
    struct chunk *many[10];
    for (int i = 0; i < 10; i++)
        many[i] = chunk_new(&home, 1 << 20);
    for (int i = 0; i < 10; i++)
        chunk_unref(many[i]);
    assert_true(home.pool.size <= CHUNK_POOL_SIZE_MAX);
    assert_int_equal(home.pool.counts[4], 3);
    chunk_pool_fini(&home.pool);

    mem_fail_after(0);
    assert_null(chunk_new(&home, 10));
    mem_fail_after(-1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pools_by_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
