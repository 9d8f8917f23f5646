#include "os/io_linux.h"

#include "os/io.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "../unit.h"

static int thread_count(void)
{
    FILE *f = fopen("/proc/self/status", "r");
    assert_non_null(f);
    char line[256];
    int threads = 0;
    while (fgets(line, sizeof line, f))
        if (sscanf(line, "Threads: %d", &threads) == 1)
            break;
    fclose(f);
    return threads;
}

static void starts_without_threads(void **state)
{
    (void)state;
    int before = thread_count();
    struct io *io = io_linux_new();
    assert_int_equal(thread_count(), before); /* workers come with the first job */
    struct sigaction action;
    sigaction(SIGPIPE, NULL, &action);
    assert_ptr_equal(action.sa_handler, SIG_IGN);
    io_linux_free(io);
    io_linux_free(NULL);
}

static void clocks_and_randomness(void **state)
{
    (void)state;
    struct io *io = io_linux_new();
    assert_true(io_wall_ms(io) > 1700000000000);
    int64_t a = io_mono_ns(io), b = io_mono_ns(io);
    assert_true(b >= a && a > 0);
    uint8_t zero[300] = {0}, one[300] = {0}, two[300] = {0};
    io_random(io, one, sizeof one);
    io_random(io, two, sizeof two);
    assert_memory_not_equal(one, two, sizeof one);
    assert_memory_not_equal(one + 280, zero, 20);
    io_linux_free(io);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(starts_without_threads),
                                       cmocka_unit_test(clocks_and_randomness)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
