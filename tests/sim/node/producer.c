/* A producer: sends batches to one topic after the other, keeps up to a few requests under way, and
 * sends what failed or was lost again, in order and with the same sequence numbers.
 *
 * Kinds: idempotent (acks=all), plain with acks=1 or all (what is repeated may stand twice), plain
 * with acks=0 (never repeated, promised nothing). A batch counts as acknowledged with the first
 * answer that says so.
 *
 * An idempotent producer whose sequence is refused has found lost records: allowed only after a
 * power cut. It then goes on as a new producer, as real ones do. */
#include "base/ensure.h"
#include "base/mem.h"
#include "record/builder.h"
#include "record/compress.h"
#include "wire_init_producer_id.h"
#include "wire_produce.h"
#include "world.h"

enum { BATCHES_MAX = 6, RECORDS_MAX = 12 };

enum batch_state { BATCH_FREE, BATCH_WAITING, BATCH_SENT };

struct batch {
    enum batch_state state;
    struct model_partition *partition;
    uint64_t id_first;
    int32_t count, sequence;
    uint64_t order; /* of creation */
    int64_t timestamp;
    enum codec codec;
};

/* The batches of one request. */
struct flight {
    int indexes[2];
    int count;
    int flush_changes; /* model_flush_sent */
};

struct producer {
    struct actor actor;
    int acks;
    bool idempotent;
    int depth; /* requests under way at most */
    int64_t producer_id;
    int16_t epoch;
    int32_t sequences[MODEL_TOPICS_MAX][MODEL_PARTITIONS_MAX];
    int64_t cuts; /* world->cuts when the id was taken */
    struct batch batches[BATCHES_MAX];
    uint64_t order_next;
    int flights;
    bool repeating; /* something came back: one at a time until all is through */
    bool asking;
};

static struct producer *producer_of(struct actor *actor)
{
    return LIST_ITEM(actor, struct producer, actor);
}

/* ---- the id ---- */

static void id_given(struct client *client, struct call *call)
{
    struct producer *p = producer_of(client->owner);
    const struct init_producer_id_response *answer = call->response;
    p->asking = false;
    if (!answer || answer->error_code)
        return;
    if (answer->producer_id < 0)
        world_fail("%s: producer id %lld", client->name, (long long)answer->producer_id);
    model_producer_id(&p->actor.world->model, answer->producer_id);
    p->producer_id = answer->producer_id;
    p->epoch = answer->producer_epoch;
    p->cuts = p->actor.world->cuts;
    memset(p->sequences, 0, sizeof p->sequences);
    /* What could not be placed under the old id starts anew under this one. */
    for (;;) {
        struct batch *first = NULL;
        for (int i = 0; i < BATCHES_MAX; i++) {
            struct batch *b = &p->batches[i];
            if (b->state != BATCH_FREE && b->sequence < 0 && (!first || b->order < first->order))
                first = b;
        }
        if (!first)
            break;
        int64_t topic = first->partition->topic - p->actor.world->model.topics;
        int32_t *next = &p->sequences[topic][first->partition->index];
        first->sequence = *next;
        *next += first->count;
    }
}

static void ask_id(struct producer *p)
{
    struct call *call = client_call_new(&p->actor.client, WIRE_API_INIT_PRODUCER_ID,
                                        actor_version(&p->actor, WIRE_API_INIT_PRODUCER_ID, 0));
    struct init_producer_id_request *body = arena_alloc(&call->arena, sizeof *body);
    wire_init(&wire_init_producer_id_request, body);
    body->transactional_id = SLICE_NULL;
    body->transaction_timeout_ms = 60000;
    p->asking = true;
    client_call_send(&p->actor.client, call, body, true, id_given, NULL);
}

/* Sequences that the node does not know any more: all that waits gets a new producer's. */
static void lose_id(struct producer *p, const struct batch *batch, int error)
{
    struct world *world = p->actor.world;
    if (p->cuts == world->cuts)
        world_fail("%s: %s-%d refused sequence %d (%d records, id %llu): %s", p->actor.name,
                   batch->partition->topic->name, batch->partition->index, batch->sequence,
                   batch->count, (unsigned long long)batch->id_first,
                   err_name(err_from_wire(error)));
    p->producer_id = -1;
    for (int i = 0; i < BATCHES_MAX; i++) {
        struct batch *b = &p->batches[i];
        if (b->state == BATCH_FREE)
            continue;
        b->sequence = -1;
        /* It may stand there already, unanswered: then it will be twice. */
        for (int32_t r = 0; r < b->count; r++)
            world->model.places[b->id_first + (uint64_t)r].idempotent = false;
    }
}

/* ---- answers ---- */

