#include "os_fixture.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stops;

static void stop(void *context)
{
    pthread_mutex_lock(&mutex);
    stops += *(int *)context;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&mutex);
}

static void signals_arrive_on_the_loop(void **state)
{
    struct fixture *f = *state;
    struct loop *loop = loop_start(f->io, "test");
    int one = 1;
    assert_int_equal(io_on_stop(f->io, loop, stop, &one), ERR_NONE);
    for (int wanted = 1; wanted <= 2; wanted++) {
        kill(getpid(), wanted == 1 ? SIGTERM : SIGINT);
        pthread_mutex_lock(&mutex);
        while (stops < wanted)
            pthread_cond_wait(&changed, &mutex);
        pthread_mutex_unlock(&mutex);
    }
    assert_int_equal(stops, 2);
    loop_stop(loop);
}

static void limits(void **state)
{
    struct fixture *f = *state;
    int64_t machine = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    assert_in_range(io_memory_limit(f->io), 1 << 20, machine);
    assert_in_range(io_processors(f->io), 1, 4096);
    char boot[IO_BOOT_ID_SIZE], again[IO_BOOT_ID_SIZE];
    assert_int_equal(io_boot_id(f->io, boot), ERR_NONE);
    assert_int_equal(strlen(boot), 36); /* a UUID, without the line's end */
    assert_int_equal(io_boot_id(f->io, again), ERR_NONE);
    assert_string_equal(boot, again);
    struct rlimit before;
    getrlimit(RLIMIT_NOFILE, &before);
    struct rlimit low = {before.rlim_max < 100 ? before.rlim_max : 100, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &low);
    int64_t raised = io_raise_file_limit(f->io);
    struct rlimit after;
    getrlimit(RLIMIT_NOFILE, &after);
    assert_true(after.rlim_cur == before.rlim_max);
    assert_true(raised > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FIXTURE_TEST(signals_arrive_on_the_loop),
                                       FIXTURE_TEST(limits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
