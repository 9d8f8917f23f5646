/* Consumers, and the scanner that reads every partition from its start.
 *
 * A consumer follows the partitions of a few topics with fetches of any version: plain ones, or in
 * a session, whose rules it keeps (epoch 0 with everything, then only what changed). All that it
 * reads goes to the model. A position that the node refuses is set to the earliest offset, which
 * ListOffsets tells.
 *
 * The scanner is a consumer of all partitions without a session, one partition for each fetch. It
 * ends a partition when a fetch at the high watermark finds nothing more. */
#include "base/mem.h"
#include "wire_fetch.h"
#include "wire_list_offsets.h"
#include "world.h"

enum { FOLLOWED_MAX = 24 };

struct followed {
    struct model_partition *partition;
    int64_t offset;
    int64_t watermark, stable; /* known when the request was sent */
    bool sent;                 /* the session knows it at `offset` */
    bool lost;                 /* the position is not good: ask for the earliest */
    bool idle;                 /* of a compacted topic: there was nothing at `offset` */
    bool done;                 /* scanner */
};

struct consumer {
    struct actor actor;
    bool use_session, scanning;
    struct followed *followed;
    int followed_count, followed_capacity;
    int32_t session_id, session_epoch; /* epoch 0: begins anew */
    int version;                       /* one for each session: topic names or ids */
    bool committed;                    /* the request under way is read_committed */
    int under_way;
    int at; /* scanner */
};

static struct consumer *consumer_of(struct actor *actor)
{
    return LIST_ITEM(actor, struct consumer, actor);
}

static struct followed *followed_find(struct consumer *c, const struct model_partition *partition)
{
    for (int i = 0; i < c->followed_count; i++)
        if (c->followed[i].partition == partition)
            return &c->followed[i];
    return NULL;
}

static void follow(struct consumer *c, struct model_partition *partition, int64_t offset)
{
    if (c->followed_count == c->followed_capacity) {
        c->followed_capacity = c->followed_capacity ? c->followed_capacity * 2 : 32;
        c->followed =
            mem_realloc(c->followed, (size_t)c->followed_capacity * sizeof c->followed[0]);
    }
    c->followed[c->followed_count++] = (struct followed){.partition = partition, .offset = offset};
}

static void session_drop(struct consumer *c)
{
    c->session_id = 0;
    c->session_epoch = 0;
    for (int i = 0; i < c->followed_count; i++)
        c->followed[i].sent = false;
}

/* ---- answers ---- */

static struct model_partition *answered_partition(
    struct consumer *c, const struct fetch_response_fetchable_topic_response *topic, int version,
    int32_t index)
{
    struct model *model = &c->actor.world->model;
    struct model_topic *found = version >= 13 ? model_topic_by_id(model, &topic->topic_id)
                                              : model_topic_by_name(model, topic->topic);
    if (!found || index < 0 || index >= MODEL_PARTITIONS_MAX)
        world_fail("%s: a fetch answer names a partition that was not asked for", c->actor.name);
    return &found->partitions[index];
}

/* The disk has lied: only what is whole must be true. */
static void lied_answer(struct consumer *c, struct followed *f,
                        const struct fetch_response_partition_data *data)
{
    int64_t next = f->offset;
    if (!data->error_code)
        next = model_read_lied(f->partition, f->offset, data->records.bytes);
    f->done = next == f->offset;
    f->offset = next;
    c->actor.world->model.records_seen += next - f->offset;
}

