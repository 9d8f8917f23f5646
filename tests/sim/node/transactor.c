/* A transactional producer: takes its id (fencing whoever has it), reads the offset that its cell
 * committed last, then runs transactions: batches to a few partitions, perhaps an offset, and a
 * commit, an abort, or nothing: then it is gone for a while, and comes back as a zombie.
 *
 * It speaks the protocol of transaction.version 2 (no additions, a new epoch with each end) or the
 * older one (AddPartitionsToTxn, AddOffsetsToTxn, one epoch), and never both. One request at a
 * time; what has no answer is sent again as it was, as real clients do. An error that says "this
 * transaction is over" needs a reason that this client can see: another client in its cell, its
 * timeout, a clock that jumped, a disk that failed, a power cut. Without one the run fails. */
#include "base/ensure.h"
#include "base/mem.h"
#include "record/builder.h"
#include "record/compress.h"
#include "wire_add_offsets_to_txn.h"
#include "wire_add_partitions_to_txn.h"
#include "wire_end_txn.h"
#include "wire_find_coordinator.h"
#include "wire_init_producer_id.h"
#include "wire_offset_fetch.h"
#include "wire_produce.h"
#include "wire_txn_offset_commit.h"
#include "world.h"

enum { PARTS_MAX = 4, RECORDS_MAX = 10, COORDINATOR_OF_TRANSACTIONS = 1 };

enum state {
    LOST,    /* looks for the coordinator */
    OUTSIDE, /* without a valid id */
    READING, /* has an id, wants the committed offset */
    IDLE,
    WORKING,
    ENDING,
    AWAY, /* left a transaction open */
};

struct part {
    struct model_partition *partition;
    int32_t sequence; /* next */
    bool added;       /* older protocol */
};

struct transactor {
    struct actor actor;
    int cell;
    bool is_new; /* transaction.version 2 */
    enum state state;
    int64_t producer_id;
    int16_t epoch;
    bool bump; /* ask with the id it has: something may be in the log that has no answer */
    int sends; /* of the request that gives out an epoch */
    struct model_cell before; /* ... when it was sent last */
    int32_t timeout_ms;
    int64_t offset_floor;
    bool group_found; /* its coordinator */

    /* The transaction. */
    uint64_t txn;
    int64_t begun_ns;
    enum err last;                /* that was answered */
    struct part parts[PARTS_MAX]; /* sequences are kept from one to the next */
    int part_count;
    int batches_left;
    bool wants_offset, offset_added;
    bool commits, leaves;
    bool any_acked; /* the coordinator knows of it */
    int64_t back_ns;

    /* The batch under way; kept until it is answered. */
    bool has_batch;
    struct part *part;
    uint64_t id_first;
    int32_t count;
    int64_t timestamp;
    enum codec codec;
    int flush_changes;
};

static struct transactor *transactor_of(struct client *client)
{
    return LIST_ITEM(client->owner, struct transactor, actor);
}

static struct model_cell *cell_of(struct transactor *t)
{
    return &t->actor.world->model.cells[t->cell];
}

static struct slice id_of(struct transactor *t)
{
    return slice_str(cell_of(t)->id);
}

static void *body_new(struct call *call, const struct wire_schema *schema)
{
    void *body = arena_alloc(&call->arena, wire_schema_size(schema));
    wire_init(schema, body);
    return body;
}

/* Versions `first` to `last`, those of the protocol it speaks. */
static struct call *call_new(struct transactor *t, enum wire_api_key key, int first, int last)
{
    const struct wire_api *api = wire_api_find((int)key);
    int high = wire_api_version_last(api, false);
    high = high < last ? high : last;
    int low = first > api->first ? first : api->first;
    return client_call_new(&t->actor.client, key, (int)between(t->actor.world, low, high));
}

/* ---- errors ----------------------------------------------------------------------------------
 */

/* Other clients work in its cell. */
static bool is_shared(const struct transactor *t)
{
    return t->actor.world->cell_clients[t->cell] > 1;
}

