#include "os_fixture.h"

#include "base/mem.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

static void put_file(struct fixture *f, const char *name, const char *text)
{
    int fd;
    assert_int_equal(io_open(f->io, in_folder(f, name), IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd),
                     ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, text, strlen(text), 0), ERR_NONE);
    io_close(f->io, fd);
}

static void lists_sorted(void **state)
{
    struct fixture *f = *state;
    put_file(f, "b", "");
    put_file(f, "a", "");
    put_file(f, "Z", "");
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(f->io, f->folder, &names, &count), ERR_NONE);
    assert_int_equal(count, 3);
    assert_string_equal(names[0], "Z");
    assert_string_equal(names[1], "a");
    assert_string_equal(names[2], "b");
    io_free_names(names, count);
    assert_int_equal(io_list_dir(f->io, in_folder(f, "none"), &names, &count), ERR_NOT_FOUND);
}

static void renames_over_and_removes(void **state)
{
    struct fixture *f = *state;
    put_file(f, "a", "new");
    put_file(f, "b", "old one");
    assert_int_equal(io_rename(f->io, in_folder(f, "a"), in_folder(f, "b")), ERR_NONE);
    struct io_stat st;
    assert_int_equal(io_stat(f->io, in_folder(f, "b"), &st), ERR_NONE);
    assert_int_equal(st.size, 3);
    assert_int_equal(io_stat(f->io, in_folder(f, "a"), &st), ERR_NOT_FOUND);
    assert_int_equal(io_mkdir(f->io, in_folder(f, "d")), ERR_NONE);
    assert_int_equal(io_mkdir(f->io, in_folder(f, "d")), ERR_EXISTS);
    assert_int_equal(io_stat(f->io, in_folder(f, "d"), &st), ERR_NONE);
    assert_true(st.is_dir);
    put_file(f, "d/x", "");
    assert_int_equal(io_rmdir(f->io, in_folder(f, "d")), ERR_EXISTS);
    assert_int_equal(io_unlink(f->io, in_folder(f, "d/x")), ERR_NONE);
    assert_int_equal(io_sync_dir(f->io, in_folder(f, "d")), ERR_NONE);
    assert_int_equal(io_rmdir(f->io, in_folder(f, "d")), ERR_NONE);
    assert_int_equal(io_sync_dir(f->io, in_folder(f, "d")), ERR_NOT_FOUND);
}

static void absolute_paths(void **state)
{
    struct fixture *f = *state;
    char *path = io_absolute_path(f->io, "/a/../b");
    assert_string_equal(path, "/a/../b");
    mem_free(path);
    char here[4096];
    assert_non_null(getcwd(here, sizeof here));
    path = io_absolute_path(f->io, "x/y");
    assert_memory_equal(path, here, strlen(here));
    assert_string_equal(path + strlen(here), "/x/y");
    mem_free(path);
    static const char *const cases[][2] = {
        {"/a/", "/a"}, {"//a///b//", "/a/b"}, {"/./a/../", "/./a/.."}, {"/", "/"}, {"//", "/"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        path = io_absolute_path(f->io, cases[i][0]);
        assert_string_equal(path, cases[i][1]);
        mem_free(path);
    }
}

static void sets_mtime_and_tells_space(void **state)
{
    struct fixture *f = *state;
    put_file(f, "a", "");
    assert_int_equal(io_set_mtime(f->io, in_folder(f, "a"), 1234567890123), ERR_NONE);
    struct io_stat st;
    assert_int_equal(io_stat(f->io, in_folder(f, "a"), &st), ERR_NONE);
    assert_int_equal(st.mtime_ms, 1234567890123);
    struct io_space space;
    assert_int_equal(io_space(f->io, f->folder, &space), ERR_NONE);
    assert_true(space.total > 0 && space.free >= 0 && space.free <= space.total);
}

/* The lock must exclude a holder of a traditional fcntl lock (Java's FileLock) and the reverse. */
static void lock_excludes(void **state)
{
    struct fixture *f = *state;
    int fd, other = -7;
    assert_int_equal(io_lock_file(f->io, in_folder(f, ".lock"), &fd), ERR_NONE);
    assert_int_equal(io_lock_file(f->io, in_folder(f, ".lock"), &other), ERR_BUSY);
    assert_int_equal(other, -7);
    pid_t child = fork();
    if (child == 0) {
        int mine = open(in_folder(f, ".lock"), O_RDWR);
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        _exit(fcntl(mine, F_SETLK, &whole) == 0 ? 1 : 0);
    }
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(WEXITSTATUS(status), 0);
    io_close(f->io, fd);
    assert_int_equal(io_lock_file(f->io, in_folder(f, ".lock"), &fd), ERR_NONE);
    io_close(f->io, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(lists_sorted), FIXTURE_TEST(renames_over_and_removes),
        FIXTURE_TEST(absolute_paths), FIXTURE_TEST(sets_mtime_and_tells_space),
        FIXTURE_TEST(lock_excludes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
