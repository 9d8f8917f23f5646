/* Hooks that run when a thread ends. */
#include "base/thread_exit.h"

#include "../unit.h"

#include <string.h>

static char trace[16];
static int again;
static void run_first(void);
static void run_second(void);
static struct thread_exit first = {.run = run_first}, second = {.run = run_second};

static void note(char c)
{
    size_t size = strlen(trace);
    assert_true(size < sizeof trace - 1);
    trace[size] = c;
}

static void run_first(void)
{
    note('1');
}

static void run_second(void)
{
    note('2');
    if (again-- > 0)
        thread_exit_add(&second);
}

static void begin(void)
{
    memset(trace, 0, sizeof trace);
    again = 0;
}

static void each_runs_once_the_last_first(void **state)
{
    (void)state;
    begin();
    thread_exit_add(&first);
    thread_exit_add(&second);
    thread_exit_add(&first);
    thread_exit_run();
    assert_string_equal(trace, "21");
    thread_exit_run();
    assert_string_equal(trace, "21");
}

static void one_added_meanwhile_runs_too(void **state)
{
    (void)state;
    begin();
    again = 1;
    thread_exit_add(&first);
    thread_exit_add(&second);
    thread_exit_run();
    assert_string_equal(trace, "221");
    thread_exit_add(&first); /* and may be added anew later */
    thread_exit_run();
    assert_string_equal(trace, "2211");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_runs_once_the_last_first),
        cmocka_unit_test(one_added_meanwhile_runs_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