static bool has_older(const struct producer *p, const struct batch *batch)
{
    for (int i = 0; i < BATCHES_MAX; i++)
        if (p->batches[i].state != BATCH_FREE && p->batches[i].partition == batch->partition &&
            p->batches[i].order < batch->order)
            return true;
    return false;
}

static void one_answer(struct producer *p, struct batch *batch, const struct flight *flight,
                       const struct produce_response_partition_produce_response *answer)
{
    struct world *world = p->actor.world;
    enum err err = err_from_wire(answer->error_code);
    batch->state = BATCH_WAITING;
    p->repeating |= err != ERR_NONE;
    if (batch->partition->topic->state != MODEL_EXISTS && err != ERR_NONE) {
        batch->state = BATCH_FREE; /* deleted meanwhile */
        return;
    }
    switch ((int)err) {
    case ERR_NONE:
        model_acked(&world->model, batch->partition, answer->base_offset, batch->id_first,
                    batch->count, flight->flush_changes);
        batch->state = BATCH_FREE;
        break;
    case ERR_OUT_OF_ORDER_SEQUENCE_NUMBER:
    case ERR_UNKNOWN_PRODUCER_ID:
        if (!has_older(p, batch))
            lose_id(p, batch, answer->error_code);
        break;
    case ERR_KAFKA_STORAGE_ERROR:
    case ERR_NOT_LEADER_OR_FOLLOWER:
    case ERR_UNKNOWN_TOPIC_OR_PARTITION:
    case ERR_UNKNOWN_TOPIC_ID:
    case ERR_REQUEST_TIMED_OUT:
    case ERR_NOT_ENOUGH_REPLICAS: break; /* again */
    default:
        world_fail("%s: produce to %s-%d (sequence %d, acks %d) was answered %s", p->actor.name,
                   batch->partition->topic->name, batch->partition->index, batch->sequence, p->acks,
                   err_name(err));
    }
}

static void produced(struct client *client, struct call *call)
{
    struct producer *p = producer_of(client->owner);
    struct flight *flight = call->argument;
    const struct produce_response *response = call->response;
    p->flights--;
    for (int i = 0; i < flight->count; i++) {
        struct batch *batch = &p->batches[flight->indexes[i]];
        if (!p->acks) {
            batch->state = BATCH_FREE;
        } else if (!response) {
            batch->state = BATCH_WAITING;
            p->repeating = true;
        }
    }
    if (response) {
        int found = 0;
        for (int32_t t = 0; t < response->responses_count; t++)
            for (int32_t i = 0; i < response->responses[t].partition_responses_count; i++) {
                if (found == flight->count)
                    world_fail("%s: more partitions answered than asked", client->name);
                one_answer(p, &p->batches[flight->indexes[found++]], flight,
                           &response->responses[t].partition_responses[i]);
            }
        if (found != flight->count)
            world_fail("%s: %d partitions answered of %d", client->name, found, flight->count);
    }
    mem_free(flight);
}

/* ---- requests ---- */

static struct slice build(struct producer *p, const struct batch *batch, struct arena *arena)
{
    struct buf bytes;
    buf_init(&bytes);
    struct builder_options options = BUILDER_DEFAULTS;
    options.codec = batch->codec;
    options.level = codec_level_default(batch->codec);
    if (p->idempotent) {
        options.producer_id = p->producer_id;
        options.producer_epoch = p->epoch;
        options.base_sequence = batch->sequence;
    }
    struct builder builder;
    builder_begin(&builder, &bytes, &options);
    for (int32_t i = 0; i < batch->count; i++) {
        model_append(batch->partition->topic, batch->id_first + (uint64_t)i, batch->timestamp + i,
                     &builder);
    }
    ENSURE(builder_end(&builder) == ERR_NONE);
    struct slice copy = arena_dup(arena, buf_slice(&bytes));
    buf_fini(&bytes);
    return copy;
}

/* One request with the batches of `flight`, which are of one topic. */
static void send_flight(struct producer *p, struct flight *flight)
{
    struct client *client = &p->actor.client;
    struct model_topic *topic = p->batches[flight->indexes[0]].partition->topic;
    struct call *call =
        client_call_new(client, WIRE_API_PRODUCE, actor_version(&p->actor, WIRE_API_PRODUCE, 3));
    struct produce_request *body = arena_alloc(&call->arena, sizeof *body);
    wire_init(&wire_produce_request, body);
    body->acks = (int16_t)p->acks;
    body->timeout_ms = 10000;
    flight->flush_changes = model_flush_sent(topic);
    struct produce_request_topic_produce_data *data =
        produce_request_topic_data_new(&call->arena, body, 1);
    if (call->version >= 13)
        data->topic_id = topic->id;
    else
        data->name = slice_str(topic->name);
    struct produce_request_partition_produce_data *parts =
        produce_request_topic_produce_data_partition_data_new(&call->arena, data, flight->count);
    for (int i = 0; i < flight->count; i++) {
        struct batch *batch = &p->batches[flight->indexes[i]];
        batch->state = BATCH_SENT;
        if (call->version < 7 && batch->codec == CODEC_ZSTD)
            batch->codec = CODEC_LZ4;
        parts[i].index = batch->partition->index;
        parts[i].records.bytes = build(p, batch, &call->arena);
    }
    p->flights++;
    client_call_send(client, call, body, p->acks != 0, produced, flight);
}

