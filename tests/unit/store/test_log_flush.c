#include "store/log.h"

#include "store_fixture.h"

static void moves_the_recovery_point(void **state)
{
    struct store_fixture *f = *state;
    struct log_flush flush, other;
    store_open(f);
    assert_false(log_flush_prepare(f->log, &flush));
    store_append(f, 3, 20, 1000);
    assert_int_equal(log_recovery_point(f->log), 0);
    assert_true(log_flush_prepare(f->log, &flush));
    /* What comes after prepare is for the next one; two may be under way. */
    store_append(f, 3, 20, 1000);
    assert_true(log_flush_prepare(f->log, &other));
    log_flush_run(&other);
    assert_int_equal(log_flush_finish(f->log, &other), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 6);
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 6);
    assert_true(store_file_size(f, "leader-epoch-checkpoint") > 4);
    assert_false(log_flush_prepare(f->log, &flush));
    /* The log may be gone before the flush ends. */
    store_append(f, 3, 20, 1000);
    assert_true(log_flush_prepare(f->log, &flush));
    log_free(f->log);
    f->log = NULL;
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(NULL, &flush), ERR_NONE);
}

static void many_segments_take_several_rounds(void **state)
{
    struct store_fixture *f = *state;
    struct log_flush flush;
    store_open(f);
    for (int i = 0; i < 20; i++) {
        store_append(f, 1, 20, 1000);
        assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    int rounds = 0;
    while (log_flush_prepare(f->log, &flush)) {
        log_flush_run(&flush);
        assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
        rounds++;
    }
    assert_int_equal(rounds, 3);
    assert_int_equal(log_recovery_point(f->log), 20);
}

static void is_due_by_messages_and_time(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.flush_messages = 3;
    store_open(f);
    store_append(f, 2, 20, 1000);
    assert_false(log_flush_due(f->log));
    store_append(f, 1, 20, 1000);
    assert_true(log_flush_due(f->log));
    struct log_config config = f->options.config;
    config.flush_messages = INT64_MAX;
    config.flush_ms = 0;
    log_set_config(f->log, &config);
    assert_true(log_flush_due(f->log));
    config.flush_ms = 100000;
    log_set_config(f->log, &config);
    assert_false(log_flush_due(f->log));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(moves_the_recovery_point),
        STORE_TEST(many_segments_take_several_rounds),
        STORE_TEST(is_due_by_messages_and_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
