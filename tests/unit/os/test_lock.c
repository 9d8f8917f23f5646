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
    assert_true(dies(LOCK_LOGS, LOCK_PARTITION)); /* nobody waits for a log under the table's */
    assert_false(dies(LOCK_CONTROLLER, LOCK_PARTITION));
    assert_false(dies(LOCK_PARTITION, LOCK_LOGS));
}

struct waiting {
    struct lock lock;
    struct lock_signal signal;
    bool said, heard;
};

static void *hear(void *context)
{
    struct waiting *w = context;
    lock_take(&w->lock);
    while (!w->said)
        lock_wait(&w->lock, &w->signal);
    assert_true(lock_held_from(LOCK_LOGS));
    w->heard = true;
    lock_release(&w->lock);
    return NULL;
}

static void waiting_lets_others_in(void **state)
{
    (void)state;
    struct waiting w = {0};
    lock_init(&w.lock, LOCK_LOGS);
    lock_signal_init(&w.signal);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, hear, &w), 0);
    usleep(10000);
    lock_take(&w.lock);
    assert_false(w.heard);
    w.said = true;
    lock_wake(&w.signal);
    lock_release(&w.lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(w.heard);
    lock_signal_fini(&w.signal);
    lock_fini(&w.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(knows_what_is_held),
                                       cmocka_unit_test(refuses_the_wrong_order),
                                       cmocka_unit_test(waiting_lets_others_in)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
