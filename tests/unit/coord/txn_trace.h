/* The transaction coordinator's tests as readable traces: requests go to one shard over an array as
 * its log; every answer, and every duty, becomes a line of text, and expect() compares the lines
 * since the last one.
 *
 *     init(t, "x");  expect(t, "init 1000/0\n");
 *
 * Fresh producer ids count up from 1000. The clock stands still unless a test lets time pass. */
#ifndef KLAMM_TESTS_COORD_TXN_TRACE_H
#define KLAMM_TESTS_COORD_TXN_TRACE_H

#include "../unit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "coord/runtime.h"
#include "coord/shard_txn.h"
#include "coord/txn_record.h"
#include "coord/txns.h"
#include "record/batch.h"
#include "record/builder.h"
#include "record/records.h"
#include "wire/codec.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"
#include "wire_describe_transactions.h"
#include "wire_end_txn.h"
#include "wire_init_producer_id.h"
#include "wire_list_transactions.h"

struct trace {
    struct coord_config config;
    struct coord_shard *shard;
    struct coord_event event;
    int64_t deadline_ms;
    struct buf log;       /* all batches, with their offsets */
    int64_t log_end;      /* next offset */
    int64_t acknowledged; /* high watermark */
    bool hold;            /* appended batches stay uncommitted until commit_all() */
    enum err append_error;
    int append_error_after; /* this many appends more, then one fails; 0 = none */
    int32_t epoch;          /* leader epoch */
    struct buf lines;
    struct arena arena;
    struct list markers; /* duties not done yet */
    int64_t producer_id_next;
    bool no_producer_ids; /* the source of ids is dry */
    int parked;           /* requests without an answer */
};

enum trace_api { TRACE_INIT, TRACE_ADD, TRACE_OFFSETS, TRACE_END };

struct trace_call {
    struct coord_reply reply;
    struct trace *trace;
    enum trace_api api;
    union {
        struct init_producer_id_response init;
        struct add_partitions_to_txn_response_add_partitions_to_txn_result add;
        struct add_offsets_to_txn_response offsets;
        struct end_txn_response end;
    } response;
};

static inline enum err trace_append(void *ctx, int32_t partition, struct slice batch,
                                    int64_t *ret_offset_next, int64_t *ret_committed)
{
    struct trace *t = ctx;
    assert_int_equal(partition, 3);
    if (t->append_error)
        return t->append_error;
    if (t->append_error_after > 0 && --t->append_error_after == 0)
        return ERR_KAFKA_STORAGE_ERROR;
    size_t at = t->log.size;
    assert_true(batch_check(batch) == ERR_NONE);
    buf_put_slice(&t->log, batch);
    batch_set_base_offset(t->log.data + at, t->log_end);
    t->log_end = batch_offset_next(t->log.data + at);
    if (!t->hold)
        t->acknowledged = t->log_end;
    *ret_offset_next = t->log_end;
    *ret_committed = t->acknowledged;
    return ERR_NONE;
}

static inline const char *code_name(int16_t code)
{
    return err_name(err_from_wire(code));
}

static inline void trace_done(struct coord_reply *reply)
{
    struct trace_call *call = LIST_ITEM(reply, struct trace_call, reply);
    struct trace *t = call->trace;
    t->parked--;
    switch (call->api) {
    case TRACE_INIT:
        if (call->response.init.error_code) {
            assert_int_equal(call->response.init.producer_id, -1);
            assert_int_equal(call->response.init.producer_epoch, -1);
            buf_printf(&t->lines, "init %s\n", code_name(call->response.init.error_code));
        } else {
            buf_printf(&t->lines, "init %lld/%d\n", (long long)call->response.init.producer_id,
                       call->response.init.producer_epoch);
        }
        break;
    case TRACE_ADD:
        buf_printf(&t->lines, "add");
        for (int32_t i = 0; i < call->response.add.topic_results_count; i++) {
            for (int32_t p = 0; p < call->response.add.topic_results[i].results_by_partition_count;
                 p++)
                buf_printf(&t->lines, " %s",
                           code_name(call->response.add.topic_results[i]
                                         .results_by_partition[p]
                                         .partition_error_code));
        }
        buf_printf(&t->lines, "\n");
        break;
    case TRACE_OFFSETS:
        buf_printf(&t->lines, "offsets %s\n", code_name(call->response.offsets.error_code));
        break;
    case TRACE_END:
        buf_printf(&t->lines, "end %s", code_name(call->response.end.error_code));
        if (call->response.end.producer_id >= 0)
            buf_printf(&t->lines, " %lld/%d", (long long)call->response.end.producer_id,
                       call->response.end.producer_epoch);
        buf_printf(&t->lines, "\n");
        break;
    }
    mem_free(call);
}

