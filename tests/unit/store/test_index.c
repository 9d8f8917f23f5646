#include "store/index.h"

#include "store_fixture.h"

static int open_file(struct store_fixture *f, const char *name)
{
    char *path = mem_printf("%s/%s", f->root, name);
    int fd;
    assert_int_equal(io_open(f->io, path, IO_READ | IO_WRITE | IO_CREATE, &fd), ERR_NONE);
    mem_free(path);
    return fd;
}

/* 2000 entries over file and tail: (base + 10 i, 100 i). */
static void fill(struct store_fixture *f, struct index *index, int fd, int count)
{
    index_init(index, INDEX_ENTRY_SIZE);
    for (int i = 1; i <= count; i++) {
        if (index_tail_full(index))
            assert_int_equal(index_write(index, f->io, fd), ERR_NONE);
        assert_true(offset_index_append(index, 5000, 5000 + 10 * i, (uint32_t)(100 * i)));
    }
}

static void finds_in_file_and_tail(void **state)
{
    struct store_fixture *f = *state;
    int fd = open_file(f, "i");
    struct index index;
    fill(f, &index, fd, 2000);
    assert_true(index.tail_count > 0);
    assert_true(index.file_count > 1000);
    assert_false(offset_index_append(&index, 5000, 5000 + 20000, 1 << 20));
    for (int offset = 0; offset < 20100; offset++) {
        struct index_position p;
        assert_int_equal(offset_index_find(&index, f->io, fd, 5000, 5000 + offset, &p), ERR_NONE);
        int i = offset / 10 > 2000 ? 2000 : offset / 10;
        assert_int_equal(p.offset, 5000 + 10 * i);
        assert_int_equal(p.position, 100 * i);
    }
    bool any;
    struct index_position p;
    assert_int_equal(offset_index_at_position(&index, f->io, fd, 5000, 101, &any, &p), ERR_NONE);
    assert_true(any);
    assert_int_equal(p.position, 200);
    assert_int_equal(offset_index_at_position(&index, f->io, fd, 5000, 200001, &any, &p), ERR_NONE);
    assert_false(any);
    index_fini(&index);
    io_close(f->io, fd);
}

static void is_cut_and_attached(void **state)
{
    struct store_fixture *f = *state;
    int fd = open_file(f, "i");
    struct index index;
    fill(f, &index, fd, 100);
    assert_int_equal(index_truncate(&index, f->io, fd, 90), ERR_NONE); /* in the tail */
    assert_int_equal(offset_index_last(&index, 5000).offset, 5900);
    assert_int_equal(index_truncate(&index, f->io, fd, 30), ERR_NONE); /* in the file */
    assert_int_equal(offset_index_last(&index, 5000).offset, 5300);
    index_fini(&index);
    index_init(&index, INDEX_ENTRY_SIZE);
    assert_int_equal(index_attach(&index, f->io, fd, 30 * 8 + 3), ERR_NONE);
    assert_int_equal(index_count(&index), 30);
    assert_int_equal(offset_index_last(&index, 5000).position, 3000);
    assert_int_equal(index_truncate(&index, f->io, fd, 0), ERR_NONE);
    assert_int_equal(offset_index_last(&index, 5000).offset, 5000);
    index_fini(&index);
    io_close(f->io, fd);
}

static void good_entries_end_at_damage(void **state)
{
    struct store_fixture *f = *state;
    int fd = open_file(f, "i");
    struct index index;
    uint32_t good;
    fill(f, &index, fd, 1000);
    assert_int_equal(index_write(&index, f->io, fd), ERR_NONE);
    assert_int_equal(offset_index_check(&index, f->io, fd, 1 << 20, &good), ERR_NONE);
    assert_int_equal(good, 1000);
    assert_int_equal(offset_index_check(&index, f->io, fd, 50000, &good), ERR_NONE);
    assert_int_equal(good, 499);
    /* The rest of a preallocated file is zero. */
    uint8_t zeros[80] = {0};
    assert_int_equal(io_pwrite(f->io, fd, zeros, sizeof zeros, 700 * 8), ERR_NONE);
    assert_int_equal(offset_index_check(&index, f->io, fd, 1 << 20, &good), ERR_NONE);
    assert_int_equal(good, 700);
    index_fini(&index);
    io_close(f->io, fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(finds_in_file_and_tail),
        STORE_TEST(is_cut_and_attached),
        STORE_TEST(good_entries_end_at_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
