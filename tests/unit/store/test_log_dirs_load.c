#include "store/log_dirs.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

#include <sys/resource.h>

enum { LOGS = 200 };

static void loads_all_again(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    assert_int_equal(x.load.loaded, 0);
    for (int i = 0; i < LOGS; i++)
        dirs_append(&x, dirs_create(&x, "t", i), 1 + i % 3);
    dirs_stop(&x);
    for (int round = 0; round < 2; round++) {
        dirs_open(&x);
        assert_int_equal(x.load.loaded, LOGS);
        assert_int_equal(x.load.recovered, round ? LOGS : 0);
        for (int i = 0; i < LOGS; i++) {
            struct log *log = log_dirs_get(x.dirs, SLICE_LIT("t"), i);
            assert_int_equal(log_end(log), 1 + i % 3);
            assert_int_equal(log_dirs_watermark(x.dirs, SLICE_LIT("t"), i), 1 + i % 3);
        }
        log_dirs_free(x.dirs); /* as if killed */
        x.dirs = NULL;
    }
    dirs_end(&x);
}

/* More logs than the process may have files: no folder is at fault, and nothing is lost by it. */
static void too_few_descriptors_fail_the_load_alone(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    for (int i = 0; i < LOGS; i++)
        dirs_append(&x, dirs_create(&x, "t", i), 2);
    for (int i = 0; i < LOGS; i++)
        assert_int_equal(log_set_start(log_dirs_get(x.dirs, SLICE_LIT("t"), i), 1), ERR_NONE);
    dirs_stop(&x);
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 60;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    dirs_open_as(&x, ERR_TOO_MANY_FILES);
    dirs_stop(&x);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    dirs_open(&x);
    assert_int_equal(x.load.loaded, LOGS);
    for (int i = 0; i < LOGS; i++)
        assert_int_equal(log_start(log_dirs_get(x.dirs, SLICE_LIT("t"), i)), 1);
    dirs_end(&x);
}

static void a_folder_that_was_removed_goes_offline(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    char moved[256];
    snprintf(moved, sizeof moved, "%s-gone", x.paths[1]);
    assert_int_equal(rename(x.paths[1], moved), 0);
    struct uuid id = {{1}};
    struct log *log;
    int failed = 0;
    for (int i = 0; i < 6; i++)
        failed += log_dirs_create(x.dirs, NULL, SLICE_LIT("t"), i, &id, &x.load.default_config,
                                  &log) != ERR_NONE;
    assert_int_equal(failed, 1);
    assert_true(log_dir_online(log_dirs_at(x.dirs, 0)));
    assert_false(log_dir_online(log_dirs_at(x.dirs, 1)));
    assert_int_equal(rename(moved, x.paths[1]), 0);
    dirs_end(&x);
}

static void what_is_no_partition_is_left_alone(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    static const char *const folders[] = {"__cluster_metadata-0", "lost+found",
                                          "remote-log-index-cache",
                                          "t-0.0123456789abcdef0123456789abcdef-stray"};
    for (size_t i = 0; i < 4; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", x.paths[0], folders[i]);
        assert_int_equal(io_mkdir(x.f->io, path), ERR_NONE);
    }
    dirs_open(&x);
    assert_int_equal(x.load.loaded, 0);
    for (size_t i = 0; i < 4; i++) {
        char path[256];
        struct io_stat stat_buf;
        snprintf(path, sizeof path, "%s/%s", x.paths[0], folders[i]);
        assert_int_equal(io_stat(x.f->io, path, &stat_buf), ERR_NONE);
    }
    dirs_end(&x);
}

static void a_damaged_folder_does_not_stop_the_rest(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    struct log *logs[2] = {dirs_create(&x, "t", 0), dirs_create(&x, "t", 1)};
    int damaged = log_dir_of(logs[1]) == log_dirs_at(x.dirs, 0);
    dirs_append(&x, logs[0], 1);
    dirs_append(&x, logs[1], 1);
    dirs_stop(&x);
    /* A folder in a log's place cannot be opened as one. */
    char path[256];
    snprintf(path, sizeof path, "%s/t-%d/00000000000000000005.log", x.paths[0], damaged);
    assert_int_equal(io_mkdir(x.f->io, path), ERR_NONE);
    dirs_open(&x);
    assert_false(log_dir_online(log_dirs_at(x.dirs, 0)));
    assert_true(log_dir_online(log_dirs_at(x.dirs, 1)));
    assert_int_equal(x.load.loaded, 1);
    dirs_end(&x);
}

/* A folder that failed in the midst of a move, say: which one is right, a person must say. */
static void twice_is_refused(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    dirs_append(&x, dirs_create(&x, "t", 0), 3);
    dirs_stop(&x);
    char command[400];
    snprintf(command, sizeof command, "cp -r '%s/t-0' '%s/t-0'", x.paths[0], x.paths[1]);
    assert_int_equal(system(command), 0);
    dirs_open_as(&x, ERR_EXISTS);
    assert_non_null(strstr(x.load.text, x.paths[0]));
    assert_non_null(strstr(x.load.text, x.paths[1]));
    mem_free(x.load.text);
    dirs_stop(&x);
    /* Neither was touched. */
    snprintf(command, sizeof command, "rm -r '%s/t-0'", x.paths[0]);
    assert_int_equal(system(command), 0);
    dirs_open(&x);
    assert_int_equal(log_end(log_dirs_get(x.dirs, SLICE_LIT("t"), 0)), 3);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(loads_all_again),
        STORE_TEST(too_few_descriptors_fail_the_load_alone),
        STORE_TEST(a_folder_that_was_removed_goes_offline),
        STORE_TEST(what_is_no_partition_is_left_alone),
        STORE_TEST(a_damaged_folder_does_not_stop_the_rest),
        STORE_TEST(twice_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
