#include "store/log.h"

#include "faulty_io.h"
#include "store_fixture.h"

static void moves_the_recovery_point(void **state)
{
    struct store_fixture *f = *state;
    struct log_flush flush, other;
    store_open(f);
    assert_false(log_flush_prepare(f->log, &flush));
    store_append(f, 3, 20, 1000);
    assert_int_equal(log_recovery_point(f->log), 0);
    assert_true(log_flush_prepare(f->log, &flush));
    /* What comes after prepare is for the next one; two may be under way. */
    store_append(f, 3, 20, 1000);
    assert_true(log_flush_prepare(f->log, &other));
    log_flush_run(&other);
    assert_int_equal(log_flush_finish(f->log, &other), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 6);
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 6);
    assert_true(store_file_size(f, "leader-epoch-checkpoint") > 4);
    assert_false(log_flush_prepare(f->log, &flush));
    /* The log may be gone before the flush ends. */
    store_append(f, 3, 20, 1000);
    assert_true(log_flush_prepare(f->log, &flush));
    log_free(f->log);
    f->log = NULL;
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(NULL, &flush), ERR_NONE);
}

/* Offsets that a truncation gave back and that were written again are not those that were synced.
 */
static void a_truncation_under_way_counts(void **state)
{
    struct store_fixture *f = *state;
    struct log_flush flush;
    store_open(f);
    store_append(f, 3, 20, 1000);
    store_append(f, 3, 20, 1000);
    assert_true(log_flush_prepare(f->log, &flush));
    assert_int_equal(log_truncate_to(f->log, 3), ERR_NONE);
    store_append(f, 3, 20, 2000);
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 0);
    assert_true(log_flush_prepare(f->log, &flush));
    assert_int_equal(log_truncate_fully(f->log, 2), ERR_NONE);
    store_append(f, 9, 20, 2000);
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 2);
    assert_true(log_flush_prepare(f->log, &flush));
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), 11);
}

