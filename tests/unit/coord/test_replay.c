/* Loading: transactions, tombstones, groups of other kinds, records that are none. */
#include "group_trace.h"

#include "coord/group_record.h"
#include "record/control.h"

static struct trace *loading(void)
{
    struct coord_config config;
    coord_config_init(&config);
    return trace_new_with(&config);
}

static void end_log(struct trace *t, size_t at)
{
    batch_set_base_offset(t->log.data + at, t->log_end);
    t->log_end = batch_offset_next(t->log.data + at);
}

static void put_record(struct trace *t, int64_t producer_id, struct slice key, struct slice value)
{
    size_t at = t->log.size;
    struct builder builder;
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = producer_id;
    options.producer_epoch = producer_id < 0 ? -1 : 0;
    options.base_sequence = 0;
    options.transactional = producer_id >= 0;
    builder_begin(&builder, &t->log, &options);
    builder_append(&builder, t->event.wall_ms, key, value);
    assert_int_equal(builder_end(&builder), ERR_NONE);
    end_log(t, at);
}

static void put_offset(struct trace *t, int64_t producer_id, int32_t partition, int64_t offset)
{
    struct shard_records records;
    struct offset_value value = {.offset = offset, .leader_epoch = -1, .expire_timestamp_ms = -1};
    struct shard_span span;
    shard_records_init(&records);
    if (offset >= 0)
        assert_int_equal(group_record_commit(&records, SLICE_LIT("g"), SLICE_LIT("t"), partition,
                                             &value, SLICE_NULL, 0),
                         ERR_NONE);
    else
        group_record_offset_tombstone(&records, SLICE_LIT("g"), SLICE_LIT("t"), partition);
    memcpy(&span, records.spans.data, sizeof span);
    put_record(t, producer_id, slice_of(records.bytes.data, span.key_size),
               offset >= 0 ? slice_of(records.bytes.data + span.key_size, span.value_size)
                           : SLICE_NULL);
    shard_records_fini(&records);
}

static void put_marker(struct trace *t, int64_t producer_id, bool commit_it)
{
    size_t at = t->log.size;
    assert_int_equal(control_build_end_txn(&t->log, 0, 0, t->event.wall_ms, producer_id, 0,
                                           &(struct control_end_txn){commit_it, 1}),
                     ERR_NONE);
    end_log(t, at);
}

/* A key of (type, group) or (type, group, member). */
static void put_key(struct trace *t, int16_t type, const char *group, const char *member,
                    bool tombstone)
{
    struct buf key;
    buf_init(&key);
    buf_put_i16(&key, type);
    buf_put_i16(&key, (int16_t)strlen(group));
    buf_put_str(&key, group);
    if (member) {
        buf_put_i16(&key, (int16_t)strlen(member));
        buf_put_str(&key, member);
    }
    put_record(t, -1, buf_slice(&key), tombstone ? SLICE_NULL : SLICE_LIT("\0\0kept as it is"));
    buf_fini(&key);
}

static void load(struct trace *t)
{
    assert_int_equal(coord_shard_load(t->shard, buf_slice(&t->log)), ERR_NONE);
    trace_activate(t);
}

static void test_transactions(void **state)
{
    (void)state;
    struct trace *t = loading();
    put_offset(t, -1, 0, 1);
    put_offset(t, 7, 0, 2); /* committed */
    put_offset(t, 7, 1, 3);
    put_marker(t, 7, true);
    put_offset(t, 8, 0, 4); /* aborted */
    put_marker(t, 8, false);
    put_offset(t, 9, 2, 5); /* open */
    put_offset(t, 7, 3, 6); /* a second transaction, older than the plain commit after it */
    put_offset(t, -1, 3, 7);
    put_marker(t, 7, true);
    put_marker(t, 99, true); /* of nobody */
    load(t);
    fetch_offset(t, "g", NULL, 0);
    expect(t, "t-0 2 -1 '' NONE\nt-1 3 -1 '' NONE\nt-3 7 -1 '' NONE\n");
    fetch_lines(t, t->shard, "g", "t", 2, false);
    fetch_lines(t, t->shard, "g", "t", 2, true);
    fetch_lines(t, t->shard, "g", "t", 0, true);
    expect(t, "t-2 -1 -1 '' NONE\nt-2 -1 -1 '' UNSTABLE_OFFSET_COMMIT\nt-0 2 -1 '' NONE\n");
    wait_ms(t, INT64_C(40) * 24 * 3600 * 1000); /* the open transaction keeps group and offset */
    describe(t, "g");
    expect(t, "g Empty / [] NONE\n");
    delete_group(t, "g");
    fetch_lines(t, t->shard, "g", "t", 2, true);
    expect(t, "delete g NONE\nt-2 -1 -1 '' NONE\n");
    trace_free(t);
}

