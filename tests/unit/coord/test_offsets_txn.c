/* TxnOffsetCommit and markers. (4.4.0) marks answers of a running Apache Kafka 4.4.0 (the same
 * cases are in tests/integration/test_offsets.py). */
#include "group_trace.h"
#include "wire_txn_offset_commit.h"

struct txn_call {
    struct coord_reply reply;
    struct trace *trace;
    const char *name;
    struct txn_offset_commit_response response;
    enum err marker;
};

static void commit_done(struct coord_reply *reply)
{
    struct txn_call *call = LIST_ITEM(reply, struct txn_call, reply);
    buf_printf(&call->trace->lines, "%s txn-commit %s\n", call->name,
               err_name(err_from_wire(call->response.topics[0].partitions[0].error_code)));
}

static void marker_done(struct coord_reply *reply)
{
    struct txn_call *call = LIST_ITEM(reply, struct txn_call, reply);
    buf_printf(&call->trace->lines, "%s %s\n", call->name, err_name(call->marker));
}

static struct txn_call *txn_call(struct trace *t, const char *name,
                                 void (*done)(struct coord_reply *reply))
{
    struct txn_call *call = arena_alloc(&t->arena, sizeof *call);
    memset(call, 0, sizeof *call);
    call->trace = t;
    call->name = name;
    call->reply.arena = &t->arena;
    call->reply.response = &call->response;
    call->reply.done = done;
    return call;
}

/* One partition of topic "t" by producer `id`, as the client's member and generation. */
static void txn_commit_version(struct trace *t, const char *name, int64_t id, int32_t partition,
                               int64_t offset, const char *metadata, int16_t version)
{
    struct client *c = trace_client(t, name);
    struct txn_offset_commit_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_txn_offset_commit_request, r);
    r->transactional_id = SLICE_LIT("tx");
    r->group_id = slice_str(c->group);
    r->producer_id = id;
    r->producer_epoch = 2;
    r->generation_id_or_member_epoch = c->generation;
    r->member_id = c->member_id;
    r->group_instance_id = text_or_null(c->instance);
    struct txn_offset_commit_request_txn_offset_commit_request_topic *topic =
        txn_offset_commit_request_topics_new(&t->arena, r, 1);
    topic->name = SLICE_LIT("t");
    topic->topic_id = (struct uuid){{0xe9, 0xb2}};
    struct txn_offset_commit_request_txn_offset_commit_request_partition *p =
        txn_offset_commit_request_txn_offset_commit_request_topic_partitions_new(&t->arena, topic,
                                                                                 1);
    p->partition_index = partition;
    p->committed_offset = offset;
    p->committed_metadata = text_or_null(metadata);
    struct txn_call *call = txn_call(t, name, commit_done);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    coord_offsets_txn_commit(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

static void txn_commit(struct trace *t, const char *name, int64_t id, int32_t partition,
                       int64_t offset)
{
    txn_commit_version(t, name, id, partition, offset, "", 5);
}

enum { MARKER_TIMEOUT_MS = 30000 };

static void end_txn(struct trace *t, int64_t id, bool is_commit)
{
    struct txn_call *call = txn_call(t, "end", marker_done);
    call->reply.arena = NULL;
    call->reply.response = &call->marker;
    struct coord_marker marker = {id, 2, 7, is_commit, MARKER_TIMEOUT_MS};
    struct coord_update update;
    coord_update_init(&update);
    coord_offsets_end_txn(t->shard, &t->event, &marker, &call->reply, &update);
    trace_deliver(t, &update);
}

static void stable_line(struct trace *t, int32_t partition)
{
    fetch_lines(t, t->shard, "g", "t", partition, true);
}

static void test_commit_and_abort(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 1);
    txn_commit(t, "a", 9, 0, 5);
    fetch_offset(t, "g", "t", 0);
    stable_line(t, 0);
    stable_line(t, 1);
    expect(t, "a commit NONE\na txn-commit NONE\nt-0 1 7 '' NONE\n"
              "t-0 -1 -1 '' UNSTABLE_OFFSET_COMMIT\nt-1 -1 -1 '' NONE\n"); /* (4.4.0) */
    trace_restart(t);
    stable_line(t, 0); /* it is pending still */
    end_txn(t, 9, true);
    stable_line(t, 0);
    expect(t, "t-0 -1 -1 '' UNSTABLE_OFFSET_COMMIT\nend NONE\nt-0 5 -1 '' NONE\n");
    txn_commit(t, "a", 9, 0, 6);
    txn_commit(t, "a", 9, 1, 7);
    end_txn(t, 9, false);
    stable_line(t, 0);
    stable_line(t, 1);
    expect(t, "a txn-commit NONE\na txn-commit NONE\nend NONE\n"
              "t-0 5 -1 '' NONE\nt-1 -1 -1 '' NONE\n"); /* (4.4.0) */
    end_txn(t, 9, true); /* nothing is pending, of a producer that is not known either */
    end_txn(t, 10, true);
    stable_line(t, 0);
    expect(t, "end NONE\nend NONE\nt-0 5 -1 '' NONE\n");
    trace_restart(t);
    stable_line(t, 0);
    stable_line(t, 1);
    expect(t, "t-0 5 -1 '' NONE\nt-1 -1 -1 '' NONE\n");
    trace_free(t);
}

