/* A member of a classic group: joins, syncs, sends heartbeats and commits, leaves now and then.
 * Commits of a group rise: each takes the group's next number, for any partition. Before it joins,
 * and from time to time, it reads the group's offsets back and compares. */
#include "base/mem.h"
#include "wire_find_coordinator.h"
#include "wire_heartbeat.h"
#include "wire_join_group.h"
#include "wire_leave_group.h"
#include "wire_offset_commit.h"
#include "wire_offset_fetch.h"
#include "wire_sync_group.h"
#include "world.h"

enum member_state { MEMBER_LOST, MEMBER_FOUND, MEMBER_JOINED, MEMBER_STABLE };

struct member {
    struct actor actor;
    struct model_group *group;
    enum member_state state;
    char member_id[128], leader[128];
    char instance_id[24]; /* "" = dynamic */
    int32_t generation;
    struct buf members; /* of the leader: names, each with a NUL */
    int member_count;
    int rounds; /* since stable */
};

/* What was asked about one partition. */
struct commit_note {
    struct model_topic *topic;
    int32_t partition;
    int64_t value;
    struct model_commit before;
};

static struct member *member_of(struct client *client)
{
    return LIST_ITEM(client->owner, struct member, actor);
}

static void *body_new(struct call *call, const struct wire_schema *schema)
{
    void *body = arena_alloc(&call->arena, wire_schema_size(schema));
    wire_init(schema, body);
    return body;
}

static struct call *call_new(struct member *m, enum wire_api_key key, int first)
{
    return client_call_new(&m->actor.client, key, actor_version(&m->actor, key, first));
}

static struct slice instance_of(const struct member *m, int version, int first)
{
    return m->instance_id[0] && version >= first ? slice_str(m->instance_id) : SLICE_NULL;
}

static void keep_text(char *to, size_t size, struct slice text)
{
    snprintf(to, size, "%.*s", SLICE_FMT(text));
}

/* What an error of any group request means for the member. */
static void take_error(struct member *m, const char *what, int code)
{
    switch ((int)err_from_wire(code)) {
    case ERR_UNKNOWN_MEMBER_ID:
    case ERR_GROUP_ID_NOT_FOUND:
    case ERR_FENCED_INSTANCE_ID:
        m->member_id[0] = 0;
        m->state = MEMBER_FOUND;
        break;
    case ERR_ILLEGAL_GENERATION:
    case ERR_REBALANCE_IN_PROGRESS:
    case ERR_MEMBER_ID_REQUIRED: m->state = MEMBER_FOUND; break;
    case ERR_NOT_COORDINATOR:
    case ERR_COORDINATOR_NOT_AVAILABLE:
    case ERR_COORDINATOR_LOAD_IN_PROGRESS:
    case ERR_REQUEST_TIMED_OUT:
    case ERR_UNKNOWN_TOPIC_OR_PARTITION:
    case ERR_UNKNOWN_TOPIC_ID: m->state = MEMBER_LOST; break;
    case ERR_UNKNOWN_SERVER_ERROR: /* what a group's storage error becomes */
    case ERR_KAFKA_STORAGE_ERROR:
        if (world_is_troubled(m->actor.world)) {
            m->state = MEMBER_LOST;
            break;
        } /* fallthrough */
    default:
        world_fail("%s: %s of %s was answered %s", m->actor.name, what, m->group->name,
                   err_name(err_from_wire(code)));
    }
}

/* ---- offsets ---- */

static void offsets_read(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    struct model *model = &m->actor.world->model;
    struct commit_note *note = call->argument;
    const struct offset_fetch_response *r = call->response;
    int16_t error = 0;
    int64_t value = -1;
    bool found = false;
    if (!r)
        goto out;
    if (call->version >= 8 && r->groups_count == 1) {
        const struct offset_fetch_response_offset_fetch_response_group *group = r->groups;
        error = group->error_code;
        if (group->topics_count == 1 && group->topics->partitions_count == 1) {
            found = true;
            value = group->topics->partitions->committed_offset;
            if (!error)
                error = group->topics->partitions->error_code;
        }
    } else if (call->version < 8) {
        error = r->error_code;
        if (r->topics_count == 1 && r->topics->partitions_count == 1) {
            found = true;
            value = r->topics->partitions->committed_offset;
            if (!error)
                error = r->topics->partitions->error_code;
        }
    }
    if (error)
        take_error(m, "OffsetFetch", error);
    else if (!found)
        world_fail("%s: OffsetFetch v%d without the partition asked for", client->name,
                   call->version);
    else if (note->topic->state == MODEL_EXISTS)
        model_commit_read(model, m->group, note->topic, note->partition, &note->before, value);
out:
    mem_free(note);
}

