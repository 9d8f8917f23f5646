#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

static void waits_for_its_delay(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct log_config config = *log_config_of(log);
    config.retention_ms = 10;
    config.file_delete_delay_ms = 60000;
    log_set_config(log, &config);
    dirs_append(&x, log, 1);
    struct log_read r;
    assert_int_equal(log_read(log, 0, 100, true, 1, &r), ERR_NONE);
    assert_int_equal(log_apply_retention(log, 1 << 20), 1);
    snprintf(x.f->path, sizeof x.f->path, "%s", log_path(log));
    log_dir_run_deletions(log_dir_of(log), io_mono_ms(x.f->io) + 59000);
    assert_true(store_file_size(x.f, "00000000000000000000.log.deleted") > 0);
    assert_true(store_file_size(x.f, "00000000000000000000.index.deleted") >= 0);
    log_dir_run_deletions(log_dir_of(log), io_mono_ms(x.f->io) + 61000);
    assert_int_equal(store_file_size(x.f, "00000000000000000000.log.deleted"), -1);
    assert_int_equal(store_file_size(x.f, "00000000000000000000.index.deleted"), -1);
    /* A reader keeps what it holds. */
    uint8_t bytes[256];
    assert_true(r.range.size < sizeof bytes);
    assert_int_equal(log_range_copy(x.f->io, &r.range, bytes), ERR_NONE);
    log_range_release(&r.range);
    dirs_end(&x);
}

static void the_longest_delay_is_never(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct log_config config = *log_config_of(log);
    config.retention_ms = 10;
    config.file_delete_delay_ms = INT64_MAX;
    log_set_config(log, &config);
    dirs_append(&x, log, 1);
    assert_int_equal(log_apply_retention(log, 1 << 20), 1);
    snprintf(x.f->path, sizeof x.f->path, "%s", log_path(log));
    log_dir_run_deletions(log_dir_of(log), INT64_MAX - 1);
    assert_true(store_file_size(x.f, "00000000000000000000.log.deleted") > 0);
    dirs_end(&x);
}

static void folders_go_whole(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    dirs_append(&x, log, 1);
    struct log_read r;
    assert_int_equal(log_read(log, 0, 100, true, 1, &r), ERR_NONE);
    assert_int_equal(log_dirs_delete(x.dirs, log, false), ERR_NONE);
    assert_null(log_dirs_get(x.dirs, SLICE_LIT("t"), 0));
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(x.f->io, x.paths[0], &names, &count), ERR_NONE);
    int found = 0;
    for (size_t i = 0; i < count; i++) {
        if (!log_dir_has_suffix(names[i], "-delete") || strncmp(names[i], "t-0.", 4))
            continue;
        found++;
        /* Apache Kafka loads the folder once more, and recovers a log without index files. */
        struct io_stat stat_buf;
        char path[512];
        snprintf(path, sizeof path, "%s/%s/00000000000000000000.index", x.paths[0], names[i]);
        assert_int_equal(io_stat(x.f->io, path, &stat_buf), ERR_NONE);
    }
    io_free_names(names, count);
    assert_int_equal(found, 1);
    log_dir_run_deletions(log_dirs_at(x.dirs, 0), INT64_MAX);
    assert_int_equal(io_list_dir(x.f->io, x.paths[0], &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++)
        assert_false(log_dir_has_suffix(names[i], "-delete"));
    io_free_names(names, count);
    log_range_release(&r.range);
    /* The name is free again. */
    assert_int_equal(log_end(dirs_create(&x, "t", 0)), 0);
    dirs_end(&x);
}

static void a_restart_goes_on_with_it(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    char path[256];
    snprintf(path, sizeof path, "%s/t-0.0123456789abcdef0123456789abcdef-delete", x.paths[0]);
    assert_int_equal(io_mkdir(x.f->io, path), ERR_NONE);
    dirs_open(&x);
    assert_int_equal(x.load.loaded, 0);
    log_dir_run_deletions(log_dirs_at(x.dirs, 0), INT64_MAX);
    struct io_stat stat_buf;
    assert_int_equal(io_stat(x.f->io, path, &stat_buf), ERR_NOT_FOUND);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(waits_for_its_delay),
        STORE_TEST(the_longest_delay_is_never),
        STORE_TEST(folders_go_whole),
        STORE_TEST(a_restart_goes_on_with_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