/* What is seen depends on the commit of batch and marker, each. */
static void test_replication(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    commit_offset(t, "a", "t", 0, 1);
    t->hold = true;
    txn_commit(t, "a", 9, 0, 5);
    expect(t, "a commit NONE\n");
    commit_all(t);
    end_txn(t, 9, true);
    fetch_offset(t, "g", "t", 0);
    stable_line(t, 0);
    expect(t, "a txn-commit NONE\nt-0 1 7 '' NONE\nt-0 -1 -1 '' UNSTABLE_OFFSET_COMMIT\n");
    commit_all(t);
    stable_line(t, 0);
    expect(t, "end NONE\nt-0 5 -1 '' NONE\n");
    txn_commit(t, "a", 9, 0, 6);
    end_txn(t, 9, true);
    wait_ms(t, 5000);
    expect(t, "a txn-commit COORDINATOR_NOT_AVAILABLE\n");
    wait_ms(t, MARKER_TIMEOUT_MS - 5001);
    expect(t, "");
    wait_ms(t, 1);
    expect(t, "end REQUEST_TIMED_OUT\n"); /* as any partition's */
    txn_commit(t, "a", 9, 0, 7);
    end_txn(t, 9, true);
    trace_unload(t);
    txn_commit(t, "a", 9, 0, 7);
    end_txn(t, 9, true);
    expect(t, "a txn-commit NOT_COORDINATOR\nend NOT_COORDINATOR\n"
              "a txn-commit NOT_COORDINATOR\nend NOT_COORDINATOR\n");
    trace_free(t);
}

static void test_refused_by_the_log(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    txn_commit(t, "a", 9, 0, 5);
    t->append_error = ERR_INVALID_PRODUCER_EPOCH;
    txn_commit(t, "a", 9, 0, 6);
    end_txn(t, 9, true);
    t->append_error = ERR_TRANSACTION_COORDINATOR_FENCED;
    end_txn(t, 9, true);
    static const enum err of_the_log[] = {ERR_NOT_ENOUGH_REPLICAS, ERR_NOT_LEADER_OR_FOLLOWER,
                                          ERR_KAFKA_STORAGE_ERROR, ERR_MESSAGE_TOO_LARGE};
    for (size_t i = 0; i < sizeof of_the_log / sizeof *of_the_log; i++) {
        t->append_error = of_the_log[i];
        end_txn(t, 9, true);
    }
    stable_line(t, 0);
    t->append_error = ERR_NONE;
    end_txn(t, 9, true);
    stable_line(t, 0);
    expect(t, "a txn-commit NONE\na txn-commit INVALID_PRODUCER_EPOCH\nend INVALID_PRODUCER_EPOCH\n"
              "end TRANSACTION_COORDINATOR_FENCED\nend NOT_ENOUGH_REPLICAS\n"
              "end NOT_LEADER_OR_FOLLOWER\nend KAFKA_STORAGE_ERROR\nend MESSAGE_TOO_LARGE\n"
              "t-0 -1 -1 '' UNSTABLE_OFFSET_COMMIT\n"
              "end NONE\nt-0 5 -1 '' NONE\n");
    trace_free(t);
}

/* The later record stays, whatever ends first (4.4.0). */
static void test_order(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    txn_commit(t, "a", 9, 0, 5);
    commit_offset(t, "a", "t", 0, 3);
    end_txn(t, 9, true);
    stable_line(t, 0);
    expect(t, "a txn-commit NONE\na commit NONE\nend NONE\nt-0 3 7 '' NONE\n");
    txn_commit(t, "a", 9, 0, 20);
    txn_commit(t, "a", 10, 0, 21);
    end_txn(t, 10, true);
    stable_line(t, 0);
    end_txn(t, 9, true);
    stable_line(t, 0);
    expect(t, "a txn-commit NONE\na txn-commit NONE\nend NONE\n"
              "t-0 -1 -1 '' UNSTABLE_OFFSET_COMMIT\nend NONE\nt-0 21 -1 '' NONE\n");
    trace_restart(t);
    stable_line(t, 0);
    expect(t, "t-0 21 -1 '' NONE\n");
    trace_free(t);
}