static inline void trace_deliver(struct trace *t, struct coord_update *update)
{
    struct list *node;
    t->deadline_ms = update->deadline_ms;
    while ((node = list_pop_front(&update->markers))) {
        struct coord_txn_markers *m = LIST_ITEM(node, struct coord_txn_markers, link);
        buf_printf(&t->lines, "markers %.*s %s %lld/%d epoch %d v%d",
                   SLICE_FMT(m->transactional_id), m->commit ? "commit" : "abort",
                   (long long)m->producer_id, m->producer_epoch, (int)m->coordinator_epoch,
                   m->transaction_version);
        for (size_t i = 0; i < m->count; i++)
            buf_printf(&t->lines, " %.*s-%d", SLICE_FMT(m->partitions[i].topic),
                       (int)m->partitions[i].partition);
        buf_printf(&t->lines, "\n");
        list_push_back(&t->markers, &m->link);
    }
    coord_update_deliver(update);
}

static inline struct trace *trace_new_with(const struct coord_config *config)
{
    struct trace *t = mem_zalloc(sizeof *t);
    t->config = *config;
    t->epoch = 5;
    t->producer_id_next = 1000;
    buf_init(&t->log);
    buf_init(&t->lines);
    arena_init(&t->arena);
    list_init(&t->markers);
    t->event = (struct coord_event){.now_ms = 1000,
                                    .wall_ms = 1700000000000,
                                    .client_id = SLICE_LIT("client"),
                                    .client_host = SLICE_LIT("/127.0.0.1")};
    t->shard =
        coord_shard_new(COORD_TRANSACTIONS, &t->config, &(struct coord_writer){t, trace_append}, 3);
    return t;
}

static inline void trace_activate(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    coord_shard_activate(t->shard, &t->event, t->log_end, t->epoch, &update);
    trace_deliver(t, &update);
}

static inline struct trace *trace_new(void)
{
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    return t;
}

static inline void drop_markers(struct trace *t)
{
    struct list *node;
    while ((node = list_pop_front(&t->markers)))
        coord_txn_markers_free(LIST_ITEM(node, struct coord_txn_markers, link));
}

static inline void trace_unload(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    coord_shard_unload(t->shard, &update);
    trace_deliver(t, &update);
}

static inline void trace_free(struct trace *t)
{
    trace_unload(t);
    assert_int_equal(t->parked, 0); /* every request was answered */
    drop_markers(t);
    coord_shard_free(t->shard);
    buf_fini(&t->log);
    buf_fini(&t->lines);
    arena_fini(&t->arena);
    mem_free(t);
}

/* The node restarts: the state comes back from the log, one leader epoch later. */
static inline void trace_restart(struct trace *t)
{
    trace_unload(t);
    drop_markers(t);
    coord_shard_free(t->shard);
    t->epoch++;
    t->shard =
        coord_shard_new(COORD_TRANSACTIONS, &t->config, &(struct coord_writer){t, trace_append}, 3);
    assert_int_equal(coord_shard_load(t->shard, buf_slice(&t->log)), ERR_NONE);
    trace_activate(t);
}

static inline void expect(struct trace *t, const char *lines)
{
    buf_put_i8(&t->lines, 0);
    assert_string_equal((const char *)t->lines.data, lines);
    buf_clear(&t->lines);
}

/* Lets time pass, firing what is due on the way at its time. */
static inline void wait_ms(struct trace *t, int64_t ms)
{
    int64_t until = t->event.now_ms + ms;
    for (;;) {
        int64_t next = t->deadline_ms < until ? t->deadline_ms : until;
        if (next > t->event.now_ms) {
            t->event.wall_ms += next - t->event.now_ms;
            t->event.now_ms = next;
        }
        struct coord_update update;
        coord_update_init(&update);
        coord_shard_tick(t->shard, &t->event, &update);
        trace_deliver(t, &update);
        if (next == until && t->deadline_ms > until)
            return;
    }
}

/* The high watermark reaches the log end. */
static inline void commit_all(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    t->acknowledged = t->log_end;
    coord_shard_committed(t->shard, &t->event, t->acknowledged, &update);
    trace_deliver(t, &update);
}