static void test_tombstones(void **state)
{
    (void)state;
    struct trace *t = loading();
    put_offset(t, -1, 0, 1);
    put_offset(t, 9, 1, 5);
    put_offset(t, -1, 1, -1); /* drops the pending commit, too */
    put_marker(t, 9, true);
    put_offset(t, -1, 2, 1);
    put_offset(t, -1, 2, -1);
    put_offset(t, -1, 2, -1);
    put_key(t, GROUP_RECORD_METADATA, "h", NULL, true);
    load(t);
    fetch_offset(t, "g", NULL, 0);
    list_lines(t, NULL, NULL);
    expect(t, "t-0 1 -1 '' NONE\nlist g::Empty:classic\n");
    trace_free(t);
}

/* Nothing that a classic client asks for touches a group of another kind. `described`: state, type
 * and error that DescribeGroups shows. (4.4.0), but for DeleteGroups of an empty one, which Kafka
 * deletes, and for JoinGroup of the consumer protocol's, which it converts. */
static void refuses_all(struct trace *t, const char *group, bool has_members, const char *described)
{
    struct client *x = trace_client(t, group);
    char lines[300];
    x->group = group;
    x->generation = -1;
    int before = t->batch_count;
    join(t, group);
    x->member_id = SLICE_LIT("m1");
    join(t, group);
    sync_members(t, group, NULL);
    heartbeat(t, group);
    leave(t, group);
    snprintf(lines, sizeof lines,
             "%s join INCONSISTENT_GROUP_PROTOCOL\n%s join INCONSISTENT_GROUP_PROTOCOL\n"
             "%s sync UNKNOWN_MEMBER_ID\n%s heartbeat UNKNOWN_MEMBER_ID\n"
             "%s leave NONE UNKNOWN_MEMBER_ID\n",
             group, group, group, group, group);
    expect(t, lines);
    delete_group(t, group);
    describe_lines(t, t->shard, group, 6);
    snprintf(lines, sizeof lines, "delete %s %s\n%s %s\n", group,
             has_members ? "NON_EMPTY_GROUP" : "UNSUPPORTED_VERSION", group, described);
    expect(t, lines);
    wait_ms(t, INT64_C(8) * 24 * 3600 * 1000);
    assert_int_equal(t->batch_count, before);
}

/* Offsets of a group without members may be set and deleted by tools, as in Kafka (4.4.0), which
 * knows besides what members subscribe to. */
static void offsets_of(struct trace *t, const char *group, const char *lines)
{
    trace_client(t, "tool")->group = group;
    commit_offset(t, "tool", "t", 0, 1);
    fetch_offset(t, group, "t", 0);
    delete_offset(t, "tool", "t", 0);
    expect(t, lines);
}

