#include "store/log_dirs.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

#include "os/io_ops.h"

/* All names below the folder and what the files say. */
static void put_tree(struct io *io, const char *path, struct buf *out)
{
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++) {
        char *child = mem_printf("%s/%s", path, names[i]);
        struct io_stat stat;
        assert_int_equal(io_stat(io, child, &stat), ERR_NONE);
        buf_printf(out, "%s %lld\n", child, (long long)stat.mtime_ms);
        if (stat.is_dir) {
            put_tree(io, child, out);
        } else {
            int fd;
            size_t size;
            assert_int_equal(io_open(io, child, IO_READ, &fd), ERR_NONE);
            buf_reserve(out, (size_t)stat.size);
            assert_int_equal(io_pread(io, fd, out->data + out->size, (size_t)stat.size, 0, &size),
                             ERR_NONE);
            out->size += size;
            io_close(io, fd);
        }
        mem_free(child);
    }
    io_free_names(names, count);
}

/* A start that is refused says why, and leaves everything as it was. */
static enum err open_text(struct dirs_fixture *x, const char *word)
{
    char *text = NULL;
    struct log_dirs *dirs = NULL;
    struct buf before, after;
    buf_init(&before);
    buf_init(&after);
    put_tree(x->f->io, x->f->root, &before);
    enum err err = log_dirs_open(&x->options, &dirs, &text);
    assert_null(dirs);
    assert_non_null(text);
    if (!strstr(text, word))
        fail_msg("%s: not in: %s", word, text);
    mem_free(text);
    put_tree(x->f->io, x->f->root, &after);
    assert_true(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_fini(&before);
    buf_fini(&after);
    return err;
}

static void make(struct dirs_fixture *x, int folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", x->paths[folder], name);
    assert_int_equal(io_mkdir(x->f->io, path), ERR_NONE);
}

static void remove_from(struct dirs_fixture *x, int folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", x->paths[folder], name);
    struct io_stat stat;
    assert_int_equal(io_stat(x->f->io, path, &stat), ERR_NONE);
    assert_int_equal(stat.is_dir ? io_rmdir(x->f->io, path) : io_unlink(x->f->io, path), ERR_NONE);
}

static bool is_there(struct dirs_fixture *x, int folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", x->paths[folder], name);
    struct io_stat stat;
    return io_stat(x->f->io, path, &stat) == ERR_NONE;
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
    for (int i = 0; i < 2; i++)
        remove_from(&x, i, "meta.properties");
    assert_int_equal(open_text(&x, "format"), ERR_NOT_FOUND);
    dirs_end(&x);
}

/* The order of log.dirs was changed, or metadata.log.dir: a second history must not begin. */
static void metadata_elsewhere_is_refused(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    make(&x, 1, "__cluster_metadata-0");
    assert_int_equal(open_text(&x, x.paths[1]), ERR_ARGUMENT);
    assert_int_equal(open_text(&x, "which holds none"), ERR_ARGUMENT);
    make(&x, 0, "__cluster_metadata-0");
    assert_int_equal(open_text(&x, "which holds one, too"), ERR_ARGUMENT);
    remove_from(&x, 0, "__cluster_metadata-0");
    remove_from(&x, 1, "meta.properties"); /* without it, too */
    assert_int_equal(open_text(&x, "unexpected metadata location"), ERR_ARGUMENT);
    remove_from(&x, 1, "__cluster_metadata-0");
    make(&x, 0, "__cluster_metadata-0");
    x.options.metadata_path = x.paths[1];
    assert_int_equal(open_text(&x, x.paths[0]), ERR_ARGUMENT);
    x.options.metadata_path = x.paths[0];
    dirs_open(&x);
    dirs_end(&x);
}

/* The disk of the metadata is not mounted, or metadata.log.dir is mistyped. */
static void the_metadata_folder_is_never_formatted(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    remove_from(&x, 0, "meta.properties");
    assert_int_equal(open_text(&x, x.paths[0]), ERR_NOT_FOUND);
    assert_int_equal(open_text(&x, "where there is none"), ERR_NOT_FOUND);
    assert_int_equal(io_rmdir(x.f->io, x.paths[0]), ERR_NONE);
    assert_int_equal(open_text(&x, "which does not exist"), ERR_NOT_FOUND);
    x.options.paths++;
    x.options.path_count--;
    char path[256];
    snprintf(path, sizeof path, "%s/no/such", x.f->root);
    x.options.metadata_path = path;
    assert_int_equal(open_text(&x, path), ERR_NOT_FOUND);
    int fd;
    snprintf(path, sizeof path, "%s/file", x.f->root);
    assert_int_equal(io_open(x.f->io, path, IO_WRITE | IO_CREATE, &fd), ERR_NONE);
    io_close(x.f->io, fd);
    assert_int_equal(open_text(&x, "cannot be used"), ERR_IO);
    x.options.metadata_path = NULL;
    dirs_open(&x);
    dirs_end(&x);
}

/* What was formatted once is not new; a folder that cannot be read only goes offline. */
static void partitions_are_known_by_their_folder(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    remove_from(&x, 1, "meta.properties");
    make(&x, 1, "t-0");
    assert_int_equal(open_text(&x, "/t-0"), ERR_NOT_FOUND);
    remove_from(&x, 1, "t-0");
    assert_int_equal(io_rmdir(x.f->io, x.paths[1]), ERR_NONE);
    int fd;
    assert_int_equal(io_open(x.f->io, x.paths[1], IO_WRITE | IO_CREATE, &fd), ERR_NONE);
    io_close(x.f->io, fd);
    dirs_open(&x);
    assert_false(log_dir_online(log_dirs_at(x.dirs, 1)));
    assert_false(log_dir_is_new(log_dirs_at(x.dirs, 1)));
    dirs_end(&x);
}

/* A start may be refused between open and load: by a port that is taken, say. */
static void open_alone_makes_nothing(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    dirs_stop(&x);
    assert_true(is_there(&x, 0, ".kafka_cleanshutdown"));
    snprintf(x.paths[1], sizeof x.paths[1], "%s/new/disk", x.f->root);
    struct buf before, after;
    buf_init(&before);
    buf_init(&after);
    put_tree(x.f->io, x.f->root, &before);
    char *text = NULL;
    assert_int_equal(log_dirs_open(&x.options, &x.dirs, &text), ERR_NONE);
    assert_true(log_dir_is_new(log_dirs_at(x.dirs, 1)));
    log_dirs_free(x.dirs);
    put_tree(x.f->io, x.f->root, &after);
    assert_true(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_fini(&before);
    buf_fini(&after);
    dirs_open(&x);
    assert_true(is_there(&x, 1, "meta.properties"));
    assert_true(is_there(&x, 1, ".lock"));
    assert_false(is_there(&x, 0, ".kafka_cleanshutdown"));
    dirs_end(&x);
}

/* A folder added later gets its meta.properties. */
static void new_folders_join(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    remove_from(&x, 1, "meta.properties");
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

static enum err pwritev_full(struct io *io, int fd, const struct iovec *parts, int count,
                             int64_t position)
{
    (void)io;
    (void)fd;
    (void)parts;
    (void)count;
    (void)position;
    return ERR_DISK_FULL;
}

/* A new folder that cannot be formatted is not used, also when there is room again. */
static void a_new_folder_without_room_is_not_used(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    remove_from(&x, 1, "meta.properties");
    const struct io_ops *sound = x.f->io->ops;
    struct io_ops full = *sound;
    full.pwritev = pwritev_full;
    x.f->io->ops = &full;
    dirs_open(&x);
    x.f->io->ops = sound;
    assert_false(log_dir_online(log_dirs_at(x.dirs, 1)));
    assert_true(log_dir_online(log_dirs_at(x.dirs, 0)));
    dirs_create(&x, "t", 0);
    dirs_create(&x, "u", 0);
    dirs_stop(&x);
    dirs_open(&x); /* new still */
    assert_true(log_dir_online(log_dirs_at(x.dirs, 1)));
    dirs_end(&x);
}

static enum err open_none(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    (void)io, (void)path, (void)flags, (void)ret_fd;
    return ERR_TOO_MANY_FILES;
}

/* What ails the process is no reason to leave a folder out. */
static void a_lack_of_descriptors_ends_the_start(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    const struct io_ops *sound = x.f->io->ops;
    struct io_ops poor = *sound;
    poor.open = open_none;
    x.f->io->ops = &poor;
    char *text = NULL;
    assert_int_equal(log_dirs_open(&x.options, &x.dirs, &text), ERR_TOO_MANY_FILES);
    assert_non_null(strstr(text, "ulimit -n"));
    mem_free(text);
    x.f->io->ops = sound;
    dirs_open(&x);
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
        STORE_TEST(metadata_elsewhere_is_refused),
        STORE_TEST(the_metadata_folder_is_never_formatted),
        STORE_TEST(partitions_are_known_by_their_folder),
        STORE_TEST(open_alone_makes_nothing),
        STORE_TEST(new_folders_join),
        STORE_TEST(a_new_folder_without_room_is_not_used),
        STORE_TEST(a_lack_of_descriptors_ends_the_start),
        STORE_TEST(names_the_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
