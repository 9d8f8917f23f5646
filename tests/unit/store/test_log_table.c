#include "store/log_dirs_internal.h"

#include "dirs_fixture.h"
#include "store_fixture.h"

#include "os/io_ops.h"

static void logs_spread_over_folders(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    int in[2] = {0};
    for (int i = 0; i < 10; i++) {
        struct log *log = dirs_create(&x, "t", i);
        in[log_dir_of(log) == log_dirs_at(x.dirs, 1)]++;
        assert_ptr_equal(log_dirs_get(x.dirs, SLICE_LIT("t"), i), log);
        assert_ptr_equal(dirs_create(&x, "t", i), log);
    }
    assert_int_equal(in[0], 5);
    assert_int_equal(log_dirs_log_count(x.dirs), 10);
    assert_null(log_dirs_get(x.dirs, SLICE_LIT("t"), 10));
    struct uuid id;
    assert_true(log_topic_id(log_dirs_get(x.dirs, SLICE_LIT("t"), 3), &id));
    assert_int_equal(id.bytes[3], 't');
    dirs_end(&x);
}

/* Where a log is wished for it is made, once. */
static void cordoned_folders_are_left_out(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    struct log_dir *first = log_dirs_at(x.dirs, 0), *second = log_dirs_at(x.dirs, 1);
    log_dir_cordon(first, true);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(log_dir_of(dirs_create(&x, "t", i)), second);
    log_dir_cordon(second, true); /* nothing is left to choose from */
    assert_ptr_equal(log_dir_of(dirs_create(&x, "t", 3)), first);
    log_dir_cordon(first, false);
    for (int i = 4; i < 7; i++)
        assert_ptr_equal(log_dir_of(dirs_create(&x, "t", i)), first);
    dirs_end(&x);
}

static void wishes_come_true(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 2);
    dirs_open(&x);
    log_dirs_wish(x.dirs, log_dirs_at(x.dirs, 0), SLICE_LIT("t"), 1);
    log_dirs_wish(x.dirs, log_dirs_at(x.dirs, 1), SLICE_LIT("t"), 1);
    log_dirs_wish(x.dirs, log_dirs_at(x.dirs, 1), SLICE_LIT("t"), 2);
    for (int i = 1; i <= 2; i++)
        assert_ptr_equal(log_dir_of(dirs_create(&x, "t", i)), log_dirs_at(x.dirs, 1));
    assert_ptr_equal(log_dir_of(dirs_create(&x, "t", 3)), log_dirs_at(x.dirs, 0));
    for (int i = 0; i < LOG_DIRS_WISHES_MAX + 5; i++)
        log_dirs_wish(x.dirs, log_dirs_at(x.dirs, 1), SLICE_LIT("many"), i);
    dirs_end(&x);
}

static void detached_logs_are_left_alone(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct log *log = dirs_create(&x, "t", 0);
    struct lock lock;
    lock_init(&lock, LOCK_PARTITION);
    log_attach(log, &lock);
    dirs_append(&x, log, 1);
    log_dirs_run_now(x.dirs, 0);
    assert_int_equal(log_recovery_point(log), 1);
    log_detach(log);
    lock_fini(&lock);
    log_dirs_run_now(x.dirs, 0);
    assert_int_equal(log_dirs_delete(x.dirs, log, true), ERR_NONE);
    dirs_end(&x);
}

struct attaching {
    struct log *log;
    struct lock lock;
    uint32_t done;
};

static void *attach(void *context)
{
    struct attaching *a = context;
    log_attach(a->log, &a->lock);
    __atomic_store_n(&a->done, 1, __ATOMIC_RELEASE);
    return NULL;
}

