#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

static void count(struct log *log, void *context)
{
    assert_non_null(log);
    ++*(int *)context;
}

static void logs_are_found_by_name_and_serial(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct lock *lock = NULL;
    assert_null(log_walk_enter(x.dirs, "t-1", log->serial, &lock));
    assert_null(log_walk_enter(x.dirs, "t-0", log->serial + 1, &lock)); /* another of that name */
    assert_ptr_equal(log_walk_enter(x.dirs, "t-0", log->serial, &lock), log);
    assert_null(lock); /* not attached: the table's lock covers it */
    log_walk_leave(x.dirs, lock);
    struct lock own;
    lock_init(&own, LOCK_PARTITION);
    log_attach(log, &own);
    assert_ptr_equal(log_walk_enter(x.dirs, "t-0", log->serial, &lock), log);
    assert_ptr_equal(lock, &own);
    log_walk_leave(x.dirs, lock);
    log_detach(log);
    lock_fini(&own);
    dirs_end(&x);
}

static void walks_see_the_logs_of_a_folder(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    struct lock own;
    lock_init(&own, LOCK_PARTITION);
    for (int i = 0; i < 5; i++)
        dirs_create(&x, "t", i);
    log_attach(log_dirs_get(x.dirs, SLICE_LIT("t"), 3), &own);
    int all = 0, first = 0, second = 0, at_once = 0;
    log_walk_each(x.dirs, NULL, count, &all);
    log_walk_each(x.dirs, log_dirs_at(x.dirs, 0), count, &first);
    log_walk_each(x.dirs, log_dirs_at(x.dirs, 1), count, &second);
    log_walk_at_once(log_dirs_at(x.dirs, 0), count, &at_once);
    assert_int_equal(all, 5);
    assert_int_equal(first + second, 5);
    assert_true(first > 0 && second > 0);
    assert_int_equal(at_once, first);
    log_detach(log_dirs_get(x.dirs, SLICE_LIT("t"), 3));
    lock_fini(&own);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(logs_are_found_by_name_and_serial),
        STORE_TEST(walks_see_the_logs_of_a_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
