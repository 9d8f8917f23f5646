#include "store/cleaner_internal.h"

#include "cleaner_fixture.h"

static void it_follows_the_logs(void **state)
{
    struct store_fixture *f = *state;
    struct dirs_fixture x;
    cleaner_begin(&x, f, 2);
    struct log *a = dirs_create(&x, "a", 0), *b = dirs_create(&x, "b", 0), *c;
    c = dirs_create(&x, "c", 1);
    assert_ptr_equal(log_dir_of(a), log_dir_of(c));
    a->first_dirty = 5;
    b->first_dirty = 0;
    cleaner_write_checkpoints(x.dirs);
    /* Never cleaned ones are not named. */
    assert_string_equal(dirs_text(&x, "cleaner-offset-checkpoint"), "0\n1\na 0 5\n");
    c->first_dirty = 7;
    cleaner_write_checkpoints(x.dirs);
    assert_string_equal(dirs_text(&x, "cleaner-offset-checkpoint"), "0\n2\na 0 5\nc 1 7\n");
    assert_int_equal(log_dirs_delete(x.dirs, a, false), ERR_NONE);
    cleaner_write_checkpoints(x.dirs);
    assert_string_equal(dirs_text(&x, "cleaner-offset-checkpoint"), "0\n1\nc 1 7\n");
    dirs_stop(&x);
    dirs_open(&x);
    assert_int_equal(log_dirs_get(x.dirs, SLICE_LIT("c"), 1)->first_dirty, 7);
    assert_int_equal(log_dirs_get(x.dirs, SLICE_LIT("b"), 0)->first_dirty, 0);
    /* One of that name is a new log. */
    a = dirs_create(&x, "a", 0);
    assert_int_equal(a->first_dirty, -1);
    dirs_end(&x);
}

/* Two syncs that a start would pay for nothing. An old file that says more is written anew. */
static void nothing_cleaned_needs_no_file(void **state)
{
    struct dirs_fixture x;
    cleaner_begin(&x, *state, 1);
    char path[256];
    struct io_stat stat;
    snprintf(path, sizeof path, "%s/cleaner-offset-checkpoint", x.paths[0]);
    struct log *a = dirs_create(&x, "a", 0);
    cleaner_write_checkpoints(x.dirs);
    assert_int_equal(io_stat(x.f->io, path, &stat), ERR_NOT_FOUND);
    a->first_dirty = 5;
    cleaner_write_checkpoints(x.dirs);
    assert_int_equal(log_dirs_delete(x.dirs, a, false), ERR_NONE);
    dirs_stop(&x);
    dirs_open(&x);
    cleaner_write_checkpoints(x.dirs);
    assert_string_equal(dirs_text(&x, "cleaner-offset-checkpoint"), "0\n0\n");
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(it_follows_the_logs),
        STORE_TEST(nothing_cleaned_needs_no_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
