#include "../store/faulty_io.h"
#include "moves_fixture.h"

#include "store/log_copy.h"
#include "store/log_dirs_internal.h"

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

static void settle(struct moves_fixture *f, struct log *log, struct log *replaced)
{
    assert_int_equal(partition_settle_log(f->partition, log, log_dirs_at(f->x.dirs, 1), replaced),
                     ERR_NONE);
    log_dirs_discard(f->x.dirs, replaced, true);
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
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    settle(&f, future.log, replaced);
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
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_AGAIN);
    assert_int_equal(copy_piece(&f, &future, 100), ERR_NONE);
    assert_int_equal(copy_piece(&f, &future, 100), ERR_NONE);
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    settle(&f, future.log, replaced);
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
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
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

/* flush.messages=1, but the log does not know: no append flushes. */
static void watermark_waits_for_flushes(struct moves_fixture *f)
{
    f->config.flush_messages = 1;
    lock_take(&f->partition->lock);
    struct log_config log_config = *log_config_of(f->partition->log);
    lock_release(&f->partition->lock);
    partition_set_config(f->partition, &f->config, &log_config);
}

/* flush.messages=1, and the partition's own flush failed on a full disk: the high watermark follows
 * when the folder's job has flushed, though nobody appends any more; in the new folder, too. */
static void the_job_moves_the_watermark(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    watermark_waits_for_flushes(&f);
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
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    settle(&f, future.log, replaced);
    assert_int_equal(moves_append(&f, 5, 2, 100), ERR_NONE);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 7);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* ---- syncs -------------------------------------------------------------------------------------
 */

/* An io whose syncs look at what the thread holds, and append meanwhile. */
struct watching {
    struct faulty faulty; /* first */
    struct io_ops ops;
    struct moves_fixture *f;
    struct future *future;
    bool watches;
    int syncs, held, appended;
};

static void look(struct watching *w)
{
    if (!w->watches)
        return;
    w->syncs++;
    pthread_mutex_t *mutexes[] = {&w->f->partition->lock.mutex, &w->future->lock.mutex};
    for (int i = 0; i < 2; i++) {
        bool is_free = pthread_mutex_trylock(mutexes[i]) == 0;
        w->held += !is_free;
        if (is_free)
            pthread_mutex_unlock(mutexes[i]);
    }
    /* The lock of a folder's name is held while small files in it are synced. */
    if (!lock_held_from(LOCK_TABLE))
        w->appended += !moves_append(w->f, w->appended + 1, 1, 100);
}

static enum err watched_sync_dir(struct io *io, const char *path)
{
    look((struct watching *)(void *)io);
    return faulty_sync_dir(io, path);
}

static enum err watched_sync(struct io *io, int fd)
{
    look((struct watching *)(void *)io);
    return faulty_sync(io, fd);
}

static void watching_init(struct watching *w, void **state)
{
    *w = (struct watching){0};
    faulty_init(&w->faulty, ((struct store_fixture *)*state)->io, FAULT_SYNC_DIR, ERR_IO);
    w->ops = *w->faulty.io.ops;
    w->ops.sync_dir = watched_sync_dir;
    w->ops.fdatasync = watched_sync;
    w->faulty.io.ops = &w->ops;
}