static void many_segments_take_several_rounds(void **state)
{
    struct store_fixture *f = *state;
    struct log_flush flush;
    store_open(f);
    for (int i = 0; i < 20; i++) {
        store_append(f, 1, 20, 1000);
        assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    int rounds = 0;
    while (log_flush_prepare(f->log, &flush)) {
        log_flush_run(&flush);
        assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
        rounds++;
    }
    assert_int_equal(rounds, 3);
    assert_int_equal(log_recovery_point(f->log), 20);
}

static void is_due_by_messages_and_time(void **state)
{
    struct store_fixture *f = *state;
    f->options.config.flush_messages = 3;
    store_open(f);
    store_append(f, 2, 20, 1000);
    assert_false(log_flush_due(f->log));
    store_append(f, 1, 20, 1000);
    assert_true(log_flush_due(f->log));
    struct log_config config = f->options.config;
    config.flush_messages = INT64_MAX;
    config.flush_ms = 0;
    log_set_config(f->log, &config);
    assert_true(log_flush_due(f->log));
    config.flush_ms = 100000;
    log_set_config(f->log, &config);
    assert_false(log_flush_due(f->log));
}

/* ---- which files are synced ---- */

static struct io_ops noting;
static const struct io_ops *sound;
static char synced[4096]; /* names, each with a space behind it */

static enum err note_sync(struct io *io, int fd)
{
    (void)io;
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    assert_true(size > 0);
    path[size] = 0;
    size_t used = strlen(synced);
    snprintf(synced + used, sizeof synced - used, "%s ", strrchr(path, '/') + 1);
    return ERR_NONE;
}

static enum err refuse_sync(struct io *io, int fd)
{
    (void)io;
    (void)fd;
    return ERR_TOO_MANY_FILES; /* one that takes no folder offline */
}

static enum err flush_noting(struct store_fixture *f, enum err (*sync)(struct io *, int))
{
    synced[0] = 0;
    noting = *f->io->ops;
    noting.fdatasync = sync;
    sound = f->io->ops;
    f->io->ops = &noting;
    struct log_flush flush;
    enum err err = ERR_NOT_FOUND;
    if (log_flush_prepare(f->log, &flush)) {
        log_flush_run(&flush);
        err = log_flush_finish(f->log, &flush);
    }
    f->io->ops = sound;
    return err;
}

static bool was_synced(int64_t base, const char *suffix)
{
    char name[64];
    snprintf(name, sizeof name, "%020lld%s ", (long long)base, suffix);
    return strstr(synced, name) != NULL;
}

/* A power cut left the indexes of a segment below the recovery point in pieces, and recovery looks
 * at none of these. */
static void indexes_of_rolled_segments_are_synced(void **state)
{
    struct store_fixture *f = *state;
    struct log_appended a;
    f->options.config.index_interval = 100;
    store_open(f);
    assert_int_equal(store_produce(f, 1, 0, 0, 3, true, 1000, &a), ERR_NONE);
    assert_int_equal(store_mark(f, 1, 0, false, 0, 1000, &a), ERR_NONE);
    for (int i = 0; i < 10; i++)
        store_append(f, 1, 50, 1000 + i);
    /* The active segment's are left to recovery, bar the one that it cannot make again. */
    assert_int_equal(flush_noting(f, refuse_sync), ERR_TOO_MANY_FILES);
    assert_int_equal(flush_noting(f, note_sync), ERR_NONE);
    assert_true(was_synced(0, ".log"));
    assert_false(was_synced(0, ".index") || was_synced(0, ".timeindex"));
    assert_true(was_synced(0, ".txnindex"));
    /* Rolled when all its bytes are flushed: they are not synced again, what belongs to them is. */
    int64_t end = log_end(f->log);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    store_append(f, 1, 50, 2000);
    assert_int_equal(flush_noting(f, refuse_sync), ERR_TOO_MANY_FILES);
    assert_int_equal(log_recovery_point(f->log), end);
    assert_int_equal(flush_noting(f, note_sync), ERR_NONE);
    assert_false(was_synced(0, ".log"));
    assert_true(was_synced(0, ".index") && was_synced(0, ".timeindex"));
    assert_true(was_synced(end, ".snapshot"));
    assert_true(was_synced(end, ".log"));
    /* Once is enough; and a segment that goes with its bytes. */
    store_append(f, 1, 50, 3000);
    int64_t next = log_end(f->log);
    assert_int_equal(log_roll(f->log), ERR_NONE);
    assert_int_equal(flush_noting(f, note_sync), ERR_NONE);
    assert_false(was_synced(0, ".index"));
    assert_true(was_synced(end, ".log") && was_synced(end, ".index"));
    assert_true(was_synced(end, ".timeindex") && was_synced(next, ".snapshot"));
    assert_false(was_synced(end, ".txnindex"));
}

static bool epochs_are(struct store_fixture *f, const char *text)
{
    struct buf bytes;
    buf_init(&bytes);
    bool same = store_file_size(f, "leader-epoch-checkpoint") >= 0;
    if (same) {
        store_slurp(f, "leader-epoch-checkpoint", &bytes);
        same = slice_eq_str(buf_slice(&bytes), text);
    }
    buf_fini(&bytes);
    return same;
}

/* Two flushes at once (the partition's and the folder's): the one that ends first moves the
 * recovery point, so what the other one began must be durable by then, too: epochs, the transaction
 * index. And the slower one does not bring an old history back. */
static void each_of_two_flushes_is_whole(void **state)
{
    struct store_fixture *f = *state;
    struct log_flush slow, quick;
    struct log_appended a;
    store_open(f);
    struct builder_options options = BUILDER_DEFAULTS;
    assert_int_equal(store_produce(f, 1, 0, 0, 3, true, 1000, &a), ERR_NONE);
    assert_int_equal(store_mark(f, 1, 0, false, 0, 1000, &a), ERR_NONE);
    assert_true(log_flush_prepare(f->log, &slow));
    assert_int_equal(flush_noting(f, note_sync), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), log_end(f->log));
    assert_true(was_synced(0, ".txnindex"));
    assert_true(epochs_are(f, "0\n1\n0 0\n"));
    assert_int_equal(log_epoch_assign(f->log, 6), ERR_NONE);
    assert_int_equal(log_append(f->log, LOG_CLIENT, 6, store_batch(f, &options, 2, 10, 1000), &a),
                     ERR_NONE);
    assert_true(log_flush_prepare(f->log, &quick));
    log_flush_run(&quick);
    assert_int_equal(log_flush_finish(f->log, &quick), ERR_NONE);
    assert_true(epochs_are(f, "0\n2\n0 0\n6 4\n"));
    log_flush_run(&slow);
    assert_int_equal(log_flush_finish(f->log, &slow), ERR_NONE);
    assert_true(epochs_are(f, "0\n2\n0 0\n6 4\n"));
    assert_int_equal(log_recovery_point(f->log), log_end(f->log));
    assert_false(log_flush_prepare(f->log, &slow));
}

