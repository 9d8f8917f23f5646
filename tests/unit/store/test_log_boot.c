/* .klamm-boot: which starts follow a power cut, and what they note. The boot is the test's to say.
 */
#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "os/io_ops.h"
#include "store_fixture.h"

#define BOOT_FILE ".klamm-boot"

/* The system between the folders and the disk. */
static struct {
    const struct io_ops *real;
    struct io_ops ops;
    const char *boot;    /* NULL: it does not tell */
    enum err boot_write; /* of the file's making */
    int syncs;
} sys;

static enum err boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE])
{
    (void)io;
    if (!sys.boot)
        return ERR_NOT_FOUND;
    snprintf(ret_id, IO_BOOT_ID_SIZE, "%s", sys.boot);
    return ERR_NONE;
}

static enum err open_file(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    if (sys.boot_write && flags & IO_WRITE && strstr(path, BOOT_FILE))
        return sys.boot_write;
    return sys.real->open(io, path, flags, ret_fd);
}

static enum err count_fsync(struct io *io, int fd)
{
    __atomic_fetch_add(&sys.syncs, 1, __ATOMIC_RELAXED);
    return sys.real->fsync(io, fd);
}

static enum err count_sync_dir(struct io *io, const char *path)
{
    __atomic_fetch_add(&sys.syncs, 1, __ATOMIC_RELAXED);
    return sys.real->sync_dir(io, path);
}

static void begin(struct dirs_fixture *x, struct store_fixture *f, int count)
{
    sys.real = f->io->ops;
    sys.ops = *sys.real;
    sys.ops.boot_id = boot_id;
    sys.ops.open = open_file;
    sys.ops.fsync = sys.ops.fdatasync = count_fsync;
    sys.ops.sync_dir = count_sync_dir;
    sys.boot = "A";
    sys.boot_write = ERR_NONE;
    sys.syncs = 0;
    dirs_begin(x, f, count);
    f->io->ops = &sys.ops;
}

static void end(struct dirs_fixture *x)
{
    x->f->io->ops = sys.real;
    dirs_end(x);
}

/* A start, which finds ids below `producer_id_next` given out. */
static int64_t start(struct dirs_fixture *x, const char *boot, int64_t producer_id_next)
{
    sys.boot = boot;
    x->producer_id_next = producer_id_next;
    dirs_open(x);
    return log_dirs_producer_id_trusted(x->dirs);
}

static void crash(struct dirs_fixture *x)
{
    log_dirs_free(x->dirs);
    x->dirs = NULL;
}

static void put(struct dirs_fixture *x, int dir, const char *text)
{
    snprintf(x->f->path, sizeof x->f->path, "%s", x->paths[dir]);
    store_poke(x->f, BOOT_FILE, 0, text, strlen(text));
}

static void a_first_start_syncs_nothing(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 1);
    sys.syncs = 0;
    assert_int_equal(start(&x, "A", -1), 0);
    assert_int_equal(sys.syncs, 0);
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nA\n0\n");
    end(&x);
}

static void a_power_cut_is_noted_and_stays(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 1);
    assert_int_equal(start(&x, "A", -1), 0);
    crash(&x);
    assert_int_equal(start(&x, "A", 1000), 0); /* killed: nothing is lost */
    crash(&x);
    sys.syncs = 0;
    assert_int_equal(start(&x, "B", 2000), 2000);
    assert_true(sys.syncs >= 2); /* a clean stop may be next, then a power cut */
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nB\n2000\n");
    crash(&x);
    assert_int_equal(start(&x, "B", 3000), 2000);
    dirs_stop(&x);
    assert_int_equal(start(&x, "C", 4000), 2000); /* an orderly restart of the machine */
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nC\n2000\n");
    crash(&x);
    assert_int_equal(start(&x, "C", 5000), 2000);
    crash(&x);
    assert_int_equal(start(&x, "D", 6000), 6000);
    end(&x);
}

/* A folder that comes from elsewhere. */
static void without_a_file_the_stop_counts(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 1);
    snprintf(x.f->path, sizeof x.f->path, "%s", x.paths[0]);
    store_poke(x.f, ".kafka_cleanshutdown", 0, "", 0);
    assert_int_equal(start(&x, "A", 1000), 0);
    crash(&x);
    char path[256];
    snprintf(path, sizeof path, "%s/" BOOT_FILE, x.paths[0]);
    assert_int_equal(io_unlink(x.f->io, path), ERR_NONE);
    assert_int_equal(start(&x, "A", 2000), 2000);
    end(&x);
}

