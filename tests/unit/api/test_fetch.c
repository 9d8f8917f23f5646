#include "harness.h"
#include "record/batch.h"

#include <stdatomic.h>

struct ask {
    int16_t version;
    int64_t offset;
    int32_t session, epoch;
    int32_t wait_ms, size_max;
    bool none; /* name no partition */
};

static const struct fetch_response *fetch(struct harness *h, struct ask ask)
{
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = ask.wait_ms;
    body.min_bytes = 1;
    body.max_bytes = ask.size_max ? ask.size_max : 1 << 20;
    body.session_id = ask.session;
    body.session_epoch = ask.epoch;
    if (!ask.none) {
        struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h->arena, &body, 1);
        topic->topic = slice_str("t");
        struct fetch_request_fetch_partition *p =
            fetch_request_fetch_topic_partitions_new(&h->arena, topic, 1);
        p->fetch_offset = ask.offset;
        p->partition_max_bytes = body.max_bytes;
    }
    return harness_call(h, WIRE_API_FETCH, ask.version, &body);
}

static const struct fetch_response_partition_data *only(const struct fetch_response *r)
{
    assert_int_equal(r->responses_count, 1);
    assert_int_equal(r->responses[0].partitions_count, 1);
    return &r->responses[0].partitions[0];
}

/* The batch around an offset, whole, whatever the limits; an empty answer says
 * where the log stands; beyond the end is an error. */
static void what_is_there(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_produce(&h, "t", 0, 2);
    harness_produce(&h, "t", 0, 2);
    const struct fetch_response_partition_data *p =
        only(fetch(&h, (struct ask){.version = 11, .offset = 3, .epoch = -1}));
    assert_int_equal(batch_base_offset(p->records.bytes.data), 2);
    assert_int_equal(p->high_watermark, 4);
    assert_int_equal(p->aborted_transactions_count, -1);
    p = only(fetch(&h, (struct ask){.version = 11, .offset = 1, .epoch = -1, .size_max = 1}));
    assert_int_equal(batch_base_offset(p->records.bytes.data), 0);
    assert_int_equal(p->records.bytes.size, batch_size(p->records.bytes.data));
    p = only(fetch(&h, (struct ask){.version = 11, .offset = 4, .epoch = -1}));
    assert_int_equal(p->error_code, 0);
    assert_non_null(p->records.bytes.data); /* empty, not null */
    assert_int_equal(p->records.bytes.size, 0);
    assert_int_equal(p->log_start_offset, 0);
    p = only(fetch(&h, (struct ask){.version = 11, .offset = 5, .epoch = -1}));
    assert_int_equal(p->error_code, ERR_OFFSET_OUT_OF_RANGE);
    assert_int_equal(p->high_watermark, -1);
    harness_end(&h);
}

/* Who says that it is a follower is none: with the leader's epoch it may be a new one, which is
 * told to come again; without it is wrong here. */
static void nobody_is_a_follower(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    static const struct {
        int32_t epoch;
        enum err err;
    } cases[] = {{-1, ERR_NOT_LEADER_OR_FOLLOWER},
                 {0, ERR_UNKNOWN_LEADER_EPOCH},
                 {1, ERR_UNKNOWN_LEADER_EPOCH}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fetch_request body;
        wire_init(&wire_fetch_request, &body);
        body.replica_id = 2;
        body.max_bytes = 1 << 20;
        struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h.arena, &body, 1);
        topic->topic = slice_str("t");
        struct fetch_request_fetch_partition *p =
            fetch_request_fetch_topic_partitions_new(&h.arena, topic, 1);
        p->current_leader_epoch = cases[i].epoch;
        p->partition_max_bytes = body.max_bytes;
        assert_int_equal(only(harness_call(&h, WIRE_API_FETCH, 11, &body))->error_code,
                         cases[i].err);
    }
    harness_end(&h);
}

static void a_long_poll_ends_with_data(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = 30000;
    body.min_bytes = 1;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h.arena, &body, 1);
    topic->topic = slice_str("t");
    fetch_request_fetch_topic_partitions_new(&h.arena, topic, 1)->partition_max_bytes = 1 << 20;
    int fd = harness_connect(&h);
    harness_ask(&h, fd, WIRE_API_FETCH, 11, &body);
    usleep(20000);
    harness_produce(&h, "t", 0, 1);
    const struct fetch_response *r = harness_answer(&h, fd, WIRE_API_FETCH, 11);
    assert_non_null(r);
    assert_true(only(r)->records.bytes.size > 0);
    close(fd);
    harness_end(&h);
}

/* As on Apache Kafka: a session starts with epoch 0, goes on with rising epochs and answers
 * only what has news; old epochs and unknown ids are errors; -1 ends it. */
