#include "repl/replica_moves.h"

#include "moves_fixture.h"

#include <stdatomic.h>

/* The metadata loop's side of a test: each step is run there and awaited. */
struct mover {
    struct moves_fixture f;
    struct replica_moves *moves;
    _Atomic int64_t busy;
    struct replica_moves_item item;
    struct replica_moves_op op;
    atomic_int done;
    struct loop_task task;
    void (*step)(struct mover *m);
    struct replica_moves_config config;
};

static void wait_done(struct mover *m)
{
    for (int i = 0; i < 10000 && !atomic_load(&m->done); i++)
        usleep(1000);
    assert_int_equal(atomic_exchange(&m->done, 0), 1);
}

static void op_done(struct replica_moves_op *op)
{
    atomic_store(&LIST_ITEM(op, struct mover, op)->done, 1);
}

static enum err move_to(struct mover *m, int dir)
{
    m->item = (struct replica_moves_item){m->f.partition, log_dirs_at(m->f.x.dirs, dir), 0};
    m->op = (struct replica_moves_op){.items = &m->item, .count = 1, .done = op_done};
    replica_moves_submit(m->moves, &m->op);
    wait_done(m);
    return m->item.err;
}

static void run_step(struct loop_task *task)
{
    struct mover *m = LIST_ITEM(task, struct mover, task);
    m->step(m);
    atomic_store(&m->done, 1);
}

static void on_loop(struct mover *m, void (*step)(struct mover *m))
{
    m->step = step;
    m->task.run = run_step;
    list_init(&m->task.link);
    loop_post(m->f.x.loop, &m->task);
    wait_done(m);
}

static void configure(struct mover *m)
{
    replica_moves_configure(m->moves, &m->config);
}

static void set_rate(struct mover *m, int64_t rate, int64_t pause_ms_max)
{
    m->config =
        (struct replica_moves_config){.threads = 1, .rate = rate, .pause_ms_max = pause_ms_max};
    on_loop(m, configure);
}

static void start(struct mover *m, void **state)
{
    memset(m, 0, sizeof *m);
    moves_start(&m->f, state);
    struct replica_moves_options options = {
        .io = m->f.x.f->io, .loop = m->f.x.loop, .dirs = m->f.x.dirs, .busy_count = &m->busy};
    m->moves = replica_moves_new(&options);
    set_rate(m, INT64_MAX, 60000);
}

static void stop(struct mover *m)
{
    replica_moves_stop(m->moves);
}

static void end(struct mover *m)
{
    on_loop(m, stop);
    for (int i = 0; i < 10000 && atomic_load(&m->busy); i++)
        usleep(1000);
    replica_moves_free(m->moves);
    moves_end(&m->f);
}

static struct log_dir *dir_now(struct mover *m)
{
    int64_t size;
    struct log_dir *dir;
    assert_true(partition_size(m->f.partition, &size, &dir));
    return dir;
}

static void await_dir(struct mover *m, int dir)
{
    for (int i = 0; i < 10000 && dir_now(m) != log_dirs_at(m->f.x.dirs, dir); i++)
        usleep(1000);
    assert_ptr_equal(dir_now(m), log_dirs_at(m->f.x.dirs, dir));
}

static void there_and_back(void **state)
{
    struct mover m;
    start(&m, state);
    for (int i = 0; i < 50; i++)
        assert_int_equal(moves_append(&m.f, i, 1, 50000), ERR_NONE);
    for (int round = 1; round <= 4; round++) {
        assert_int_equal(move_to(&m, round % 2), ERR_NONE);
        assert_int_equal(moves_append(&m.f, 49 + round, 1, 50000), ERR_NONE);
        await_dir(&m, round % 2);
    }
    struct partition_ends ends;
    assert_int_equal(partition_ends(m.f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.log_end, 54);
    end(&m);
}

/* At a byte a second it stays on its way. */
static void cancelled_by_the_folder_where_it_is(void **state)
{
    struct mover m;
    start(&m, state);
    set_rate(&m, 1, INT64_MAX);
    for (int i = 0; i < 5; i++)
        assert_int_equal(moves_append(&m.f, i, 1, 50000), ERR_NONE);
    struct partition_future future;
    assert_int_equal(move_to(&m, 0), ERR_NONE); /* it is there */
    assert_false(partition_future(m.f.partition, &future));
    assert_int_equal(move_to(&m, 1), ERR_NONE);
    assert_int_equal(move_to(&m, 1), ERR_NONE);
    assert_true(partition_future(m.f.partition, &future));
    assert_true(future.lag > 0);
    assert_int_equal(move_to(&m, 0), ERR_NONE);
    assert_false(partition_future(m.f.partition, &future));
    for (int i = 0; i < 10000 && log_dirs_log_count(m.f.x.dirs) > 1; i++)
        usleep(1000);
    assert_int_equal(log_dirs_log_count(m.f.x.dirs), 1);
    assert_int_equal(move_to(&m, 1), ERR_NONE);
    set_rate(&m, INT64_MAX, 60000);
    await_dir(&m, 1);
    end(&m);
}

static void forget(struct mover *m)
{
    replica_moves_forget(m->moves, m->f.partition);
}

static void forgotten_with_its_partition(void **state)
{
    struct mover m;
    start(&m, state);
    set_rate(&m, 1, 60000);
    assert_int_equal(moves_append(&m.f, 0, 1, 50000), ERR_NONE);
    assert_int_equal(moves_append(&m.f, 1, 1, 50000), ERR_NONE);
    assert_int_equal(move_to(&m, 1), ERR_NONE);
    on_loop(&m, forget);
    for (int i = 0; i < 10000 && log_dirs_log_count(m.f.x.dirs) > 1; i++)
        usleep(1000);
    assert_int_equal(log_dirs_log_count(m.f.x.dirs), 1);
    end(&m);
}

static void offline_is_an_error(void **state)
{
    struct mover m;
    start(&m, state);
    log_dir_fail(log_dirs_at(m.f.x.dirs, 1), "test");
    assert_int_equal(move_to(&m, 1), ERR_KAFKA_STORAGE_ERROR);
    end(&m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(there_and_back),
        STORE_TEST(cancelled_by_the_folder_where_it_is),
        STORE_TEST(forgotten_with_its_partition),
        STORE_TEST(offline_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