static void what_cannot_be_read_asks_for_care(void **state)
{
    static const char *const texts[] = {"",
                                        "0\n",
                                        "0\nA\n",
                                        "0\nA\n1",
                                        "0\nA\nx\n",
                                        "1\nA\n0\n",
                                        "0\n\n0\n",
                                        "0\nA\n-1\n",
                                        "0\nA\n0\n0\n",
                                        "0\nA\n0\n\n",
                                        "0\n0123456789012345678901234567890123456789\n0\n"};
    struct dirs_fixture x;
    begin(&x, *state, 1);
    assert_int_equal(start(&x, "A", -1), 0);
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        dirs_stop(&x); /* cleanly: what it had to keep may be gone all the same */
        char path[256];
        snprintf(path, sizeof path, "%s/" BOOT_FILE, x.paths[0]);
        assert_int_equal(io_unlink(x.f->io, path), ERR_NONE);
        put(&x, 0, texts[i]);
        int64_t next = 1000 * (int64_t)(i + 1);
        assert_int_equal(start(&x, "A", next), next);
    }
    end(&x);
}

static void an_untold_boot_is_always_another(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 1);
    assert_int_equal(start(&x, NULL, -1), 0);
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\n-\n0\n");
    crash(&x);
    assert_int_equal(start(&x, NULL, 1000), 1000);
    dirs_stop(&x);
    assert_int_equal(start(&x, NULL, 2000), 1000);
    end(&x);
}

static void a_full_disk_does_not_stop_the_start(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 1);
    assert_int_equal(start(&x, "A", -1), 0);
    crash(&x);
    sys.boot_write = ERR_DISK_FULL;
    assert_int_equal(start(&x, "B", 1000), 1000);
    assert_true(log_dir_online(log_dirs_at(x.dirs, 0)));
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nA\n0\n");
    dirs_stop(&x); /* still full: the stop is none, so that the next start looks again */
    assert_string_equal(dirs_text(&x, ".kafka_cleanshutdown"), "");
    assert_int_equal(start(&x, "B", 2000), 2000);
    sys.boot_write = ERR_NONE;
    dirs_stop(&x);
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nB\n2000\n");
    assert_string_not_equal(dirs_text(&x, ".kafka_cleanshutdown"), "");
    assert_int_equal(start(&x, "B", 3000), 2000);
    end(&x);
}

static void a_failing_disk_takes_its_folder_offline(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 1);
    sys.boot_write = ERR_IO;
    x.producer_id_next = 1000;
    dirs_open_as(&x, ERR_IO);
    assert_false(log_dir_online(log_dirs_at(x.dirs, 0)));
    end(&x);
}

/* A partition may move between them: what one has lost all of them know. */
static void all_folders_know(void **state)
{
    struct dirs_fixture x;
    begin(&x, *state, 2);
    assert_int_equal(start(&x, "A", -1), 0);
    dirs_stop(&x);
    /* The second one was offline, and comes back with what a crash before a power cut left. */
    char path[256];
    snprintf(path, sizeof path, "%s/.kafka_cleanshutdown", x.paths[1]);
    assert_int_equal(io_unlink(x.f->io, path), ERR_NONE);
    assert_int_equal(start(&x, "B", 1000), 1000);
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nB\n1000\n");
    dirs_stop(&x);
    put(&x, 1, "0\nB\n7000\n");
    assert_int_equal(start(&x, "B", 8000), 7000);
    assert_string_equal(dirs_text(&x, BOOT_FILE), "0\nB\n7000\n");
    end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(a_first_start_syncs_nothing),
        STORE_TEST(a_power_cut_is_noted_and_stays),
        STORE_TEST(without_a_file_the_stop_counts),
        STORE_TEST(what_cannot_be_read_asks_for_care),
        STORE_TEST(an_untold_boot_is_always_another),
        STORE_TEST(a_full_disk_does_not_stop_the_start),
        STORE_TEST(a_failing_disk_takes_its_folder_offline),
        STORE_TEST(all_folders_know),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
