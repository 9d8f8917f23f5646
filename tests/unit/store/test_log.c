#include "store/log.h"

#include "store_fixture.h"

static void is_created_closed_and_loaded(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    assert_int_equal(log_end(f->log), 0);
    store_append(f, 3, 10, 1000);
    struct log_appended a = store_append(f, 2, 10, 2000);
    assert_int_equal(a.offset_first, 3);
    assert_int_equal(a.offset_last, 4);
    assert_int_equal(a.append_time_ms, -1);
    assert_false(a.duplicate);
    int64_t size = log_size(f->log);
    store_reopen(f);
    assert_int_equal(log_start(f->log), 0);
    assert_int_equal(log_end(f->log), 5);
    assert_int_equal(log_recovery_point(f->log), 5);
    assert_int_equal(log_size(f->log), size);
    assert_int_equal(log_segment_count(f->log), 1);
    assert_int_equal(store_read(f, 0, 1 << 20), 5);
    assert_int_equal(store_append(f, 1, 10, 3000).offset_first, 5);
}

/* An empty log leaves empty index files and no snapshot, as Kafka does. */
static void empty_leaves_empty_files(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    store_reopen(f);
    assert_int_equal(store_file_size(f, "00000000000000000000.log"), 0);
    assert_int_equal(store_file_size(f, "00000000000000000000.index"), 0);
    assert_int_equal(store_file_size(f, "00000000000000000000.timeindex"), 0);
    assert_int_equal(store_file_size(f, "00000000000000000000.snapshot"), -1);
    assert_int_equal(log_end(f->log), 0);
}

static void keeps_its_topic_id(void **state)
{
    struct store_fixture *f = *state;
    struct uuid id = {{1, 2, 3}}, other = {{9}}, found;
    store_open(f);
    assert_false(log_topic_id(f->log, &found));
    assert_int_equal(log_set_topic_id(f->log, &id), ERR_NONE);
    store_reopen(f);
    assert_true(log_topic_id(f->log, &found));
    assert_true(uuid_eq(&found, &id));
    assert_int_equal(log_set_topic_id(f->log, &other), ERR_INCONSISTENT_TOPIC_ID);
    assert_int_equal(log_set_topic_id(f->log, &id), ERR_NONE);
}

static void knows_its_epochs(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    int32_t epoch;
    int64_t end;
    log_epoch_end(f->log, 0, &epoch, &end);
    assert_int_equal(epoch, -1);
    assert_int_equal(end, -1);
    assert_int_equal(log_epoch_assign(f->log, 3), ERR_NONE);
    struct builder_options options = BUILDER_DEFAULTS;
    struct log_appended a;
    log_append(f->log, LOG_CLIENT, 3, store_batch(f, &options, 4, 10, 1), &a);
    log_append(f->log, LOG_CLIENT, 7, store_batch(f, &options, 2, 10, 1), &a);
    store_reopen(f);
    assert_int_equal(log_epoch_latest(f->log), 7);
    assert_int_equal(log_epoch_at(f->log, 3), 3);
    assert_int_equal(log_epoch_at(f->log, 4), 7);
    log_epoch_end(f->log, 5, &epoch, &end);
    assert_int_equal(epoch, 3);
    assert_int_equal(end, 4);
    log_epoch_end(f->log, 7, &epoch, &end);
    assert_int_equal(end, 6);
    log_epoch_end(f->log, 8, &epoch, &end);
    assert_int_equal(epoch, -1);
    assert_int_equal(end, -1);
}

static void rolls_on_demand(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    store_append(f, 3, 10, 1000);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    assert_int_equal(log_segment_count(f->log), 2);
    assert_int_equal(store_file_size(f, "00000000000000000003.log"), 0);
    assert_int_equal(store_file_size(f, "00000000000000000000.timeindex"), 12);
    assert_int_equal(store_file_size(f, "00000000000000000003.snapshot"), 10);
    /* An empty active segment is not rolled again. */
    assert_int_equal(log_roll(f->log), ERR_NONE);
    assert_int_equal(log_segment_count(f->log), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(is_created_closed_and_loaded),
        STORE_TEST(empty_leaves_empty_files),
        STORE_TEST(keeps_its_topic_id),
        STORE_TEST(knows_its_epochs),
        STORE_TEST(rolls_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