static void sessions(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    harness_produce(&h, "t", 0, 1);
    const struct fetch_response *r = fetch(&h, (struct ask){.version = 11});
    int32_t id = r->session_id;
    assert_int_not_equal(id, 0);
    assert_true(only(r)->records.bytes.size > 0);
    r = fetch(&h, (struct ask){.version = 11, .offset = 1, .session = id, .epoch = 1});
    assert_int_equal(r->session_id, id);
    assert_int_equal(r->responses_count, 0); /* nothing new */
    harness_produce(&h, "t", 0, 1);
    r = fetch(&h, (struct ask){.version = 11, .session = id, .epoch = 2, .none = true});
    assert_int_equal(batch_base_offset(only(r)->records.bytes.data), 1);
    r = fetch(&h, (struct ask){.version = 11, .session = id, .epoch = 2, .none = true});
    assert_int_equal(r->error_code, ERR_INVALID_FETCH_SESSION_EPOCH);
    r = fetch(&h, (struct ask){.version = 11, .session = id + 1, .epoch = 1, .none = true});
    assert_int_equal(r->error_code, ERR_FETCH_SESSION_ID_NOT_FOUND);
    r = fetch(&h, (struct ask){.version = 11, .session = id, .epoch = -1});
    assert_int_equal(r->session_id, 0);
    r = fetch(&h, (struct ask){.version = 11, .session = id, .epoch = 3, .none = true});
    assert_int_equal(r->error_code, ERR_FETCH_SESSION_ID_NOT_FOUND);
    harness_end(&h);
}

static void unknown_topics(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    const struct fetch_response *r =
        fetch(&h, (struct ask){.version = 11, .epoch = -1, .wait_ms = 30000});
    assert_int_equal(only(r)->error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    r = fetch(&h, (struct ask){.version = 13, .epoch = -1, .wait_ms = 30000});
    assert_int_equal(only(r)->error_code, ERR_UNKNOWN_TOPIC_ID);
    harness_end(&h);
}

/* Two requests of one session at once, as after a connection that the client gave up: the first is
 * answered, then the second has its turn. */
static void a_session_in_use(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    int64_t begun_ms = io_mono_ms(h.io);
    int32_t id = fetch(&h, (struct ask){.version = 11, .epoch = 0})->session_id;
    assert_true(id > 0);
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = 30000;
    body.min_bytes = 1;
    body.max_bytes = 1 << 20;
    body.session_id = id;
    body.session_epoch = 1;
    int fd = harness_connect(&h);
    harness_ask(&h, fd, WIRE_API_FETCH, 11, &body);
    usleep(20000);
    const struct fetch_response *r =
        fetch(&h, (struct ask){.version = 11, .session = id, .epoch = 2, .none = true});
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->session_id, id);
    r = harness_answer(&h, fd, WIRE_API_FETCH, 11);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->session_id, id);
    /* Epochs still count. */
    r = fetch(&h, (struct ask){.version = 11, .session = id, .epoch = 2, .none = true});
    assert_int_equal(r->error_code, ERR_INVALID_FETCH_SESSION_EPOCH);
    assert_true(io_mono_ms(h.io) - begun_ms < 20000);
    close(fd);
    harness_end(&h);
}

static void ask_and_wait(struct harness *h, int fd)
{
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = 30000;
    body.min_bytes = 1;
    body.max_bytes = 1 << 20;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h->arena, &body, 1);
    topic->topic = slice_str("t");
    struct fetch_request_fetch_partition *p =
        fetch_request_fetch_topic_partitions_new(&h->arena, topic, 1);
    p->partition_max_bytes = 1 << 20;
    harness_ask(h, fd, WIRE_API_FETCH, 11, &body);
}

/* The end of a connection ends its long poll at once: nobody may be there to wait. One that has
 * only shut down its side gets its answer. */
static void a_client_that_closes(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct api_context *context = node_context(h.node);
    int64_t begun_ms = io_mono_ms(h.io);
    for (int parked_first = 0; parked_first < 2; parked_first++) {
        int fd = harness_connect(&h);
        ask_and_wait(&h, fd);
        if (parked_first)
            usleep(20000);
        assert_int_equal(shutdown(fd, SHUT_WR), 0);
        const struct fetch_response *r = harness_answer(&h, fd, WIRE_API_FETCH, 11);
        assert_non_null(r);
        assert_int_equal(only(r)->records.bytes.size, 0);
        assert_null(harness_answer(&h, fd, WIRE_API_FETCH, 11));
        close(fd);
    }
    int fd = harness_connect(&h);
    ask_and_wait(&h, fd);
    while (atomic_load(&context->request_count) != 1)
        usleep(1000);
    close(fd);
    while (atomic_load(&context->request_count) > 0 && io_mono_ms(h.io) - begun_ms < 20000)
        usleep(1000);
    assert_int_equal(atomic_load(&context->request_count), 0);
    assert_true(io_mono_ms(h.io) - begun_ms < 20000);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_there),
        cmocka_unit_test(nobody_is_a_follower),
        cmocka_unit_test(a_long_poll_ends_with_data),
        cmocka_unit_test(a_session_in_use),
        cmocka_unit_test(sessions),
        cmocka_unit_test(a_client_that_closes),
        cmocka_unit_test(unknown_topics),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
