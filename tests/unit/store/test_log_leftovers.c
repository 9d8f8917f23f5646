#include "store/log_leftovers.h"

#include "store_fixture.h"

static void put(struct store_fixture *f, const char *name)
{
    store_poke(f, name, 0, "x", 1);
}

static void finish(struct store_fixture *f, bool want_changed)
{
    char **names;
    size_t count;
    bool changed = false;
    assert_int_equal(io_list_dir(f->io, f->path, &names, &count), ERR_NONE);
    assert_int_equal(log_leftovers_finish(f->io, f->path, names, count, &changed), ERR_NONE);
    io_free_names(names, count);
    assert_int_equal(changed, want_changed);
}

static void transient_files_go(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    finish(f, false);
    put(f, "00000000000000000040.log.deleted");
    put(f, "00000000000000000040.index.cleaned");
    put(f, "00000000000000000050.log.swap"); /* of a split that was not finished */
    put(f, "00000000000000000007-0000000001.checkpoint.deleted");
    put(f, "00000000000000000099.timeindex");
    finish(f, true);
    finish(f, true); /* the orphan goes when no other leftover is there */
    assert_int_equal(store_file_size(f, "00000000000000000040.log.deleted"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000040.index.cleaned"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000050.log.swap"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000099.timeindex"), -1);
    assert_true(store_file_size(f, "00000000000000000000.timeindex") > 0);
}

/* A finished compaction of the first two segments takes their place. */
static void swaps_are_finished(void **state)
{
    struct store_fixture *f = *state;
    store_golden(f, "small-0");
    char *from = store_file(f, "00000000000000000012.log");
    char *to = store_file(f, "00000000000000000000.log.swap");
    assert_int_equal(io_rename(f->io, from, to), ERR_NONE);
    mem_free(from);
    mem_free(to);
    put(f, "00000000000000000000.index.swap");
    put(f, "00000000000000000000.timeindex.swap");
    finish(f, true);
    assert_int_equal(store_file_size(f, "00000000000000000000.log"), 1457);
    assert_int_equal(store_file_size(f, "00000000000000000000.index"), 1);
    assert_int_equal(store_file_size(f, "00000000000000000000.log.swap"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000012.index"), -1);
    assert_int_equal(store_file_size(f, "00000000000000000023.log"), 994);
    f->options.clean = true;
    store_open(f);
    assert_int_equal(log_segment_count(f->log), 2);
    assert_int_equal(store_read(f, 0, 1 << 20), 23);
    assert_int_equal(store_read(f, 23, 1 << 20), 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(transient_files_go),
        STORE_TEST(swaps_are_finished),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
