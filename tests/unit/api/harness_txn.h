/* Transaction errands over a harness. */
#ifndef KLAMM_TESTS_API_HARNESS_TXN_H
#define KLAMM_TESTS_API_HARNESS_TXN_H

#include "harness_group.h"

#define HARNESS_TXN_PROPERTIES                     \
    "transaction.state.log.num.partitions=2\n"     \
    "transaction.state.log.replication.factor=1\n" \
    "transaction.state.log.min.isr=1\n"

/* A transactional producer and what it knows. */
struct harness_producer {
    struct harness *h;
    const char *id;
    int64_t producer_id;
    int16_t epoch;
    int32_t sequence; /* of the next record in its one partition */
};

static inline int16_t harness_find_transactions(struct harness *h, const char *id)
{
    struct find_coordinator_request body;
    wire_init(&wire_find_coordinator_request, &body);
    body.key_type = 1;
    *find_coordinator_request_coordinator_keys_new(&h->arena, &body, 1) = slice_str(id);
    const struct find_coordinator_response *r =
        harness_call(h, WIRE_API_FIND_COORDINATOR, 4, &body);
    return r->coordinators[0].error_code;
}

static inline int16_t harness_try_init(struct harness_producer *p)
{
    struct init_producer_id_request body;
    wire_init(&wire_init_producer_id_request, &body);
    body.transactional_id = slice_str(p->id);
    body.transaction_timeout_ms = 60000;
    const struct init_producer_id_response *r =
        harness_call(p->h, WIRE_API_INIT_PRODUCER_ID, 5, &body);
    if (!r->error_code) {
        p->producer_id = r->producer_id;
        p->epoch = r->producer_epoch;
        p->sequence = 0;
    }
    return r->error_code;
}

/* InitProducerId, again as long as a transaction is being ended. */
static inline struct harness_producer harness_producer(struct harness *h, const char *id)
{
    struct harness_producer p = {.h = h, .id = id};
    assert_int_equal(harness_find_transactions(h, id), 0);
    int16_t error = harness_try_init(&p);
    for (int i = 0; i < 500 && error == ERR_CONCURRENT_TRANSACTIONS; i++) {
        usleep(2000);
        error = harness_try_init(&p);
    }
    assert_int_equal(error, 0);
    return p;
}

static inline int16_t harness_add(struct harness_producer *p, const char *topic, int32_t partition)
{
    struct add_partitions_to_txn_request body;
    wire_init(&wire_add_partitions_to_txn_request, &body);
    body.v3_and_below_transactional_id = slice_str(p->id);
    body.v3_and_below_producer_id = p->producer_id;
    body.v3_and_below_producer_epoch = p->epoch;
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic *t =
        add_partitions_to_txn_request_v3_and_below_topics_new(&p->h->arena, &body, 1);
    t->name = slice_str(topic);
    *add_partitions_to_txn_request_add_partitions_to_txn_topic_partitions_new(&p->h->arena, t, 1) =
        partition;
    const struct add_partitions_to_txn_response *r =
        harness_call(p->h, WIRE_API_ADD_PARTITIONS_TO_TXN, 3, &body);
    return r->results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code;
}

/* One transactional record to partition 0; before version 12 it must have been added. */
static inline int16_t harness_send_record(struct harness_producer *p, int16_t version,
                                          const char *topic)
{
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    options.producer_id = p->producer_id;
    options.producer_epoch = p->epoch;
    options.base_sequence = p->sequence;
    options.transactional = true;
    builder_begin(&b, &batch, &options);
    builder_append(&b, io_wall_ms(p->h->io), SLICE_NULL, slice_str("v"));
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct produce_request body;
    wire_init(&wire_produce_request, &body);
    body.acks = -1;
    body.timeout_ms = 5000;
    body.transactional_id = slice_str(p->id);
    struct produce_request_topic_produce_data *t =
        produce_request_topic_data_new(&p->h->arena, &body, 1);
    t->name = slice_str(topic);
    produce_request_topic_produce_data_partition_data_new(&p->h->arena, t, 1)->records.bytes =
        buf_slice(&batch);
    const struct produce_response *r = harness_call(p->h, WIRE_API_PRODUCE, version, &body);
    buf_fini(&batch);
    int16_t error = r->responses[0].partition_responses[0].error_code;
    p->sequence += !error;
    return error;
}

/* EndTxn; from version 5 on the producer works with the new epoch after it. */
static inline int16_t harness_end_txn(struct harness_producer *p, int16_t version, bool commit)
{
    struct end_txn_request body;
    wire_init(&wire_end_txn_request, &body);
    body.transactional_id = slice_str(p->id);
    body.producer_id = p->producer_id;
    body.producer_epoch = p->epoch;
    body.committed = commit;
    const struct end_txn_response *r = harness_call(p->h, WIRE_API_END_TXN, version, &body);
    if (!r->error_code && version >= 5) {
        p->producer_id = r->producer_id;
        p->epoch = r->producer_epoch;
        p->sequence = 0;
    }
    return r->error_code;
}

/* The end that a consumer of partition 0 sees. */
static inline int64_t harness_last_stable(struct harness *h, const char *topic)
{
    struct list_offsets_request body;
    wire_init(&wire_list_offsets_request, &body);
    body.replica_id = -1;
    body.isolation_level = 1;
    struct list_offsets_request_list_offsets_topic *t =
        list_offsets_request_topics_new(&h->arena, &body, 1);
    t->name = slice_str(topic);
    list_offsets_request_list_offsets_topic_partitions_new(&h->arena, t, 1)->timestamp = -1;
    const struct list_offsets_response *r = harness_call(h, WIRE_API_LIST_OFFSETS, 7, &body);
    return r->topics[0].partitions[0].offset;
}

/* Waits until it is there: markers may be written after the answer to EndTxn. */
static inline void harness_await_stable(struct harness *h, const char *topic, int64_t offset)
{
    for (int i = 0; i < 1000 && harness_last_stable(h, topic) != offset; i++)
        usleep(2000);
    assert_int_equal(harness_last_stable(h, topic), offset);
}

#endif
