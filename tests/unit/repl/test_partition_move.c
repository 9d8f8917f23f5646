#include "moves_fixture.h"

#include "store/log_copy.h"

struct future {
    struct lock lock;
    struct log *log;
};

static void make(struct moves_fixture *f, struct future *future)
{
    assert_int_equal(log_dirs_create_future(f->x.dirs, log_dirs_at(f->x.dirs, 1), SLICE_LIT("t"), 0,
                                            &f->partition->topic_id, &f->x.load.default_config, 0,
                                            &future->log),
                     ERR_NONE);
    lock_init(&future->lock, LOCK_FUTURE);
    log_attach(future->log, &future->lock);
    partition_set_future(f->partition, future->log, &future->lock);
    assert_int_equal(partition_copy_begin(f->partition, future->log), ERR_NONE);
}

static enum err copy_piece(struct moves_fixture *f, struct future *future, size_t size_max)
{
    struct log_copy copy;
    enum err err =
        partition_copy_prepare(f->partition, future->log, log_end(future->log), size_max, &copy);
    if (err)
        return err;
    err = log_copy_run(&copy);
    if (!err)
        err = log_copy_finish(future->log, &copy);
    log_copy_end(&copy);
    return err;
}

/* What came after the last piece goes along, and the producer writes on. */
static void the_future_takes_the_place(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    struct future future;
    make(&f, &future);
    assert_int_equal(copy_piece(&f, &future, 1 << 20), ERR_NONE);
    assert_int_equal(moves_append(&f, 5, 5, 100), ERR_NONE);
    struct partition_future told;
    assert_true(partition_future(f.partition, &told));
    assert_int_equal(told.lag, 5);
    assert_ptr_equal(told.dir, log_dirs_at(f.x.dirs, 1));
    assert_true(partition_copy_agrees(f.partition, future.log));

    struct log *replaced;
    assert_int_equal(partition_replace_log(f.partition, f.x.dirs, future.log, &replaced), ERR_NONE);
    log_dirs_discard(f.x.dirs, replaced);
    assert_false(partition_future(f.partition, &told));
    int64_t size;
    struct log_dir *dir;
    assert_true(partition_size(f.partition, &size, &dir));
    assert_ptr_equal(dir, log_dirs_at(f.x.dirs, 1));
    assert_int_equal(moves_append(&f, 10, 1, 100), ERR_NONE);
    assert_int_equal(moves_append(&f, 12, 1, 100), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    struct partition_ends ends;
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 11);
    assert_int_equal(log_epoch_latest(f.partition->log), 3);
    lock_fini(&future.lock);
    moves_end(&f);
}

static void too_much_is_missing(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    struct future future;
    make(&f, &future);
    for (int i = 0; i < 4; i++)
        assert_int_equal(moves_append(&f, i, 1, 100000), ERR_NONE);
    struct log *replaced;
    assert_int_equal(partition_replace_log(f.partition, f.x.dirs, future.log, &replaced),
                     ERR_AGAIN);
    assert_int_equal(copy_piece(&f, &future, 100), ERR_NONE);
    assert_int_equal(copy_piece(&f, &future, 100), ERR_NONE);
    assert_int_equal(partition_replace_log(f.partition, f.x.dirs, future.log, &replaced), ERR_NONE);
    log_dirs_discard(f.x.dirs, replaced);
    lock_fini(&future.lock);
    moves_end(&f);
}

static void a_cancelled_future_takes_no_place(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    struct future future;
    make(&f, &future);
    partition_set_future(f.partition, NULL, NULL);
    struct log *replaced;
    assert_int_equal(copy_piece(&f, &future, 100), ERR_CLOSED);
    assert_int_equal(partition_replace_log(f.partition, f.x.dirs, future.log, &replaced),
                     ERR_CLOSED);
    log_detach(future.log);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* A future of another history, or one that knows more than the log. */
static void histories_are_compared(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    struct future future;
    make(&f, &future);
    assert_false(partition_copy_agrees(f.partition, future.log)); /* empty */
    assert_int_equal(copy_piece(&f, &future, 1 << 20), ERR_NONE);
    assert_true(partition_copy_agrees(f.partition, future.log));
    lock_take(&f.partition->lock);
    assert_int_equal(log_truncate_to(f.partition->log, 0), ERR_NONE);
    lock_release(&f.partition->lock);
    assert_false(partition_copy_agrees(f.partition, future.log));
    partition_set_future(f.partition, NULL, NULL);
    log_detach(future.log);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* flush.messages=1, and the partition's own flush failed on a full disk: the high watermark follows
 * when the folder's job has flushed, though nobody appends any more; in the new folder, too. */
static void the_job_moves_the_watermark(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    f.config.flush_messages = 1; /* the log does not know: no append flushes */
    lock_take(&f.partition->lock);
    struct log_config log_config = *log_config_of(f.partition->log);
    lock_release(&f.partition->lock);
    partition_set_config(f.partition, &f.config, &log_config);
    struct partition_ends ends;
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 0);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 5);

    struct future future;
    make(&f, &future);
    assert_int_equal(copy_piece(&f, &future, 1 << 20), ERR_NONE);
    struct log *replaced;
    assert_int_equal(partition_replace_log(f.partition, f.x.dirs, future.log, &replaced), ERR_NONE);
    log_dirs_discard(f.x.dirs, replaced);
    assert_int_equal(moves_append(&f, 5, 2, 100), ERR_NONE);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 7);
    lock_fini(&future.lock);
    moves_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_future_takes_the_place),        STORE_TEST(too_much_is_missing),
        STORE_TEST(a_cancelled_future_takes_no_place), STORE_TEST(histories_are_compared),
        STORE_TEST(the_job_moves_the_watermark),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