/* The executor has written the markers that wait. */
static inline void markers_done(struct trace *t)
{
    struct list *node;
    while ((node = list_pop_front(&t->markers))) {
        struct coord_txn_markers *m = LIST_ITEM(node, struct coord_txn_markers, link);
        for (size_t i = 0; i < m->count; i++) {
            struct coord_update update;
            coord_update_init(&update);
            coord_txn_markers_done(t->shard, &t->event, m, i, &update);
            trace_deliver(t, &update);
        }
        coord_txn_markers_free(m);
    }
}

static inline struct trace_call *trace_call(struct trace *t, enum trace_api api)
{
    struct trace_call *call = mem_zalloc(sizeof *call);
    call->trace = t;
    call->api = api;
    call->reply.arena = &t->arena;
    call->reply.response = &call->response;
    call->reply.done = trace_done;
    t->parked++;
    return call;
}

/* ---- requests ----------------------------------------------------------------------------- */

static inline void init_request(struct trace *t, int16_t version,
                                const struct init_producer_id_request *request)
{
    struct trace_call *call = trace_call(t, TRACE_INIT);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    bool done = coord_txn_init(t->shard, &t->event, request, -1, &call->reply, &update);
    trace_deliver(t, &update);
    if (done)
        return;
    if (t->no_producer_ids) {
        t->parked--;
        mem_free(call);
        buf_printf(&t->lines, "init wants an id\n");
        return;
    }
    coord_update_init(&update);
    assert_true(
        coord_txn_init(t->shard, &t->event, request, t->producer_id_next++, &call->reply, &update));
    trace_deliver(t, &update);
}

/* A producer that says who it is; -1, -1 = it does not. */
static inline void init_as(struct trace *t, const char *id, int64_t producer_id, int epoch)
{
    struct init_producer_id_request request;
    wire_init(&wire_init_producer_id_request, &request);
    request.transactional_id = slice_str(id);
    request.transaction_timeout_ms = 60000;
    request.producer_id = producer_id;
    request.producer_epoch = (int16_t)epoch;
    init_request(t, 5, &request);
}

static inline void init(struct trace *t, const char *id)
{
    init_as(t, id, -1, -1);
}