/* The node may have ended its transaction, or forgotten its id. */
static bool is_excused(struct transactor *t)
{
    struct world *world = t->actor.world;
    int64_t age_ns = sim_now_ns(world->sim) - t->begun_ns;
    /* A repeated bump is known as such only as long as the coordinator lives: as in Kafka, its log
     * does not hold the epoch before. */
    if (t->bump && t->sends > 1)
        return true;
    return is_shared(t) || world->model.txn_loose || world->jumped || world_is_troubled(world) ||
           age_ns >= (int64_t)t->timeout_ms * 1000000 || t->begun_ns < world->troubled_ns;
}

/* What is under way is over, whatever became of it. */
static void drop(struct transactor *t, enum state state)
{
    t->state = state;
    t->has_batch = false;
    t->txn = 0;
    t->sends = 0;
}

static void take_error(struct transactor *t, const char *what, int code)
{
    enum err err = err_from_wire(code);
    t->last = err;
    switch ((int)err) {
    case ERR_NOT_COORDINATOR: t->group_found = false; /* fallthrough */
    case ERR_COORDINATOR_NOT_AVAILABLE:
    case ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case ERR_CONCURRENT_TRANSACTIONS:
    case ERR_REQUEST_TIMED_OUT:
    case ERR_NOT_LEADER_OR_FOLLOWER:
    case ERR_NOT_ENOUGH_REPLICAS: return; /* again */
    case ERR_UNKNOWN_SERVER_ERROR:
    case ERR_KAFKA_STORAGE_ERROR:
        if (world_is_troubled(t->actor.world))
            return;
        break;
    case ERR_UNKNOWN_TOPIC_OR_PARTITION:
    case ERR_UNKNOWN_TOPIC_ID: /* deleted, or about to be */
        if (t->state != WORKING)
            break;
        t->commits = false;
        t->has_batch = false;
        t->state = ENDING;
        return;
    case ERR_TRANSACTION_ABORTABLE:
        if (is_excused(t) && t->state == WORKING) {
            t->commits = false;
            t->has_batch = false;
            t->state = ENDING;
            return;
        }
        break;
    case ERR_PRODUCER_FENCED:
    case ERR_INVALID_PRODUCER_EPOCH:
    case ERR_INVALID_TXN_STATE:
    case ERR_INVALID_PRODUCER_ID_MAPPING:
    case ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case ERR_UNKNOWN_PRODUCER_ID:
        if (!is_excused(t))
            break;
        t->producer_id = -1;
        t->bump = false;
        drop(t, OUTSIDE);
        return;
    default: break;
    }
    world_fail("%s: %s of transaction %llu (%s, %s) was answered %s after %lld ms", t->actor.name,
               what, (unsigned long long)t->txn, cell_of(t)->id, t->is_new ? "new" : "old",
               err_name(err), (long long)(sim_now_ns(t->actor.world->sim) - t->begun_ns) / 1000000);
}

/* ---- the id ----------------------------------------------------------------------------------
 */

static void found(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct find_coordinator_response *r = call->response;
    if (!r)
        return;
    int error = call->version >= 4 && r->coordinators_count == 1 ? r->coordinators->error_code
                                                                 : r->error_code;
    if (error)
        take_error(t, "FindCoordinator", error);
    else if (call->argument)
        t->group_found = true;
    else
        t->state = OUTSIDE;
}

static void find(struct transactor *t, bool of_group)
{
    struct call *call = call_new(t, WIRE_API_FIND_COORDINATOR, 1, 99);
    struct find_coordinator_request *body = body_new(call, &wire_find_coordinator_request);
    body->key_type = of_group ? 0 : COORDINATOR_OF_TRANSACTIONS;
    struct slice key = of_group ? slice_str(cell_of(t)->group) : id_of(t);
    if (call->version >= 4)
        *find_coordinator_request_coordinator_keys_new(&call->arena, body, 1) = key;
    else
        body->key = key;
    client_call_send(&t->actor.client, call, body, true, found, of_group ? t : NULL);
}

