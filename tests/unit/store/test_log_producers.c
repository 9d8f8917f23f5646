#include "store/log.h"

#include "store_fixture.h"

#include <unistd.h>

static void are_told_in_order_of_id(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    assert_int_equal(store_produce(f, 9, 2, 0, 4, false, 100, &a), ERR_NONE);
    assert_int_equal(store_produce(f, 3, 0, 0, 1, true, 200, &a), ERR_NONE);
    struct arena arena;
    int32_t count;
    arena_init(&arena);
    struct log_producer *list = log_producers(f->log, &arena, &count);
    assert_int_equal(count, 2);
    assert_int_equal(list[0].producer_id, 3);
    assert_int_equal(list[0].txn_offset_first, 4);
    assert_int_equal(list[1].producer_id, 9);
    assert_int_equal(list[1].producer_epoch, 2);
    assert_int_equal(list[1].last_sequence, 3);
    assert_int_equal(list[1].last_timestamp, 103);
    assert_int_equal(list[1].coordinator_epoch, -1);
    assert_int_equal(list[1].txn_offset_first, -1);
    arena_fini(&arena);
}

static void come_back_from_snapshot_and_log(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(store_produce(f, i % 3, 0, i / 3 * 2, 2, true, 100, &a), ERR_NONE);
        if (i == 4)
            assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    assert_int_equal(store_mark(f, 0, 0, true, 0, 100, &a), ERR_NONE);
    /* The damaged snapshot is left out; all is found in the batches. */
    store_poke(f, "00000000000000000010.snapshot", 20, "#", 1);
    store_crash(f, 10);
    assert_int_equal(log_last_stable(f->log), 2);
    assert_int_equal(store_produce(f, 1, 0, 4, 2, true, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(store_produce(f, 2, 0, 4, 2, true, 100, &a), ERR_NONE);
    assert_false(a.duplicate);
}

static void repeats(struct store_fixture *f, int count)
{
    struct log_appended a;
    for (int i = 0; i < count; i++) {
        assert_int_equal(store_produce(f, 7, 0, 2 * i, 2, false, 100, &a), ERR_NONE);
        assert_true(a.duplicate);
        assert_int_equal(a.offset_first, 3 * i);
    }
}

/* A stop writes one batch of each producer; those before it may have had no answer either. */
static void five_batches_are_known_after_a_stop(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    for (int i = 0; i < 5; i++) {
        assert_int_equal(store_produce(f, 7, 0, 2 * i, 2, false, 100, &a), ERR_NONE);
        store_append(f, 1, 10, 100);
        if (i == 1 || i == 4)
            assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    store_crash(f, 15);
    repeats(f, 5);
    store_reopen(f);
    repeats(f, 5);
    assert_int_equal(log_end(f->log), 15);
    /* Another epoch's are not taken. */
    assert_int_equal(store_produce(f, 7, 1, 0, 2, false, 100, &a), ERR_NONE);
    store_reopen(f);
    assert_int_equal(store_produce(f, 7, 0, 8, 2, false, 100, &a), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(store_produce(f, 7, 1, 0, 2, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(store_produce(f, 7, 1, 2, 2, false, 100, &a), ERR_NONE);
    assert_false(a.duplicate);
}

/* A start with very many logs reads less of each. */
static void the_tail_has_a_limit(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    f->options.tail_size = 4500;
    f->options.config.index_interval = 100;
    store_open(f);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(store_produce(f, 7, 0, i, 1, false, 100, &a), ERR_NONE);
        store_append(f, 1, 2000, 100);
    }
    store_reopen(f);
    assert_int_equal(store_produce(f, 7, 0, 1, 1, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(store_produce(f, 7, 0, 0, 1, false, 100, &a),
                     ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
}

/* Only the end of a long log is read for them. */
static void five_batches_are_found_in_a_long_log(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    for (int i = 0; i < 8; i++)
        store_append(f, 1, 900000, 100);
    int64_t base = log_end(f->log);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(store_produce(f, 7, 0, 2 * i, 2, false, 100, &a), ERR_NONE);
        store_append(f, 1, 900000, 100);
    }
    store_reopen(f);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(store_produce(f, 7, 0, 2 * i, 2, false, 100, &a), ERR_NONE);
        assert_true(a.duplicate);
        assert_int_equal(a.offset_first, base + 3 * i);
    }
}

/* DeleteRecords hides batches behind the newest snapshot; a crash must not forget their sequences.
 */
static void hidden_batches_still_count(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    assert_int_equal(store_produce(f, 7, 0, 0, 2, false, 100, &a), ERR_NONE);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    assert_int_equal(store_produce(f, 7, 0, 2, 2, false, 100, &a), ERR_NONE);
    store_append(f, 1, 10, 100);
    /* A roll on a full disk leaves no snapshot. */
    assert_int_equal(log_roll(f->log), ERR_NONE);
    char *snapshot = store_file(f, "00000000000000000005.snapshot");
    assert_int_equal(unlink(snapshot), 0);
    mem_free(snapshot);
    store_append(f, 1, 10, 100);
    f->options.log_start = 4;
    store_crash(f, 6);
    assert_int_equal(log_start(f->log), 4);
    assert_int_equal(store_produce(f, 7, 0, 2, 2, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    assert_int_equal(store_produce(f, 7, 0, 4, 2, false, 100, &a), ERR_NONE);
    assert_false(a.duplicate);
}

/* A transaction that DeleteRecords cut into is open until its marker comes, also when no snapshot
 * knows of it. */
static void an_open_transaction_outlives_its_beginning(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    store_open(f);
    store_append(f, 2, 10, 100);
    assert_int_equal(store_produce(f, 7, 0, 0, 2, true, 100, &a), ERR_NONE);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    char *snapshot = store_file(f, "00000000000000000004.snapshot");
    assert_int_equal(unlink(snapshot), 0);
    mem_free(snapshot);
    store_append(f, 4, 10, 100);
    f->options.log_start = 6;
    store_crash(f, 6);
    assert_int_equal(log_start(f->log), 6);
    log_set_high_watermark(f->log, 8);
    assert_int_equal(log_last_stable(f->log), 6);
}

static void idle_ones_are_forgotten(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    f->options.config.producer_expiry_ms = 1000;
    store_open(f);
    assert_int_equal(store_produce(f, 9, 0, 0, 1, false, 100, &a), ERR_NONE);
    log_expire_producers(f->log, 1099);
    assert_int_equal(store_produce(f, 9, 0, 5, 1, false, 100, &a),
                     ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    log_expire_producers(f->log, 1100);
    assert_int_equal(store_produce(f, 9, 0, 5, 1, false, 100, &a), ERR_NONE);
}

/* producer.id.expiration.ms is a limit of idempotence, as in Kafka: a batch whose answer was lost
 * and that comes again after the clock passed it is stored twice. */
static void a_forgotten_batch_is_stored_again(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    f->options.config.producer_expiry_ms = 1000;
    store_open(f);
    assert_int_equal(store_produce(f, 9, 0, 0, 2, false, 100, &a), ERR_NONE);
    assert_int_equal(store_produce(f, 9, 0, 0, 2, false, 100, &a), ERR_NONE);
    assert_true(a.duplicate);
    log_expire_producers(f->log, 5000);
    assert_int_equal(store_produce(f, 9, 0, 0, 2, false, 100, &a), ERR_NONE);
    assert_false(a.duplicate);
    assert_int_equal(log_end(f->log), 4);
}

static void old_snapshots_go_with_their_segments(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    for (int i = 0; i < 3; i++) {
        store_append(f, 1, 10, 1000);
        assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    assert_int_equal(store_file_size(f, "00000000000000000001.snapshot"), 10);
    assert_int_equal(log_set_start(f->log, 2), ERR_NONE);
    log_apply_retention(f->log, 0);
    assert_int_equal(store_file_size(f, "00000000000000000001.snapshot"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000002.snapshot"), 10);
    /* Stray ones go at start, but for the newest. */
    store_append(f, 2, 10, 1000);
    store_poke(f, "00000000000000000004.snapshot", 0, "x", 1);
    store_reopen(f);
    assert_int_equal(store_file_size(f, "00000000000000000004.snapshot"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000005.snapshot"), 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(are_told_in_order_of_id),
        STORE_TEST(come_back_from_snapshot_and_log),
        STORE_TEST(five_batches_are_known_after_a_stop),
        STORE_TEST(five_batches_are_found_in_a_long_log),
        STORE_TEST(the_tail_has_a_limit),
        STORE_TEST(hidden_batches_still_count),
        STORE_TEST(an_open_transaction_outlives_its_beginning),
        STORE_TEST(idle_ones_are_forgotten),
        STORE_TEST(a_forgotten_batch_is_stored_again),
        STORE_TEST(old_snapshots_go_with_their_segments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
