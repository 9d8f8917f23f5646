#include "harness_txn.h"

#include "os/io_ops.h"

#include <sched.h>
#include <stdatomic.h>

/* The way of clients before transaction.version 2: partitions are added by name. */
static void the_old_way(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(harness_send_record(&p, 11, "t"), ERR_TRANSACTION_ABORTABLE);
    assert_int_equal(harness_send_record(&p, 9, "t"), ERR_INVALID_TXN_STATE);
    assert_int_equal(harness_add(&p, "none", 0), ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_add(&p, "t", 0), 0);
    assert_int_equal(harness_send_record(&p, 9, "t"), 0);
    assert_int_equal(harness_send_record(&p, 9, "t"), 0);
    assert_int_equal(harness_last_stable(&h, "t"), 0);
    assert_int_equal(harness_end_txn(&p, 3, true), 0);
    assert_int_equal(harness_end_txn(&p, 3, true), 0); /* a retry */
    harness_await_stable(&h, "t", 3);                  /* two records and a marker */
    assert_int_equal(harness_add(&p, "t", 0), 0);
    assert_int_equal(harness_send_record(&p, 9, "t"), 0);
    assert_int_equal(harness_end_txn(&p, 3, false), 0);
    harness_await_stable(&h, "t", 5);
    harness_end(&h);
}

/* KIP-890: the first record adds its partition, each transaction has its own epoch. */
static void the_new_way(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    int16_t epoch = p.epoch;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(harness_send_record(&p, 12, "t"), 0);
        assert_int_equal(harness_last_stable(&h, "t"), 2 * i);
        assert_int_equal(harness_end_txn(&p, 5, i % 2 == 0), 0);
        assert_int_equal(p.epoch, epoch + i + 1);
    }
    harness_await_stable(&h, "t", 6);
    /* A zombie of the transaction before. */
    struct harness_producer zombie = p;
    zombie.epoch--;
    assert_int_equal(harness_send_record(&zombie, 12, "t"), ERR_INVALID_PRODUCER_EPOCH);
    harness_end(&h);
}

/* A new instance ends what the old one left open and fences it. */
static void init_fences(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer old = harness_producer(&h, "tx");
    assert_int_equal(harness_send_record(&old, 12, "t"), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(p.producer_id, old.producer_id);
    assert_true(p.epoch > old.epoch);
    harness_await_stable(&h, "t", 2);
    assert_int_equal(harness_send_record(&old, 12, "t"), ERR_INVALID_PRODUCER_EPOCH);
    assert_int_equal(harness_end_txn(&old, 5, true), ERR_PRODUCER_FENCED);
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    harness_await_stable(&h, "t", 4);
    harness_end(&h);
}

/* What was open stays open over a restart, and can be committed. With flush.messages=1 every step
 * waits for the disk. */
static void over_a_restart(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES "log.flush.interval.messages=1\n");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    harness_close(&h);
    harness_open(&h, HARNESS_TXN_PROPERTIES "log.flush.interval.messages=1\n");
    p.h = &h;
    assert_int_equal(harness_last_stable(&h, "t"), 0);
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    harness_await_stable(&h, "t", 3);
    harness_close(&h);
    harness_open(&h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_last_stable(&h, "t"), 3);
    harness_end(&h);
}

