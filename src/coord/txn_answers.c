/* Answers of the transaction APIs that carry one error, in the form each gives it. Used by the
 * handlers, and by the coordinator itself. Pure.
 *
 * Kafka behaviour: clients of old versions do not know PRODUCER_FENCED, to them it is
 * INVALID_PRODUCER_EPOCH. */
#include "coord/txns.h"
#include "wire/codec.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"
#include "wire_describe_transactions.h"
#include "wire_end_txn.h"
#include "wire_init_producer_id.h"

/* The first versions whose clients know the error. */
enum { INIT_FENCED_SINCE = 4, OTHERS_FENCED_SINCE = 2 };

static short wire_code(enum err error, int16_t version, int16_t fenced_since)
{
    if (error == ERR_PRODUCER_FENCED && version < fenced_since)
        error = ERR_INVALID_PRODUCER_EPOCH;
    return err_to_wire(error);
}

void coord_txn_answer_init(int16_t version, enum err error,
                           struct init_producer_id_response *response)
{
    wire_init(&wire_init_producer_id_response, response);
    response->error_code = wire_code(error, version, INIT_FENCED_SINCE);
    response->producer_epoch = -1;
}

void coord_txn_answer_add_partitions(
    int16_t version, enum err error,
    const struct add_partitions_to_txn_request_add_partitions_to_txn_transaction *request,
    struct arena *arena,
    struct add_partitions_to_txn_response_add_partitions_to_txn_result *ret_result)
{
    *ret_result = (struct add_partitions_to_txn_response_add_partitions_to_txn_result){
        .transactional_id = request->transactional_id};
    struct add_partitions_to_txn_response_add_partitions_to_txn_topic_result *topics =
        add_partitions_to_txn_response_add_partitions_to_txn_result_topic_results_new(
            arena, ret_result, request->topics_count);
    for (int32_t t = 0; t < request->topics_count; t++) {
        const struct add_partitions_to_txn_request_add_partitions_to_txn_topic *asked =
            &request->topics[t];
        struct add_partitions_to_txn_response_add_partitions_to_txn_partition_result *items =
            arena_array(arena, (size_t)asked->partitions_count, sizeof *items);
        topics[t].name = asked->name;
        topics[t].results_by_partition = items;
        topics[t].results_by_partition_count = asked->partitions_count;
        for (int32_t p = 0; p < asked->partitions_count; p++) {
            items[p].partition_index = asked->partitions[p];
            items[p].partition_error_code = wire_code(error, version, OTHERS_FENCED_SINCE);
        }
    }
}

void coord_txn_answer_add_offsets(int16_t version, enum err error,
                                  struct add_offsets_to_txn_response *response)
{
    wire_init(&wire_add_offsets_to_txn_response, response);
    response->error_code = wire_code(error, version, OTHERS_FENCED_SINCE);
}

void coord_txn_answer_end(int16_t version, enum err error, struct end_txn_response *response)
{
    wire_init(&wire_end_txn_response, response);
    response->error_code = wire_code(error, version, OTHERS_FENCED_SINCE);
}

void coord_txn_answer_describe(enum err error, struct slice transactional_id,
                               struct describe_transactions_response_transaction_state *ret_state)
{
    *ret_state = (struct describe_transactions_response_transaction_state){
        .transactional_id = transactional_id,
        .transaction_state = SLICE_LIT(""),
        .error_code = err_to_wire(error),
    };
}
