/* The inspector: asks for the state that a node rebuilds from its logs at a start, so that two
 * lives of a node can be compared: each partition's producers, the transactions, the groups'
 * offsets. It works while nobody else does.
 *
 * What is under way may go on by itself (a timeout, markers of an ended transaction): with
 * something open in the first life nothing is compared. The transactions are asked for first: one
 * that has all its markers then writes no more of them while the partitions are asked. Nor is the
 * time of a producer's last batch compared where the cleaner may have taken the newest record out
 * of it. */
#include "base/mem.h"
#include "wire_describe_producers.h"
#include "wire_describe_transactions.h"
#include "wire_offset_fetch.h"
#include "world.h"

enum { OPEN_MARK = '~' };

struct inspector {
    struct actor actor;
    int step; /* cells, then topics, then groups */
    bool done;
    struct buf text[2]; /* lines; those that begin with OPEN_MARK tell of something open */
    int life;
};

static struct inspector *inspector_of(struct client *client)
{
    return LIST_ITEM(client->owner, struct inspector, actor);
}

static struct buf *text_of(struct inspector *i)
{
    return &i->text[i->life];
}

static void *body_new(struct call *call, const struct wire_schema *schema)
{
    void *body = arena_alloc(&call->arena, wire_schema_size(schema));
    wire_init(schema, body);
    return body;
}

static struct call *call_new(struct inspector *i, enum wire_api_key key, int first)
{
    return client_call_new(&i->actor.client, key, actor_version(&i->actor, key, first));
}

/* Not answered, or not yet to be answered: asked again. */
static bool is_again(int error)
{
    enum err err = err_from_wire(error);
    return err == ERR_COORDINATOR_LOAD_IN_PROGRESS || err == ERR_COORDINATOR_NOT_AVAILABLE ||
           err == ERR_NOT_LEADER_OR_FOLLOWER;
}

static void producers_told(struct client *client, struct call *call)
{
    struct inspector *i = inspector_of(client);
    const struct describe_producers_response *r = call->response;
    if (!r)
        return;
    const struct model_topic *topic = call->argument;
    for (int32_t p = 0; r->topics_count == 1 && p < r->topics->partitions_count; p++)
        if (is_again(r->topics->partitions[p].error_code))
            return;
    for (int32_t p = 0; r->topics_count == 1 && p < r->topics->partitions_count; p++) {
        const struct describe_producers_response_partition_response *part =
            &r->topics->partitions[p];
        if (part->error_code)
            world_fail("DescribeProducers of %s-%d: %s", topic->name, part->partition_index,
                       err_name(err_from_wire(part->error_code)));
        for (int32_t n = 0; n < part->active_producers_count; n++) {
            const struct describe_producers_response_producer_state *s = &part->active_producers[n];
            if (s->current_txn_start_offset >= 0)
                buf_put_i8(text_of(i), OPEN_MARK);
            buf_printf(text_of(i),
                       "%s-%d producer %lld epoch %d sequence %d time %lld coordinator %d open "
                       "%lld\n",
                       topic->name, part->partition_index, (long long)s->producer_id,
                       s->producer_epoch, s->last_sequence,
                       topic->compacted ? -1 : (long long)s->last_timestamp, s->coordinator_epoch,
                       (long long)s->current_txn_start_offset);
        }
    }
    i->step++;
}

static void ask_producers(struct inspector *i, struct model_topic *topic)
{
    struct call *call = call_new(i, WIRE_API_DESCRIBE_PRODUCERS, 0);
    struct describe_producers_request *body = body_new(call, &wire_describe_producers_request);
    struct describe_producers_request_topic_request *item =
        describe_producers_request_topics_new(&call->arena, body, 1);
    item->name = slice_str(topic->name);
    int32_t *indexes = describe_producers_request_topic_request_partition_indexes_new(
        &call->arena, item, topic->partition_count);
    for (int32_t p = 0; p < topic->partition_count; p++)
        indexes[p] = p;
    client_call_send(&i->actor.client, call, body, true, producers_told, topic);
}

static void transaction_told(struct client *client, struct call *call)
{
    struct inspector *i = inspector_of(client);
    const struct describe_transactions_response *r = call->response;
    if (!r || r->transaction_states_count != 1 || is_again(r->transaction_states->error_code))
        return;
    const struct describe_transactions_response_transaction_state *s = r->transaction_states;
    bool is_open = slice_eq(s->transaction_state, SLICE_LIT("Ongoing")) ||
                   slice_eq(s->transaction_state, SLICE_LIT("PrepareCommit")) ||
                   slice_eq(s->transaction_state, SLICE_LIT("PrepareAbort"));
    if (is_open)
        buf_put_i8(text_of(i), OPEN_MARK);
    buf_printf(text_of(i), "%.*s error %s state %.*s producer %lld epoch %d timeout %d topics %d\n",
               SLICE_FMT(s->transactional_id), err_name(err_from_wire(s->error_code)),
               SLICE_FMT(s->transaction_state), (long long)s->producer_id, s->producer_epoch,
               s->transaction_timeout_ms, s->topics_count);
    i->step++;
}