static struct commit_note *note_new(struct member *m)
{
    struct world *world = m->actor.world;
    struct model_topic *topic = model_topic_any(&world->model, sim_random(world->sim));
    if (!topic)
        return NULL;
    struct commit_note *note = mem_zalloc(sizeof *note);
    note->topic = topic;
    note->partition = (int32_t)draw(world, (uint64_t)topic->partition_count);
    note->before = m->group->commits[topic - world->model.topics][note->partition];
    return note;
}

static void read_offset(struct member *m)
{
    struct commit_note *note = note_new(m);
    if (!note)
        return;
    struct call *call = call_new(m, WIRE_API_OFFSET_FETCH, 1);
    struct offset_fetch_request *body = body_new(call, &wire_offset_fetch_request);
    if (call->version >= 8) {
        struct offset_fetch_request_offset_fetch_request_group *group =
            offset_fetch_request_groups_new(&call->arena, body, 1);
        group->group_id = slice_str(m->group->name);
        struct offset_fetch_request_offset_fetch_request_topics *topic =
            offset_fetch_request_offset_fetch_request_group_topics_new(&call->arena, group, 1);
        if (call->version >= 10)
            topic->topic_id = note->topic->id;
        else
            topic->name = slice_str(note->topic->name);
        *offset_fetch_request_offset_fetch_request_topics_partition_indexes_new(
            &call->arena, topic, 1) = note->partition;
    } else {
        body->group_id = slice_str(m->group->name);
        struct offset_fetch_request_offset_fetch_request_topic *topic =
            offset_fetch_request_topics_new(&call->arena, body, 1);
        topic->name = slice_str(note->topic->name);
        *offset_fetch_request_offset_fetch_request_topic_partition_indexes_new(&call->arena, topic,
                                                                               1) = note->partition;
    }
    client_call_send(&m->actor.client, call, body, true, offsets_read, note);
}

static void committed(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    struct model *model = &m->actor.world->model;
    struct commit_note *note = call->argument;
    const struct offset_commit_response *r = call->response;
    struct model_commit *commit = &m->group->commits[note->topic - model->topics][note->partition];
    int16_t error = -1;
    if (r && (r->topics_count != 1 || r->topics->partitions_count != 1))
        world_fail("%s: OffsetCommit v%d without the partition sent", client->name, call->version);
    if (r)
        error = r->topics->partitions->error_code;
    model_commit_ended(model, commit, note->value, r && error == 0, r && error == 0);
    if (r && error)
        take_error(m, "OffsetCommit", error);
    mem_free(note);
}

static void commit(struct member *m)
{
    struct commit_note *note = note_new(m);
    if (!note)
        return;
    struct model *model = &m->actor.world->model;
    if (note->before.under_way) {
        mem_free(note);
        return;
    }
    note->value = m->group->next++;
    model_commit_sent(&m->group->commits[note->topic - model->topics][note->partition],
                      note->value);
    struct call *call = call_new(m, WIRE_API_OFFSET_COMMIT, 2);
    struct offset_commit_request *body = body_new(call, &wire_offset_commit_request);
    body->group_id = slice_str(m->group->name);
    body->generation_id_or_member_epoch = m->generation;
    body->member_id = slice_str(m->member_id);
    body->group_instance_id = instance_of(m, call->version, 7);
    struct offset_commit_request_offset_commit_request_topic *topic =
        offset_commit_request_topics_new(&call->arena, body, 1);
    if (call->version >= 10)
        topic->topic_id = note->topic->id;
    else
        topic->name = slice_str(note->topic->name);
    struct offset_commit_request_offset_commit_request_partition *part =
        offset_commit_request_offset_commit_request_topic_partitions_new(&call->arena, topic, 1);
    part->partition_index = note->partition;
    part->committed_offset = note->value;
    part->committed_metadata = SLICE_LIT("sim");
    client_call_send(&m->actor.client, call, body, true, committed, note);
}

