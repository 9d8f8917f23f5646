#include "os/lock.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../unit.h"

static void knows_what_is_held(void **state)
{
    (void)state;
    struct lock table, leaf;
    lock_init(&table, LOCK_TABLE);
    lock_init(&leaf, LOCK_LEAF);
    assert_false(lock_held_from(LOCK_CONTROLLER));
    lock_take(&table);
    assert_true(lock_held_from(LOCK_CONTROLLER));
    assert_true(lock_held_from(LOCK_TABLE));
    assert_false(lock_held_from(LOCK_PARTITION));
    lock_take(&leaf);
    assert_true(lock_held_from(LOCK_LEAF));
    lock_release(&table); /* any order of release */
    lock_release(&leaf);
    assert_false(lock_held_from(LOCK_CONTROLLER));
    lock_fini(&table);
    lock_fini(&leaf);
}

/* Takes `second` while `first` is held, in a child; true when that ended it. */
static bool dies(enum lock_class first, enum lock_class second)
{
    pid_t child = fork();
    if (child == 0) {
        close(STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        struct lock a, b;
        lock_init(&a, first);
        lock_init(&b, second);
        lock_take(&a);
        lock_take(&b);
        _exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void refuses_the_wrong_order(void **state)
{
    (void)state;
    assert_true(dies(LOCK_PARTITION, LOCK_TABLE));
    assert_true(dies(LOCK_PARTITION, LOCK_PARTITION));
    assert_true(dies(LOCK_LEAF, LOCK_LEAF));
    assert_false(dies(LOCK_CONTROLLER, LOCK_PARTITION));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(knows_what_is_held),
                                       cmocka_unit_test(refuses_the_wrong_order)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
