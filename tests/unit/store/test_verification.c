#include "store/verification.h"

#include "store_fixture.h"

static void one_guard_stands_until_the_end(void **state)
{
    (void)state;
    struct verifications all;
    verifications_init(&all, 100);
    int64_t guard = verifications_begin(&all, 7, 0, 5, false, 1000)->guard;
    assert_int_not_equal(guard, 0);
    assert_int_equal(verifications_begin(&all, 7, 0, 5, false, 1001)->guard, guard);
    assert_int_not_equal(verifications_begin(&all, 8, 0, 5, false, 1001)->guard, guard);
    verifications_end(&all, 7, 0, false);
    assert_null(verifications_get(&all, 7));
    assert_non_null(verifications_get(&all, 8));
    assert_int_not_equal(verifications_begin(&all, 7, 0, 5, false, 1002)->guard, guard);
    verifications_fini(&all);
}

static void the_lowest_sequence_of_the_newest_epoch_counts(void **state)
{
    (void)state;
    struct verifications all;
    verifications_init(&all, 0);
    const struct verification *v = verifications_begin(&all, 7, 1, 10, false, 0);
    verifications_begin(&all, 7, 1, 20, false, 0);
    assert_int_equal(v->sequence_lowest, 10);
    verifications_begin(&all, 7, 1, 3, false, 0);
    assert_int_equal(v->sequence_lowest, 3);
    verifications_begin(&all, 7, 0, 1, false, 0);
    assert_int_equal(v->sequence_lowest, 3);
    verifications_begin(&all, 7, 2, 8, false, 0);
    assert_int_equal(v->sequence_lowest, 8);
    assert_int_equal(v->epoch, 2);
    verifications_fini(&all);
}

/* With transaction.version 2 the marker of one transaction has the epoch of the next one. */
static void a_late_marker_spares_the_next_transaction(void **state)
{
    (void)state;
    struct verifications all;
    verifications_init(&all, 0);
    verifications_begin(&all, 7, 4, 0, true, 0);
    verifications_end(&all, 7, 4, true);
    assert_non_null(verifications_get(&all, 7));
    verifications_end(&all, 7, 5, true);
    assert_null(verifications_get(&all, 7));
    verifications_begin(&all, 8, 4, 0, false, 0);
    verifications_end(&all, 8, 4, true);
    assert_null(verifications_get(&all, 8));
    verifications_fini(&all);
}

static void old_ones_expire(void **state)
{
    (void)state;
    struct verifications all;
    verifications_init(&all, INT64_MAX);
    verifications_begin(&all, 7, 0, 0, false, 1000);
    verifications_begin(&all, 8, 0, 0, false, 1001);
    verifications_expire(&all, 1999, 1000);
    assert_non_null(verifications_get(&all, 7));
    verifications_expire(&all, 2000, 1000);
    assert_null(verifications_get(&all, 7));
    assert_non_null(verifications_get(&all, 8));
    verifications_fini(&all);
}

/* A client that invents producers takes no more memory than that, and whoever asks again stays. */
static void invented_producers_give_way(void **state)
{
    (void)state;
    enum { MANY = 10 * VERIFICATIONS_MAX };
    struct verifications all;
    verifications_init(&all, 100);
    int64_t guard = verifications_begin(&all, 7, 0, 5, false, 0)->guard;
    for (int64_t id = 1000; id < 1000 + MANY; id++) {
        verifications_begin(&all, id, 0, 0, false, 0);
        assert_true(map_count(&all.entries) <= VERIFICATIONS_MAX);
        assert_int_equal(verifications_begin(&all, 7, 0, 5, false, 0)->guard, guard);
    }
    assert_null(verifications_get(&all, 1000));
    assert_null(verifications_get(&all, 1000 + MANY - VERIFICATIONS_MAX));
    assert_non_null(verifications_get(&all, 1000 + MANY - VERIFICATIONS_MAX + 1));
    verifications_end(&all, 1000 + MANY - VERIFICATIONS_MAX + 1, 0, false); /* the oldest */
    verifications_end(&all, 7, 0, false);                                   /* the newest */
    verifications_end(&all, 1000 + MANY - 5, 0, false);
    size_t count = map_count(&all.entries);
    assert_int_equal(count, VERIFICATIONS_MAX - 3);
    for (int64_t id = 0; id < VERIFICATIONS_MAX; id++)
        verifications_begin(&all, id, 0, 0, false, 0);
    assert_int_equal(map_count(&all.entries), VERIFICATIONS_MAX);
    assert_null(verifications_get(&all, 1000 + MANY - 1));
    verifications_expire(&all, 10, 10);
    assert_int_equal(map_count(&all.entries), 0);
    assert_int_not_equal(verifications_begin(&all, 7, 0, 5, false, 0)->guard, guard);
    verifications_fini(&all);
}

