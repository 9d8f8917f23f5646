/* Records byte for byte as Apache Kafka 4.4.0 writes them, see golden_log.h. */
#include "golden_log.h"
#include "group_trace.h"

enum { GOLDEN_COUNT = sizeof golden_log / sizeof *golden_log };

/* The ids and times of the golden run. */
static const uint8_t member_uuid[16] = {0x25, 0x83, 0xe0, 0x03, 0xc7, 0x84, 0x40, 0x7a,
                                        0x91, 0xd6, 0xb3, 0x4a, 0x21, 0x2f, 0x49, 0xb6};
static const struct uuid topic_id = {{0x38, 0x26, 0x7c, 0x59, 0x07, 0x22, 0x4a, 0x0c, 0x97, 0xd8,
                                      0x04, 0xfa, 0x8e, 0xc5, 0x65, 0x19}};
#define GOLDEN_MS INT64_C(0x01a22d7ce900)

static void put_golden(struct buf *out, size_t index)
{
    for (const char *hex = golden_log[index]; *hex; hex += 2) {
        unsigned byte;
        assert_int_equal(sscanf(hex, "%2x", &byte), 1);
        buf_put_i8(out, (int8_t)byte);
    }
}

/* The batch at `index` of our log must have the golden bytes from `from` on: 21 leaves out what the
 * log sets (offset, leader epoch) and the CRC, 61 the header with the time of the append, too. */
static void check_batch(struct trace *t, size_t index, size_t from)
{
    struct batch_iter iter = batch_iter_of(buf_slice(&t->log));
    struct batch_info info = {0};
    for (size_t i = 0; i <= index; i++)
        assert_true(batch_iter_next(&iter, &info));
    struct buf golden;
    buf_init(&golden);
    put_golden(&golden, index);
    assert_int_equal(info.size, golden.size);
    assert_memory_equal(info.data + from, golden.data + from, golden.size - from);
    if (from == 21)
        assert_int_equal(batch_crc(info.data), batch_crc(golden.data));
    buf_fini(&golden);
}