static struct batch *oldest_waiting(struct producer *p)
{
    struct batch *oldest = NULL;
    for (int i = 0; i < BATCHES_MAX; i++) {
        struct batch *b = &p->batches[i];
        if (b->state == BATCH_WAITING && (!oldest || b->order < oldest->order))
            oldest = b;
    }
    return oldest;
}

static struct batch *make_batch(struct producer *p, struct model_partition *partition)
{
    struct world *world = p->actor.world;
    for (int i = 0; i < BATCHES_MAX; i++) {
        struct batch *b = &p->batches[i];
        if (b->state != BATCH_FREE)
            continue;
        *b = (struct batch){.state = BATCH_WAITING, .partition = partition};
        b->count = (int32_t)between(world, 1, RECORDS_MAX);
        b->order = p->order_next++;
        b->codec = (enum codec)draw(world, CODEC_COUNT);
        b->timestamp = io_wall_ms(p->actor.client.io) - between(world, 0, 1000);
        for (int32_t r = 0; r < b->count; r++) {
            uint64_t id = model_id_new(&world->model, p->idempotent, 0);
            b->id_first = r ? b->id_first : id;
        }
        if (p->idempotent) {
            int32_t *next = &p->sequences[partition->topic - world->model.topics][partition->index];
            b->sequence = *next;
            *next += b->count;
        }
        return b;
    }
    return NULL;
}

/* New work: one or two partitions of a topic. */
static void send_new(struct producer *p)
{
    struct world *world = p->actor.world;
    struct model_topic *topic = model_topic_any(&world->model, sim_random(world->sim));
    if (!topic)
        return;
    struct flight *flight = mem_zalloc(sizeof *flight);
    int32_t first = (int32_t)draw(world, (uint64_t)topic->partition_count);
    int wanted = topic->partition_count > 1 && chance(world, 30) ? 2 : 1;
    for (int i = 0; i < wanted; i++) {
        struct batch *b = make_batch(p, &topic->partitions[(first + i) % topic->partition_count]);
        if (b)
            flight->indexes[flight->count++] = (int)(b - p->batches);
    }
    if (flight->count)
        send_flight(p, flight);
    else
        mem_free(flight);
}

/* Batches of topics that are gone. A topic in doubt may come back: its batches wait. */
static void drop_dead(struct producer *p)
{
    for (int i = 0; i < BATCHES_MAX; i++) {
        struct batch *b = &p->batches[i];
        if (b->state == BATCH_WAITING && b->partition->topic->state != MODEL_EXISTS)
            b->state = BATCH_FREE;
    }
}

static void act(struct actor *actor)
{
    struct producer *p = producer_of(actor);
    if (p->idempotent && p->producer_id < 0) {
        if (!p->asking && !p->flights)
            ask_id(p);
        return;
    }
    drop_dead(p);
    struct batch *again = oldest_waiting(p);
    if (!again && !p->flights)
        p->repeating = false;
    if (p->repeating) {
        if (again && !p->flights) {
            struct flight *flight = mem_zalloc(sizeof *flight);
            flight->indexes[flight->count++] = (int)(again - p->batches);
            send_flight(p, flight);
        }
    } else if (!actor->world->finishing && p->flights < p->depth) {
        send_new(p);
    }
}

static bool is_done(struct actor *actor)
{
    struct producer *p = producer_of(actor);
    drop_dead(p);
    return !p->flights && !oldest_waiting(p);
}

static void producer_free(struct actor *actor)
{
    struct producer *p = producer_of(actor);
    actor_fini(actor);
    mem_free(p);
}

struct actor *producer_new(struct world *world, int index)
{
    struct producer *p = mem_zalloc(sizeof *p);
    actor_init(&p->actor, world, "producer", index);
    static const int acks[] = {-1, -1, 1, 0};
    uint64_t kind = draw(world, 6);
    p->idempotent = kind >= 3 || index == 0;
    p->acks = p->idempotent ? -1 : acks[1 + kind];
    p->depth = (int)between(world, 1, 3);
    p->producer_id = -1;
    p->actor.act = act;
    p->actor.is_done = is_done;
    p->actor.free = producer_free;
    return &p->actor;
}