static void partition_answer(struct consumer *c, struct followed *f,
                             const struct fetch_response_partition_data *data)
{
    struct world *world = c->actor.world;
    struct model_partition *p = f->partition;
    enum err err = err_from_wire(data->error_code);
    if (world->lied) {
        lied_answer(c, f, data);
        return;
    }
    if (err == ERR_OFFSET_OUT_OF_RANGE) {
        /* Below a start that moved, or above an end that a power cut took back. */
        if (f->offset >= p->start_max && f->offset <= p->watermark && !world->lossy &&
            !p->topic->retention)
            world_fail("%s: %s-%d: offset %lld is said to be out of range", c->actor.name,
                       p->topic->name, p->index, (long long)f->offset);
        f->lost = true;
        f->sent = false;
        return;
    }
    if (err) {
        f->sent = false;
        if (c->scanning)
            world_say("%s-%d at %lld: %s", p->topic->name, p->index, (long long)f->offset,
                      err_name(err));
        return;
    }
    if (p->topic->state == MODEL_EXISTS && !p->lossy)
        model_watermark(p, f->watermark, data->high_watermark, data->log_start_offset);
    struct model_view view = {.committed = c->committed,
                              .aborted = data->aborted_transactions,
                              .aborted_count = data->aborted_transactions_count,
                              .activated_to = -1,
                              .walk = c->scanning && !p->topic->compacted};
    for (int32_t i = 0; i < view.aborted_count && world_watches(p->topic->name, p->index); i++)
        world_say("%s-%d: read from %lld, aborted: producer %lld from %lld on", p->topic->name,
                  p->index, (long long)f->offset, (long long)view.aborted[i].producer_id,
                  (long long)view.aborted[i].first_offset);
    if (p->topic->state == MODEL_EXISTS)
        model_stable(p, f->stable, data->last_stable_offset, data->high_watermark);
    int64_t next = model_read(&world->model, p, f->offset, data->records.bytes, &view);
    int64_t limit = c->committed ? data->last_stable_offset : data->high_watermark;
    if (next > limit && next != f->offset)
        world_fail("%s: %s-%d: read up to %lld, beyond the end that is shown, %lld", c->actor.name,
                   p->topic->name, p->index, (long long)next, (long long)limit);
    if (next != f->offset)
        f->sent = false;
    bool nothing = next == f->offset;
    f->offset = next;
    /* Of a compacted log the last offsets may be empty: nothing there, and no error, is the end. */
    bool at_end = next >= data->high_watermark && next >= f->watermark;
    f->idle = nothing && p->topic->compacted &&
              (!c->committed || data->high_watermark == data->last_stable_offset);
    if (c->scanning && nothing && (at_end || f->idle)) {
        f->done = true;
        model_scan_end(&world->model, p, data->log_start_offset, data->high_watermark);
    }
}

/* A full disk lets nobody make it: nothing was ever put there, and there is nothing to read. */
static bool is_unmade(const struct consumer *c, const struct model_partition *p)
{
    return c->actor.world->full && !p->acked_end && !p->watermark;
}

static void earliest_told(struct client *client, struct call *call)
{
    struct consumer *c = consumer_of(client->owner);
    struct followed *f = followed_find(c, call->argument);
    const struct list_offsets_response *r = call->response;
    c->under_way--;
    if (!r || !f)
        return;
    if (r->topics_count != 1 || r->topics->partitions_count != 1)
        world_fail("%s: ListOffsets v%d without the partition asked for", client->name,
                   call->version);
    if (r->topics->partitions->error_code) {
        f->done = c->actor.world->lied;
        if (c->scanning && is_unmade(c, f->partition)) {
            f->done = true;
            model_scan_end(&c->actor.world->model, f->partition, 0, 0);
        }
        return;
    }
    f->offset = r->topics->partitions->offset;
    f->lost = f->sent = false;
    if (c->scanning)
        f->partition->pending_count = 0;
    if (f->partition->topic->state == MODEL_EXISTS && !c->actor.world->lied)
        model_watermark(f->partition, -1, -1, f->offset);
}

static void ask_earliest(struct consumer *c, struct followed *f)
{
    struct call *call = client_call_new(&c->actor.client, WIRE_API_LIST_OFFSETS,
                                        actor_version(&c->actor, WIRE_API_LIST_OFFSETS, 1));
    struct list_offsets_request *body = arena_alloc(&call->arena, sizeof *body);
    wire_init(&wire_list_offsets_request, body);
    body->replica_id = -1;
    struct list_offsets_request_list_offsets_topic *topic =
        list_offsets_request_topics_new(&call->arena, body, 1);
    topic->name = slice_str(f->partition->topic->name);
    struct list_offsets_request_list_offsets_partition *part =
        list_offsets_request_list_offsets_topic_partitions_new(&call->arena, topic, 1);
    part->partition_index = f->partition->index;
    part->timestamp = -2;
    c->under_way++;
    client_call_send(&c->actor.client, call, body, true, earliest_told, f->partition);
}