static void forget_sequences(struct transactor *t)
{
    memset(t->parts, 0, sizeof t->parts);
    t->part_count = 0;
}

static void id_given(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct init_producer_id_response *r = call->response;
    if (!r)
        return;
    if (r->error_code) {
        take_error(t, "InitProducerId", r->error_code);
        return;
    }
    model_cell_given(&t->actor.world->model, t->cell, &t->before, r->producer_id, r->producer_epoch,
                     t->bump && t->sends > 1);
    t->producer_id = r->producer_id;
    t->epoch = r->producer_epoch;
    t->bump = false;
    t->sends = 0;
    forget_sequences(t);
    t->state = READING;
}

static void ask_id(struct transactor *t)
{
    struct call *call = call_new(t, WIRE_API_INIT_PRODUCER_ID, t->bump ? 3 : 0, 99);
    struct init_producer_id_request *body = body_new(call, &wire_init_producer_id_request);
    body->transactional_id = id_of(t);
    body->transaction_timeout_ms = t->timeout_ms;
    if (t->bump) {
        body->producer_id = t->producer_id;
        body->producer_epoch = t->epoch;
    }
    t->begun_ns = sim_now_ns(t->actor.world->sim);
    t->sends++;
    t->before = *cell_of(t);
    client_call_send(&t->actor.client, call, body, true, id_given, NULL);
}

static void offset_read(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct offset_fetch_response *r = call->response;
    struct model_topic *topic = call->argument;
    if (!r)
        return;
    int16_t error = 0;
    int64_t value = -1;
    if (call->version >= 8) {
        if (r->groups_count != 1)
            world_fail("%s: OffsetFetch answered %d groups", client->name, r->groups_count);
        error = r->groups->error_code;
        if (!error && r->groups->topics_count == 1 && r->groups->topics->partitions_count == 1) {
            error = r->groups->topics->partitions->error_code;
            value = r->groups->topics->partitions->committed_offset;
        }
    } else {
        error = r->error_code;
        if (!error && r->topics_count == 1 && r->topics->partitions_count == 1) {
            error = r->topics->partitions->error_code;
            value = r->topics->partitions->committed_offset;
        }
    }
    enum err err = err_from_wire(error);
    t->last = err;
    if (err == ERR_UNSTABLE_OFFSET_COMMIT || (err && topic->state != MODEL_EXISTS)) {
        /* After a power cut it may hang: the coordinator forgot that transaction. */
        if (t->actor.world->model.txn_loose && t->state == READING && chance(t->actor.world, 30))
            t->state = IDLE;
        return;
    }
    if (err) {
        take_error(t, "OffsetFetch", error);
        return;
    }
    model_cell_read(&t->actor.world->model, t->cell, t->offset_floor, value);
    if (t->state == READING)
        t->state = IDLE;
}

/* Offsets are committed for the first partition of a topic that is never deleted. */
static void read_offset(struct transactor *t)
{
    struct model_topic *topic = t->actor.world->pinned;
    struct call *call = call_new(t, WIRE_API_OFFSET_FETCH, 7, 99);
    struct offset_fetch_request *body = body_new(call, &wire_offset_fetch_request);
    body->require_stable = true;
    struct slice group_id = slice_str(cell_of(t)->group);
    if (call->version >= 8) {
        struct offset_fetch_request_offset_fetch_request_group *group =
            offset_fetch_request_groups_new(&call->arena, body, 1);
        group->group_id = group_id;
        struct offset_fetch_request_offset_fetch_request_topics *item =
            offset_fetch_request_offset_fetch_request_group_topics_new(&call->arena, group, 1);
        if (call->version >= 10)
            item->topic_id = topic->id;
        else
            item->name = slice_str(topic->name);
        *offset_fetch_request_offset_fetch_request_topics_partition_indexes_new(&call->arena, item,
                                                                                1) = 0;
    } else {
        body->group_id = group_id;
        struct offset_fetch_request_offset_fetch_request_topic *item =
            offset_fetch_request_topics_new(&call->arena, body, 1);
        item->name = slice_str(topic->name);
        *offset_fetch_request_offset_fetch_request_topic_partition_indexes_new(&call->arena, item,
                                                                               1) = 0;
    }
    t->offset_floor = cell_of(t)->offset_floor;
    client_call_send(&t->actor.client, call, body, true, offset_read, topic);
}