static void ask_transaction(struct inspector *i, int cell)
{
    struct call *call = call_new(i, WIRE_API_DESCRIBE_TRANSACTIONS, 0);
    struct describe_transactions_request *body =
        body_new(call, &wire_describe_transactions_request);
    *describe_transactions_request_transactional_ids_new(&call->arena, body, 1) =
        slice_str(i->actor.world->model.cells[cell].id);
    client_call_send(&i->actor.client, call, body, true, transaction_told, NULL);
}

static void offsets_told(struct client *client, struct call *call)
{
    struct inspector *i = inspector_of(client);
    const struct offset_fetch_response *r = call->response;
    if (!r || r->groups_count != 1 || is_again(r->groups->error_code))
        return;
    const struct offset_fetch_response_offset_fetch_response_group *group = r->groups;
    for (int32_t t = 0; t < group->topics_count; t++)
        for (int32_t p = 0; p < group->topics[t].partitions_count; p++) {
            const struct offset_fetch_response_offset_fetch_response_partitions *part =
                &group->topics[t].partitions[p];
            buf_printf(text_of(i), "%.*s %.*s-%d at %lld\n", SLICE_FMT(group->group_id),
                       SLICE_FMT(group->topics[t].name), part->partition_index,
                       (long long)part->committed_offset);
        }
    i->step++;
}

static void ask_offsets(struct inspector *i, const char *name)
{
    struct call *call = client_call_new(&i->actor.client, WIRE_API_OFFSET_FETCH, 9);
    struct offset_fetch_request *body = body_new(call, &wire_offset_fetch_request);
    struct offset_fetch_request_offset_fetch_request_group *group =
        offset_fetch_request_groups_new(&call->arena, body, 1);
    group->group_id = slice_str(name);
    group->topics_count = -1; /* all */
    client_call_send(&i->actor.client, call, body, true, offsets_told, NULL);
}

static void act(struct actor *actor)
{
    struct inspector *i = LIST_ITEM(actor, struct inspector, actor);
    struct world *world = actor->world;
    struct model *model = &world->model;
    if (i->done || client_calls(&actor->client))
        return;
    int cells = world->pinned ? world->settings.cells : 0;
    while (i->step >= cells && i->step < cells + model->topic_count &&
           model->topics[i->step - cells].state != MODEL_EXISTS)
        i->step++;
    int topic = i->step - cells;
    int group = topic - model->topic_count;
    if (topic < 0)
        ask_transaction(i, i->step);
    else if (topic < model->topic_count)
        ask_producers(i, &model->topics[topic]);
    else if (group < MODEL_GROUPS_MAX && world->settings.members)
        ask_offsets(i, model->groups[group].name);
    else
        i->done = true;
}

static bool is_done(struct actor *actor)
{
    return LIST_ITEM(actor, struct inspector, actor)->done;
}

void inspector_start(struct actor *actor, int life)
{
    struct inspector *i = LIST_ITEM(actor, struct inspector, actor);
    world_say("the state %s a restart is asked for", life ? "after" : "before");
    client_close(&actor->client);
    i->life = life;
    i->step = 0;
    i->done = false;
    buf_clear(text_of(i));
}

/* Takes the next line off `text`; false at its end. */
static bool line_next(struct slice *text, struct slice *ret_line)
{
    if (!text->size)
        return false;
    const uint8_t *end = memchr(text->data, '\n', text->size);
    size_t size = (size_t)(end - text->data);
    *ret_line = slice_of(text->data, size);
    *text = slice_of(end + 1, text->size - size - 1);
    return true;
}

static bool has_line(struct slice text, struct slice wanted)
{
    struct slice line;
    while (line_next(&text, &line))
        if (slice_eq(line, wanted))
            return true;
    return false;
}

static bool has_open(struct slice text)
{
    struct slice line;
    while (line_next(&text, &line))
        if (line.data[0] == OPEN_MARK)
            return true;
    return false;
}

bool inspector_compare(struct actor *actor)
{
    struct inspector *i = LIST_ITEM(actor, struct inspector, actor);
    struct slice before = buf_slice(&i->text[0]), after = buf_slice(&i->text[1]);
    if (has_open(before))
        return false;
    bool same = true;
    for (int side = 0; side < 2; side++) {
        struct slice text = side ? after : before, line;
        while (line_next(&text, &line))
            if (!has_line(side ? before : after, line)) {
                fprintf(stderr, "%s the restart: %.*s\n", side ? "after" : "before",
                        SLICE_FMT(line));
                same = false;
            }
    }
    if (!same)
        world_fail("the state before a restart is not the one after it");
    return true;
}

static void inspector_free(struct actor *actor)
{
    struct inspector *i = LIST_ITEM(actor, struct inspector, actor);
    actor_fini(actor);
    buf_fini(&i->text[0]);
    buf_fini(&i->text[1]);
    mem_free(i);
}

struct actor *inspector_new(struct world *world)
{
    struct inspector *i = mem_zalloc(sizeof *i);
    actor_init(&i->actor, world, "inspector", 0);
    i->done = true;
    buf_init(&i->text[0]);
    buf_init(&i->text[1]);
    i->actor.act = act;
    i->actor.is_done = is_done;
    i->actor.free = inspector_free;
    return &i->actor;
}
