#include "base/ensure.h"

#include "../unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Runs `broken` in a child, returns what it printed; it must end by SIGABRT. */
static void fails_with(void (*broken)(void), const char *want)
{
    int pipe_fds[2];
    char text[512] = {0};
    assert_int_equal(pipe(pipe_fds), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        dup2(pipe_fds[1], 2);
        broken();
        _exit(0);
    }
    close(pipe_fds[1]);
    assert_true(read(pipe_fds[0], text, sizeof text - 1) > 0);
    close(pipe_fds[0]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_non_null(strstr(text, want));
}

static void plain(void)
{
    ENSURE(1 + 1 == 3);
}

static void compared(void)
{
    ENSURE_CMP(5, <=, 4);
}

static void a_bug_says_where_and_what(void **state)
{
    (void)state;
    ENSURE(1 + 1 == 2);
    ENSURE_CMP(4, <=, 5);
    fails_with(plain, "1 + 1 == 3");
    fails_with(compared, "(5, 4)");
    fails_with(plain, "the next start recovers");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_bug_says_where_and_what)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
