/* Produce: validate outside of any lock, append under the partition's, answer by acks.
 *
 * One walk on the connection's loop: for each partition of the request, in order: find it, validate
 * the batch, append it. With acks=0 nothing is answered, and an error closes the connection so that
 * the client asks for metadata again. With acks=1 the answer goes out at once (flush.messages=1:
 * when the flush is done, as acks=all). With acks=all it goes out when the high watermark has
 * passed every batch: usually at once, else the request gives its frame back and parks with a watch
 * on each partition that is behind, until timeout.ms.
 *
 * Transactional batches are checked first (api/txn_check.h): the walk starts, with the frame still
 * held, when the coordinator has answered for all of their partitions. */
#include "api/append_waits.h"
#include "api/context.h"
#include "api/endpoints.h"
#include "api/families.h"
#include "api/held.h"
#include "api/named.h"
#include "api/request.h"
#include "api/txn_check.h"
#include "meta/image.h"
#include "meta/topic_name.h"
#include "record/batch.h"
#include "record/compress.h"
#include "record/validate.h"
#include "repl/quorum.h"
#include "wire/api.h"
#include "wire_produce.h"

struct produce {
    struct append_waits waits;
    struct txn_check check; /* count 0: no transactional batches */
    struct request *request;
    const struct produce_request *body;
    struct produce_response *response;
    struct buf rebuilt;
    int64_t now_ms;
    bool failed;       /* any error: acks=0 closes */
    bool hints_leader; /* an answer names another leader: node endpoints are wanted */
    int32_t checks_met;
    enum err refused; /* the whole request */
    struct slice refused_message;
};

/* ---- one partition ---- */

/* The bytes lie in the request's own frame, which nobody else reads: they may be changed. */
static uint8_t *own_bytes(struct produce *produce, struct slice bytes)
{
    uint8_t *frame = produce->request->frame.data;
    return frame + (bytes.data ? bytes.data - frame : 0);
}

static enum err validate(struct produce *produce, struct partition *partition,
                         const struct wire_records *records, struct validate_result *ret_result)
{
    struct topic_config config = partition_config(partition);
    struct validate_options options = {
        .topic = partition->topic,
        .partition = partition->index,
        .origin = VALIDATE_CLIENT,
        .produce_version = produce->request->version,
        .compacted = config.cleanup_compact,
        .log_append_time = config.timestamp_type == TOPIC_TIMESTAMP_APPEND,
        .now_ms = produce->now_ms,
        .timestamp_before_max_ms = config.timestamp_before_max_ms,
        .timestamp_after_max_ms = config.timestamp_after_max_ms,
        .codec = (int)config.compression,
        .level = config.compression == TOPIC_COMPRESSION_GZIP   ? config.gzip_level
                 : config.compression == TOPIC_COMPRESSION_LZ4  ? config.lz4_level
                 : config.compression == TOPIC_COMPRESSION_ZSTD ? config.zstd_level
                                                                : 0,
        .batch_size_max = config.max_message_size,
        .record_size_max = config.max_decompressed_message_size,
    };
    buf_clear(&produce->rebuilt);
    uint8_t *bytes = own_bytes(produce, records->bytes);
    return validate_batch(bytes, records->bytes.size, &options, &produce->request->arena,
                          &produce->rebuilt, ret_result);
}

/* Kafka tells where the log starts unless the error came before the log was asked, or is one of
 * these. */
static void add_log_start(struct partition *partition, enum err err,
                          struct produce_response_partition_produce_response *answer)
{
    switch (err_to_wire(err)) {
    case ERR_NOT_LEADER_OR_FOLLOWER:
    case ERR_KAFKA_STORAGE_ERROR:
    case ERR_CORRUPT_MESSAGE:
    case ERR_MESSAGE_TOO_LARGE:
    case ERR_RECORD_LIST_TOO_LARGE: return;
    default: break;
    }
    struct partition_ends ends;
    if (!partition_ends(partition, -1, &ends))
        answer->log_start_offset = ends.log_start;
}

static void answer_invalid(struct produce *produce, enum err err,
                           const struct validate_result *result,
                           struct produce_response_partition_produce_response *answer)
{
    answer->error_code = err_to_wire(err);
    answer->error_message = result->message;
    struct produce_response_batch_index_and_error_message *items =
        produce_response_partition_produce_response_record_errors_new(
            &produce->request->arena, answer, result->record_error_count);
    for (int32_t i = 0; i < result->record_error_count; i++) {
        items[i].batch_index = result->record_errors[i].index;
        items[i].batch_index_error_message = result->record_errors[i].message;
    }
}

static int32_t partition_count(const struct produce_request *body)
{
    int32_t count = 0;
    for (int32_t i = 0; i < body->topic_data_count; i++)
        count += body->topic_data[i].partition_data_count;
    return count;
}

