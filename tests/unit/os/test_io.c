#include "os/io.h"

#include "base/mem.h"
#include "os/io_ops.h"

#include <stdio.h>

#include "../unit.h"

/* io.c only hands over: a table that records what arrives shows that nothing is lost or swapped. */
static char seen[256];

static enum err fake_pwritev(struct io *io, int fd, const struct iovec *parts, int count,
                             int64_t offset)
{
    (void)io;
    snprintf(seen, sizeof seen, "%d %d %.*s %lld", fd, count, (int)parts[0].iov_len,
             (const char *)parts[0].iov_base, (long long)offset);
    return ERR_DISK_FULL;
}

static void fake_post(struct loop *loop, struct loop_task *task)
{
    (void)loop;
    task->run(task);
}

static int64_t fake_mono_ns(struct io *io)
{
    (void)io;
    return 1234567890;
}

static void fake_run(struct loop_task *task)
{
    (void)task;
    snprintf(seen, sizeof seen, "ran");
}

static const struct io_ops ops = {
    .pwritev = fake_pwritev, .loop_post = fake_post, .mono_ns = fake_mono_ns};

static void hands_over(void **state)
{
    (void)state;
    struct io io = {&ops};
    assert_int_equal(io_pwrite(&io, 7, "abc", 3, 99), ERR_DISK_FULL);
    assert_string_equal(seen, "7 1 abc 99");
    assert_int_equal(io_mono_ms(&io), 1234);
    struct loop loop = {&io};
    struct loop_task task = {.run = fake_run};
    loop_post(&loop, &task);
    assert_string_equal(seen, "ran");
}

static void frees_names(void **state)
{
    (void)state;
    char **names = mem_array(2, sizeof *names);
    names[0] = mem_strdup("a");
    names[1] = mem_strdup("b");
    io_free_names(names, 2);
    io_free_names(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hands_over), cmocka_unit_test(frees_names)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