static inline void add_request(
    struct trace *t, int16_t version,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request)
{
    struct trace_call *call = trace_call(t, TRACE_ADD);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    coord_txn_add_partitions(t->shard, &t->event, request, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void add_topics(
    struct trace *t, const char *id, int64_t producer_id, int epoch,
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic *topics, int32_t count,
    int16_t version)
{
    add_request(t, version,
                &(struct add_partitions_to_txn_request_add_partitions_to_txn_transaction){
                    .transactional_id = slice_str(id),
                    .producer_id = producer_id,
                    .producer_epoch = (int16_t)epoch,
                    .topics = topics,
                    .topics_count = count});
}

static inline void add_version(struct trace *t, const char *id, int64_t producer_id, int epoch,
                               const char *topic, int32_t partition, int16_t version, bool verify)
{
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic item = {
        .name = slice_str(topic), .partitions = &partition, .partitions_count = 1};
    add_request(t, version,
                &(struct add_partitions_to_txn_request_add_partitions_to_txn_transaction){
                    .transactional_id = slice_str(id),
                    .producer_id = producer_id,
                    .producer_epoch = (int16_t)epoch,
                    .verify_only = verify,
                    .topics = &item,
                    .topics_count = 1});
}

static inline void add(struct trace *t, const char *id, int64_t producer_id, int epoch,
                       const char *topic, int32_t partition)
{
    add_version(t, id, producer_id, epoch, topic, partition, 5, false);
}

static inline void verify(struct trace *t, const char *id, int64_t producer_id, int epoch,
                          const char *topic, int32_t partition)
{
    add_version(t, id, producer_id, epoch, topic, partition, 5, true);
}

static inline void add_offsets(struct trace *t, const char *id, int64_t producer_id, int epoch,
                               int32_t partition)
{
    struct trace_call *call = trace_call(t, TRACE_OFFSETS);
    struct add_offsets_to_txn_request request;
    wire_init(&wire_add_offsets_to_txn_request, &request);
    request.transactional_id = slice_str(id);
    request.producer_id = producer_id;
    request.producer_epoch = (int16_t)epoch;
    request.group_id = slice_str("g");
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 4;
    coord_txn_add_offsets(t->shard, &t->event, &request, partition, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void end_version(struct trace *t, const char *id, int64_t producer_id, int epoch,
                               bool committed, int16_t version)
{
    struct trace_call *call = trace_call(t, TRACE_END);
    struct end_txn_request request;
    wire_init(&wire_end_txn_request, &request);
    request.transactional_id = slice_str(id);
    request.producer_id = producer_id;
    request.producer_epoch = (int16_t)epoch;
    request.committed = committed;
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    bool done = coord_txn_end(t->shard, &t->event, &request, -1, &call->reply, &update);
    trace_deliver(t, &update);
    if (done)
        return;
    coord_update_init(&update);
    assert_true(
        coord_txn_end(t->shard, &t->event, &request, t->producer_id_next++, &call->reply, &update));
    trace_deliver(t, &update);
}

/* With transaction.version 2, and without. */
static inline void end(struct trace *t, const char *id, int64_t producer_id, int epoch,
                       bool committed)
{
    end_version(t, id, producer_id, epoch, committed, 5);
}

static inline void end_v1(struct trace *t, const char *id, int64_t producer_id, int epoch,
                          bool committed)
{
    end_version(t, id, producer_id, epoch, committed, 4);
}

/* "<id> <state> <producer id>/<epoch> timeout <ms> start <ms> <topic>-<partition> ..." */
static inline void describe(struct trace *t, const char *id)
{
    struct describe_transactions_response_transaction_state s;
    coord_txn_describe(t->shard, &t->event, slice_str(id), &t->arena, &s);
    if (s.error_code) {
        buf_printf(&t->lines, "%s %s\n", id, code_name(s.error_code));
        return;
    }
    buf_printf(
        &t->lines, "%s %.*s %lld/%d timeout %d start %lld", id, SLICE_FMT(s.transaction_state),
        (long long)s.producer_id, s.producer_epoch, (int)s.transaction_timeout_ms,
        s.transaction_start_time_ms < 0 ? -1LL
                                        : (long long)(s.transaction_start_time_ms - 1700000000000));
    for (int32_t i = 0; i < s.topics_count; i++) {
        for (int32_t p = 0; p < s.topics[i].partitions_count; p++)
            buf_printf(&t->lines, " %.*s-%d", SLICE_FMT(s.topics[i].topic),
                       (int)s.topics[i].partitions[p]);
    }
    buf_printf(&t->lines, "\n");
}

static inline void put_view(struct buf *out, struct slice id, const struct txn_view *view)
{
    buf_printf(out, "%.*s ", SLICE_FMT(id));
    if (!view) {
        buf_printf(out, "gone\n");
        return;
    }
    buf_printf(out, "%s %lld<%lld>%lld/%d timeout %d start %lld update %lld v%d",
               txn_status_name(view->status), (long long)view->producer_id,
               (long long)view->producer_id_before, (long long)view->producer_id_next, view->epoch,
               (int)view->timeout_ms,
               view->start_ms < 0 ? -1LL : (long long)(view->start_ms - 1700000000000),
               (long long)(view->update_ms - 1700000000000), view->client_version);
    for (size_t i = 0; i < view->partitions.topic_count; i++) {
        for (size_t p = 0; p < view->partitions.topics[i].count; p++)
            buf_printf(out, " %.*s-%d", SLICE_FMT(view->partitions.topics[i].name),
                       (int)view->partitions.topics[i].partitions[p]);
    }
    buf_printf(out, "\n");
}

/* The records in the log from offset `from` on, one line each:
 * "<id> <state> <producer id><<before>><next>/<epoch> timeout start update v<client> partitions" */
static inline void show_log(struct trace *t, int64_t from)
{
    struct batch_iter batches = batch_iter_of(buf_slice(&t->log));
    struct batch_info info;
    while (batch_iter_next(&batches, &info)) {
        struct records_iter records;
        struct record record;
        assert_int_equal(records_iter_init(&records, slice_of(info.data, info.size), 0), ERR_NONE);
        while (records_iter_next(&records, &record)) {
            struct slice id;
            struct txn_view *view = NULL;
            assert_int_equal(txn_record_key(record.key, &id), ERR_NONE);
            if (!slice_is_null(record.value))
                assert_int_equal(txn_record_value(record.value, &view), ERR_NONE);
            if (record.offset >= from)
                put_view(&t->lines, id, view);
            txn_view_free(view);
        }
        records_iter_fini(&records);
    }
}

#endif