static void fetched(struct client *client, struct call *call)
{
    struct consumer *c = consumer_of(client->owner);
    const struct fetch_response *response = call->response;
    c->under_way--;
    if (!response || response->error_code) {
        /* A refused session begins anew; any other error of the whole answer as well. */
        session_drop(c);
        return;
    }
    if (c->use_session) {
        c->session_id = response->session_id;
        c->session_epoch = c->session_id ? c->session_epoch + 1 : 0;
        if (!c->session_id) /* the node made none: all again the next time */
            session_drop(c);
    }
    for (int32_t t = 0; t < response->responses_count; t++) {
        const struct fetch_response_fetchable_topic_response *topic = &response->responses[t];
        for (int32_t i = 0; i < topic->partitions_count; i++) {
            struct model_partition *p =
                answered_partition(c, topic, call->version, topic->partitions[i].partition_index);
            struct followed *f = followed_find(c, p);
            if (!f)
                world_fail("%s: %s-%d was answered, not asked", client->name, p->topic->name,
                           p->index);
            partition_answer(c, f, &topic->partitions[i]);
        }
    }
}

/* ---- requests ---- */

static void put_partition(struct consumer *c, const struct call *call,
                          struct fetch_request_fetch_topic *topic, const struct followed *f)
{
    struct model_topic *from = f->partition->topic;
    if (call->version >= 13)
        topic->topic_id = from->id;
    else
        topic->topic = slice_str(from->name);
    struct fetch_request_fetch_partition *part =
        fetch_request_fetch_topic_partitions_new(&((struct call *)call)->arena, topic, 1);
    part->partition = f->partition->index;
    part->fetch_offset = f->offset;
    part->partition_max_bytes = (int32_t)between(c->actor.world, 1, 20000);
}

/* At the end everything must be shown to those who read what is committed, for no transaction may
 * hang then. One may after a power cut that took what the coordinator knew. */
static bool wants_committed(const struct consumer *c)
{
    struct world *world = c->actor.world;
    if (world->model.txn_loose && (world->finishing || c->scanning))
        return false;
    return world->finishing || (!c->scanning && chance(world, 50));
}

static void send_fetch(struct consumer *c, int first, int count)
{
    struct world *world = c->actor.world;
    struct client *client = &c->actor.client;
    bool in_session = c->use_session && !c->scanning;
    if (!in_session || c->session_epoch == 0)
        c->version = actor_version(&c->actor, WIRE_API_FETCH, in_session ? 7 : c->scanning ? 5 : 4);
    struct call *call = client_call_new(client, WIRE_API_FETCH, c->version);
    struct fetch_request *body = arena_alloc(&call->arena, sizeof *body);
    wire_init(&wire_fetch_request, body);
    body->max_wait_ms = c->scanning ? 0 : (int32_t)between(world, 0, 500);
    body->min_bytes = c->scanning ? 0 : (int32_t)between(world, 0, 2000);
    body->max_bytes = (int32_t)between(world, 1, 200000);
    c->committed = wants_committed(c);
    body->isolation_level = c->committed;
    body->session_id = in_session ? c->session_id : 0;
    body->session_epoch = in_session ? c->session_epoch : -1;
    if (in_session && c->session_epoch < 0)
        body->session_epoch = 0;
    int changed = 0;
    for (int i = first; i < first + count; i++)
        changed += !in_session || !c->followed[i].sent;
    struct fetch_request_fetch_topic *topics =
        fetch_request_topics_new(&call->arena, body, changed);
    for (int i = first, t = 0; i < first + count; i++) {
        if (in_session && c->followed[i].sent)
            continue;
        put_partition(c, call, &topics[t++], &c->followed[i]);
        c->followed[i].sent = in_session;
    }
    for (int i = first; i < first + count; i++) {
        struct model_partition *p = c->followed[i].partition;
        c->followed[i].watermark = p->lossy ? 0 : p->watermark;
        c->followed[i].stable = p->lossy ? 0 : p->stable;
    }
    c->under_way++;
    client_call_send(client, call, body, true, fetched, NULL);
}