/* ---- membership ---- */

static void found(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    const struct find_coordinator_response *r = call->response;
    if (!r)
        return;
    int error = call->version >= 4 && r->coordinators_count == 1 ? r->coordinators->error_code
                                                                 : r->error_code;
    if (!error)
        m->state = MEMBER_FOUND;
    else if (err_from_wire(error) != ERR_COORDINATOR_NOT_AVAILABLE)
        take_error(m, "FindCoordinator", error);
}

static void find(struct member *m)
{
    struct call *call = call_new(m, WIRE_API_FIND_COORDINATOR, 0);
    struct find_coordinator_request *body = body_new(call, &wire_find_coordinator_request);
    if (call->version >= 4)
        *find_coordinator_request_coordinator_keys_new(&call->arena, body, 1) =
            slice_str(m->group->name);
    else
        body->key = slice_str(m->group->name);
    client_call_send(&m->actor.client, call, body, true, found, NULL);
}

static void joined(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    const struct join_group_response *r = call->response;
    if (!r)
        return;
    if (err_from_wire(r->error_code) == ERR_MEMBER_ID_REQUIRED)
        keep_text(m->member_id, sizeof m->member_id, r->member_id);
    if (r->error_code) {
        take_error(m, "JoinGroup", r->error_code);
        return;
    }
    keep_text(m->member_id, sizeof m->member_id, r->member_id);
    keep_text(m->leader, sizeof m->leader, r->leader);
    if (!m->member_id[0] || r->generation_id < 0)
        world_fail("%s: joined %s as '%s' in generation %d", client->name, m->group->name,
                   m->member_id, r->generation_id);
    m->generation = r->generation_id;
    buf_clear(&m->members);
    m->member_count = r->skip_assignment ? 0 : r->members_count;
    for (int32_t i = 0; i < m->member_count; i++) {
        buf_put_slice(&m->members, r->members[i].member_id);
        buf_put_i8(&m->members, 0);
    }
    m->state = MEMBER_JOINED;
}

static void join(struct member *m)
{
    struct call *call = call_new(m, WIRE_API_JOIN_GROUP, m->instance_id[0] ? 5 : 2);
    struct join_group_request *body = body_new(call, &wire_join_group_request);
    body->group_id = slice_str(m->group->name);
    body->session_timeout_ms = 10000;
    body->rebalance_timeout_ms = 5000;
    body->member_id = slice_str(m->member_id);
    body->group_instance_id = instance_of(m, call->version, 5);
    body->protocol_type = SLICE_LIT("consumer");
    struct join_group_request_join_group_request_protocol *protocol =
        join_group_request_protocols_new(&call->arena, body, 1);
    protocol->name = SLICE_LIT("range");
    protocol->metadata = SLICE_LIT("\0\0\0\0\0\0\0\0\0\0");
    client_call_send(&m->actor.client, call, body, true, joined, NULL);
}

static void synced(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    const struct sync_group_response *r = call->response;
    if (!r)
        return;
    if (r->error_code) {
        take_error(m, "SyncGroup", r->error_code);
        return;
    }
    char text[64];
    int size = snprintf(text, sizeof text, "of %d", m->generation);
    if (!slice_eq(r->assignment, slice_of(text, (size_t)size)))
        world_fail("%s: in generation %d the assignment is '%.*s'", client->name, m->generation,
                   SLICE_FMT(r->assignment));
    m->state = MEMBER_STABLE;
    m->rounds = 0;
}