static void test_other_kinds(void **state)
{
    (void)state;
    struct trace *t = loading();
    put_key(t, GROUP_RECORD_CONSUMER_MEMBER, "c", "m1", false);
    put_key(t, GROUP_RECORD_CONSUMER_METADATA, "c", NULL, false);
    put_key(t, 4, "c", NULL, false);
    put_key(t, 8, "c", "m1", false);
    put_key(t, GROUP_RECORD_CONSUMER_METADATA, "e", NULL, false);
    put_key(t, GROUP_RECORD_CONSUMER_MEMBER, "e", "m1", false);
    put_key(t, GROUP_RECORD_CONSUMER_MEMBER, "e", "m1", true);
    put_key(t, GROUP_RECORD_SHARE_METADATA, "s", NULL, false);
    put_key(t, GROUP_RECORD_SHARE_MEMBER, "s", "m1", false);
    put_key(t, GROUP_RECORD_STREAMS_METADATA, "k", NULL, false);
    put_key(t, GROUP_RECORD_STREAMS_MEMBER, "k", "m1", false);
    put_key(t, GROUP_RECORD_SHARE_METADATA, "se", NULL, false);
    put_key(t, GROUP_RECORD_STREAMS_METADATA, "ke", NULL, false);
    put_key(t, GROUP_RECORD_CONSUMER_METADATA, "gone", NULL, false);
    put_key(t, GROUP_RECORD_CONSUMER_METADATA, "gone", NULL, true);
    put_key(t, 999, "later", NULL, false);
    load(t);
    list_lines(t, NULL, NULL);
    expect(t, "list c:consumer:Stable:consumer e:consumer:Empty:consumer s:share:Stable:share "
              "k:streams:Stable:streams se:share:Empty:share ke:streams:Empty:streams\n");
    /* Those of the consumer protocol are shown, or kafka-consumer-groups gives up on all groups. */
    refuses_all(t, "c", true, "Stable consumer/ [] NONE");
    refuses_all(t, "e", false, "Empty consumer/ [] NONE");
    refuses_all(t, "s", true, "Dead / [] GROUP_ID_NOT_FOUND");
    refuses_all(t, "se", false, "Dead / [] GROUP_ID_NOT_FOUND");
    refuses_all(t, "k", true, "Dead / [] GROUP_ID_NOT_FOUND");
    refuses_all(t, "ke", false, "Dead / [] GROUP_ID_NOT_FOUND");
    offsets_of(t, "c",
               "tool commit UNKNOWN_MEMBER_ID\nt-0 -1 -1 '' NONE\n"
               "tool offset-delete NON_EMPTY_GROUP\n");
    offsets_of(t, "k",
               "tool commit UNKNOWN_MEMBER_ID\nt-0 -1 -1 '' NONE\n"
               "tool offset-delete NON_EMPTY_GROUP\n");
    static const char *const shares[] = {"s", "se"};
    for (size_t i = 0; i < 2; i++)
        offsets_of(t, shares[i],
                   "tool commit GROUP_ID_NOT_FOUND\nt-0 -1 -1 '' NONE\n"
                   "tool offset-delete GROUP_ID_NOT_FOUND\n");
    static const char *const empty[] = {"e", "ke"};
    for (size_t i = 0; i < 2; i++)
        offsets_of(t, empty[i],
                   "tool commit NONE\nt-0 1 7 '' NONE\ntool offset-delete NONE NONE\n");
    trace_free(t);
}

static void test_corrupt(void **state)
{
    (void)state;
    static const struct {
        struct slice key, value;
    } cases[] = {{{NULL, 0}, {NULL, 0}},
                 {{(const uint8_t *)"\0", 1}, {NULL, 0}},
                 {{(const uint8_t *)"\0\1\0\5g", 5}, {NULL, 0}},
                 {{(const uint8_t *)"\0\2\xff\xff", 4}, {NULL, 0}},
                 {{(const uint8_t *)"\0\2\0\1g", 5}, {(const uint8_t *)"\0", 1}},
                 {{(const uint8_t *)"\0\2\0\1g", 5}, {(const uint8_t *)"\0\3\0\1", 4}},
                 {{(const uint8_t *)"\0\1\0\1g\0\1t\0\0\0\0", 12}, {(const uint8_t *)"\0\4\0", 3}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace *t = loading();
        put_record(t, -1, cases[i].key, cases[i].value);
        assert_int_equal(coord_shard_load(t->shard, buf_slice(&t->log)), ERR_CORRUPT);
        trace_free(t);
    }
    struct trace *t = loading();
    put_offset(t, -1, 0, 1);
    assert_int_equal(coord_shard_load(t->shard, slice_of(t->log.data, t->log.size - 1)),
                     ERR_CORRUPT);
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_transactions),
        cmocka_unit_test(test_tombstones),
        cmocka_unit_test(test_other_kinds),
        cmocka_unit_test(test_corrupt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