static void golden_commit(struct trace *t, int16_t version, int64_t offset, int32_t generation)
{
    struct client *c = trace_client(t, "a");
    struct offset_commit_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_offset_commit_request, r);
    r->group_id = slice_str(c->group);
    r->generation_id_or_member_epoch = generation;
    r->member_id = generation < 0 ? SLICE_LIT("") : c->member_id;
    if (version < 5)
        r->retention_time_ms = 60000;
    struct offset_commit_request_offset_commit_request_topic *topic =
        offset_commit_request_topics_new(&t->arena, r, 1);
    topic->name = SLICE_LIT("gus-t");
    topic->topic_id = topic_id;
    struct offset_commit_request_offset_commit_request_partition *p =
        offset_commit_request_offset_commit_request_topic_partitions_new(&t->arena, topic, 2);
    p[0].committed_offset = offset;
    p[0].committed_leader_epoch = 3;
    p[0].committed_metadata = SLICE_LIT("note");
    p[1].partition_index = 1;
    p[1].committed_offset = offset + 1;
    p[1].committed_metadata = SLICE_NULL;
    struct trace_call *call = trace_call(t, c, TRACE_COMMIT);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    coord_offsets_commit(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

static void golden_join(struct trace *t)
{
    static const char subscription[] = "\0\1\0\0\0\1\0\5gus-t\xff\xff\xff\xff\0\0\0";
    struct client *c = trace_client(t, "a");
    struct join_group_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_join_group_request, r);
    r->group_id = slice_str(c->group);
    r->session_timeout_ms = 10000;
    r->rebalance_timeout_ms = 20000;
    r->group_instance_id = SLICE_LIT("inst");
    r->protocol_type = SLICE_LIT("consumer");
    struct join_group_request_join_group_request_protocol *items =
        join_group_request_protocols_new(&t->arena, r, 2);
    items[0].name = SLICE_LIT("range");
    items[0].metadata = slice_of(subscription, sizeof subscription);
    items[1].name = SLICE_LIT("rr");
    items[1].metadata = SLICE_LIT("x");
    struct trace_call *call = trace_call(t, c, TRACE_JOIN);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 9;
    t->event.client_id = SLICE_LIT("cli");
    memcpy(t->event.random, member_uuid, sizeof member_uuid);
    coord_groups_join(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

static void golden_sync(struct trace *t)
{
    struct client *c = trace_client(t, "a");
    struct sync_group_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_sync_group_request, r);
    r->group_id = slice_str(c->group);
    r->generation_id = 1;
    r->member_id = c->member_id;
    struct sync_group_request_sync_group_request_assignment *item =
        sync_group_request_assignments_new(&t->arena, r, 1);
    item->member_id = c->member_id;
    item->assignment = SLICE_LIT("mine");
    struct trace_call *call = trace_call(t, c, TRACE_SYNC);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 4;
    coord_groups_sync(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

/* The same requests at the same times give the same batches. */
static void test_written_as_kafka_does(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    trace_client(t, "a")->group = "gus-gold-59490";
    t->event.wall_ms = GOLDEN_MS + 0x84;
    golden_join(t);
    check_batch(t, 0, BATCH_HEADER_SIZE); /* Kafka's clock moved between decision and append */
    t->event.wall_ms = GOLDEN_MS + 0x91;
    wait_ms(t, 0);
    t->event.wall_ms = GOLDEN_MS + 0x97;
    golden_sync(t);
    check_batch(t, 1, 21);
    t->event.wall_ms = GOLDEN_MS + 0x99;
    golden_commit(t, 9, 5, 1);
    check_batch(t, 2, 21);
    t->event.wall_ms = GOLDEN_MS + 0x9b;
    golden_commit(t, 4, 7, 1);
    check_batch(t, 3, 21);
    delete_offset(t, "a", "gus-t", 0);
    t->event.wall_ms = GOLDEN_MS + 0x9d;
    leave(t, "a");
    check_batch(t, 4, 21);
    t->event.wall_ms = GOLDEN_MS + 0xa2;
    golden_commit(t, 10, 9, -1);
    check_batch(t, 5, 21);
    t->event.wall_ms = GOLDEN_MS + 0xad;
    delete_group(t, "gus-gold-59490");
    check_batch(t, 6, 21);
    trace_free(t);
}

/* Kafka's log, loaded up to each of its batches. */
static void test_read_what_kafka_wrote(void **state)
{
    (void)state;
    static const char *const states[GOLDEN_COUNT] = {
        "gus-gold-59490 Empty / [] NONE\n",
        "gus-gold-59490 Stable consumer/range [m=S/mine] NONE\n",
        "gus-gold-59490 Stable consumer/range [m=S/mine] NONE\n"
        "gus-t-0 5 3 'note' NONE\ngus-t-1 6 -1 '' NONE\n",
        "gus-gold-59490 Stable consumer/range [m=S/mine] NONE\n"
        "gus-t-0 7 -1 'note' NONE\ngus-t-1 8 -1 '' NONE\n",
        "gus-gold-59490 Empty consumer/ [] NONE\n"
        "gus-t-0 7 -1 'note' NONE\ngus-t-1 8 -1 '' NONE\n",
        "gus-gold-59490 Empty consumer/ [] NONE\n"
        "gus-t-0 9 3 'note' NONE\ngus-t-1 10 -1 '' NONE\n",
        "gus-gold-59490 Dead / [] NONE\n",
    };
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    for (size_t i = 0; i < GOLDEN_COUNT; i++) {
        size_t at = t->log.size;
        put_golden(&t->log, i);
        t->log_end = batch_offset_next(t->log.data + at);
        trace_restart(t);
        struct client *m = trace_client(t, "m");
        m->member_id = SLICE_LIT("inst-2583e003-c784-407a-91d6-b34a212f49b6");
        struct describe_groups_response_described_group g;
        coord_groups_describe(t->shard, &t->event, SLICE_LIT("gus-gold-59490"), &t->arena, &g);
        if (g.members_count > 0) {
            assert_int_equal(g.members[0].member_metadata.size, 21);
            assert_slice_eq(g.members[0].client_id, "cli");
            buf_printf(&t->lines, "gus-gold-59490 Stable consumer/range [m=S/mine] NONE\n");
        } else {
            describe(t, "gus-gold-59490");
        }
        fetch_offset(t, "gus-gold-59490", NULL, 0);
        expect(t, states[i]);
    }
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_as_kafka_does),
        cmocka_unit_test(test_read_what_kafka_wrote),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
