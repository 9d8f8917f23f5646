#include "store/leader_epochs.h"

#include "store_fixture.h"

static void assigns_and_answers(void **state)
{
    (void)state;
    struct leader_epochs e;
    int32_t epoch;
    int64_t end;
    leader_epochs_init(&e);
    leader_epochs_end(&e, 0, 10, &epoch, &end);
    assert_int_equal(epoch, -1);
    leader_epochs_assign(&e, -1, 0);
    assert_int_equal(e.count, 0);
    leader_epochs_assign(&e, 2, 0);
    leader_epochs_assign(&e, 2, 5);
    leader_epochs_assign(&e, 4, 10);
    assert_int_equal(e.count, 2);
    assert_true(leader_epochs_dirty(&e));
    leader_epochs_end(&e, 4, 33, &epoch, &end);
    assert_int_equal(epoch, 4);
    assert_int_equal(end, 33);
    leader_epochs_end(&e, 3, 33, &epoch, &end);
    assert_int_equal(epoch, 2);
    assert_int_equal(end, 10);
    /* Below the first known one: itself, and where the first begins. */
    leader_epochs_end(&e, 1, 33, &epoch, &end);
    assert_int_equal(epoch, 1);
    assert_int_equal(end, 0);
    leader_epochs_end(&e, 5, 33, &epoch, &end);
    assert_int_equal(epoch, -1);
    assert_int_equal(end, -1);
    assert_int_equal(leader_epochs_at(&e, 9), 2);
    assert_int_equal(leader_epochs_at(&e, 10), 4);
    /* Entries that contradict a new one go. */
    leader_epochs_assign(&e, 3, 7);
    assert_int_equal(e.count, 2);
    assert_int_equal(leader_epochs_latest(&e), 3);
    leader_epochs_fini(&e);
}

static void an_epoch_without_batches_is_not_written(void **state)
{
    (void)state;
    struct leader_epochs e;
    leader_epochs_init(&e);
    leader_epochs_assign(&e, 1, 0);
    e.version_written = e.version;
    /* Leadership comes again and again and nothing is appended. */
    leader_epochs_begin(&e, 2, 10);
    leader_epochs_begin(&e, 3, 10);
    leader_epochs_assign(&e, -1, 11);
    assert_int_equal(e.count, 2);
    assert_int_equal(leader_epochs_latest(&e), 3);
    assert_false(leader_epochs_dirty(&e));
    leader_epochs_truncate_end(&e, 10);
    assert_int_equal(e.count, 1);
    assert_false(leader_epochs_dirty(&e));
    /* The first batch makes it part of the history. */
    leader_epochs_begin(&e, 4, 10);
    assert_false(leader_epochs_dirty(&e));
    leader_epochs_assign(&e, 4, 10);
    assert_true(leader_epochs_dirty(&e));
    e.version_written = e.version;
    leader_epochs_assign(&e, 4, 12);
    assert_false(leader_epochs_dirty(&e));
    leader_epochs_truncate_end(&e, 10);
    assert_true(leader_epochs_dirty(&e));
    leader_epochs_fini(&e);
}

static void truncates_at_both_ends(void **state)
{
    (void)state;
    struct leader_epochs e;
    leader_epochs_init(&e);
    leader_epochs_assign(&e, 1, 0);
    leader_epochs_assign(&e, 2, 10);
    leader_epochs_assign(&e, 3, 20);
    e.version_written = e.version;
    leader_epochs_truncate_start(&e, 0);
    assert_false(leader_epochs_dirty(&e));
    leader_epochs_truncate_start(&e, 15);
    assert_int_equal(e.count, 2);
    assert_int_equal(e.entries[0].epoch, 2);
    assert_int_equal(e.entries[0].offset_first, 15);
    leader_epochs_truncate_start(&e, 20);
    assert_int_equal(e.count, 1);
    assert_int_equal(e.entries[0].epoch, 3);
    assert_int_equal(e.entries[0].offset_first, 20);
    leader_epochs_truncate_end(&e, 21);
    assert_int_equal(e.count, 1);
    leader_epochs_truncate_end(&e, 20);
    assert_int_equal(e.count, 0);
    leader_epochs_fini(&e);
}

static void file_has_kafkas_bytes(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "del-0");
    struct leader_epochs e;
    leader_epochs_init(&e);
    assert_int_equal(leader_epochs_read(&e, f->io, f->path), ERR_NONE);
    assert_int_equal(e.count, 1);
    assert_int_equal(e.entries[0].epoch, 0);
    assert_int_equal(e.entries[0].offset_first, 3);
    assert_false(leader_epochs_dirty(&e));
    store_cut_file(f, "leader-epoch-checkpoint", 0);
    struct buf text;
    buf_init(&text);
    leader_epochs_encode(&e, &text);
    store_poke(f, "leader-epoch-checkpoint", 0, text.data, text.size);
    buf_fini(&text);
    assert_true(store_same_as_golden(f, "del-0", "leader-epoch-checkpoint"));
    store_cut_file(f, "leader-epoch-checkpoint", 0);
    assert_int_equal(leader_epochs_read(&e, f->io, f->path), ERR_NONE);
    assert_int_equal(e.count, 0);
    store_poke(f, "leader-epoch-checkpoint", 0, "0\n1", 3);
    assert_int_equal(leader_epochs_read(&e, f->io, f->path), ERR_CORRUPT);
    assert_int_equal(e.count, 0);
    assert_true(leader_epochs_dirty(&e));
    leader_epochs_fini(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(assigns_and_answers),
        STORE_TEST(an_epoch_without_batches_is_not_written),
        STORE_TEST(truncates_at_both_ends),
        STORE_TEST(file_has_kafkas_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