/* ---- work ------------------------------------------------------------------------------------
 */

static void begin(struct transactor *t)
{
    struct world *world = t->actor.world;
    t->txn = model_txn_new(&world->model, t->cell);
    t->begun_ns = sim_now_ns(world->sim);
    for (int i = 0; i < t->part_count; i++)
        t->parts[i].added = false;
    t->batches_left = (int)between(world, 0, 6);
    t->wants_offset = chance(world, 40) || t->batches_left == 0;
    t->offset_added = false;
    t->commits = chance(world, 70);
    t->leaves = chance(world, 8);
    t->any_acked = false;
    t->has_batch = false;
    t->state = WORKING;
}

/* The place of a partition, or of one that is not used in this transaction. */
static struct part *part_for(struct transactor *t, struct model_partition *partition)
{
    for (int i = 0; i < t->part_count; i++)
        if (t->parts[i].partition == partition)
            return &t->parts[i];
    if (t->part_count == PARTS_MAX)
        return NULL;
    struct part *part = &t->parts[t->part_count++];
    *part = (struct part){.partition = partition};
    return part;
}

static void make_batch(struct transactor *t)
{
    struct world *world = t->actor.world;
    struct model_topic *topic = model_topic_any(&world->model, sim_random(world->sim));
    struct part *part =
        topic ? part_for(t, &topic->partitions[draw(world, (uint64_t)topic->partition_count)])
              : NULL;
    if (!part && t->part_count)
        part = &t->parts[draw(world, (uint64_t)t->part_count)];
    if (!part || part->partition->topic->state != MODEL_EXISTS)
        return;
    t->part = part;
    t->count = (int32_t)between(world, 1, RECORDS_MAX);
    t->codec = chance(world, 70) ? CODEC_NONE : (enum codec)draw(world, CODEC_COUNT);
    t->timestamp = io_wall_ms(t->actor.client.io) - between(world, 0, 1000);
    for (int32_t r = 0; r < t->count; r++) {
        uint64_t id = model_id_new(&world->model, true, t->txn);
        t->id_first = r ? t->id_first : id;
    }
    t->has_batch = true;
    t->batches_left--;
}

static void produced(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct produce_response *r = call->response;
    if (!r)
        return;
    if (r->responses_count != 1 || r->responses->partition_responses_count != 1)
        world_fail("%s: %d topics were answered", client->name, r->responses_count);
    const struct produce_response_partition_produce_response *answer =
        r->responses->partition_responses;
    if (answer->error_code) {
        take_error(t, "produce", answer->error_code);
        return;
    }
    model_acked(&t->actor.world->model, t->part->partition, answer->base_offset, t->id_first,
                t->count, t->flush_changes);
    t->part->sequence += t->count;
    t->any_acked = true;
    t->has_batch = false;
}

static struct slice build(struct transactor *t, struct arena *arena)
{
    struct buf bytes;
    buf_init(&bytes);
    struct builder_options options = BUILDER_DEFAULTS;
    options.codec = t->codec;
    options.level = codec_level_default(t->codec);
    options.transactional = true;
    options.producer_id = t->producer_id;
    options.producer_epoch = t->epoch;
    options.base_sequence = t->part->sequence;
    struct builder builder;
    builder_begin(&builder, &bytes, &options);
    for (int32_t i = 0; i < t->count; i++) {
        model_append(t->part->partition->topic, t->id_first + (uint64_t)i, t->timestamp + i,
                     &builder);
    }
    ENSURE(builder_end(&builder) == ERR_NONE);
    struct slice copy = arena_dup(arena, buf_slice(&bytes));
    buf_fini(&bytes);
    return copy;
}

