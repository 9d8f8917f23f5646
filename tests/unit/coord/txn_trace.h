/* The transaction coordinator's tests as readable traces over shard_trace.h: every answer, and
 * every duty, becomes a line.
 *
 *     init(t, "x");  expect(t, "init 1000/0\n");
 *
 * Fresh producer ids count up from 1000. */
#ifndef KLAMM_TESTS_COORD_TXN_TRACE_H
#define KLAMM_TESTS_COORD_TXN_TRACE_H

#include "shard_trace.h"

#include "coord/shard_txn.h"
#include "coord/txn_record.h"
#include "record/records.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"
#include "wire_describe_transactions.h"
#include "wire_end_txn.h"
#include "wire_init_producer_id.h"
#include "wire_list_transactions.h"

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

static inline struct trace *trace_new_with(const struct coord_config *config)
{
    return trace_new_of(COORD_TRANSACTIONS, config);
}

static inline struct trace *trace_new(void)
{
    struct coord_config config;
    coord_config_init(&config);
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    return t;
}

/* The machine loses power, and with it the records from byte `size` of the log on. */
static inline void trace_power_cut(struct trace *t, size_t size)
{
    t->log.size = size;
    struct batch_iter batches = batch_iter_of(buf_slice(&t->log));
    struct batch_info info;
    t->log_end = 0;
    while (batch_iter_next(&batches, &info))
        t->log_end = batch_offset_next(info.data);
    t->acknowledged = t->log_end;
    t->config.producer_id_trusted = t->producer_id_next;
    trace_restart(t);
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

/* To the last epoch that a client may have. */
static inline void exhaust(struct trace *t, const char *id)
{
    for (int i = 0; i <= TXN_EPOCH_EXHAUSTED; i++)
        init(t, id);
    buf_clear(&t->lines);
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
