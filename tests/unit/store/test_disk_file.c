#include "store/disk_file.h"

#include "store_fixture.h"

static void replaces_whole(void **state)
{
    struct store_fixture *f = *state;
    char *path = mem_printf("%s/x", f->root);
    struct buf out;
    buf_init(&out);
    assert_int_equal(disk_file_read(f->io, path, 100, &out), ERR_NOT_FOUND);
    assert_int_equal(disk_file_replace(f->io, path, SLICE_LIT("long text"), true), ERR_NONE);
    assert_int_equal(disk_file_replace(f->io, path, SLICE_LIT("short"), false), ERR_NONE);
    assert_int_equal(disk_file_read(f->io, path, 100, &out), ERR_NONE);
    assert_slice_eq(buf_slice(&out), "short");
    assert_int_equal(disk_file_read(f->io, path, 4, &out), ERR_TOO_LARGE);
    assert_slice_eq(buf_slice(&out), "short");
    buf_fini(&out);
    mem_free(path);
}

static void failure_leaves_the_old(void **state)
{
    struct store_fixture *f = *state;
    char *path = mem_printf("%s/none/x", f->root);
    assert_int_equal(disk_file_replace(f->io, path, SLICE_LIT("text"), true), ERR_NOT_FOUND);
    mem_free(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(replaces_whole),
        STORE_TEST(failure_leaves_the_old),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