static void sync_group(struct member *m)
{
    struct call *call = call_new(m, WIRE_API_SYNC_GROUP, m->instance_id[0] ? 3 : 0);
    struct sync_group_request *body = body_new(call, &wire_sync_group_request);
    body->group_id = slice_str(m->group->name);
    body->generation_id = m->generation;
    body->member_id = slice_str(m->member_id);
    body->group_instance_id = instance_of(m, call->version, 3);
    if (call->version >= 5) {
        body->protocol_type = SLICE_LIT("consumer");
        body->protocol_name = SLICE_LIT("range");
    }
    if (m->member_count) { /* the leader's: every member is told the generation */
        struct sync_group_request_sync_group_request_assignment *items =
            sync_group_request_assignments_new(&call->arena, body, m->member_count);
        const char *name = (const char *)m->members.data;
        for (int i = 0; i < m->member_count; i++) {
            items[i].member_id = slice_str(name);
            items[i].assignment = arena_printf(&call->arena, "of %d", m->generation);
            name += strlen(name) + 1;
        }
    }
    client_call_send(&m->actor.client, call, body, true, synced, NULL);
}

static void beaten(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    const struct heartbeat_response *r = call->response;
    if (r && r->error_code)
        take_error(m, "Heartbeat", r->error_code);
}

static void heartbeat(struct member *m)
{
    struct call *call = call_new(m, WIRE_API_HEARTBEAT, m->instance_id[0] ? 3 : 0);
    struct heartbeat_request *body = body_new(call, &wire_heartbeat_request);
    body->group_id = slice_str(m->group->name);
    body->generation_id = m->generation;
    body->member_id = slice_str(m->member_id);
    body->group_instance_id = instance_of(m, call->version, 3);
    client_call_send(&m->actor.client, call, body, true, beaten, NULL);
}

static void left(struct client *client, struct call *call)
{
    struct member *m = member_of(client);
    if (!call->response)
        return;
    m->member_id[0] = 0;
    m->state = MEMBER_LOST;
}

static void leave(struct member *m)
{
    struct call *call = call_new(m, WIRE_API_LEAVE_GROUP, m->instance_id[0] ? 3 : 0);
    struct leave_group_request *body = body_new(call, &wire_leave_group_request);
    body->group_id = slice_str(m->group->name);
    if (call->version >= 3) {
        struct leave_group_request_member_identity *who =
            leave_group_request_members_new(&call->arena, body, 1);
        who->member_id = slice_str(m->member_id);
        who->group_instance_id = instance_of(m, call->version, 3);
    } else {
        body->member_id = slice_str(m->member_id);
    }
    client_call_send(&m->actor.client, call, body, true, left, NULL);
}

static void act(struct actor *actor)
{
    struct member *m = LIST_ITEM(actor, struct member, actor);
    if (client_calls(&actor->client))
        return;
    switch (m->state) {
    case MEMBER_LOST: find(m); break;
    case MEMBER_FOUND:
        if (chance(actor->world, 30))
            read_offset(m);
        else
            join(m);
        break;
    case MEMBER_JOINED: sync_group(m); break;
    case MEMBER_STABLE:
        m->rounds++;
        if (chance(actor->world, 40))
            commit(m);
        else if (chance(actor->world, 40))
            read_offset(m);
        else if (!actor->world->finishing && chance(actor->world, 3))
            leave(m);
        else
            heartbeat(m);
        break;
    }
}

static bool is_done(struct actor *actor)
{
    struct member *m = LIST_ITEM(actor, struct member, actor);
    return m->state == MEMBER_STABLE && m->rounds >= 10;
}

static void member_free(struct actor *actor)
{
    struct member *m = LIST_ITEM(actor, struct member, actor);
    actor_fini(actor);
    buf_fini(&m->members);
    mem_free(m);
}

struct actor *joiner_new(struct world *world, int index)
{
    struct member *m = mem_zalloc(sizeof *m);
    actor_init(&m->actor, world, "joiner", index);
    m->group = &world->model.groups[index % 2];
    if (chance(world, 30))
        snprintf(m->instance_id, sizeof m->instance_id, "instance-%d", index);
    buf_init(&m->members);
    m->actor.pause_max_us = 200000;
    m->actor.client.timeout_ms = 30000;
    m->actor.act = act;
    m->actor.is_done = is_done;
    m->actor.free = member_free;
    return &m->actor;
}