static void add_wait(struct produce *produce, struct partition *partition,
                     const struct partition_append *append,
                     struct produce_response_partition_produce_response *answer)
{
    if (!produce->waits.items)
        produce->waits.items =
            arena_array(&produce->request->arena, (size_t)partition_count(produce->body),
                        sizeof *produce->waits.items);
    append_waits_add(&produce->waits, partition, append, answer);
}

static enum err append(struct produce *produce, struct partition *partition,
                       const struct wire_records *records, int64_t guard,
                       struct produce_response_partition_produce_response *answer)
{
    struct validate_result result;
    enum err err = validate(produce, partition, records, &result);
    if (err) {
        answer_invalid(produce, err, &result, answer);
        if (result.is_framed)
            add_log_start(partition, err, answer);
        return err;
    }
    struct partition_append append = {
        .origin = LOG_CLIENT,
        .all_in_sync = produce->body->acks == -1,
        .batches = slice_of(result.batch, result.size),
        .guard = guard,
    };
    err = partition_append(partition, &append);
    if (err) {
        if (err == ERR_NOT_LEADER_OR_FOLLOWER && produce->request->version >= 10) {
            answer->current_leader.leader_id = append.leader_id;
            answer->current_leader.leader_epoch = append.leader_epoch;
            produce->hints_leader = true;
        }
        add_log_start(partition, err, answer);
        return err;
    }
    answer->base_offset = append.appended.offset_first;
    answer->log_append_time_ms =
        append.appended.duplicate ? append.appended.append_time_ms : result.log_append_time_ms;
    answer->log_start_offset = append.appended.log_start;
    if ((produce->body->acks == -1 && append.high_watermark < append.offset_next) ||
        (produce->body->acks == 1 && append.flush_waits))
        add_wait(produce, partition, &append, answer);
    return ERR_NONE;
}

/* The check of a partition; NULL = there was none. The walk meets them in the order they were
 * collected in. */
static const struct txn_check_item *next_check(
    struct produce *produce, const struct produce_request_partition_produce_data *from)
{
    int32_t at = produce->checks_met;
    if (at == produce->check.count || produce->check.items[at].owner != from)
        return NULL;
    produce->checks_met++;
    return &produce->check.items[at];
}

/* The check's error in a form that the client of this version knows. */
static enum err answer_check(struct produce *produce, const struct txn_check_item *item,
                             struct produce_response_partition_produce_response *answer)
{
    switch (err_to_wire(item->err)) {
    case ERR_INVALID_TXN_STATE:
        answer->error_message = SLICE_LIT("Partition was not added to the transaction");
        return item->err;
    case ERR_CONCURRENT_TRANSACTIONS:
        if (produce->check.support == TXN_SUPPORT_ADDING)
            return item->err;
        break;
    case ERR_NETWORK_EXCEPTION:
    case ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case ERR_COORDINATOR_NOT_AVAILABLE:
    case ERR_NOT_COORDINATOR: break;
    default: return item->err;
    }
    /* Known to all clients as one to try again, and without asking for metadata before. */
    answer->error_message = arena_printf(
        &produce->request->arena,
        "Unable to verify the partition has been added to the transaction. Underlying error: %s",
        err_name(item->err));
    return ERR_NOT_ENOUGH_REPLICAS;
}

/* Said of partitions that exist: what does not exist keeps its own error. */
static bool has_bad_acks(const struct produce_request *body)
{
    return body->acks < -1 || body->acks > 1;
}

static enum err produce_one(struct produce *produce,
                            const struct produce_request_topic_produce_data *topic,
                            const struct produce_request_partition_produce_data *from,
                            struct produce_response_partition_produce_response *answer)
{
    const struct txn_check_item *check = next_check(produce, from);
    struct slice name = produce->request->version >= 13 ? SLICE_NULL : topic->name;
    struct partition *partition;
    enum err err =
        held_find(produce->request->context, name, &topic->topic_id, from->index, &partition);
    if (err)
        return err;
    if (has_bad_acks(produce->body))
        err = ERR_INVALID_REQUIRED_ACKS;
    else if (topic_name_is_internal(partition->topic) &&
             !slice_eq_str(produce->request->client_id, "__admin_client"))
        err = ERR_INVALID_TOPIC_EXCEPTION;
    else if (check && check->err)
        err = answer_check(produce, check, answer);
    if (!err)
        err = append(produce, partition, &from->records, check ? check->guard : 0, answer);
    partition_unref(partition);
    return err;
}

/* ---- the whole request ---- */

