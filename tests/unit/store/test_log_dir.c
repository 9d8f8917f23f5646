#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

#include "os/diag.h"

static void names_are_told_apart(void **state)
{
    (void)state;
    struct slice topic;
    int32_t partition;
    assert_true(log_dir_parse_name("a-b.c_d-12", &topic, &partition));
    assert_slice_eq(topic, "a-b.c_d");
    assert_int_equal(partition, 12);
    assert_false(log_dir_parse_name("meta.properties", &topic, &partition));
    assert_false(log_dir_parse_name("-1", &topic, &partition));
    assert_false(log_dir_parse_name("t-01", &topic, &partition));
    assert_false(log_dir_parse_name("t-x", &topic, &partition));
    assert_false(log_dir_parse_name("remote-log-index-cache", &topic, &partition));
    assert_true(log_dir_has_suffix("t-0.0123456789abcdef0123456789abcdef-delete", "-delete"));
    assert_false(log_dir_has_suffix("t-0.0123456789abcdef0123456789abcdeX-delete", "-delete"));
    assert_false(log_dir_has_suffix("t-0-delete", "-delete"));
}

static void reserves_refuse_by_origin(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct io_space space;
    struct log_dir *dir = log_dirs_at(x.dirs, 0);
    assert_true(log_dir_space(dir, &space));
    assert_true(space.free > 0);
    assert_int_equal(log_dir_admits(dir, LOG_CLIENT), ERR_NONE);
    x.dirs->options.reserve_client = INT64_MAX;
    log_dir_poll_space(dir);
    assert_int_equal(log_dir_admits(dir, LOG_CLIENT), ERR_DISK_FULL);
    assert_int_equal(log_dir_admits(dir, LOG_COORDINATOR), ERR_NONE);
    struct builder_options options = BUILDER_DEFAULTS;
    struct log_appended a;
    assert_int_equal(log_append(log, LOG_CLIENT, 0, store_batch(x.f, &options, 1, 1, 1), &a),
                     ERR_DISK_FULL);
    x.dirs->options.reserve_coordinator = INT64_MAX;
    log_dir_poll_space(dir);
    assert_int_equal(log_dir_admits(dir, LOG_COORDINATOR), ERR_DISK_FULL);
    assert_int_equal(log_dir_admits(dir, LOG_RAFT_LEADER), ERR_NONE);
    /* Reserves are capped at a part of the disk: with 1 / 2^40 of it they reserve nothing. */
    x.dirs->options.reserve_part = 1ll << 40;
    log_dir_poll_space(dir);
    assert_int_equal(log_dir_admits(dir, LOG_CLIENT), ERR_NONE);
    x.dirs->options.reserve_client = x.dirs->options.reserve_coordinator = 0;
    log_dir_poll_space(dir);
    assert_int_equal(log_append(log, LOG_CLIENT, 0, store_batch(x.f, &options, 1, 1, 1), &a),
                     ERR_NONE);
    dirs_end(&x);
}

static void told(void *context, struct log_dir *dir)
{
    struct dirs_fixture *x = context;
    assert_ptr_equal(dir, log_dirs_at(x->dirs, 0));
    __atomic_store_n(&x->done, 1, __ATOMIC_RELEASE);
}

static void a_failed_folder_is_told_once(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    x.options.failed = told;
    x.options.failed_context = &x;
    x.options.failed_loop = x.loop;
    dirs_open(&x);
    struct log *logs[2] = {dirs_create(&x, "t", 0), dirs_create(&x, "t", 1)};
    struct log *gone = log_dir_of(logs[0]) == log_dirs_at(x.dirs, 0) ? logs[0] : logs[1];
    struct log *fine = gone == logs[0] ? logs[1] : logs[0];
    log_dir_fail(log_dirs_at(x.dirs, 0), "test");
    log_dir_fail(log_dirs_at(x.dirs, 0), "test");
    dirs_wait(&x);
    assert_false(log_dir_online(log_dirs_at(x.dirs, 0)));
    assert_true(log_failed(gone));
    assert_false(log_failed(fine));
    dirs_append(&x, fine, 1);
    struct log_read r;
    assert_int_equal(log_read(gone, 0, 1, true, 1, &r), ERR_KAFKA_STORAGE_ERROR);
    assert_int_equal(dirs_create(&x, "u", 0) == NULL, 0); /* goes to the other folder */
    dirs_end(&x);
}

static void keep_line(void *context, struct slice line)
{
    snprintf(context, 512, "%.*s", (int)line.size, (const char *)line.data);
}

/* What is said of it is what happened, not what an earlier error was. */
static void a_folder_that_is_gone(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    dirs_append(&x, log, 1);
    char away[300], line[512] = "";
    snprintf(away, sizeof away, "%s.away", x.paths[0]);
    assert_int_equal(io_rename(x.f->io, x.paths[0], away), ERR_NONE);
    diag_init(x.f->io, keep_line, line);
    log_dirs_run_now(x.dirs, 0);
    diag_init(NULL, NULL, NULL);
    assert_false(log_dir_online(log_dirs_at(x.dirs, 0)));
    assert_non_null(strstr(line, "(write checkpoint: No such file or directory)"));
    assert_int_equal(io_rename(x.f->io, away, x.paths[0]), ERR_NONE);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(names_are_told_apart),
        STORE_TEST(reserves_refuse_by_origin),
        STORE_TEST(a_failed_folder_is_told_once),
        STORE_TEST(a_folder_that_is_gone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
