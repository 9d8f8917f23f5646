#include "store/producer_state.h"

#include "store_fixture.h"

static struct producer_input data(int64_t id, int16_t epoch, int32_t sequence, int32_t count,
                                  int64_t offset, bool transactional)
{
    return (struct producer_input){.id = id,
                                   .offset_first = offset,
                                   .offset_last = offset + count - 1,
                                   .timestamp = offset,
                                   .sequence_first = sequence,
                                   .sequence_last = batch_sequence_add(sequence, count - 1),
                                   .epoch = epoch,
                                   .transactional = transactional,
                                   .coordinator_epoch = -1};
}

static struct producer_input marker(int64_t id, int16_t epoch, int64_t offset, bool abort,
                                    int32_t coordinator_epoch)
{
    return (struct producer_input){.id = id,
                                   .offset_first = offset,
                                   .offset_last = offset,
                                   .sequence_first = -1,
                                   .sequence_last = -1,
                                   .epoch = epoch,
                                   .transactional = true,
                                   .marker = true,
                                   .abort = abort,
                                   .coordinator_epoch = coordinator_epoch};
}

static enum err add(struct producer_state *s, struct producer_input input)
{
    struct producer_changes c;
    producer_changes_init(&c);
    enum err err = producer_changes_add(&c, s, &input,
                                        input.marker ? PRODUCER_CHECK_EPOCH : PRODUCER_CHECK_ALL);
    if (!err)
        producer_changes_apply(&c, s);
    producer_changes_fini(&c);
    return err;
}

