#include "store/time_index.h"

#include "store_fixture.h"

static void only_rising_timestamps_are_kept(void **state)
{
    struct store_fixture *f = *state;
    char *path = mem_printf("%s/t", f->root);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_READ | IO_WRITE | IO_CREATE, &fd), ERR_NONE);
    mem_free(path);
    struct index index;
    struct time_index_entry e;
    index_init(&index, TIME_INDEX_ENTRY_SIZE);
    assert_int_equal(time_index_last(&index, 100).timestamp, -1);
    assert_true(time_index_append(&index, 100, 1000, 110));
    assert_false(time_index_append(&index, 100, 1000, 120));
    assert_false(time_index_append(&index, 100, 999, 130));
    assert_true(time_index_append(&index, 100, 1001, 130));
    assert_int_equal(index_write(&index, f->io, fd), ERR_NONE);
    assert_true(time_index_append(&index, 100, 2000, 140));
    assert_int_equal(time_index_find(&index, f->io, fd, 100, 999, &e), ERR_NONE);
    assert_int_equal(e.timestamp, -1);
    assert_int_equal(e.offset, 100);
    assert_int_equal(time_index_find(&index, f->io, fd, 100, 1999, &e), ERR_NONE);
    assert_int_equal(e.offset, 130);
    assert_int_equal(time_index_find(&index, f->io, fd, 100, 2000, &e), ERR_NONE);
    assert_int_equal(e.offset, 140);
    assert_int_equal(index_write(&index, f->io, fd), ERR_NONE);
    uint32_t good;
    assert_int_equal(time_index_check(&index, f->io, fd, &good), ERR_NONE);
    assert_int_equal(good, 3);
    uint8_t zeros[12] = {0};
    assert_int_equal(io_pwrite(f->io, fd, zeros, sizeof zeros, 24), ERR_NONE);
    assert_int_equal(time_index_check(&index, f->io, fd, &good), ERR_NONE);
    assert_int_equal(good, 2);
    index_fini(&index);
    io_close(f->io, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(only_rising_timestamps_are_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
