#include "store/cleaner_txns.h"

#include "../unit.h"

static struct txn_index_entry aborted(int64_t producer_id, int64_t first, int64_t last)
{
    return (struct txn_index_entry){producer_id, first, last, last + 1};
}

struct pass {
    struct cleaner_txns txns;
    struct txn_index_entry entry;
    bool indexed;
};

static enum cleaner_marker mark(struct pass *p, int64_t producer_id, bool commit, int64_t offset)
{
    p->indexed = false;
    return cleaner_txns_pass_marker(&p->txns, producer_id, commit, offset, &p->entry, &p->indexed);
}

static void committed_data_keeps_its_marker(void **state)
{
    (void)state;
    struct pass p;
    cleaner_txns_init(&p.txns);
    assert_false(cleaner_txns_pass_data(&p.txns, 1, true, 0));
    assert_false(cleaner_txns_pass_data(&p.txns, 2, false, 1));
    assert_int_equal(mark(&p, 1, true, 2), CLEANER_MARKER_NEEDED);
    assert_false(p.indexed);
    /* The next transaction of the producer has no data any more. */
    assert_int_equal(mark(&p, 1, true, 9), CLEANER_MARKER_IDLE);
    assert_int_equal(mark(&p, 2, true, 10), CLEANER_MARKER_IDLE);
    assert_int_equal(map_count(&p.txns.open), 0);
    cleaner_txns_fini(&p.txns);
}

static void aborted_data_goes_and_its_marker_is_indexed(void **state)
{
    (void)state;
    struct pass p;
    cleaner_txns_init(&p.txns);
    struct txn_index_entry later = aborted(1, 20, 22), first = aborted(1, 3, 7),
                           other = aborted(2, 4, 30);
    cleaner_txns_add(&p.txns, &later);
    cleaner_txns_add(&p.txns, &other);
    cleaner_txns_add(&p.txns, &first);
    cleaner_txns_add(&p.txns, &first); /* of two segments' indexes */
    assert_false(cleaner_txns_pass_data(&p.txns, 1, true, 1));
    assert_int_equal(mark(&p, 1, true, 2), CLEANER_MARKER_NEEDED);
    assert_true(cleaner_txns_pass_data(&p.txns, 1, true, 3));
    assert_true(cleaner_txns_pass_data(&p.txns, 2, true, 4));
    assert_false(cleaner_txns_pass_data(&p.txns, 3, true, 5));
    assert_int_equal(mark(&p, 1, false, 7), CLEANER_MARKER_NEEDED);
    assert_true(p.indexed);
    assert_int_equal(p.entry.offset_first, 3);
    assert_int_equal(p.entry.offset_last, 7);
    assert_false(cleaner_txns_pass_data(&p.txns, 1, true, 9));
    assert_int_equal(mark(&p, 1, true, 10), CLEANER_MARKER_NEEDED);
    /* Its data went with an earlier cleaning: only the marker is left. */
    assert_int_equal(mark(&p, 1, false, 22), CLEANER_MARKER_IDLE);
    assert_false(p.indexed);
    assert_int_equal(mark(&p, 2, false, 30), CLEANER_MARKER_NEEDED);
    assert_int_equal(p.entry.producer_id, 2);
    cleaner_txns_fini(&p.txns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(committed_data_keeps_its_marker),
        cmocka_unit_test(aborted_data_goes_and_its_marker_is_indexed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
