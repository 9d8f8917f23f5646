#include "store/log.h"

#include "store_fixture.h"

static void check(struct store_fixture *f, int64_t timestamp, int64_t offset, int64_t found)
{
    struct log_time_offset t;
    assert_int_equal(log_offset_by_time(f->log, timestamp, &t), ERR_NONE);
    assert_int_equal(t.offset, offset);
    assert_int_equal(t.timestamp, found);
    assert_int_equal(t.leader_epoch, offset < 0 ? -1 : 0);
}

/* Timestamps out of order over two batches and two segments. */
static void follows_kafkas_order(void **state)
{
    struct store_fixture *f = *state;
    store_open(f);
    check(f, 0, -1, -1);
    store_append(f, 3, 5, 1000); /* 0: 1000 1001 1002 */
    store_append(f, 3, 5, 500);  /* 3: 500 501 502 */
    store_append(f, 3, 5, 900);  /* 6: 900 901 902 */
    assert_int_equal(log_roll(f->log), ERR_NONE);
    store_append(f, 2, 5, 800);  /* 9: 800 801 */
    store_append(f, 2, 5, 2000); /* 11: 2000 2001 */
    for (int round = 0; round < 3; round++) {
        check(f, 0, 0, 1000);
        check(f, 1001, 1, 1001);
        check(f, 1003, 11, 2000);
        check(f, 2001, 12, 2001);
        check(f, 2002, -1, -1);
        struct log_time_offset t;
        assert_int_equal(log_offset_of_max_time(f->log, &t), ERR_NONE);
        assert_int_equal(t.offset, 12);
        assert_int_equal(t.timestamp, 2001);
        if (round == 0)
            store_reopen(f);
        else
            store_crash(f, 4);
    }
    /* Below the log start nothing counts, and the search stays in its segment. */
    assert_int_equal(log_set_start(f->log, 3), ERR_NONE);
    check(f, 600, 6, 900);
    check(f, 1001, -1, -1);
    struct log_time_offset t;
    assert_int_equal(log_offset_of_max_time(f->log, &t), ERR_NONE);
    assert_int_equal(t.offset, 12);
}

static void the_first_of_equal_maxima_wins(void **state)
{
    struct store_fixture *f = *state;
    struct log_time_offset t;
    store_open(f);
    assert_int_equal(log_offset_of_max_time(f->log, &t), ERR_NONE);
    assert_int_equal(t.offset, -1);
    store_append(f, 1, 5, 1000);
    store_append(f, 2, 5, 1999);
    store_append(f, 1, 5, 2000);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    store_append(f, 1, 5, 2000);
    assert_int_equal(log_offset_of_max_time(f->log, &t), ERR_NONE);
    assert_int_equal(t.offset, 2);
    assert_int_equal(t.timestamp, 2000);
}

/* Messages of magic 0 have no time; those in a wrapper of magic 1 are found one by one. The
 * expected answers are those of Apache Kafka 4.4.0 on the same folder
 * (tests/integration/test_legacy.py). */
static void legacy_segments_are_searched(void **state)
{
    struct store_fixture *f = *state;
    enum { SHIFTS = 8 };
    const int64_t t = 1400000000000;
    static const struct {
        int64_t shift, offset, found;
    } wanted[SHIFTS] = {
        {1000, 6, 1000},  {1001, 7, 3000},  {3001, 10, 6000}, {5500, 10, 6000},
        {6001, 13, 7000}, {7001, 15, 7500}, {7501, 18, 9000}, {9001, -1, -1},
    };
    store_golden(f, "legacy-0");
    f->options.clean = true;
    for (int round = 0; round < 2; round++) {
        if (round)
            store_crash(f, 0);
        else
            store_open(f);
        assert_int_equal(log_end(f->log), 20);
        struct log_time_offset found;
        for (int i = 0; i < SHIFTS; i++) {
            assert_int_equal(log_offset_by_time(f->log, t + wanted[i].shift, &found), ERR_NONE);
            assert_int_equal(found.offset, wanted[i].offset);
            assert_int_equal(found.timestamp, found.offset < 0 ? -1 : t + wanted[i].found);
        }
        assert_int_equal(log_offset_of_max_time(f->log, &found), ERR_NONE);
        assert_int_equal(found.offset, 18);
        assert_int_equal(found.timestamp, t + 9000);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(legacy_segments_are_searched),
        STORE_TEST(follows_kafkas_order),
        STORE_TEST(the_first_of_equal_maxima_wins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
