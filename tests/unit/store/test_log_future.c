#include "store/log_dirs.h"

#include "dirs_fixture.h"
#include "store/log_copy.h"
#include "store/log_internal.h"
#include "store_fixture.h"

static const struct uuid ID = {{1, 2, 3, 't'}};

static struct log *make_future(struct dirs_fixture *x)
{
    struct log *future;
    assert_int_equal(log_dirs_create_future(x->dirs, log_dirs_at(x->dirs, 1), SLICE_LIT("t"), 0,
                                            &ID, &x->load.default_config, 0, &future),
                     ERR_NONE);
    assert_true(log_is_future(future));
    return future;
}

static void fill(struct log *from, struct log *future)
{
    struct log_copy copy;
    assert_int_equal(log_copy_prepare(from, log_end(future), 1 << 20, &copy), ERR_NONE);
    assert_int_equal(log_copy_run(&copy), ERR_NONE);
    assert_int_equal(log_copy_finish(future, &copy), ERR_NONE);
    log_copy_end(&copy);
}

static void dirs_restart(struct dirs_fixture *x)
{
    dirs_stop(x);
    dirs_open(x);
}

static int count_names(struct dirs_fixture *x, int dir, const char *suffix)
{
    char **names;
    size_t count;
    int found = 0;
    assert_int_equal(io_list_dir(x->f->io, x->paths[dir], &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++)
        found += strlen(names[i]) > strlen(suffix) && strncmp(names[i], "t-0", 3) == 0 &&
                 strcmp(names[i] + strlen(names[i]) - strlen(suffix), suffix) == 0;
    io_free_names(names, count);
    return found;
}

static void takes_the_place(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    assert_ptr_equal(log_dir_of(log), log_dirs_at(x.dirs, 0));
    dirs_append(&x, log, 10);
    struct log *future = make_future(&x);
    assert_ptr_equal(log_dirs_get(x.dirs, SLICE_LIT("t"), 0), log);
    assert_int_equal(count_names(&x, 1, "-future"), 1);
    fill(log, future);
    log_copy_take_over(future, log);
    assert_int_equal(log_dirs_replace_begin(x.dirs, SLICE_LIT("t"), log, future), ERR_NONE);
    assert_ptr_equal(log_dirs_get(x.dirs, SLICE_LIT("t"), 0), future);
    assert_int_equal(count_names(&x, 0, "-delete"), 1);
    assert_int_equal(count_names(&x, 1, "-future"),
                     1); /* the disk does not know of the other yet */
    struct log_flush flush;
    assert_false(log_flush_prepare(future, &flush));
    assert_int_equal(log_dir_sync(log_dir_of(log)), ERR_NONE);
    assert_int_equal(log_dirs_replace_end(future), ERR_NONE);
    assert_int_equal(log_dir_sync(log_dir_of(future)), ERR_NONE);
    assert_ptr_equal(log_dirs_get(x.dirs, SLICE_LIT("t"), 0), future);
    assert_false(log_is_future(future));
    assert_int_equal(count_names(&x, 0, "-delete"), 1);
    assert_int_equal(count_names(&x, 1, "t-0"), 0); /* its name is no longer than that */
    log_dirs_discard(x.dirs, log, true);
    dirs_append(&x, future, 1);
    log_dirs_run_now(x.dirs, 0);
    assert_int_equal(count_names(&x, 0, "-delete"), 0);
    dirs_restart(&x);
    log = log_dirs_get(x.dirs, SLICE_LIT("t"), 0);
    assert_ptr_equal(log_dir_of(log), log_dirs_at(x.dirs, 1));
    assert_int_equal(log_end(log), 11);
    dirs_end(&x);
}

static void find_future(void *context, struct log *log)
{
    if (log_is_future(log))
        *(struct log **)context = log;
}

/* Retention leaves a future alone, a start finds it again, and one without a log takes its place.
 */
static void a_start_finds_it(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    dirs_append(&x, log, 10);
    struct log *future = make_future(&x);
    fill(log, future);
    log_set_high_watermark(future, log_end(future));
    log_dirs_run_now(x.dirs, INT64_MAX / 2);
    assert_int_equal(log_start(log), 10); /* old */
    assert_int_equal(log_start(future), 0);
    dirs_restart(&x);
    log = log_dirs_get(x.dirs, SLICE_LIT("t"), 0);
    assert_ptr_equal(log_dir_of(log), log_dirs_at(x.dirs, 0));
    future = NULL;
    log_dirs_each(x.dirs, find_future, &future);
    assert_non_null(future);
    assert_int_equal(log_end(future), 10);
    struct uuid id;
    assert_true(log_topic_id(future, &id) && uuid_eq(&id, &ID));
    assert_int_equal(log_dirs_delete(x.dirs, log, false), ERR_NONE);
    assert_int_equal(log_dirs_promote(x.dirs, SLICE_LIT("t"), future), ERR_NONE);
    assert_ptr_equal(log_dirs_get(x.dirs, SLICE_LIT("t"), 0), future);
    dirs_end(&x);
}

static void deleting_one(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    dirs_create(&x, "t", 0);
    struct log *future = make_future(&x);
    assert_int_equal(log_dirs_delete(x.dirs, future, false), ERR_NONE);
    assert_int_equal(count_names(&x, 1, "-future"), 0);
    assert_int_equal(count_names(&x, 1, "-delete"), 1);
    assert_non_null(log_dirs_get(x.dirs, SLICE_LIT("t"), 0));
    dirs_end(&x);
}

/* A topic's name may be as long as a file's; the folder's is cut, the log's is not. */
static void long_names(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    char topic[250];
    memset(topic, 't', sizeof topic - 1);
    topic[sizeof topic - 1] = '\0';
    struct log *future;
    assert_int_equal(log_dirs_create_future(x.dirs, log_dirs_at(x.dirs, 1), slice_str(topic), 12,
                                            &ID, &x.load.default_config, 0, &future),
                     ERR_NONE);
    dirs_restart(&x);
    future = NULL;
    log_dirs_each(x.dirs, find_future, &future);
    assert_non_null(future);
    assert_int_equal(log_dirs_promote(x.dirs, slice_str(topic), future), ERR_NONE);
    assert_ptr_equal(log_dirs_get(x.dirs, slice_str(topic), 12), future);
    assert_slice_eq(log_topic(future), topic);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(takes_the_place),
        STORE_TEST(a_start_finds_it),
        STORE_TEST(deleting_one),
        STORE_TEST(long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
