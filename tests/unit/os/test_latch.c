#include "../unit.h"

#include "os/io.h"
#include "os/io_linux.h"
#include "os/latch.h"

static void open_it(struct io_job *job);

struct opener {
    struct io_job job;
    struct latch latch;
    int order;
};

static void open_it(struct io_job *job)
{
    struct opener *opener = LIST_ITEM(job, struct opener, job);
    opener->order = 1;
    latch_open(&opener->latch);
}

static void waits_until_it_is_open(void **state)
{
    (void)state;
    struct io *io = io_linux_new();
    struct opener opener = {.job.run = open_it};
    latch_init(&opener.latch);
    io_submit(io, &opener.job);
    latch_wait(&opener.latch);
    assert_int_equal(opener.order, 1);
    latch_wait(&opener.latch); /* open for good */
    io_linux_free(io);
    latch_fini(&opener.latch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_until_it_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
