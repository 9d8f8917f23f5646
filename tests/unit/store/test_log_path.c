#include "store/log_path.h"

#include "store_fixture.h"

static bool file_is(const char *folder, const char *name, const char *text)
{
    char path[160], bytes[64] = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    if (!file)
        return false;
    size_t size = fread(bytes, 1, sizeof bytes - 1, file);
    fclose(file);
    return size == strlen(text) && !memcmp(bytes, text, size);
}

/* A flush that was slow must not put an old history over a newer one. */
static void the_newest_epochs_stay(void **state)
{
    struct store_fixture *f = *state;
    struct log_path *path = log_path_new(f->path);
    assert_int_equal(io_mkdir(f->io, f->path), ERR_NONE);
    const char *name = "leader-epoch-checkpoint";
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("two"), 2, true), ERR_NONE);
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("one"), 1, true), ERR_NONE);
    assert_true(file_is(f->path, name, "two"));
    /* One that is not synced is no reason to leave the next of its version out. */
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("3"), 3, false), ERR_NONE);
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("three"), 3, true), ERR_NONE);
    assert_true(file_is(f->path, name, "three"));
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("top"), UINT32_MAX / 2, true),
                     ERR_NONE);
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("top"), UINT32_MAX - 1, true),
                     ERR_NONE);
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("wrapped"), 1, true), ERR_NONE);
    assert_true(file_is(f->path, name, "wrapped"));
    log_path_unref(path);
}

/* A topic is deleted and made again while a flush of the old one is under way. */
static void a_late_job_finds_its_own_folder(void **state)
{
    struct store_fixture *f = *state;
    char to[160];
    snprintf(to, sizeof to, "%s/t-0.0123-delete", f->root);
    assert_int_equal(io_mkdir(f->io, f->path), ERR_NONE);
    store_poke(f, "00000000000000000007.snapshot", 0, "x", 1);
    struct log_path *path = log_path_new(f->path);
    assert_int_equal(log_path_rename(path, f->io, to), ERR_NONE);
    assert_string_equal(path->text, to);
    assert_int_equal(io_mkdir(f->io, f->path), ERR_NONE);
    assert_int_equal(log_path_write_epochs(path, f->io, slice_str("old"), 1, true), ERR_NONE);
    assert_false(file_is(f->path, "leader-epoch-checkpoint", "old"));
    assert_true(file_is(to, "leader-epoch-checkpoint", "old"));
    assert_int_equal(log_path_sync_snapshot(path, f->io, 7), ERR_NONE);
    assert_int_equal(log_path_sync_snapshot(path, f->io, 8), ERR_NONE);
    assert_int_equal(log_path_sync_names(path, f->io, true), ERR_NONE);
    /* A rename that fails changes nothing. */
    assert_int_not_equal(log_path_rename(path, f->io, "/nowhere/at/all"), ERR_NONE);
    assert_string_equal(path->text, to);
    log_path_unref(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(the_newest_epochs_stay),
        STORE_TEST(a_late_job_finds_its_own_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
