#include "store/log_dirs.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

static enum err open_text(struct dirs_fixture *x, const char *word)
{
    char *text = NULL;
    struct log_dirs *dirs = NULL;
    enum err err = log_dirs_open(&x->options, &dirs, &text);
    assert_null(dirs);
    assert_non_null(text);
    assert_non_null(strstr(text, word));
    mem_free(text);
    return err;
}

static void explains_what_is_wrong(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    x.options.node_id = 2;
    assert_int_equal(open_text(&x, "node.id"), ERR_ARGUMENT);
    x.options.node_id = 1;
    x.options.cluster_id = SLICE_LIT("other");
    assert_int_equal(open_text(&x, "cluster.id"), ERR_INCONSISTENT_CLUSTER_ID);
    x.options.cluster_id = SLICE_NULL;
    struct log_meta meta;
    assert_int_equal(log_meta_read(x.f->io, x.paths[0], &meta), ERR_NONE);
    assert_int_equal(log_meta_write(x.f->io, x.paths[1], &meta), ERR_NONE);
    assert_int_equal(open_text(&x, "directory.id"), ERR_ARGUMENT);
    for (int i = 0; i < 2; i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/meta.properties", x.paths[i]);
        assert_int_equal(io_unlink(x.f->io, path), ERR_NONE);
    }
    assert_int_equal(open_text(&x, "format"), ERR_NOT_FOUND);
    dirs_end(&x);
}

/* A folder added later gets its meta.properties. */
static void new_folders_join(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    char path[256];
    snprintf(path, sizeof path, "%s/meta.properties", x.paths[1]);
    assert_int_equal(io_unlink(x.f->io, path), ERR_NONE);
    dirs_open(&x);
    assert_slice_eq(log_dirs_cluster_id(x.dirs), "cluster");
    struct log_meta meta;
    assert_int_equal(log_meta_read(x.f->io, x.paths[1], &meta), ERR_NONE);
    assert_string_equal(meta.cluster_id, "cluster");
    assert_int_equal(meta.node_id, 1);
    assert_true(uuid_eq(&meta.directory_id, log_dir_id(log_dirs_at(x.dirs, 1))));
    assert_false(uuid_is_zero(&meta.directory_id));
    assert_ptr_equal(log_dirs_metadata(x.dirs), log_dirs_at(x.dirs, 0));
    dirs_end(&x);
}

/* An error names the key that the folder came from. */
static void names_the_key(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    char below[256];
    snprintf(below, sizeof below, "%s/meta.properties/logs", x.paths[0]);
    x.path_list[0] = below;
    assert_int_equal(open_text(&x, "log.dirs: none of the log folders"), ERR_IO);
    assert_int_equal(open_text(&x, below), ERR_IO);
    x.options.paths_key = "log.dir";
    assert_int_equal(open_text(&x, "log.dir: none of the log folders"), ERR_IO);
    x.path_list[0] = x.paths[0];
    snprintf(below, sizeof below, "%s/meta.properties", x.paths[0]);
    int fd;
    assert_int_equal(io_open(x.f->io, below, IO_WRITE | IO_CREATE | IO_TRUNCATE, &fd), ERR_NONE);
    static const char text[] = "version=1\ncluster.id=c\nnode.id=1\ndirectory.id=x\n";
    assert_int_equal(io_pwrite(x.f->io, fd, text, sizeof text - 1, 0), ERR_NONE);
    io_close(x.f->io, fd);
    assert_int_equal(open_text(&x, "directory.id (22 characters"), ERR_CORRUPT);
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(explains_what_is_wrong),
        STORE_TEST(new_folders_join),
        STORE_TEST(names_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