/* (4.4.0): a tombstone takes pending commits along; the marker brings nothing back. */
static void test_deletes(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    txn_commit(t, "a", 9, 0, 5);
    delete_offset(t, "a", "t", 0);
    stable_line(t, 0);
    end_txn(t, 9, true);
    stable_line(t, 0);
    describe(t, "g");
    expect(t, "a txn-commit NONE\na offset-delete NONE NONE\nt-0 -1 -1 '' NONE\nend NONE\n"
              "t-0 -1 -1 '' NONE\ng Empty / [] NONE\n");
    txn_commit(t, "a", 9, 0, 6);
    delete_group(t, "g");
    end_txn(t, 9, true);
    stable_line(t, 0);
    describe(t, "g");
    expect(t, "a txn-commit NONE\ndelete g NONE\nend NONE\nt-0 -1 -1 '' NONE\ng Dead / [] NONE\n");
    txn_commit(t, "a", 9, 0, 7); /* and it can begin again */
    end_txn(t, 9, true);
    stable_line(t, 0);
    expect(t, "a txn-commit NONE\nend NONE\nt-0 7 -1 '' NONE\n");
    trace_free(t);
}

/* Offsets with a pending commit, and groups that have only such, stay. */
static void test_expiry(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    int64_t retention_ms = t->config.offsets_retention_ms;
    commit_offset(t, "a", "t", 0, 1);
    txn_commit(t, "a", 9, 0, 5);
    trace_client(t, "b")->group = "h";
    txn_commit(t, "b", 9, 0, 5);
    txn_commit(t, "b", 10, 1, 5);
    buf_clear(&t->lines);
    wait_ms(t, retention_ms + t->config.retention_check_ms);
    fetch_offset(t, "g", "t", 0);
    describe(t, "h");
    expect(t, "t-0 1 7 '' NONE\nh Empty / [] NONE\n");
    end_txn(t, 9, false);
    wait_ms(t, t->config.retention_check_ms);
    fetch_offset(t, "g", "t", 0);
    describe(t, "g");
    describe(t, "h");
    expect(t, "end NONE\nt-0 -1 -1 '' NONE\ng Dead / [] NONE\nh Empty / [] NONE\n");
    delete_offset(t, "b", "t", 1); /* nothing is pending any more, though no marker came */
    wait_ms(t, t->config.retention_check_ms);
    describe(t, "h");
    end_txn(t, 10, true);
    describe(t, "h");
    expect(t, "b offset-delete NONE NONE\nh Dead / [] NONE\nend NONE\nh Dead / [] NONE\n");
    trace_free(t);
}

static void test_member_and_generation(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    struct client *x = trace_client(t, "x");
    x->generation = 5;
    x->member_id = SLICE_LIT("someone");
    txn_commit_version(t, "x", 9, 0, 5, "", 3);
    txn_commit_version(t, "x", 9, 0, 5, "", 5);
    txn_commit_version(t, "x", 9, 0, 5, "", 6);
    expect(t, "x txn-commit ILLEGAL_GENERATION\nx txn-commit ILLEGAL_GENERATION\n"
              "x txn-commit GROUP_ID_NOT_FOUND\n"); /* (4.4.0) */
    trace_client(t, "a")->instance = "one";
    join(t, "a");
    join(t, "a");
    wait_ms(t, 0);
    buf_clear(&t->lines);
    txn_commit(t, "a", 9, 0, 5); /* waits for its assignment */
    SYNC(t, "a", "a");
    x->generation = -1;
    x->member_id = SLICE_LIT("");
    txn_commit(t, "x", 9, 0, 6);
    x->member_id = trace_client(t, "a")->member_id;
    txn_commit(t, "x", 9, 0, 6);
    x->generation = 2;
    txn_commit(t, "x", 9, 0, 6);
    x->generation = 1;
    txn_commit(t, "x", 9, 0, 6);
    x->instance = "two";
    txn_commit(t, "x", 9, 0, 6);
    x->member_id = SLICE_LIT("someone");
    txn_commit(t, "x", 9, 0, 6);
    x->instance = "one";
    txn_commit(t, "x", 9, 0, 6);
    expect(t, "a txn-commit NONE\na sync 'p-a'\nx txn-commit NONE\n"
              "x txn-commit ILLEGAL_GENERATION\nx txn-commit ILLEGAL_GENERATION\n"
              "x txn-commit NONE\nx txn-commit UNKNOWN_MEMBER_ID\n"
              "x txn-commit UNKNOWN_MEMBER_ID\nx txn-commit FENCED_INSTANCE_ID\n"); /* (4.4.0) */
    end_txn(t, 9, false);
    trace_free(t);
}

/* A commit in a transaction does not keep the member alive. */
static void test_session(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    stable_one(t, "a");
    wait_ms(t, 9000);
    txn_commit(t, "a", 9, 0, 5);
    wait_ms(t, 2000);
    describe(t, "g");
    expect(t, "a txn-commit NONE\ng Empty consumer/ [] NONE\n");
    trace_free(t);
}

