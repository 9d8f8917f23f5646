#include "harness_group.h"

#include "api/coordinators.h"
#include "os/io_ops.h"
#include "repl/partition_table.h"

/* What was committed is there after a restart: the shards load their partitions. */
static void offsets_survive_a_restart(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    static const char *const groups[] = {"a", "b", "c", "d", "e", "f"};
    for (int i = 0; i < 6; i++)
        assert_int_equal(harness_commit(&h, groups[i], "t", 100 + i), 0);
    harness_close(&h);
    harness_open(&h, NULL);
    for (int i = 0; i < 6; i++)
        assert_int_equal(harness_committed(&h, groups[i], "t"), 100 + i);
    harness_end(&h);
}

/* With flush.messages=1 the commit's answer waits for the flush, and comes. */
static void a_commit_waits_for_the_flush(void **state)
{
    (void)state;
    HARNESS(h, "log.flush.interval.messages=1\n");
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    for (int i = 0; i < 5; i++)
        assert_int_equal(harness_commit(&h, "a", "t", i), 0);
    assert_int_equal(harness_committed(&h, "a", "t"), 4);
    harness_end(&h);
}

/* Reads of the coordinator's partitions that wait until they are let go: the large ones, of the
 * load. Short ones find places, under locks that others need. */
enum { LARGE = 8192 };
static const struct io_ops *sound_ops;
static struct io_ops held_ops;
static atomic_bool held;
static _Atomic uint64_t offsets_fds; /* bits */

static enum err noting_open(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    enum err err = sound_ops->open(io, path, flags, ret_fd);
    if (err || *ret_fd >= 64)
        return err;
    uint64_t bit = UINT64_C(1) << *ret_fd;
    if (strstr(path, ".log") && strstr(path, "/__consumer_offsets-"))
        atomic_fetch_or(&offsets_fds, bit);
    else
        atomic_fetch_and(&offsets_fds, ~bit);
    return ERR_NONE;
}

static enum err held_pread(struct io *io, int fd, void *data, size_t size, int64_t offset,
                           size_t *ret_size)
{
    bool holds = size > LARGE && fd < 64 && (atomic_load(&offsets_fds) & UINT64_C(1) << fd);
    while (holds && atomic_load(&held))
        usleep(1000);
    return sound_ops->pread(io, fd, data, size, offset, ret_size);
}

/* Offsets of group "a" that take a large read to load; the last one is 7. */
static void commit_much(struct harness *h)
{
    for (int i = 1; i <= 100; i++)
        assert_int_equal(harness_commit(h, "a", "t", i < 100 ? i : 7), 0);
}

static void hold_loads(struct harness *h)
{
    sound_ops = h->io->ops;
    held_ops = *sound_ops;
    held_ops.open = noting_open;
    held_ops.pread = held_pread;
    h->io->ops = &held_ops;
    atomic_store(&held, true);
}

/* A disk that does not come back with the coordinator's partitions: the node is ready all the same
 * and serves, and groups are told to come again. */
static void a_slow_load_holds_nobody_up(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    commit_much(&h);
    harness_close(&h);
    hold_loads(&h);
    harness_open(&h, NULL);
    assert_int_equal(harness_create(&h, "u", 1), 0);
    assert_int_equal(harness_try_join(&h, "a", slice_str(""))->error_code,
                     ERR_COORDINATOR_LOAD_IN_PROGRESS);
    assert_int_equal(harness_commit(&h, "a", "t", 8), ERR_COORDINATOR_LOAD_IN_PROGRESS);
    assert_int_equal(harness_heartbeat(&h, "a", slice_str("m"), 1), 0);
    struct list_groups_request list;
    wire_init(&wire_list_groups_request, &list);
    const struct list_groups_response *r = harness_call(&h, WIRE_API_LIST_GROUPS, 4, &list);
    assert_int_equal(r->error_code, ERR_COORDINATOR_LOAD_IN_PROGRESS);
    atomic_store(&held, false);
    int16_t error = ERR_COORDINATOR_LOAD_IN_PROGRESS;
    for (int i = 0; i < 1000 && error == ERR_COORDINATOR_LOAD_IN_PROGRESS; i++) {
        usleep(1000);
        error = harness_commit(&h, "b", "t", 9);
    }
    assert_int_equal(error, 0);
    assert_int_equal(harness_committed(&h, "a", "t"), 7);
    harness_end(&h);
}

/* The node stops while a load is under way: it waits for the worker, however long that takes, for
 * it may come back to the node's memory; the owner is told once. */
static void a_stop_ends_a_load(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    commit_much(&h);
    harness_close(&h);
    hold_loads(&h);
    h.hung_after_ms = 20;
    diag_set_level(DIAG_SERVER, DIAG_FATAL);
    harness_open(&h, NULL);
    node_stop(h.node);
    while (!h.hung_count)
        usleep(1000);
    usleep(30000);
    assert_int_equal(h.hung_count, 1);
    atomic_store(&held, false);
    harness_close(&h);
    harness_open(&h, NULL);
    assert_int_equal(harness_committed(&h, "a", "t"), 7);
    harness_end(&h);
}

/* Bytes that are no records: the partition's groups are nobody's, the node serves. */
static void a_broken_partition_is_not_served(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "a");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    int32_t index = coordinators_partition_of(node_context(h.node)->groups, slice_str("a"));
    struct partition *partition = partition_table_get(node_context(h.node)->partitions,
                                                      slice_str("__consumer_offsets"), index);
    struct buf batch;
    buf_init(&batch);
    struct builder builder;
    struct builder_options options = BUILDER_DEFAULTS;
    builder_begin(&builder, &batch, &options);
    builder_append(&builder, 1, SLICE_LIT("\0\1\0\7cut"), SLICE_LIT("x"));
    assert_int_equal(builder_end(&builder), ERR_NONE);
    struct partition_append append = {.origin = LOG_COORDINATOR, .batches = buf_slice(&batch)};
    assert_int_equal(partition_append(partition, &append), ERR_NONE);
    partition_unref(partition);
    buf_fini(&batch);
    harness_close(&h);
    diag_set_level(DIAG_COORD, DIAG_FATAL);
    harness_open(&h, NULL);
    assert_int_equal(harness_commit(&h, "a", "t", 8), ERR_NOT_COORDINATOR);
    assert_int_equal(harness_create(&h, "u", 1), 0);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(offsets_survive_a_restart),
        cmocka_unit_test(a_commit_waits_for_the_flush),
        cmocka_unit_test(a_slow_load_holds_nobody_up),
        cmocka_unit_test(a_stop_ends_a_load),
        cmocka_unit_test(a_broken_partition_is_not_served),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