static int16_t commit_offset(struct harness_producer *p, int16_t version, const char *group,
                             int64_t offset)
{
    struct txn_offset_commit_request body;
    wire_init(&wire_txn_offset_commit_request, &body);
    body.transactional_id = slice_str(p->id);
    body.group_id = slice_str(group);
    body.producer_id = p->producer_id;
    body.producer_epoch = p->epoch;
    struct txn_offset_commit_request_txn_offset_commit_request_topic *t =
        txn_offset_commit_request_topics_new(&p->h->arena, &body, 1);
    t->name = slice_str("t");
    struct txn_offset_commit_request_txn_offset_commit_request_partition *items =
        txn_offset_commit_request_txn_offset_commit_request_topic_partitions_new(&p->h->arena, t,
                                                                                 2);
    items[0].committed_offset = offset;
    items[0].committed_metadata = SLICE_LIT("");
    items[1] = items[0];
    items[1].partition_index = 9;
    const struct txn_offset_commit_response *r =
        harness_call(p->h, WIRE_API_TXN_OFFSET_COMMIT, version, &body);
    /* Also beside a partition that does not exist. */
    assert_int_equal(r->topics[0].partitions[1].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    return r->topics[0].partitions[0].error_code;
}

static int16_t add_offsets(struct harness_producer *p, const char *group)
{
    struct add_offsets_to_txn_request body;
    wire_init(&wire_add_offsets_to_txn_request, &body);
    body.transactional_id = slice_str(p->id);
    body.producer_id = p->producer_id;
    body.producer_epoch = p->epoch;
    body.group_id = slice_str(group);
    const struct add_offsets_to_txn_response *r =
        harness_call(p->h, WIRE_API_ADD_OFFSETS_TO_TXN, 3, &body);
    return r->error_code;
}

/* Nobody looked for a coordinator yet, so no topic of one is there. */
static void without_a_coordinator(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer named = {.h = &h, .id = "tx"}, nameless = {.h = &h, .id = ""};
    assert_int_equal(harness_add(&named, "t", 0), ERR_NOT_COORDINATOR);
    assert_int_equal(harness_add(&nameless, "t", 0), ERR_INVALID_REQUEST);
    assert_int_equal(harness_end_txn(&named, 3, true), ERR_NOT_COORDINATOR);
    assert_int_equal(harness_end_txn(&nameless, 3, true), ERR_INVALID_REQUEST);
    assert_int_equal(add_offsets(&named, "g"), ERR_NOT_COORDINATOR);
    assert_int_equal(add_offsets(&nameless, "g"), ERR_INVALID_REQUEST);
    assert_int_equal(commit_offset(&named, 5, "g", 3), ERR_COORDINATOR_NOT_AVAILABLE);
    assert_int_equal(commit_offset(&named, 5, "", 3), ERR_INVALID_GROUP_ID);
    harness_end(&h);
}

static void await_committed(struct harness *h, int64_t offset)
{
    for (int i = 0; i < 1000 && harness_committed(h, "g", "t") != offset; i++)
        usleep(2000);
    assert_int_equal(harness_committed(h, "g", "t"), offset);
}

/* Offsets are seen after the commit, and not after an abort. */
static void offsets(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(add_offsets(&p, "g"), 0); /* before the topic of offsets is there */
    harness_find(&h, "g");
    assert_int_equal(commit_offset(&p, 3, "g", 5), 0);
    assert_int_equal(harness_committed(&h, "g", "t"), -1);
    assert_int_equal(harness_end_txn(&p, 3, true), 0);
    await_committed(&h, 5);
    assert_int_equal(commit_offset(&p, 3, "g", 6), ERR_INVALID_TXN_STATE);
    assert_int_equal(commit_offset(&p, 5, "g", 7), 0);
    assert_int_equal(harness_end_txn(&p, 5, false), 0);
    assert_int_equal(commit_offset(&p, 5, "g", 8), 0);
    assert_int_equal(harness_committed(&h, "g", "t"), 5);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    await_committed(&h, 8);
    harness_close(&h);
    harness_open(&h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_committed(&h, "g", "t"), 8);
    harness_end(&h);
}

enum { SLOW_IDS = 100, SLOW_ATTEMPTS = 100 };

/* A pattern that takes milliseconds for each id. */
static void slow_pattern(struct buf *pattern)
{
    enum { PIECES = 3000 };
    buf_init(pattern);
    buf_put_str(pattern, "(?:");
    for (int i = 0; i < PIECES; i++)
        buf_put_str(pattern, "a?.?|");
    buf_put_str(pattern, "b)*");
}

/* The listing is under way when this returns. */
static int ask_slowly(struct harness *h, const struct list_transactions_request *ask)
{
    int fd = harness_connect(h);
    harness_ask(h, fd, WIRE_API_LIST_TRANSACTIONS, 2, ask);
    while (!atomic_load(&node_context(h->node)->request_count))
        sched_yield();
    return fd;
}

/* How long the whole listing takes; whether one asked for after it was answered before it. */
static int64_t list_slowly(struct harness *h, const struct list_transactions_request *ask,
                           bool *ret_overtaken)
{
    int64_t since_ms = io_mono_ms(h->io);
    int fd = ask_slowly(h, ask);
    struct list_transactions_request none;
    wire_init(&wire_list_transactions_request, &none);
    const struct list_transactions_response *r =
        harness_call(h, WIRE_API_LIST_TRANSACTIONS, 0, &none);
    assert_int_equal(r->transaction_states_count, SLOW_IDS);
    char byte;
    *ret_overtaken |= recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
    r = harness_answer(h, fd, WIRE_API_LIST_TRANSACTIONS, 2);
    assert_int_equal(r->transaction_states_count, SLOW_IDS);
    close(fd);
    return io_mono_ms(h->io) - since_ms;
}

/* How long a listing goes on whose client goes at once. */
static int64_t list_and_go(struct harness *h, const struct list_transactions_request *ask)
{
    int64_t since_ms = io_mono_ms(h->io);
    close(ask_slowly(h, ask));
    while (atomic_load(&node_context(h->node)->request_count))
        usleep(500);
    return io_mono_ms(h->io) - since_ms;
}

/* Others of the same loop are served while a slow pattern is matched, and who goes is not matched
 * for: the node's stop does not wait for it. On a busy machine one attempt may show neither. */
static void a_slow_pattern_gives_way(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES "num.network.threads=1\n");
    for (int i = 0; i < SLOW_IDS; i++)
        harness_producer(&h,
                         (const char *)arena_printf(&h.arena, "tx-abcabcabcabc-%d%c", i, 0).data);
    struct buf pattern;
    slow_pattern(&pattern);
    struct list_transactions_request ask;
    wire_init(&wire_list_transactions_request, &ask);
    ask.transactional_id_pattern = buf_slice(&pattern);
    bool overtaken = false;
    int64_t all_ms = list_slowly(&h, &ask, &overtaken);
    for (int i = 0; i < SLOW_ATTEMPTS && (i < 3 || !overtaken); i++) {
        int64_t ms = list_slowly(&h, &ask, &overtaken);
        all_ms = ms < all_ms ? ms : all_ms;
    }
    assert_true(overtaken);
    int64_t left_ms = INT64_MAX;
    for (int i = 0; i < SLOW_ATTEMPTS && left_ms >= all_ms / 2; i++)
        left_ms = list_and_go(&h, &ask);
    assert_true(left_ms < all_ms / 2);
    buf_fini(&pattern);
    harness_end(&h);
}