static void test_metadata_size(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    char text[4098];
    memset(text, 'x', sizeof text);
    text[4097] = 0;
    txn_commit_version(t, "a", 9, 0, 5, text, 5);
    text[4096] = 0;
    txn_commit_version(t, "a", 9, 0, 5, text, 5);
    txn_commit_version(t, "a", 9, 1, 5, NULL, 5);
    end_txn(t, 9, true);
    stable_line(t, 1);
    expect(t, "a txn-commit OFFSET_METADATA_TOO_LARGE\na txn-commit NONE\na txn-commit NONE\n"
              "end NONE\nt-1 5 -1 '' NONE\n");
    trace_free(t);
}

/* A topic of that name was deleted and made again: its offsets are not the new one's. Ids that are
 * not known agree with any. */
static void test_topic_of_the_same_name(void **state)
{
    (void)state;
    struct trace *t = trace_new();
    txn_commit(t, "a", 9, 0, 5);
    end_txn(t, 9, true);
    int32_t partition = 0;
    struct offset_fetch_request_offset_fetch_request_topics asked = {
        .name = SLICE_LIT("t"), .partition_indexes = &partition, .partition_indexes_count = 1};
    struct offset_fetch_request_offset_fetch_request_group r = {
        .group_id = SLICE_LIT("g"), .member_epoch = -1, .topics = &asked, .topics_count = 1};
    struct offset_fetch_response_offset_fetch_response_group g;
    static const struct uuid ids[] = {{{0}}, {{0xe9, 0xb2}}, {{0xe9, 0xb3}}};
    for (int i = 0; i < 3; i++) {
        asked.topic_id = ids[i];
        coord_offsets_fetch(t->shard, &t->event, &r, false, &t->arena, &g);
        assert_int_equal(g.topics[0].partitions[0].committed_offset, i < 2 ? 5 : -1);
        assert_int_equal(g.topics[0].partitions[0].error_code, ERR_NONE);
    }
    trace_free(t);
}

static void test_loading(void **state)
{
    (void)state;
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    txn_commit_version(t, "a", 9, 0, 5, "", 1);
    txn_commit_version(t, "a", 9, 0, 5, "", 2);
    end_txn(t, 9, true);
    expect(t, "a txn-commit COORDINATOR_NOT_AVAILABLE\na txn-commit COORDINATOR_LOAD_IN_PROGRESS\n"
              "end COORDINATOR_LOAD_IN_PROGRESS\n");
    trace_free(t);
}

/* What Apache Kafka 4.4.0 wrote (from the attributes on; Fetch 12 of __consumer_offsets) for
 * TxnOffsetCommit 5, group "g", topic "t", partition 0, offset 77, metadata "note", producer 0 with
 * epoch 0, and for the commit's marker by coordinator epoch 0. The record's time was 24 ms before
 * the batch's there; here both are the latter, and the topic id is cut to its first bytes. */
static const char golden_commit[] = "001000000000000001a22e1875b2000001a22e1875b2"
                                    "0000000000000009000200000000"
                                    "000000018001000000180001000167000174000000005c0004"
                                    "000000000000004dffffffff056e6f7465000001a22e1875b2010010"
                                    "e9b2000000000000000000000000000000";
static const char golden_marker[] = "003000000000000001a22e1875b2000001a22e1875b2"
                                    "00000000000000090002ffffffff"
                                    "000000012000000008000000010c00000000000700";

static void assert_hex(const uint8_t *data, size_t size, const char *hex)
{
    char text[1024];
    assert_true(2 * size < sizeof text);
    for (size_t i = 0; i < size; i++)
        snprintf(text + 2 * i, 3, "%02x", data[i]);
    assert_string_equal(text, hex);
}

static void test_bytes(void **state)
{
    (void)state;
    enum { FROM = 21 }; /* behind the checksum */
    struct trace *t = trace_new();
    t->event.wall_ms = 0x1a22e1875b2;
    txn_commit_version(t, "a", 9, 0, 77, "note", 5);
    size_t size = t->log.size;
    assert_hex(t->log.data + FROM, size - FROM, golden_commit);
    end_txn(t, 9, true);
    assert_hex(t->log.data + size + FROM, t->log.size - size - FROM, golden_marker);
    trace_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit_and_abort),
        cmocka_unit_test(test_replication),
        cmocka_unit_test(test_refused_by_the_log),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_deletes),
        cmocka_unit_test(test_expiry),
        cmocka_unit_test(test_member_and_generation),
        cmocka_unit_test(test_session),
        cmocka_unit_test(test_metadata_size),
        cmocka_unit_test(test_topic_of_the_same_name),
        cmocka_unit_test(test_loading),
        cmocka_unit_test(test_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
