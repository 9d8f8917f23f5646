/* The machine of groups: what a removed group is to readers until its tombstone is committed, and
 * that a write holds its group. */
#include "group_trace.h"

#include "coord/group.h"

/* A group without members, and a tombstone for it that is not committed yet. */
static void test_ghost(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "simple", "t", 0, 7);
    expect(t, "simple commit NONE\n");
    t->hold = true;
    delete_group(t, "g");
    expect(t, "");
    assert_null(shard_group(t->shard, slice_str("g")));
    assert_non_null(shard_group_committed(t->shard, slice_str("g")));
    commit_all(t);
    expect(t, "delete g NONE\n");
    assert_null(shard_group_committed(t->shard, slice_str("g")));
    trace_free(t);
}

/* A ghost does not hide the group that took its name, and goes with an unload. */
static void test_name_used_again(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "simple", "t", 0, 7);
    t->hold = true;
    delete_group(t, "g");
    struct group *ghost = shard_group_committed(t->shard, slice_str("g"));
    commit_offset(t, "simple", "t", 0, 8);
    struct group *group = shard_group(t->shard, slice_str("g"));
    assert_non_null(group);
    assert_ptr_not_equal(group, ghost);
    assert_ptr_equal(shard_group_committed(t->shard, slice_str("g")), ghost);
    buf_clear(&t->lines);
    trace_free(t);
}

static void done(struct coord_shard *shard, struct shard_write *write, enum err error)
{
    struct trace *t = shard->writer.ctx;
    buf_printf(&t->lines, "%.*s %s\n", SLICE_FMT(write->group->id), err_name(error));
}

/* The write's reference is the last one. */
static void test_write_holds_group(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    t->append_error = ERR_KAFKA_STORAGE_ERROR;
    struct shard_records records;
    shard_records_init(&records);
    buf_put(&records.bytes, "\0\2\0\1h", 5);
    shard_records_close(&records, 0, 5, true);
    struct coord_update update;
    enum err err;
    coord_update_init(&update);
    assert_true(shard_enter(t->shard, &t->event, &update, &err));
    struct group *group = group_new(slice_str("h"), GROUP_CLASSIC);
    shard_group_append(t->shard, &records, &(struct shard_write){.done = done, .group = group});
    assert_int_equal(group->references, 1);
    expect(t, "h NOT_COORDINATOR\n");

    t->append_error = ERR_NONE;
    t->hold = true;
    shard_group_append(t->shard, &records, &(struct shard_write){.done = done, .group = group});
    assert_int_equal(group->references, 2);
    group_unref(group);
    shard_leave(t->shard);
    expect(t, "");
    commit_all(t);
    expect(t, "h NONE\n");
    shard_records_fini(&records);
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ghost),
        cmocka_unit_test(test_name_used_again),
        cmocka_unit_test(test_write_holds_group),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