/* What an operator sees of an open transaction, and how he ends it. */
static void looking_and_ending(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    struct list_transactions_request ask;
    wire_init(&wire_list_transactions_request, &ask);
    const struct list_transactions_response *listed =
        harness_call(&h, WIRE_API_LIST_TRANSACTIONS, 1, &ask);
    assert_int_equal(listed->transaction_states_count, 1);
    assert_slice_eq(listed->transaction_states[0].transaction_state, "Ongoing");
    struct describe_transactions_request describe;
    wire_init(&wire_describe_transactions_request, &describe);
    struct slice *ids = describe_transactions_request_transactional_ids_new(&h.arena, &describe, 3);
    ids[0] = slice_str("tx");
    ids[1] = slice_str("none");
    ids[2] = slice_str("");
    const struct describe_transactions_response *r =
        harness_call(&h, WIRE_API_DESCRIBE_TRANSACTIONS, 0, &describe);
    assert_int_equal(r->transaction_states[0].error_code, 0);
    assert_slice_eq(r->transaction_states[0].topics[0].topic, "t");
    assert_int_equal(r->transaction_states[1].error_code, ERR_TRANSACTIONAL_ID_NOT_FOUND);
    assert_int_equal(r->transaction_states[2].error_code, ERR_INVALID_REQUEST);
    struct write_txn_markers_request body;
    wire_init(&wire_write_txn_markers_request, &body);
    struct write_txn_markers_request_writable_txn_marker *marker =
        write_txn_markers_request_markers_new(&h.arena, &body, 1);
    marker->producer_id = p.producer_id;
    marker->producer_epoch = p.epoch;
    marker->coordinator_epoch = 0;
    struct write_txn_markers_request_writable_txn_marker_topic *topics =
        write_txn_markers_request_writable_txn_marker_topics_new(&h.arena, marker, 2);
    topics[0].name = slice_str("t");
    topics[1].name = slice_str("none");
    for (int i = 0; i < 2; i++)
        *write_txn_markers_request_writable_txn_marker_topic_partition_indexes_new(
            &h.arena, &topics[i], 1) = 0;
    const struct write_txn_markers_response *written =
        harness_call(&h, WIRE_API_WRITE_TXN_MARKERS, 1, &body);
    assert_int_equal(written->markers_count, 1);
    assert_int_equal(written->markers[0].producer_id, p.producer_id);
    assert_int_equal(written->markers[0].topics[0].partitions[0].error_code, 0);
    assert_int_equal(written->markers[0].topics[1].partitions[0].error_code,
                     ERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(harness_last_stable(&h, "t"), 2);
    harness_end(&h);
}

/* A partition that is deleted while it is part of a transaction counts as done. */
static void a_deleted_topic(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(harness_create(&h, "u", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    struct delete_topics_request body;
    wire_init(&wire_delete_topics_request, &body);
    delete_topics_request_topics_new(&h.arena, &body, 1)->name = slice_str("t");
    const struct delete_topics_response *r = harness_call(&h, WIRE_API_DELETE_TOPICS, 6, &body);
    assert_int_equal(r->responses[0].error_code, 0);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    assert_int_equal(harness_send_record(&p, 12, "u"), 0);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    harness_await_stable(&h, "u", 2);
    harness_end(&h);
}

/* Writes to the log of t-0 that find the disk full, as long as `full` says so. */
static const struct io_ops *sound_ops;
static struct io_ops full_ops;
static atomic_bool full;
static atomic_int full_fd, refused;

static enum err noting_open(struct io *io, const char *path, unsigned flags, int *ret_fd)
{
    enum err err = sound_ops->open(io, path, flags, ret_fd);
    if (!err && strstr(path, "/t-0/") && strstr(path, ".log"))
        atomic_store(&full_fd, *ret_fd);
    return err;
}

static enum err full_pwritev(struct io *io, int fd, const struct iovec *parts, int count,
                             int64_t offset)
{
    if (atomic_load(&full) && fd == atomic_load(&full_fd)) {
        atomic_fetch_add(&refused, 1);
        return ERR_DISK_FULL;
    }
    return sound_ops->pwritev(io, fd, parts, count, offset);
}

/* EndTxn is answered with the decision; the marker that finds no room is written when there is
 * some, by the timer of the duty. Until then the transaction is not over. */
static void markers_wait_for_room(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound_ops = h.io->ops;
    full_ops = *sound_ops;
    full_ops.open = noting_open;
    full_ops.pwritev = full_pwritev;
    h.io->ops = &full_ops;
    harness_open(&h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    atomic_store(&full, true);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    for (int i = 0; i < 1000 && atomic_load(&refused) < 3; i++)
        usleep(2000);
    assert_true(atomic_load(&refused) >= 3);
    assert_true(atomic_load(&refused) < 20); /* with pauses between */
    assert_int_equal(harness_last_stable(&h, "t"), 0);
    assert_int_equal(harness_send_record(&p, 12, "t"), ERR_CONCURRENT_TRANSACTIONS);
    atomic_store(&full, false);
    harness_await_stable(&h, "t", 2);
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    /* And a stop does not wait for a disk that stays full. */
    atomic_store(&full, true);
    assert_int_equal(harness_end_txn(&p, 5, true), 0);
    harness_close(&h);
    atomic_store(&full, false);
    harness_open(&h, HARNESS_TXN_PROPERTIES);
    harness_await_stable(&h, "t", 4);
    harness_end(&h);
}

/* Transactional batches need the id of their transaction, and one producer. */
static void produce_rules(void **state)
{
    (void)state;
    HARNESS(h, HARNESS_TXN_PROPERTIES);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct harness_producer p = harness_producer(&h, "tx");
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = p.producer_id;
    options.producer_epoch = p.epoch;
    options.base_sequence = 0;
    options.transactional = true;
    builder_begin(&b, &batch, &options);
    builder_append(&b, io_wall_ms(h.io), SLICE_NULL, slice_str("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct produce_request body;
    wire_init(&wire_produce_request, &body);
    body.acks = -1;
    struct produce_request_topic_produce_data *t =
        produce_request_topic_data_new(&h.arena, &body, 1);
    t->name = slice_str("t");
    produce_request_topic_produce_data_partition_data_new(&h.arena, t, 1)->records.bytes =
        buf_slice(&batch);
    const struct produce_response *r = harness_call(&h, WIRE_API_PRODUCE, 12, &body);
    assert_int_equal(r->responses[0].partition_responses[0].error_code,
                     ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED);
    /* Not transactional while the producer's transaction is open. */
    assert_int_equal(harness_send_record(&p, 12, "t"), 0);
    buf_clear(&batch);
    options.transactional = false;
    options.base_sequence = 1;
    builder_begin(&b, &batch, &options);
    builder_append(&b, io_wall_ms(h.io), SLICE_NULL, slice_str("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    t->partition_data[0].records.bytes = buf_slice(&batch);
    r = harness_call(&h, WIRE_API_PRODUCE, 12, &body);
    assert_int_equal(r->responses[0].partition_responses[0].error_code, ERR_INVALID_TXN_STATE);
    buf_fini(&batch);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_coordinator), cmocka_unit_test(the_old_way),
        cmocka_unit_test(the_new_way),           cmocka_unit_test(init_fences),
        cmocka_unit_test(over_a_restart),        cmocka_unit_test(offsets),
        cmocka_unit_test(looking_and_ending),    cmocka_unit_test(a_slow_pattern_gives_way),
        cmocka_unit_test(a_deleted_topic),       cmocka_unit_test(markers_wait_for_room),
        cmocka_unit_test(produce_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