static void sequences_follow(void **state)
{
    (void)state;
    struct producer_state s;
    producer_state_init(&s);
    /* Without state any sequence is taken; then each must follow. */
    assert_int_equal(add(&s, data(7, 0, 40, 10, 0, false)), ERR_NONE);
    assert_int_equal(add(&s, data(7, 0, 51, 1, 10, false)), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(add(&s, data(7, 0, 49, 2, 10, false)), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(add(&s, data(7, 0, 50, 2, 10, false)), ERR_NONE);
    /* A new epoch begins at 0; an old one is refused. */
    assert_int_equal(add(&s, data(7, 1, 52, 1, 12, false)), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(add(&s, data(7, 1, 0, 1, 12, false)), ERR_NONE);
    assert_int_equal(add(&s, data(7, 0, 52, 1, 13, false)), ERR_INVALID_PRODUCER_EPOCH);
    producer_state_fini(&s);
}

static void sequences_wrap(void **state)
{
    (void)state;
    struct producer_state s;
    producer_state_init(&s);
    assert_int_equal(add(&s, data(7, 0, INT32_MAX - 1, 4, 0, false)), ERR_NONE);
    struct producer_input again = data(7, 0, INT32_MAX - 1, 4, 4, false);
    const struct producer_batch *seen = producer_state_duplicate(&s, &again);
    assert_non_null(seen);
    assert_int_equal(seen->offset_last, 3);
    assert_int_equal(add(&s, data(7, 0, 2, 1, 4, false)), ERR_NONE);
    assert_int_equal(add(&s, data(8, 0, INT32_MAX, 1, 5, false)), ERR_NONE);
    assert_int_equal(add(&s, data(8, 0, 0, 1, 6, false)), ERR_NONE);
    producer_state_fini(&s);
}

static void the_last_five_are_known(void **state)
{
    (void)state;
    struct producer_state s;
    producer_state_init(&s);
    for (int i = 0; i < 6; i++)
        assert_int_equal(add(&s, data(7, 3, i * 2, 2, i * 2, false)), ERR_NONE);
    for (int i = 0; i < 6; i++) {
        struct producer_input input = data(7, 3, i * 2, 2, 100, false);
        const struct producer_batch *seen = producer_state_duplicate(&s, &input);
        assert_int_equal(seen != NULL, i > 0);
        if (seen)
            assert_int_equal(seen->offset_last - seen->offset_delta, i * 2);
    }
    struct producer_input half = data(7, 3, 10, 1, 100, false);
    assert_null(producer_state_duplicate(&s, &half));
    struct producer_input other_epoch = data(7, 4, 10, 2, 100, false);
    assert_null(producer_state_duplicate(&s, &other_epoch));
    producer_state_fini(&s);
}

static void transactions_hold_back(void **state)
{
    (void)state;
    struct producer_state s;
    producer_state_init(&s);
    assert_int_equal(producer_state_first_unstable(&s), -1);
    assert_int_equal(add(&s, data(1, 0, 0, 2, 10, true)), ERR_NONE);
    assert_int_equal(add(&s, data(2, 0, 0, 2, 12, true)), ERR_NONE);
    assert_int_equal(add(&s, data(1, 0, 2, 2, 14, true)), ERR_NONE);
    assert_int_equal(producer_state_first_unstable(&s), 10);
    assert_int_equal(add(&s, data(1, 0, 4, 1, 16, false)), ERR_INVALID_TXN_STATE);
    assert_int_equal(add(&s, marker(1, 0, 16, false, 5)), ERR_NONE);
    /* Ended, but its marker is not replicated yet. */
    assert_int_equal(producer_state_first_unstable(&s), 10);
    producer_state_settle(&s, 16);
    assert_int_equal(producer_state_first_unstable(&s), 10);
    producer_state_settle(&s, 17);
    assert_int_equal(producer_state_first_unstable(&s), 12);
    /* Fenced coordinators and epochs; the same coordinator again is fine. */
    assert_int_equal(add(&s, data(1, 0, 4, 1, 17, true)), ERR_NONE);
    assert_int_equal(add(&s, marker(1, 0, 18, true, 4)), ERR_TRANSACTION_COORDINATOR_FENCED);
    assert_int_equal(add(&s, marker(1, 0, 18, true, 5)), ERR_NONE);
    assert_int_equal(add(&s, marker(2, -1, 19, true, 5)), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(add(&s, marker(2, 1, 19, true, 5)), ERR_NONE);
    producer_state_settle(&s, 100);
    assert_int_equal(producer_state_first_unstable(&s), -1);
    /* The marker raised the epoch: batches are forgotten, sequences begin at 0. */
    assert_int_equal(producer_state_get(&s, 2)->batch_count, 0);
    assert_int_equal(add(&s, data(2, 1, 2, 1, 20, true)), ERR_OUT_OF_ORDER_SEQUENCE_NUMBER);
    assert_int_equal(add(&s, data(2, 1, 0, 1, 20, true)), ERR_NONE);
    producer_state_fini(&s);
}

static void refusals_leave_no_trace(void **state)
{
    (void)state;
    struct producer_state s;
    struct producer_changes c;
    producer_state_init(&s);
    producer_changes_init(&c);
    /* Many producers in one change, none applied. */
    for (int i = 0; i < 20; i++) {
        struct producer_input input = data(i, 0, 0, 1, i, true);
        assert_int_equal(producer_changes_add(&c, &s, &input, PRODUCER_CHECK_ALL), ERR_NONE);
        struct producer_input end = marker(i, 0, i + 100, true, 0);
        assert_int_equal(producer_changes_add(&c, &s, &end, PRODUCER_CHECK_EPOCH), ERR_NONE);
    }
    assert_int_equal(c.count, 20);
    assert_int_equal(c.end_count, 20);
    assert_int_equal(producer_state_count(&s), 0);
    producer_changes_apply(&c, &s);
    assert_int_equal(producer_state_count(&s), 20);
    assert_int_equal(producer_state_first_unstable(&s), 0);
    producer_changes_fini(&c);
    producer_state_fini(&s);
}

static void idle_ones_expire(void **state)
{
    (void)state;
    struct producer_state s;
    producer_state_init(&s);
    add(&s, data(1, 0, 0, 1, 10, false));
    add(&s, data(2, 0, 0, 1, 20, false));
    add(&s, data(3, 0, 0, 1, 5, true));
    producer_state_expire(&s, 30, 15);
    assert_null(producer_state_get(&s, 1));
    assert_non_null(producer_state_get(&s, 2));
    assert_non_null(producer_state_get(&s, 3)); /* its transaction is open */
    producer_state_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_follow),        cmocka_unit_test(sequences_wrap),
        cmocka_unit_test(the_last_five_are_known), cmocka_unit_test(transactions_hold_back),
        cmocka_unit_test(refusals_leave_no_trace), cmocka_unit_test(idle_ones_expire),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