/* ---- appends to a log -------------------------------------------------------------------------
 */

static enum err produce(struct store_fixture *f, int16_t epoch, int32_t sequence, int64_t guard,
                        bool transactional)
{
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = 7;
    options.producer_epoch = epoch;
    options.base_sequence = sequence;
    options.transactional = transactional;
    struct log_txn txn = {.guard = guard};
    struct log_appended a;
    return log_append_txn(f->log, LOG_CLIENT, 0, store_batch(f, &options, 1, 10, 1000), &txn, &a);
}

static enum err mark(struct store_fixture *f, int16_t epoch, int16_t version,
                     int32_t coordinator_epoch)
{
    struct control_end_txn marker = {.is_commit = false, .coordinator_epoch = coordinator_epoch};
    buf_clear(&f->batch);
    assert_int_equal(control_build_end_txn(&f->batch, 0, 0, 1000, 7, epoch, &marker), ERR_NONE);
    struct log_txn txn = {.version = version};
    struct log_appended a;
    return log_append_txn(f->log, LOG_COORDINATOR, 0, buf_slice(&f->batch), &txn, &a);
}

static void transactional_data_needs_a_guard(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.verify_transactions = true;
    store_open(f);
    int64_t guard, again;
    assert_int_equal(produce(f, 0, 0, 0, true), ERR_INVALID_TXN_STATE);
    assert_int_equal(log_verify_begin(f->log, 7, 0, 0, false, &guard), ERR_NONE);
    assert_int_not_equal(guard, 0);
    assert_int_equal(produce(f, 0, 0, 0, true), ERR_INVALID_TXN_STATE);
    assert_int_equal(produce(f, 0, 0, guard + 1, true), ERR_INVALID_TXN_STATE);
    assert_int_equal(produce(f, 0, 0, guard, true), ERR_NONE);
    /* Open now: no more is asked. */
    assert_int_equal(log_verify_begin(f->log, 7, 0, 1, false, &again), ERR_NONE);
    assert_int_equal(again, 0);
    assert_int_equal(produce(f, 0, 1, 0, true), ERR_NONE);
    assert_int_equal(produce(f, 0, 2, 0, false), ERR_INVALID_TXN_STATE);
    /* Not at another epoch, though, and a lower one is refused as such. */
    assert_int_equal(produce(f, 1, 0, 0, true), ERR_INVALID_TXN_STATE);
    assert_int_equal(mark(f, 1, 0, 1), ERR_NONE);
    assert_int_equal(produce(f, 0, 2, 0, true), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(log_verify_begin(f->log, 7, 0, 2, false, &again), ERR_INVALID_PRODUCER_EPOCH);
}

/* The race that hangs a transaction: it ends between the coordinator's yes and the append. */
static void a_marker_ends_the_guard(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.verify_transactions = true;
    store_open(f);
    int64_t guard, next;
    assert_int_equal(log_verify_begin(f->log, 7, 0, 0, false, &guard), ERR_NONE);
    assert_int_equal(mark(f, 0, 0, 1), ERR_NONE);
    assert_int_equal(produce(f, 0, 0, guard, true), ERR_INVALID_TXN_STATE);
    assert_int_equal(log_verify_begin(f->log, 7, 0, 0, false, &next), ERR_NONE);
    assert_int_not_equal(next, guard);
    assert_int_equal(produce(f, 0, 0, guard, true), ERR_INVALID_TXN_STATE);
    assert_int_equal(produce(f, 0, 0, next, true), ERR_NONE);
    /* A repeat is answered whatever its guard is. */
    assert_int_equal(produce(f, 0, 0, 0, true), ERR_NONE);
    assert_int_equal(log_end(f->log), 2);
}

static void an_expired_guard_is_refused(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.verify_transactions = true;
    f->options.config.producer_expiry_ms = 1000;
    store_open(f);
    int64_t guard;
    assert_int_equal(log_verify_begin(f->log, 7, 0, 0, false, &guard), ERR_NONE);
    log_expire_producers(f->log, io_wall_ms(f->io) + 1000);
    assert_int_equal(produce(f, 0, 0, guard, true), ERR_INVALID_TXN_STATE);
}

static void version_2_begins_at_sequence_0(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.verify_transactions = true;
    store_open(f);
    int64_t guard;
    assert_int_equal(log_verify_begin(f->log, 7, 0, 5, true, &guard), ERR_NONE);
    assert_int_equal(produce(f, 0, 5, guard, true), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(log_verify_begin(f->log, 7, 0, 0, true, &guard), ERR_NONE);
    assert_int_equal(produce(f, 0, 0, guard, true), ERR_NONE);
    /* Without it any sequence is taken, bar one above a batch that is being verified. */
    assert_int_equal(mark(f, 1, 2, 1), ERR_NONE);
    log_expire_producers(f->log, INT64_MAX);
    log_free(f->log);
    f->log = NULL;
    snprintf(f->path, sizeof f->path, "%s/t-1", f->root);
    store_open(f);
    assert_int_equal(log_verify_begin(f->log, 7, 0, 9, false, &guard), ERR_NONE);
    assert_int_equal(log_verify_begin(f->log, 7, 0, 5, false, &guard), ERR_NONE);
    assert_int_equal(produce(f, 0, 9, guard, true), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(produce(f, 0, 5, guard, true), ERR_NONE);
}

static void version_2_markers_bump_the_epoch(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    assert_int_equal(produce(f, 3, 0, 0, true), ERR_NONE);
    assert_int_equal(mark(f, 3, 2, 1), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(mark(f, 2, 2, 1), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(mark(f, 4, 2, 1), ERR_NONE);
    /* Again: nothing is open. */
    assert_int_equal(mark(f, 4, 2, 1), ERR_NONE);
    assert_int_equal(mark(f, 4, 2, 0), ERR_TRANSACTION_COORDINATOR_FENCED);
    assert_int_equal(mark(f, 3, 2, 0), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(produce(f, 4, 0, 0, true), ERR_NONE);
    assert_int_equal(mark(f, 4, 2, 1), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(log_last_stable(f->log), log_high_watermark(f->log));
    /* Version 1 takes an equal one. */
    assert_int_equal(mark(f, 4, 1, 1), ERR_NONE);
    /* The last epoch cannot be bumped. */
    assert_int_equal(produce(f, INT16_MAX, 0, 0, true), ERR_NONE);
    assert_int_equal(mark(f, INT16_MAX, 2, 1), ERR_NONE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_guard_stands_until_the_end),
        cmocka_unit_test(the_lowest_sequence_of_the_newest_epoch_counts),
        cmocka_unit_test(a_late_marker_spares_the_next_transaction),
        cmocka_unit_test(old_ones_expire),
        cmocka_unit_test(invented_producers_give_way),
        STORE_TEST(transactional_data_needs_a_guard),
        STORE_TEST(a_marker_ends_the_guard),
        STORE_TEST(an_expired_guard_is_refused),
        STORE_TEST(version_2_begins_at_sequence_0),
        STORE_TEST(version_2_markers_bump_the_epoch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
