#include "os_fixture.h"

#include <fcntl.h>
#include <unistd.h>

static int open_file(struct fixture *f, const char *name)
{
    int fd;
    assert_int_equal(io_open(f->io, in_folder(f, name), IO_READ | IO_WRITE | IO_CREATE, &fd),
                     ERR_NONE);
    return fd;
}

static void opens_with_flags(void **state)
{
    struct fixture *f = *state;
    int fd = -5;
    assert_int_equal(io_open(f->io, in_folder(f, "a"), IO_READ, &fd), ERR_NOT_FOUND);
    assert_int_equal(fd, -5);
    assert_string_equal(io_error_text(f->io, ERR_NOT_FOUND), "No such file or directory");
    io_close(f->io, open_file(f, "a"));
    assert_int_equal(io_open(f->io, in_folder(f, "a"), IO_WRITE | IO_CREATE | IO_EXCLUSIVE, &fd),
                     ERR_EXISTS);
    /* Each kind of error keeps its text: what failed is told though other calls failed since. */
    assert_string_equal(io_error_text(f->io, ERR_NOT_FOUND), "No such file or directory");
    assert_string_equal(io_error_text(f->io, ERR_EXISTS), "File exists");
    assert_string_equal(io_error_text(f->io, ERR_CORRUPT), "the data is damaged");
    assert_int_equal(io_open(f->io, in_folder(f, "p"), IO_WRITE | IO_CREATE | IO_PRIVATE, &fd),
                     ERR_NONE);
    io_close(f->io, fd);
    assert_int_equal(
        io_open(f->io, in_folder(f, "r"), IO_WRITE | IO_CREATE | IO_READ_ONLY_FILE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, "x", 1, 0), ERR_NONE);
    io_close(f->io, fd);
    assert_int_equal(access(in_folder(f, "r"), R_OK), 0);
}

static void writes_and_reads_whole(void **state)
{
    struct fixture *f = *state;
    int fd = open_file(f, "a");
    enum { PARTS = 200 }; /* more than one system call takes */
    struct iovec parts[PARTS];
    char letters[PARTS];
    for (int i = 0; i < PARTS; i++) {
        letters[i] = (char)('a' + i % 26);
        parts[i] = (struct iovec){&letters[i], i % 7 == 0 ? 0 : 1};
    }
    assert_int_equal(io_pwritev(f->io, fd, parts, PARTS, 10), ERR_NONE);
    struct io_stat st;
    assert_int_equal(io_fstat(f->io, fd, &st), ERR_NONE);
    assert_int_equal(st.size, 10 + 200 - 29);
    assert_false(st.is_dir);
    char data[512];
    size_t size;
    assert_int_equal(io_pread(f->io, fd, data, sizeof data, 10, &size), ERR_NONE);
    assert_int_equal(size, 171);
    assert_memory_equal(data, "bcdefg", 6);
    assert_int_equal(data[6], 'i');
    assert_int_equal(io_pread(f->io, fd, data, sizeof data, 1000, &size), ERR_NONE);
    assert_int_equal(size, 0);
    assert_int_equal(io_truncate(f->io, fd, 11), ERR_NONE);
    assert_int_equal(io_fsync(f->io, fd), ERR_NONE);
    assert_int_equal(io_fdatasync(f->io, fd), ERR_NONE);
    assert_int_equal(io_pread(f->io, fd, data, sizeof data, 10, &size), ERR_NONE);
    assert_int_equal(size, 1);
    io_close(f->io, fd);
}

static void maps_a_full_disk(void **state)
{
    struct fixture *f = *state;
    int fd;
    assert_int_equal(io_open(f->io, "/dev/full", IO_WRITE, &fd), ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, "x", 1, 0), ERR_DISK_FULL);
    assert_string_equal(io_error_text(f->io, ERR_DISK_FULL), "No space left on device");
    io_close(f->io, fd);
}

static void knows_what_is_cached(void **state)
{
    struct fixture *f = *state;
    int fd = open_file(f, "big");
    static char block[256 * 1024];
    memset(block, 'x', sizeof block);
    assert_int_equal(io_pwrite(f->io, fd, block, sizeof block, 0), ERR_NONE);
    assert_true(io_is_cached(f->io, fd, 100, sizeof block - 100));
    assert_true(io_is_cached(f->io, fd, 0, 0));
    assert_int_equal(io_fsync(f->io, fd), ERR_NONE);
    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    bool dropped = !io_is_cached(f->io, fd, 0, sizeof block);
    if (dropped) { /* not on a file system that lives in memory */
        size_t size;
        assert_int_equal(io_pread(f->io, fd, block, sizeof block, 0, &size), ERR_NONE);
        assert_true(io_is_cached(f->io, fd, 0, sizeof block));
    }
    io_close(f->io, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(opens_with_flags), FIXTURE_TEST(writes_and_reads_whole),
        FIXTURE_TEST(maps_a_full_disk), FIXTURE_TEST(knows_what_is_cached)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
