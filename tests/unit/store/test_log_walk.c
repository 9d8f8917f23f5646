#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

#include <pthread.h>

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
    assert_ptr_equal(lock, &log->own_lock); /* not attached */
    log_walk_leave(x.dirs, log, lock);
    struct lock own;
    lock_init(&own, LOCK_PARTITION);
    log_attach(log, &own);
    assert_ptr_equal(log_walk_enter(x.dirs, "t-0", log->serial, &lock), log);
    assert_ptr_equal(lock, &own);
    log_walk_leave(x.dirs, log, lock);
    log_detach(log);
    lock_fini(&own);
    dirs_end(&x);
}

/* ---- who waits for whom ------------------------------------------------------------------------
 */

struct other {
    void (*run)(struct other *other);
    struct dirs_fixture *x;
    struct log *log;
    struct lock lock;
    pthread_t thread;
    uint32_t done; /* atomic */
    int told;
};

static void *other_thread(void *context)
{
    struct other *other = context;
    other->run(other);
    __atomic_store_n(&other->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

static void begin(struct other *other, void (*run)(struct other *other))
{
    other->run = run;
    other->done = 0;
    assert_int_equal(pthread_create(&other->thread, NULL, other_thread, other), 0);
}

/* Within `ms`? */
static bool ends(struct other *other, int ms)
{
    for (int i = 0; i < ms && !__atomic_load_n(&other->done, __ATOMIC_ACQUIRE); i++)
        usleep(1000);
    return __atomic_load_n(&other->done, __ATOMIC_ACQUIRE);
}

static void join(struct other *other)
{
    assert_true(ends(other, 10000));
    assert_int_equal(pthread_join(other->thread, NULL), 0);
}

static void run_jobs(struct other *other)
{
    log_dirs_run_now(other->x->dirs, 0);
}

static void run_cleaner(struct other *other)
{
    cleaner_run_now(other->x->dirs->cleaner, 0);
}

static void create(struct other *other)
{
    dirs_create(other->x, "other", 0);
    assert_non_null(log_dirs_get(other->x->dirs, SLICE_LIT("other"), 0));
}

static void detach(struct other *other)
{
    log_detach(other->log);
}

/* A log whose disk hangs under its lock: jobs wait for it, nobody else does. */
static void a_log_that_hangs_delays_no_other(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    struct other job = {.x = &x}, cleaner = {.x = &x}, creation = {.x = &x};
    job.log = dirs_create(&x, "t", 0);
    dirs_append(&x, job.log, 1);
    lock_init(&job.lock, LOCK_PARTITION);
    log_attach(job.log, &job.lock);
    lock_take(&job.lock);
    begin(&job, run_jobs);
    begin(&cleaner, run_cleaner);
    assert_false(ends(&job, 20));
    begin(&creation, create);
    assert_true(ends(&creation, 5000));
    join(&creation);
    assert_false(ends(&cleaner, 1));
    lock_release(&job.lock);
    join(&job);
    join(&cleaner);
    assert_int_equal(log_recovery_point(job.log), 1);
    log_detach(job.log);
    lock_fini(&job.lock);
    dirs_end(&x);
}

/* The holder's lock stays for as long as a job waits for it. */
static void detaching_waits_for_who_waits(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct other job = {.x = &x}, detaching = {.x = &x};
    job.log = detaching.log = dirs_create(&x, "t", 0);
    dirs_append(&x, job.log, 1);
    lock_init(&job.lock, LOCK_PARTITION);
    log_attach(job.log, &job.lock);
    lock_take(&job.lock);
    begin(&job, run_jobs);
    assert_false(ends(&job, 20));
    begin(&detaching, detach);
    assert_false(ends(&detaching, 20));
    lock_release(&job.lock);
    join(&detaching);
    lock_fini(&job.lock);
    join(&job);
    assert_int_equal(log_recovery_point(job.log), 1); /* by its own lock */
    dirs_end(&x);
}

static void count_told(void *context)
{
    struct other *other = context;
    assert_false(lock_held_from(LOCK_CONTROLLER));
    other->told++;
    if (other->told == 1)
        assert_false(ends(other, 20)); /* it is detached meanwhile, and waits */
}

static void holders_are_told_outside_locks(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct other detaching = {.x = &x, .log = dirs_create(&x, "t", 0)};
    lock_init(&detaching.lock, LOCK_PARTITION);
    log_on_flushed(detaching.log, count_told, &detaching);
    log_attach(detaching.log, &detaching.lock);
    struct lock *lock;
    assert_non_null(log_walk_enter(x.dirs, "t-0", detaching.log->serial, &lock));
    begin(&detaching, detach);
    usleep(20000);
    assert_int_equal(detaching.told, 0);
    log_walk_leave_flushed(x.dirs, detaching.log, lock); /* detached: not told */
    join(&detaching);
    assert_int_equal(detaching.told, 0);

    log_on_flushed(detaching.log, count_told, &detaching);
    log_attach(detaching.log, &detaching.lock);
    assert_non_null(log_walk_enter(x.dirs, "t-0", detaching.log->serial, &lock));
    detaching.done = 0;
    log_walk_leave_flushed(x.dirs, detaching.log, lock);
    assert_int_equal(detaching.told, 1);
    log_detach(detaching.log);
    lock_fini(&detaching.lock);
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
    int all = 0, first = 0, second = 0, together = 0;
    log_walk_each(x.dirs, NULL, count, &all);
    log_walk_each(x.dirs, log_dirs_at(x.dirs, 0), count, &first);
    log_walk_each(x.dirs, log_dirs_at(x.dirs, 1), count, &second);
    log_walk_all(log_dirs_at(x.dirs, 0), count, &together);
    assert_int_equal(all, 5);
    assert_int_equal(first + second, 5);
    assert_true(first > 0 && second > 0);
    assert_int_equal(together, first);
    log_detach(log_dirs_get(x.dirs, SLICE_LIT("t"), 3));
    lock_fini(&own);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(logs_are_found_by_name_and_serial), STORE_TEST(walks_see_the_logs_of_a_folder),
        STORE_TEST(a_log_that_hangs_delays_no_other),  STORE_TEST(detaching_waits_for_who_waits),
        STORE_TEST(holders_are_told_outside_locks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