static void walk_topic(struct produce *produce,
                       const struct produce_request_topic_produce_data *topic,
                       struct produce_response_topic_produce_response *to)
{
    to->name = topic->name;
    to->topic_id = topic->topic_id;
    struct produce_response_partition_produce_response *answers =
        produce_response_topic_produce_response_partition_responses_new(
            &produce->request->arena, to, topic->partition_data_count);
    for (int32_t i = 0; i < topic->partition_data_count; i++) {
        answers[i].index = topic->partition_data[i].index;
        answers[i].base_offset = -1;
        enum err err = produce->refused;
        answers[i].error_message = produce->refused_message;
        if (!err)
            err = produce_one(produce, topic, &topic->partition_data[i], &answers[i]);
        answers[i].error_code = err_to_wire(err);
        if (err)
            produce->failed = true;
    }
}

/* KIP-951: the addresses of the leaders that answers name. */
static void add_endpoints(struct produce *produce, struct meta_image *image)
{
    const struct endpoint *from;
    int32_t count = endpoints_all(produce->request, image, false, &from);
    struct produce_response_node_endpoint *items =
        produce_response_node_endpoints_new(&produce->request->arena, produce->response, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].node_id = from[i].node_id;
        items[i].host = from[i].host;
        items[i].port = from[i].port;
        items[i].rack = from[i].rack;
    }
}

static void finish(struct produce *produce)
{
    struct request *request = produce->request;
    buf_fini(&produce->rebuilt);
    if (produce->body->acks == 0) {
        if (produce->failed)
            request_close(request);
        else
            request_no_reply(request);
        return;
    }
    struct meta_image *image = NULL;
    if (produce->hints_leader && request->version >= 10) {
        image = quorum_image(request->context->quorum);
        add_endpoints(produce, image);
    }
    request_reply(request, produce->response);
    meta_image_unref(image);
}

/* ---- waiting for the high watermark ---- */

static void waited(struct append_waits *waits)
{
    struct produce *produce = LIST_ITEM(waits, struct produce, waits);
    for (int32_t i = 0; i < waits->count; i++) {
        struct produce_response_partition_produce_response *answer = waits->items[i].owner;
        if (!waits->items[i].err)
            continue;
        answer->error_code = err_to_wire(waits->items[i].err);
        answer->base_offset = -1;
        answer->log_append_time_ms = -1;
    }
    finish(produce);
}

static void cancel(struct request *request)
{
    struct produce *produce = request->parked;
    append_waits_cancel(&produce->waits);
}

/* The frame goes back to the net while the request waits; names are kept. */
static void keep_names(struct produce *produce)
{
    struct arena *arena = &produce->request->arena;
    for (int32_t i = 0; i < produce->response->responses_count; i++) {
        struct slice *name = &produce->response->responses[i].name;
        *name = arena_dup(arena, *name);
    }
    request_free_frame(produce->request);
}

static void park(struct produce *produce)
{
    struct request *request = produce->request;
    keep_names(produce);
    request->parked = produce;
    request->cancel = cancel;
    produce->waits.done = waited;
    int64_t timeout_ms = produce->body->timeout_ms < 0 ? 0 : produce->body->timeout_ms;
    append_waits_start(&produce->waits, request->loop,
                       io_mono_ns(request->context->io) + timeout_ms * 1000000);
}

/* ---- transactional batches ---- */

/* Kafka looks for transactional batches first of all. One that is not even framed, met before the
 * first of them, fails the whole request. */
static bool is_framed(struct slice bytes, bool *ret_transactional)
{
    struct batch_iter iter = batch_iter_of(bytes);
    struct batch_info info;
    while (batch_iter_next(&iter, &info)) {
        if (info.magic == BATCH_MAGIC && batch_is_transactional(info.data)) {
            *ret_transactional = true;
            return true;
        }
    }
    return !iter.err;
}

/* The validation's words for what is not framed, said of every partition. */
static void refuse_unframed(struct produce *produce, struct slice bytes)
{
    struct validate_options options = {.now_ms = produce->now_ms};
    struct validate_result result = {.message = SLICE_NULL};
    enum err err = validate_batch(own_bytes(produce, bytes), bytes.size, &options,
                                  &produce->request->arena, &produce->rebuilt, &result);
    produce->refused = err ? err : ERR_CORRUPT_MESSAGE;
    produce->refused_message = result.message;
}

static void check_framing(struct produce *produce)
{
    const struct produce_request *body = produce->body;
    bool transactional = false;
    for (int32_t t = 0; t < body->topic_data_count; t++) {
        const struct produce_request_topic_produce_data *topic = &body->topic_data[t];
        for (int32_t i = 0; i < topic->partition_data_count; i++) {
            struct slice bytes = topic->partition_data[i].records.bytes;
            if (!is_framed(bytes, &transactional)) {
                refuse_unframed(produce, bytes);
                return;
            }
            if (transactional)
                return;
        }
    }
}

/* The first batch of a partition, where it is of the form that can be transactional. */
static const uint8_t *first_batch(const struct produce_request_partition_produce_data *from)
{
    struct slice bytes = from->records.bytes;
    return bytes.size >= BATCH_HEADER_SIZE && batch_magic(bytes.data) == 2 ? bytes.data : NULL;
}