/* No room for leader-epoch-checkpoint: all else is synced and counts, once. */
static void a_full_disk_keeps_only_the_epochs_back(void **state)
{
    enum { SEGMENTS = 20 };
    struct store_fixture *f = *state;
    static struct faulty full; /* the fixture closes the log */
    faulty_init(&full, f->io, FAULT_CREATE, ERR_DISK_FULL);
    f->options.io = &full.io;
    f->options.config.flush_messages = 1;
    store_open(f);
    for (int i = 0; i < SEGMENTS; i++) {
        store_append(f, 1, 20, 1000);
        assert_int_equal(log_roll(f->log), ERR_NONE);
    }
    store_append(f, 1, 20, 1000);
    full.fail_at = full.calls;
    full.stays = true;
    struct log_flush flush;
    int flushes = 0;
    while (log_flush_due(f->log)) { /* a few segments each: the next goes on behind them */
        int64_t before = log_durable_end(f->log);
        assert_true(log_flush_prepare(f->log, &flush));
        log_flush_run(&flush);
        assert_true(flush.synced);
        assert_int_equal(log_flush_finish(f->log, &flush), ERR_DISK_FULL);
        assert_true(log_durable_end(f->log) > before);
        flushes++;
    }
    assert_int_equal(flushes, SEGMENTS / LOG_FLUSH_SEGMENTS_MAX + 1);
    assert_int_equal(log_durable_end(f->log), SEGMENTS + 1);
    assert_int_equal(log_recovery_point(f->log), 0);
    store_append(f, 1, 20, 1000);
    assert_true(log_flush_due(f->log));
    /* What was cut off and written again is not what was synced. */
    assert_true(log_flush_prepare(f->log, &flush));
    assert_int_equal(log_truncate_to(f->log, SEGMENTS), ERR_NONE);
    store_append(f, 2, 20, 2000);
    log_flush_run(&flush);
    log_flush_finish(f->log, &flush);
    assert_int_equal(log_durable_end(f->log), SEGMENTS);
    /* There is room again: all at once. */
    full.fail_at = -1;
    assert_true(log_flush_prepare(f->log, &flush));
    assert_true(flush.count <= 2);
    log_flush_run(&flush);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_NONE);
    assert_int_equal(log_recovery_point(f->log), SEGMENTS + 2);
    assert_false(log_flush_prepare(f->log, &flush));
    assert_true(store_file_size(f, "leader-epoch-checkpoint") > 4);
    /* Bytes that are not synced do not count. */
    faulty_init(&full, f->io, FAULT_SYNC, ERR_DISK_FULL);
    full.fail_at = 0;
    store_append(f, 1, 20, 1000);
    assert_true(log_flush_prepare(f->log, &flush));
    log_flush_run(&flush);
    assert_false(flush.synced);
    assert_int_equal(log_flush_finish(f->log, &flush), ERR_DISK_FULL);
    assert_int_equal(log_durable_end(f->log), SEGMENTS + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(moves_the_recovery_point),
        STORE_TEST(a_truncation_under_way_counts),
        STORE_TEST(many_segments_take_several_rounds),
        STORE_TEST(each_of_two_flushes_is_whole),
        STORE_TEST(is_due_by_messages_and_time),
        STORE_TEST(indexes_of_rolled_segments_are_synced),
        STORE_TEST(a_full_disk_keeps_only_the_epochs_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
