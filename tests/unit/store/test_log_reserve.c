#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

static int64_t size_of_reserve(struct dirs_fixture *x)
{
    char path[256];
    struct io_stat status = {0};
    snprintf(path, sizeof path, "%s/.klamm-reserve", x->paths[0]);
    return io_stat(x->f->io, path, &status) == ERR_NONE ? status.size : -1;
}

/* As if the disk had this many bytes free. */
static void pretend_free(struct log_dir *dir, int64_t size)
{
    dir->space.free = size;
    dir->space_known = true;
}

static void a_start_without_space_takes_a_step(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log_dir *dir = log_dirs_at(x.dirs, 0);
    log_dir_poll_space(dir);
    dir->reserve_kept = 0;
    log_reserve_keep(dir);
    assert_true(dir->reserve_kept);
    assert_int_equal(size_of_reserve(&x), 1 << 20);
    log_reserve_give_back(dir); /* there is space */
    assert_int_equal(size_of_reserve(&x), 1 << 20);
    for (int64_t left = 3; left >= 0; left--) {
        pretend_free(dir, 4096);
        log_reserve_give_back(dir);
        assert_int_equal(size_of_reserve(&x), left * (256 << 10));
    }
    pretend_free(dir, 0);
    log_reserve_give_back(dir); /* nothing is left to give */
    assert_int_equal(size_of_reserve(&x), 0);
    dir->reserve_kept = 0;
    log_reserve_keep(dir); /* free space as polled again by the last step */
    pretend_free(dir, 1 << 20);
    dir->reserve_kept = 0;
    log_reserve_keep(dir); /* too little for a reserve */
    assert_false(dir->reserve_kept);
    log_dir_poll_space(dir);
    log_reserve_keep(dir);
    assert_int_equal(size_of_reserve(&x), 1 << 20);
    dirs_end(&x);
}

/* For a change that makes room, all but the last step; that is for the next start. */
static void a_running_node_leaves_a_step(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log_dir *dir = log_dirs_at(x.dirs, 0);
    log_dir_poll_space(dir);
    log_reserve_keep(dir);
    assert_int_equal(size_of_reserve(&x), 1 << 20);
    for (int64_t left = 3; left >= 1; left--) {
        assert_true(log_dirs_make_room(x.dirs, false));
        assert_int_equal(size_of_reserve(&x), left * (256 << 10));
    }
    assert_false(log_dirs_make_room(x.dirs, false));
    assert_true(log_dirs_make_room(x.dirs, true));
    assert_int_equal(size_of_reserve(&x), 0);
    assert_false(log_dirs_make_room(x.dirs, true));
    log_dir_poll_space(dir);
    log_reserve_keep(dir); /* filled again */
    assert_int_equal(size_of_reserve(&x), 1 << 20);
    dirs_end(&x);
}

static void none_is_made_while_writes_are_refused(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log_dir *dir = log_dirs_at(x.dirs, 0);
    x.dirs->options.reserve_client = INT64_MAX;
    log_dir_poll_space(dir);
    int64_t before = size_of_reserve(&x);
    dir->reserve_kept = 0;
    log_reserve_keep(dir);
    assert_false(dir->reserve_kept);
    assert_int_equal(size_of_reserve(&x), before);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_start_without_space_takes_a_step),
        STORE_TEST(a_running_node_leaves_a_step),
        STORE_TEST(none_is_made_while_writes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