static void add_check(struct produce *produce,
                      const struct produce_request_topic_produce_data *topic,
                      const struct produce_request_partition_produce_data *from)
{
    const uint8_t *batch = first_batch(from);
    struct txn_check *check = &produce->check;
    if (!batch || !batch_is_transactional(batch))
        return;
    if (!produce->body->transactional_id.data) {
        produce->refused = ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
        return;
    }
    struct partition *partition;
    struct slice name = produce->request->version >= 13 ? SLICE_NULL : topic->name;
    if (!batch_has_producer_id(batch) ||
        held_find(produce->request->context, name, &topic->topic_id, from->index, &partition))
        return; /* the walk says what is wrong */
    if (!check->items) {
        check->items = arena_array(&produce->request->arena, (size_t)partition_count(produce->body),
                                   sizeof *check->items);
    } else if (check->producer_id != batch_producer_id(batch) ||
               check->producer_epoch != batch_producer_epoch(batch)) {
        produce->refused = ERR_INVALID_PRODUCER_ID_MAPPING;
        produce->refused_message =
            SLICE_LIT("Transactional records contained more than one producer ID");
    }
    check->producer_id = batch_producer_id(batch);
    check->producer_epoch = batch_producer_epoch(batch);
    check->items[check->count++] = (struct txn_check_item){
        .partition = partition, .sequence = batch_base_sequence(batch), .owner = from};
}

static void collect_checks(struct produce *produce)
{
    const struct produce_request *body = produce->body;
    for (int32_t t = 0; t < body->topic_data_count; t++) {
        for (int32_t i = 0; i < body->topic_data[t].partition_data_count; i++)
            add_check(produce, &body->topic_data[t], &body->topic_data[t].partition_data[i]);
    }
}

/* Of a partition named again counts what was said last. */
static void drop_repeated(struct request *request, struct produce_request *body)
{
    if (body->topic_data_count == 1 && body->topic_data[0].partition_data_count <= 1)
        return;
    struct named named;
    named_init(&named, &request->arena);
    int32_t topic_kept = body->topic_data_count;
    for (int32_t t = body->topic_data_count - 1; t >= 0; t--) {
        struct produce_request_topic_produce_data *topic = &body->topic_data[t];
        struct slice name = request->version >= 13 ? SLICE_NULL : topic->name;
        int32_t count = topic->partition_data_count, kept = count;
        for (int32_t i = count - 1; i >= 0; i--) {
            int32_t index = topic->partition_data[i].index;
            if (!(*named_count(&named, name, &topic->topic_id, index))++)
                topic->partition_data[--kept] = topic->partition_data[i];
        }
        if (kept) /* an empty array is NULL */
            topic->partition_data += kept;
        topic->partition_data_count -= kept;
        if (topic->partition_data_count || !count)
            body->topic_data[--topic_kept] = *topic;
    }
    if (topic_kept)
        body->topic_data += topic_kept;
    body->topic_data_count -= topic_kept;
    named_fini(&named);
}

static void walk(struct produce *produce)
{
    const struct produce_request *body = produce->body;
    produce->now_ms = io_wall_ms(produce->request->context->io);
    struct produce_response_topic_produce_response *items = produce_response_responses_new(
        &produce->request->arena, produce->response, body->topic_data_count);
    for (int32_t i = 0; i < body->topic_data_count; i++)
        walk_topic(produce, &body->topic_data[i], &items[i]);
    for (int32_t i = 0; i < produce->check.count; i++)
        partition_unref(produce->check.items[i].partition);
    if (produce->waits.count)
        park(produce);
    else
        finish(produce);
}

static void checked(struct txn_check *check)
{
    walk(LIST_ITEM(check, struct produce, check));
}

static void handle(struct request *request)
{
    drop_repeated(request, request->body);
    struct produce *produce = arena_alloc(&request->arena, sizeof *produce);
    produce->request = request;
    produce->body = request->body;
    produce->response = request_response(request);
    buf_init(&produce->rebuilt);
    check_framing(produce);
    if (!produce->refused)
        collect_checks(produce);
    if (produce->refused || has_bad_acks(produce->body) || !produce->check.count) {
        walk(produce);
        return;
    }
    struct txn_check *check = &produce->check;
    check->request = request;
    check->transactional_id = produce->body->transactional_id;
    check->support = request->version >= 12   ? TXN_SUPPORT_ADDING
                     : request->version >= 11 ? TXN_SUPPORT_ABORTABLE
                                              : TXN_SUPPORT_OLD;
    check->patient = check->support == TXN_SUPPORT_ADDING;
    check->done = checked;
    txn_check_start(check);
}

API_FAMILY(api_produce, {WIRE_API_PRODUCE, API_BROKER, handle});