/* Appends go on while the move waits for the disks, and none is lost. */
static void no_lock_is_held_over_a_sync(void **state)
{
    struct moves_fixture f;
    struct watching w;
    watching_init(&w, state);
    moves_start_on(&f, state, &w.faulty.io);
    assert_int_equal(moves_append(&f, 0, 1, 100), ERR_NONE);
    struct future future;
    make(&f, &future);
    w.f = &f;
    w.future = &future;
    w.watches = true;
    struct log *replaced;
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    int before = w.syncs;
    assert_true(before > 0);
    settle(&f, future.log, replaced);
    assert_true(w.syncs >= before + 2);
    assert_int_equal(w.held, 0);
    assert_true(w.appended >= 3); /* bytes, and the names of two folders */
    w.watches = false;
    lock_take(&f.partition->lock);
    assert_int_equal(log_end(f.partition->log), 1 + w.appended);
    lock_release(&f.partition->lock);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* What a power cut may bring back has all that was told to be durable. */
static void nothing_becomes_durable_in_between(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    struct future future;
    make(&f, &future);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    log_dirs_run_now(f.x.dirs, 0);
    struct log *replaced;
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    assert_int_equal(log_durable_end(f.partition->log), 5);
    assert_int_equal(moves_append(&f, 5, 5, 100), ERR_NONE);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(log_durable_end(f.partition->log), 5);
    settle(&f, future.log, replaced);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(log_durable_end(f.partition->log), 10);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* With flush.messages=1: what was not durable in the log is not acknowledged because its copy is.
 */
static void the_copy_makes_nothing_durable(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    watermark_waits_for_flushes(&f);
    struct future future;
    make(&f, &future);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(moves_append(&f, 5, 2, 100), ERR_NONE);
    struct log *replaced;
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    assert_int_equal(log_durable_end(f.partition->log), 5);
    assert_int_equal(moves_append(&f, 7, 1, 100), ERR_NONE);
    struct partition_ends ends;
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 5);
    settle(&f, future.log, replaced);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(partition_ends(f.partition, -1, &ends), ERR_NONE);
    assert_int_equal(ends.high_watermark, 8);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* Background work in the log, and a topic that is deleted, at the worst moment: from the swap on
 * the move looks at the log only where logs are let go. */
static void the_log_goes_before_the_move_ends(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    struct future future;
    make(&f, &future);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    lock_take(&f.x.dirs->table_lock);
    log_walk_begin(future.log);
    lock_release(&f.x.dirs->table_lock);
    struct log *replaced;
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    struct lock *lock = log_walk_take(future.log);
    assert_ptr_equal(lock, &f.partition->lock);
    log_walk_leave(f.x.dirs, future.log, lock);
    partition_await_reattached(f.partition, future.log);

    struct log *log = partition_take_log(f.partition, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_ptr_equal(log, future.log);
    assert_int_equal(log_dirs_delete(f.x.dirs, log, false), ERR_NONE);
    settle(&f, future.log, replaced);
    partition_await_reattached(f.partition, future.log);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* The old folder's disk fails at the last moment: nobody knows which log a start will find. */
static void the_old_folder_fails(void **state)
{
    struct moves_fixture f;
    struct watching w;
    watching_init(&w, state);
    moves_start_on(&f, state, &w.faulty.io);
    struct future future;
    make(&f, &future);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    struct log *replaced;
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_NONE);
    w.faulty.calls = 0;
    w.faulty.fail_at = 0;
    w.faulty.err = ERR_TOO_MANY_FILES; /* passes */
    struct log_dir *dir = log_dirs_at(f.x.dirs, 1);
    assert_int_equal(partition_settle_log(f.partition, future.log, dir, replaced),
                     ERR_TOO_MANY_FILES);
    assert_int_equal(moves_append(&f, 5, 1, 100), ERR_NONE);
    w.faulty.calls = 0;
    w.faulty.err = ERR_IO;
    assert_int_equal(partition_settle_log(f.partition, future.log, dir, replaced), ERR_IO);
    assert_int_equal(moves_append(&f, 6, 1, 100), ERR_KAFKA_STORAGE_ERROR);
    assert_true(log_dir_online(dir));
    log_dirs_discard(f.x.dirs, replaced, false);
    lock_fini(&future.lock);
    moves_end(&f);
}

/* The future's disk fails before: the log stays where it is, and is flushed again. */
static void the_new_folder_fails(void **state)
{
    struct moves_fixture f;
    moves_start(&f, state);
    struct future future;
    make(&f, &future);
    assert_int_equal(moves_append(&f, 0, 5, 100), ERR_NONE);
    log_dir_fail(log_dirs_at(f.x.dirs, 1), "test");
    struct log *replaced;
    assert_int_equal(
        partition_replace_log(f.partition, f.x.dirs, future.log, &future.lock, &replaced),
        ERR_KAFKA_STORAGE_ERROR);
    assert_int_equal(moves_append(&f, 5, 1, 100), ERR_NONE);
    log_dirs_run_now(f.x.dirs, 0);
    assert_int_equal(log_durable_end(f.partition->log), 6);
    partition_set_future(f.partition, NULL, NULL);
    log_detach(future.log);
    lock_fini(&future.lock);
    moves_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_future_takes_the_place),
        STORE_TEST(too_much_is_missing),
        STORE_TEST(a_cancelled_future_takes_no_place),
        STORE_TEST(histories_are_compared),
        STORE_TEST(the_job_moves_the_watermark),
        STORE_TEST(no_lock_is_held_over_a_sync),
        STORE_TEST(nothing_becomes_durable_in_between),
        STORE_TEST(the_copy_makes_nothing_durable),
        STORE_TEST(the_log_goes_before_the_move_ends),
        STORE_TEST(the_old_folder_fails),
        STORE_TEST(the_new_folder_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