static void produce(struct transactor *t)
{
    struct model_topic *topic = t->part->partition->topic;
    struct call *call = call_new(t, WIRE_API_PRODUCE, t->is_new ? 12 : 3, t->is_new ? 99 : 11);
    if (call->version < 7 && t->codec == CODEC_ZSTD)
        t->codec = CODEC_LZ4;
    struct produce_request *body = body_new(call, &wire_produce_request);
    body->acks = -1;
    body->timeout_ms = 10000;
    body->transactional_id = id_of(t);
    t->flush_changes = model_flush_sent(topic);
    struct produce_request_topic_produce_data *data =
        produce_request_topic_data_new(&call->arena, body, 1);
    if (call->version >= 13)
        data->topic_id = topic->id;
    else
        data->name = slice_str(topic->name);
    struct produce_request_partition_produce_data *part =
        produce_request_topic_produce_data_partition_data_new(&call->arena, data, 1);
    part->index = t->part->partition->index;
    part->records.bytes = build(t, &call->arena);
    client_call_send(&t->actor.client, call, body, true, produced, NULL);
}

static void added(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct add_partitions_to_txn_response *r = call->response;
    if (!r)
        return;
    if (r->results_by_topic_v3_and_below_count != 1 ||
        r->results_by_topic_v3_and_below->results_by_partition_count != 1)
        world_fail("%s: AddPartitionsToTxn answered %d topics", client->name,
                   r->results_by_topic_v3_and_below_count);
    int error = r->results_by_topic_v3_and_below->results_by_partition->partition_error_code;
    if (error) {
        take_error(t, "AddPartitionsToTxn", error);
        return;
    }
    t->part->added = t->any_acked = true;
}

static void add_partition(struct transactor *t)
{
    struct call *call = call_new(t, WIRE_API_ADD_PARTITIONS_TO_TXN, 0, 3);
    struct add_partitions_to_txn_request *body =
        body_new(call, &wire_add_partitions_to_txn_request);
    body->v3_and_below_transactional_id = id_of(t);
    body->v3_and_below_producer_id = t->producer_id;
    body->v3_and_below_producer_epoch = t->epoch;
    struct add_partitions_to_txn_request_add_partitions_to_txn_topic *topic =
        add_partitions_to_txn_request_v3_and_below_topics_new(&call->arena, body, 1);
    topic->name = slice_str(t->part->partition->topic->name);
    *add_partitions_to_txn_request_add_partitions_to_txn_topic_partitions_new(
        &call->arena, topic, 1) = t->part->partition->index;
    client_call_send(&t->actor.client, call, body, true, added, NULL);
}

static void offsets_added(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct add_offsets_to_txn_response *r = call->response;
    if (r && r->error_code)
        take_error(t, "AddOffsetsToTxn", r->error_code);
    else if (r)
        t->offset_added = t->any_acked = true;
}

static void add_offsets(struct transactor *t)
{
    struct call *call = call_new(t, WIRE_API_ADD_OFFSETS_TO_TXN, 0, 99);
    struct add_offsets_to_txn_request *body = body_new(call, &wire_add_offsets_to_txn_request);
    body->transactional_id = id_of(t);
    body->producer_id = t->producer_id;
    body->producer_epoch = t->epoch;
    body->group_id = slice_str(cell_of(t)->group);
    client_call_send(&t->actor.client, call, body, true, offsets_added, NULL);
}