static void drop_dead(struct consumer *c)
{
    for (int i = c->followed_count - 1; i >= 0; i--)
        if (c->followed[i].partition->topic->state != MODEL_EXISTS) {
            c->followed[i] = c->followed[--c->followed_count];
            session_drop(c); /* simpler than forgetting it in the session */
        }
}

static void consumer_act(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    struct world *world = actor->world;
    if (c->under_way)
        return;
    drop_dead(c);
    if (c->followed_count < FOLLOWED_MAX && (chance(world, 5) || c->followed_count == 0)) {
        struct model_topic *topic = model_topic_any(&world->model, sim_random(world->sim));
        for (int32_t i = 0; topic && i < topic->partition_count; i++) {
            struct model_partition *p = &topic->partitions[i];
            int64_t at = chance(world, 50) ? 0 : between(world, 0, p->watermark);
            if (!followed_find(c, p))
                follow(c, p, at);
        }
    }
    if (chance(world, 2))
        session_drop(c);
    for (int i = 0; i < c->followed_count; i++)
        if (c->followed[i].lost) {
            ask_earliest(c, &c->followed[i]);
            return;
        }
    if (c->followed_count)
        send_fetch(c, 0, c->followed_count);
}

static bool consumer_is_done(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    for (int i = 0; i < c->followed_count; i++)
        if (c->followed[i].partition->topic->state == MODEL_EXISTS &&
            c->followed[i].offset < c->followed[i].partition->watermark && !c->followed[i].idle)
            return false;
    return true;
}

static void consumer_free(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    actor_fini(actor);
    mem_free(c->followed);
    mem_free(c);
}

struct actor *consumer_new(struct world *world, int index)
{
    struct consumer *c = mem_zalloc(sizeof *c);
    actor_init(&c->actor, world, "consumer", index);
    c->use_session = chance(world, 70);
    c->actor.act = consumer_act;
    c->actor.is_done = consumer_is_done;
    c->actor.free = consumer_free;
    return &c->actor;
}

/* ---- the scanner ---- */

static void scanner_act(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    while (c->at < c->followed_count &&
           (c->followed[c->at].done || c->followed[c->at].partition->topic->state != MODEL_EXISTS))
        c->at++;
    if (c->under_way || c->at == c->followed_count)
        return;
    if (c->followed[c->at].lost)
        ask_earliest(c, &c->followed[c->at]);
    else
        send_fetch(c, c->at, 1);
}

static bool scanner_is_done(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    return c->at == c->followed_count && !c->under_way;
}

void scanner_tell(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    const struct followed *f = &c->followed[c->at];
    if (c->at < c->followed_count)
        fprintf(stderr, "the scan stands at %s-%d, offset %lld%s; the watermark was %lld\n",
                f->partition->topic->name, f->partition->index, (long long)f->offset,
                f->lost ? " (out of range)" : "", (long long)f->watermark);
}

void scanner_start(struct actor *actor)
{
    struct consumer *c = consumer_of(actor);
    struct model *model = &actor->world->model;
    client_close(&actor->client);
    c->followed_count = 0;
    c->at = 0;
    for (int32_t t = 0; t < model->topic_count; t++) {
        struct model_topic *topic = &model->topics[t];
        for (int32_t i = 0; topic->state == MODEL_EXISTS && i < topic->partition_count; i++) {
            struct model_partition *p = &topic->partitions[i];
            model_scan_begin(p);
            follow(c, p, 0);
            c->followed[c->followed_count - 1].lost = true;
        }
    }
}

struct actor *scanner_new(struct world *world)
{
    struct consumer *c = mem_zalloc(sizeof *c);
    actor_init(&c->actor, world, "scanner", 0);
    c->scanning = true;
    c->actor.act = scanner_act;
    c->actor.is_done = scanner_is_done;
    c->actor.free = consumer_free;
    return &c->actor;
}
