#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

#include <pthread.h>

static void checkpoints_tell_where_logs_stand(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    dirs_append(&x, log, 5);
    assert_int_equal(log_set_start(log, 2), ERR_NONE);
    log_dirs_run_now(x.dirs, 0);
    assert_string_equal(dirs_text(&x, "recovery-point-offset-checkpoint"), "0\n1\nt 0 5\n");
    assert_string_equal(dirs_text(&x, "log-start-offset-checkpoint"), "0\n1\nt 0 2\n");
    assert_string_equal(dirs_text(&x, "replication-offset-checkpoint"), "0\n1\nt 0 5\n");
    dirs_end(&x);
}

static void run_by_themselves(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    x.options.background_flush_ms = 0;
    x.options.initial_delay_ms = 0;
    x.options.watermark_checkpoint_ms = 0;
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    log_attach(log, &lock);
    log_dirs_start(x.dirs, x.loop);
    lock_take(&lock);
    dirs_append(&x, log, 5);
    lock_release(&lock);
    int64_t point = 0;
    for (int i = 0; i < 5000 && point < 5; i++) {
        usleep(1000);
        lock_take(&lock);
        point = log_recovery_point(log);
        lock_release(&lock);
    }
    assert_int_equal(point, 5);
    log_detach(log);
    lock_fini(&lock);
    dirs_stop(&x);
    assert_string_equal(dirs_text(&x, "recovery-point-offset-checkpoint"), "0\n1\nt 0 5\n");
    dirs_end(&x);
}

static void the_longest_pauses_are_never(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    x.options.initial_delay_ms = INT64_MAX;
    x.options.watermark_checkpoint_ms = INT64_MAX;
    dirs_open(&x);
    log_dirs_start(x.dirs, x.loop);
    const struct log_dir *dir = log_dirs_at(x.dirs, 0);
    assert_int_equal(dir->next_retention_ms, INT64_MAX);
    assert_int_equal(dir->next_recovery_ms, INT64_MAX);
    assert_int_equal(dir->next_start_ms, INT64_MAX);
    assert_int_equal(dir->next_watermark_ms, INT64_MAX);
    dirs_stop(&x);
    dirs_end(&x);
}

/* Checkpoints while logs come and go: none of those that stay is ever missing. */
struct worker {
    pthread_t thread;
    struct dirs_fixture *x;
    _Atomic bool stop;
    int missed;
};

static void *run_jobs(void *context)
{
    struct worker *w = context;
    do { /* once at least, however late it gets a core */
        log_dirs_run_now(w->x->dirs, 0);
        const char *text = dirs_text(w->x, "log-start-offset-checkpoint");
        for (int i = 0; i < 4; i++) {
            char line[16];
            snprintf(line, sizeof line, "stays %d 2\n", i);
            w->missed += strstr(text, line) == NULL;
        }
    } while (!w->stop);
    return NULL;
}

enum { GOING = 60 };

/* Those that go lie before those that stay in the table, and go from the last to the first: each
 * that goes gives its place to one that stays. */
static void a_checkpoint_misses_no_log_while_others_go(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    struct log *going[GOING];
    for (int i = 0; i < GOING; i++) {
        going[i] = dirs_create(&x, "goes", i);
        log_attach(going[i], &lock);
    }
    for (int i = 0; i < 4; i++) {
        struct log *log = dirs_create(&x, "stays", i);
        dirs_append(&x, log, 5);
        assert_int_equal(log_set_start(log, 2), ERR_NONE);
    }
    struct worker w = {.x = &x};
    assert_int_equal(pthread_create(&w.thread, NULL, run_jobs, &w), 0);
    for (int i = GOING - 1; i >= 0; i--) {
        lock_take(&lock);
        dirs_append(&x, going[i], 5);
        assert_int_equal(log_set_start(going[i], 5), ERR_NONE);
        lock_release(&lock);
        log_detach(going[i]);
        assert_int_equal(log_dirs_delete(x.dirs, going[i], false), ERR_NONE);
        usleep(1000);
    }
    w.stop = true;
    pthread_join(w.thread, NULL);
    assert_int_equal(w.missed, 0);
    lock_fini(&lock);
    dirs_end(&x);
}

static void *checkpoint_often(void *context)
{
    struct log_dir *dir = context;
    enum err err = ERR_NONE;
    for (int i = 0; !err && i < 200; i++)
        err = log_dir_checkpoint(dir);
    return (void *)(intptr_t)err;
}

/* The end of a move writes them while the folder's job does: they have one temporary name. */
static void checkpoints_of_two_writers(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    log_attach(log, &lock);
    pthread_t other;
    assert_int_equal(pthread_create(&other, NULL, checkpoint_often, log_dir_of(log)), 0);
    assert_null(checkpoint_often(log_dir_of(log)));
    void *err;
    assert_int_equal(pthread_join(other, &err), 0);
    assert_null(err);
    assert_false(log_failed(log));
    log_detach(log);
    lock_fini(&lock);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(checkpoints_tell_where_logs_stand),
        STORE_TEST(run_by_themselves),
        STORE_TEST(the_longest_pauses_are_never),
        STORE_TEST(a_checkpoint_misses_no_log_while_others_go),
        STORE_TEST(checkpoints_of_two_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