/* One that came while it had no holder. */
static void attaching_waits_for_a_job_in_the_log(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    struct attaching a = {.log = dirs_create(&x, "t", 0)};
    lock_init(&a.lock, LOCK_PARTITION);
    pthread_t thread;
    struct lock *lock;
    assert_ptr_equal(log_walk_enter(x.dirs, "t-0", a.log->serial, &lock), a.log);
    assert_int_equal(pthread_create(&thread, NULL, attach, &a), 0);
    usleep(20000);
    assert_false(__atomic_load_n(&a.done, __ATOMIC_ACQUIRE));
    log_walk_leave(x.dirs, a.log, lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(a.done);
    log_detach(a.log);
    lock_fini(&a.lock);
    dirs_end(&x);
}

static void long_names_are_cut(void **state)
{
    struct dirs_fixture x;
    dirs_begin(&x, *state, 1);
    dirs_open(&x);
    char topic[250];
    memset(topic, 'n', 249);
    topic[249] = 0;
    struct log *log = dirs_create(&x, topic, 7);
    assert_int_equal(log_dirs_delete(x.dirs, log, false), ERR_NONE);
    dirs_end(&x);
}

static struct {
    const struct io_ops *real;
    struct io_ops ops;
    char path[128]; /* its syncs are counted ... */
    char made[160]; /* ... and none may come when this is there already */
    _Atomic int syncs;
    _Atomic bool is_full;
} syncing;

static enum err open_or_not(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    if (syncing.is_full && flags & IO_WRITE)
        return ERR_DISK_FULL;
    return syncing.real->open(io, path, flags, ret_fd);
}

static enum err count_sync_dir(struct io *io, const char *path)
{
    struct io_stat stat;
    if (!strcmp(path, syncing.path)) {
        assert_int_equal(io_stat(io, syncing.made, &stat), ERR_NOT_FOUND);
        syncing.syncs++;
    }
    return syncing.real->sync_dir(io, path);
}

/* A power cut would bring the folder back, and there would be two of one name. */
static void what_went_elsewhere_is_gone_for_good(void **state)
{
    struct dirs_fixture x;
    struct store_fixture *f = *state;
    syncing.real = f->io->ops;
    syncing.ops = *syncing.real;
    syncing.ops.sync_dir = count_sync_dir;
    syncing.ops.open = open_or_not;
    dirs_begin(&x, f, 2);
    f->io->ops = &syncing.ops;
    dirs_open(&x);
    struct log_dir *first = log_dirs_at(x.dirs, 0), *second = log_dirs_at(x.dirs, 1);
    log_dirs_wish(x.dirs, first, SLICE_LIT("t"), 0);
    struct log *log = dirs_create(&x, "t", 0);
    snprintf(syncing.path, sizeof syncing.path, "%s", x.paths[0]);
    snprintf(syncing.made, sizeof syncing.made, "%s/t-0", x.paths[1]);
    syncing.syncs = 0;
    assert_int_equal(log_dirs_delete(x.dirs, log, false), ERR_NONE);
    log_dirs_wish(x.dirs, first, SLICE_LIT("u"), 0);
    dirs_create(&x, "u", 0);
    assert_int_equal(syncing.syncs, 0); /* there it cannot be twice */
    for (int i = 0; i < 2; i++) {
        log_dirs_wish(x.dirs, second, SLICE_LIT("t"), i);
        assert_ptr_equal(log_dir_of(dirs_create(&x, "t", i)), second);
        assert_int_equal(syncing.syncs, 1);
    }
    /* One that could not be finished. */
    syncing.is_full = true;
    log_dirs_wish(x.dirs, first, SLICE_LIT("v"), 0);
    struct uuid id = {{1}};
    assert_int_equal(
        log_dirs_create(x.dirs, NULL, SLICE_LIT("v"), 0, &id, &x.load.default_config, &log),
        ERR_DISK_FULL);
    syncing.is_full = false;
    log_dirs_wish(x.dirs, second, SLICE_LIT("v"), 0);
    snprintf(syncing.made, sizeof syncing.made, "%s/v-0", x.paths[1]);
    dirs_create(&x, "v", 0);
    assert_int_equal(syncing.syncs, 2);
    f->io->ops = syncing.real;
    dirs_end(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(logs_spread_over_folders),
        STORE_TEST(cordoned_folders_are_left_out),
        STORE_TEST(wishes_come_true),
        STORE_TEST(detached_logs_are_left_alone),
        STORE_TEST(attaching_waits_for_a_job_in_the_log),
        STORE_TEST(long_names_are_cut),
        STORE_TEST(what_went_elsewhere_is_gone_for_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