static void offset_sent(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    const struct txn_offset_commit_response *r = call->response;
    if (!r)
        return;
    if (r->topics_count != 1 || r->topics->partitions_count != 1)
        world_fail("%s: TxnOffsetCommit answered %d topics", client->name, r->topics_count);
    if (r->topics->partitions->error_code) {
        take_error(t, "TxnOffsetCommit", r->topics->partitions->error_code);
        return;
    }
    t->wants_offset = false;
    t->any_acked = true;
}

static void send_offset(struct transactor *t)
{
    struct model *model = &t->actor.world->model;
    struct call *call =
        call_new(t, WIRE_API_TXN_OFFSET_COMMIT, t->is_new ? 5 : 0, t->is_new ? 99 : 4);
    struct txn_offset_commit_request *body = body_new(call, &wire_txn_offset_commit_request);
    body->transactional_id = id_of(t);
    body->group_id = slice_str(cell_of(t)->group);
    body->producer_id = t->producer_id;
    body->producer_epoch = t->epoch;
    struct txn_offset_commit_request_txn_offset_commit_request_topic *topic =
        txn_offset_commit_request_topics_new(&call->arena, body, 1);
    if (call->version >= 6)
        topic->topic_id = t->actor.world->pinned->id;
    else
        topic->name = slice_str(t->actor.world->pinned->name);
    struct txn_offset_commit_request_txn_offset_commit_request_partition *part =
        txn_offset_commit_request_txn_offset_commit_request_topic_partitions_new(&call->arena,
                                                                                 topic, 1);
    part->committed_offset = (int64_t)t->txn;
    part->committed_metadata = SLICE_LIT("sim");
    model_txn(model, t->txn)->has_offset = true;
    client_call_send(&t->actor.client, call, body, true, offset_sent, NULL);
}

/* ---- the end ---------------------------------------------------------------------------------
 */

static void ended(struct client *client, struct call *call)
{
    struct transactor *t = transactor_of(client);
    struct model *model = &t->actor.world->model;
    const struct end_txn_response *r = call->response;
    if (!r)
        return;
    if (r->error_code) {
        /* Nothing of it may have reached the coordinator: then there is nothing to end. */
        if (err_from_wire(r->error_code) == ERR_INVALID_TXN_STATE && !t->any_acked)
            drop(t, OUTSIDE);
        else
            take_error(t, "EndTxn", r->error_code);
        return;
    }
    struct model_txn *txn = model_txn(model, t->txn);
    model_txn_see(model, t->txn, t->commits, "its end");
    txn->commit_acked = t->commits;
    txn->abort_acked = !t->commits;
    if (t->commits && txn->has_offset && !txn->loose && (int64_t)t->txn > cell_of(t)->offset_floor)
        cell_of(t)->offset_floor = (int64_t)t->txn;
    bool unsure = t->bump;
    t->bump = false;
    if (t->is_new) {
        model_cell_given(model, t->cell, &t->before, r->producer_id, r->producer_epoch,
                         t->sends > 1);
        t->producer_id = r->producer_id;
        t->epoch = r->producer_epoch;
        forget_sequences(t);
    } else if (unsure) { /* a batch without an answer may still come in: not under this epoch */
        t->bump = true;
    }
    drop(t, t->bump ? OUTSIDE : IDLE);
}

static void end(struct transactor *t)
{
    struct call *call = call_new(t, WIRE_API_END_TXN, t->is_new ? 5 : 0, t->is_new ? 99 : 4);
    struct end_txn_request *body = body_new(call, &wire_end_txn_request);
    if (world_watches(cell_of(t)->id, t->cell))
        world_say("%s: %s of transaction %llu, producer %lld, epoch %d", t->actor.name,
                  t->commits ? "commit" : "abort", (unsigned long long)t->txn,
                  (long long)t->producer_id, t->epoch);
    body->transactional_id = id_of(t);
    body->producer_id = t->producer_id;
    body->producer_epoch = t->epoch;
    body->committed = t->commits;
    if (t->commits)
        model_txn(&t->actor.world->model, t->txn)->commit_sent = true;
    t->sends++;
    t->before = *cell_of(t);
    client_call_send(&t->actor.client, call, body, true, ended, NULL);
}

