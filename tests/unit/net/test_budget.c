#include "net/budget.h"

#include "../unit.h"

static void limits_and_reserve(void **state)
{
    (void)state;
    struct budget b;
    int one, two;
    budget_init(&b, 800);
    budget_frame_held(&b); /* somebody will free memory, so nobody may go beyond */
    assert_true(budget_take(&b, 700, false, &one));
    assert_true(budget_is_tight(&b));
    assert_false(budget_take(&b, 101, false, &two));
    assert_true(budget_take(&b, 100, false, &two));
    assert_true(budget_take(&b, 100, true, &two));
    assert_false(budget_take(&b, 1, true, &two));
    assert_false(budget_release(&b, 900));
    atomic_fetch_add(&b.waiters, 1);
    assert_true(budget_take(&b, 5, false, &one));
    assert_true(budget_release(&b, 5));
}

static void one_may_go_beyond_when_nothing_is_held(void **state)
{
    (void)state;
    struct budget b;
    int one, two;
    budget_init(&b, 100);
    assert_true(budget_take(&b, 90, false, &two));
    assert_true(budget_take(&b, 500, false, &one));
    assert_true(budget_take(&b, 500, false, &one));
    assert_false(budget_take(&b, 500, false, &two));
    assert_false(budget_end_exemption(&b, &two));
    atomic_fetch_add(&b.waiters, 1);
    assert_true(budget_end_exemption(&b, &one));
    assert_true(budget_take(&b, 1, false, &two));
}

/* Answers that nobody reads keep large frames out, exempt ones too, but not heartbeats. */
static void extra_memory(void **state)
{
    (void)state;
    struct budget b;
    int one, two;
    budget_init(&b, 800);
    budget_extra_take(&b, 900);
    assert_true(budget_is_tight(&b));
    assert_false(budget_take(&b, 1, false, &one));
    assert_true(budget_take(&b, 100, true, &two));
    assert_false(budget_take(&b, 601, true, &two));
    atomic_fetch_add(&b.waiters, 1);
    assert_true(budget_extra_release(&b, 900));
    assert_true(budget_take(&b, 700, false, &one));
    assert_int_equal(atomic_load(&b.used), 800);
    assert_int_equal(atomic_load(&b.extra), 0);
}

static void no_limit(void **state)
{
    (void)state;
    struct budget b;
    budget_init(&b, -1);
    assert_true(budget_take(&b, 1 << 30, false, NULL));
    assert_false(budget_is_tight(&b));
    assert_int_equal(atomic_load(&b.used), 1 << 30);
}

static void the_largest_limit(void **state)
{
    (void)state;
    struct budget b;
    int one;
    budget_init(&b, INT64_MAX);
    budget_frame_held(&b);
    assert_true(budget_take(&b, 1 << 30, false, &one));
    assert_true(budget_take(&b, 100, true, &one));
    assert_false(budget_is_tight(&b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(limits_and_reserve),
                                       cmocka_unit_test(one_may_go_beyond_when_nothing_is_held),
                                       cmocka_unit_test(extra_memory), cmocka_unit_test(no_limit),
                                       cmocka_unit_test(the_largest_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
