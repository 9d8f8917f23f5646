#include "store/log_dirs.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(checkpoints_tell_where_logs_stand),
        STORE_TEST(run_by_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