static void work(struct transactor *t)
{
    struct world *world = t->actor.world;
    if (!t->has_batch && chance(world, 5)) {
        if (t->leaves) {
            t->back_ns = sim_now_ns(world->sim) + between(world, 1, 40000) * 1000000;
            t->state = AWAY;
            return;
        }
        t->actor.pause_max_us = chance(world, 5) ? 20000000 : 40000; /* sits there, now and then */
    }
    if (!t->has_batch && t->batches_left > 0)
        make_batch(t);
    if (t->has_batch) {
        if (chance(world, 2)) { /* gives up on what has no answer */
            t->commits = false;
            t->bump = true;
            t->has_batch = false;
            t->state = ENDING;
        } else if (!t->is_new && !t->part->added) {
            add_partition(t);
        } else {
            produce(t);
        }
        return;
    }
    if (t->wants_offset) {
        if (!t->is_new && !t->offset_added)
            add_offsets(t);
        else
            send_offset(t);
        return;
    }
    if (t->batches_left > 0 && !world->finishing && chance(world, 80))
        return; /* no topic to be had now */
    t->state = t->any_acked || chance(world, 20) ? ENDING : IDLE;
}

static void act(struct actor *actor)
{
    struct transactor *t = LIST_ITEM(actor, struct transactor, actor);
    struct world *world = actor->world;
    if (client_calls(&actor->client) || !world->pinned || !world->has_transactions)
        return;
    if (t->state != WORKING)
        actor->pause_max_us = 40000;
    switch (t->state) {
    case LOST: find(t, false); break;
    case OUTSIDE: ask_id(t); break;
    case READING:
        if (t->group_found)
            read_offset(t);
        else
            find(t, true);
        break;
    case IDLE:
        if (world->finishing)
            break;
        if (chance(world, 10))
            read_offset(t);
        else if (chance(world, 3))
            t->state = LOST;
        else
            begin(t);
        break;
    case WORKING: work(t); break;
    case ENDING: end(t); break;
    case AWAY:
        if (!world->finishing && sim_now_ns(world->sim) >= t->back_ns)
            t->state = chance(world, 50) ? OUTSIDE : WORKING;
        break;
    }
}

static bool is_done(struct actor *actor)
{
    struct transactor *t = LIST_ITEM(actor, struct transactor, actor);
    struct world *world = actor->world;
    return t->state == IDLE || t->state == AWAY || !world->pinned || !world->has_transactions;
}

void transactor_tell(struct actor *actor)
{
    if (actor->act != act)
        return;
    struct transactor *t = LIST_ITEM(actor, struct transactor, actor);
    static const char *const names[] = {"LOST",    "OUTSIDE", "READING", "IDLE",
                                        "WORKING", "ENDING",  "AWAY"};
    fprintf(stderr, "  %s, producer %lld, epoch %d, transaction %llu, last error %s\n",
            names[t->state], (long long)t->producer_id, t->epoch, (unsigned long long)t->txn,
            err_name(t->last));
}

static void transactor_free(struct actor *actor)
{
    actor_fini(actor);
    mem_free(LIST_ITEM(actor, struct transactor, actor));
}

struct actor *transactor_new(struct world *world, int index)
{
    struct transactor *t = mem_zalloc(sizeof *t);
    actor_init(&t->actor, world, "transactor", index);
    t->cell = index % world->settings.cells;
    t->is_new = chance(world, 60);
    t->producer_id = -1;
    t->timeout_ms = (int32_t)between(world, 1000, 20000);
    t->actor.pause_max_us = 40000;
    t->actor.client.timeout_ms = between(world, 500, 20000);
    t->actor.act = act;
    t->actor.is_done = is_done;
    t->actor.free = transactor_free;
    world->cell_clients[t->cell]++;
    return &t->actor;
}
