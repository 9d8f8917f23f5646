/* The group coordinator's tests as readable traces over shard_trace.h: named clients send requests,
 * every answer becomes a line. Member ids are shown as the name of the client that got them.
 *
 *     join(t, "a");  expect(t, "a join MEMBER_ID_REQUIRED\n"); */
#ifndef KLAMM_TESTS_COORD_GROUP_TRACE_H
#define KLAMM_TESTS_COORD_GROUP_TRACE_H

#include <stdio.h>

#include "shard_trace.h"

#include "coord/answers.h"
#include "coord/groups.h"
#include "coord/offsets.h"
#include "wire_delete_groups.h"
#include "wire_describe_groups.h"
#include "wire_heartbeat.h"
#include "wire_join_group.h"
#include "wire_leave_group.h"
#include "wire_list_groups.h"
#include "wire_offset_commit.h"
#include "wire_offset_delete.h"
#include "wire_offset_fetch.h"
#include "wire_sync_group.h"

struct client {
    char name[16];
    const char *group, *instance, *protocol_type;
    const char *protocols[4]; /* NULL-terminated */
    const char *metadata;     /* NULL = "m-<name>" */
    size_t metadata_size;     /* 0 = it is a text */
    struct slice member_id;
    int32_t generation;
    int32_t session_timeout_ms, rebalance_timeout_ms;
    bool leads;
};

enum trace_api {
    TRACE_JOIN,
    TRACE_SYNC,
    TRACE_HEARTBEAT,
    TRACE_LEAVE,
    TRACE_COMMIT,
    TRACE_DELETE,
    TRACE_OFFSET_DELETE
};

struct trace_call {
    struct coord_reply reply;
    struct trace *trace;
    struct client *client;
    enum trace_api api;
    union {
        struct join_group_response join;
        struct sync_group_response sync;
        struct heartbeat_response heartbeat;
        struct leave_group_response leave;
        struct offset_commit_response commit;
        struct delete_groups_response deleted;
        struct offset_delete_response offset_delete;
    } response;
};

static inline struct client *trace_client(struct trace *t, const char *name)
{
    for (size_t i = 0; i < t->client_count; i++) {
        if (strcmp(t->clients[i]->name, name) == 0)
            return t->clients[i];
    }
    assert_true(t->client_count < TRACE_CLIENTS_MAX);
    struct client *c = arena_alloc(&t->arena, sizeof *c);
    t->clients[t->client_count++] = c;
    *c = (struct client){.group = "g",
                         .protocol_type = "consumer",
                         .protocols = {"range"},
                         .generation = -1,
                         .session_timeout_ms = 10000,
                         .rebalance_timeout_ms = 60000};
    snprintf(c->name, sizeof c->name, "%s", name);
    c->member_id = SLICE_LIT("");
    return c;
}

/* The name of the client that has this member id, else the id itself. */
static inline struct slice trace_name(struct trace *t, struct slice id)
{
    for (size_t i = 0; id.size > 0 && i < t->client_count; i++) {
        if (slice_eq(t->clients[i]->member_id, id))
            return slice_str(t->clients[i]->name);
    }
    return id;
}

static inline void trace_join_line(struct trace *t, struct client *c,
                                   const struct join_group_response *r)
{
    if (r->member_id.size > 0 && r->error_code != ERR_FENCED_INSTANCE_ID)
        c->member_id = arena_dup(&t->arena, r->member_id);
    buf_printf(&t->lines, "%s join", c->name);
    if (r->error_code) {
        buf_printf(&t->lines, " %s\n", code_name(r->error_code));
        return;
    }
    c->generation = r->generation_id;
    c->leads = slice_eq(r->leader, r->member_id);
    buf_printf(&t->lines, " gen %d %.*s leader %.*s", (int)r->generation_id,
               SLICE_FMT(r->protocol_name), SLICE_FMT(trace_name(t, r->leader)));
    if (r->members_count > 0)
        buf_printf(&t->lines, " [");
    for (int32_t i = 0; i < r->members_count; i++)
        buf_printf(&t->lines, "%s%.*s=%.*s", i ? " " : "",
                   SLICE_FMT(trace_name(t, r->members[i].member_id)),
                   SLICE_FMT(r->members[i].metadata));
    buf_printf(&t->lines, "%s%s\n", r->members_count > 0 ? "]" : "",
               r->skip_assignment ? " skip" : "");
}

static inline void trace_done(struct coord_reply *reply)
{
    struct trace_call *call = LIST_ITEM(reply, struct trace_call, reply);
    struct trace *t = call->trace;
    struct client *c = call->client;
    t->parked--;
    switch (call->api) {
    case TRACE_JOIN: trace_join_line(t, c, &call->response.join); break;
    case TRACE_SYNC:
        if (call->response.sync.error_code)
            buf_printf(&t->lines, "%s sync %s\n", c->name,
                       code_name(call->response.sync.error_code));
        else
            buf_printf(&t->lines, "%s sync '%.*s'\n", c->name,
                       SLICE_FMT(call->response.sync.assignment));
        break;
    case TRACE_HEARTBEAT:
        buf_printf(&t->lines, "%s heartbeat %s\n", c->name,
                   code_name(call->response.heartbeat.error_code));
        break;
    case TRACE_LEAVE:
        buf_printf(&t->lines, "%s leave %s", c->name, code_name(call->response.leave.error_code));
        for (int32_t i = 0; i < call->response.leave.members_count; i++)
            buf_printf(&t->lines, " %s", code_name(call->response.leave.members[i].error_code));
        buf_printf(&t->lines, "\n");
        break;
    case TRACE_COMMIT:
        buf_printf(&t->lines, "%s commit %s\n", c->name,
                   code_name(call->response.commit.topics[0].partitions[0].error_code));
        break;
    case TRACE_DELETE:
        buf_printf(&t->lines, "delete");
        for (int32_t i = 0; i < call->response.deleted.results_count; i++)
            buf_printf(&t->lines, " %.*s %s", SLICE_FMT(call->response.deleted.results[i].group_id),
                       code_name(call->response.deleted.results[i].error_code));
        buf_printf(&t->lines, "\n");
        break;
    case TRACE_OFFSET_DELETE:
        buf_printf(&t->lines, "%s offset-delete %s", c->name,
                   code_name(call->response.offset_delete.error_code));
        for (int32_t i = 0; i < call->response.offset_delete.topics_count; i++)
            buf_printf(&t->lines, " %s",
                       code_name(call->response.offset_delete.topics[i].partitions[0].error_code));
        buf_printf(&t->lines, "\n");
        break;
    }
    mem_free(call);
}

static inline struct trace *trace_new_with(const struct coord_config *config)
{
    return trace_new_of(COORD_GROUPS, config);
}

/* A serving shard without initial rebalance delay. */
static inline struct trace *trace_new(void)
{
    struct coord_config config;
    coord_config_init(&config);
    config.initial_rebalance_delay_ms = 0;
    struct trace *t = trace_new_with(&config);
    trace_activate(t);
    return t;
}

static inline struct trace_call *trace_call(struct trace *t, struct client *c, enum trace_api api)
{
    struct trace_call *call = mem_zalloc(sizeof *call);
    call->trace = t;
    call->client = c;
    call->api = api;
    call->reply.arena = &t->arena;
    call->reply.response = &call->response;
    call->reply.done = trace_done;
    t->parked++;
    return call;
}

static inline struct slice text_or_null(const char *text)
{
    return text ? slice_str(text) : SLICE_NULL;
}

static inline void join_version(struct trace *t, const char *name, int16_t version)
{
    struct client *c = trace_client(t, name);
    struct join_group_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_join_group_request, r);
    r->group_id = slice_str(c->group);
    r->session_timeout_ms = c->session_timeout_ms;
    r->rebalance_timeout_ms = c->rebalance_timeout_ms;
    r->member_id = c->member_id;
    r->group_instance_id = text_or_null(c->instance);
    r->protocol_type = slice_str(c->protocol_type);
    int32_t count = 0;
    while (count < 4 && c->protocols[count])
        count++;
    struct join_group_request_join_group_request_protocol *items =
        join_group_request_protocols_new(&t->arena, r, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].name = slice_str(c->protocols[i]);
        items[i].metadata = c->metadata_size ? slice_of(c->metadata, c->metadata_size)
                            : c->metadata    ? slice_str(c->metadata)
                                             : arena_printf(&t->arena, "m-%s", c->name);
    }
    struct trace_call *call = trace_call(t, c, TRACE_JOIN);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    memset(t->event.random, ++t->random, sizeof t->event.random);
    coord_groups_join(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void join(struct trace *t, const char *name)
{
    join_version(t, name, 9);
}

/* The leader gives every member of `names` "p-<name>"; NULL ends the list. */
static inline void sync_members(struct trace *t, const char *name, const char *const *names)
{
    struct client *c = trace_client(t, name);
    struct sync_group_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_sync_group_request, r);
    r->group_id = slice_str(c->group);
    r->generation_id = c->generation;
    r->member_id = c->member_id;
    r->group_instance_id = text_or_null(c->instance);
    int32_t count = 0;
    while (names && names[count])
        count++;
    struct sync_group_request_sync_group_request_assignment *items =
        sync_group_request_assignments_new(&t->arena, r, count);
    for (int32_t i = 0; i < count; i++) {
        items[i].member_id = trace_client(t, names[i])->member_id;
        items[i].assignment = arena_printf(&t->arena, "p-%s", names[i]);
    }
    struct trace_call *call = trace_call(t, c, TRACE_SYNC);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 4;
    coord_groups_sync(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

#define SYNC(t, name, ...) sync_members(t, name, (const char *const[]){__VA_ARGS__, NULL})

static inline void heartbeat(struct trace *t, const char *name)
{
    struct client *c = trace_client(t, name);
    struct heartbeat_request r;
    wire_init(&wire_heartbeat_request, &r);
    r.group_id = slice_str(c->group);
    r.generation_id = c->generation;
    r.member_id = c->member_id;
    r.group_instance_id = text_or_null(c->instance);
    struct trace_call *call = trace_call(t, c, TRACE_HEARTBEAT);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 4;
    coord_groups_heartbeat(t->shard, &t->event, &r, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void leave_version(struct trace *t, const char *name, int16_t version)
{
    struct client *c = trace_client(t, name);
    struct leave_group_request r;
    wire_init(&wire_leave_group_request, &r);
    r.group_id = slice_str(c->group);
    if (version < 3) {
        r.member_id = c->member_id;
    } else {
        struct leave_group_request_member_identity *items =
            leave_group_request_members_new(&t->arena, &r, 1);
        items[0].member_id = c->member_id;
        items[0].group_instance_id = text_or_null(c->instance);
    }
    struct trace_call *call = trace_call(t, c, TRACE_LEAVE);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    coord_groups_leave(t->shard, &t->event, &r, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void leave(struct trace *t, const char *name)
{
    leave_version(t, name, 5);
}

/* One partition of one topic, as the client's member and generation (or none, when generation is
 * -1). */
static inline void commit_offset_version(struct trace *t, const char *name, const char *topic,
                                         int32_t partition, int64_t offset, const char *metadata,
                                         int16_t version, int64_t retention_ms)
{
    struct client *c = trace_client(t, name);
    struct offset_commit_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_offset_commit_request, r);
    r->group_id = slice_str(c->group);
    r->generation_id_or_member_epoch = c->generation;
    r->member_id = c->member_id;
    r->group_instance_id = text_or_null(c->instance);
    r->retention_time_ms = retention_ms;
    struct offset_commit_request_offset_commit_request_topic *item =
        offset_commit_request_topics_new(&t->arena, r, 1);
    item->name = arena_dup(&t->arena, slice_str(topic));
    struct offset_commit_request_offset_commit_request_partition *p =
        offset_commit_request_offset_commit_request_topic_partitions_new(&t->arena, item, 1);
    p->partition_index = partition;
    p->committed_offset = offset;
    p->committed_leader_epoch = 7;
    p->committed_metadata = text_or_null(metadata);
    struct trace_call *call = trace_call(t, c, TRACE_COMMIT);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = version;
    coord_offsets_commit(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void commit_offset(struct trace *t, const char *name, const char *topic,
                                 int32_t partition, int64_t offset)
{
    commit_offset_version(t, name, topic, partition, offset, "", 9, -1);
}

static inline void delete_group(struct trace *t, const char *group)
{
    struct slice *id = arena_alloc(&t->arena, sizeof *id);
    *id = arena_dup(&t->arena, slice_str(group));
    struct trace_call *call = trace_call(t, trace_client(t, "admin"), TRACE_DELETE);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 2;
    coord_groups_delete(t->shard, &t->event, id, 1, &call->reply, &update);
    trace_deliver(t, &update);
}

static inline void delete_offset(struct trace *t, const char *name, const char *topic,
                                 int32_t partition)
{
    struct client *c = trace_client(t, name);
    struct offset_delete_request *r = arena_alloc(&t->arena, sizeof *r);
    wire_init(&wire_offset_delete_request, r);
    r->group_id = slice_str(c->group);
    struct offset_delete_request_offset_delete_request_topic *item =
        offset_delete_request_topics_new(&t->arena, r, 1);
    item->name = arena_dup(&t->arena, slice_str(topic));
    offset_delete_request_offset_delete_request_topic_partitions_new(&t->arena, item, 1)
        ->partition_index = partition;
    struct trace_call *call = trace_call(t, c, TRACE_OFFSET_DELETE);
    struct coord_update update;
    coord_update_init(&update);
    t->event.version = 0;
    coord_offsets_delete(t->shard, &t->event, r, &call->reply, &update);
    trace_deliver(t, &update);
}

/* A line "<topic>-<partition> <offset> <epoch> '<metadata>' <error>" for each partition. */
static inline void fetch_lines(struct trace *t, struct coord_shard *shard, const char *group,
                               const char *topic, int32_t partition, bool require_stable)
{
    struct offset_fetch_request_offset_fetch_request_group r = {
        .group_id = slice_str(group), .member_epoch = -1, .topics_count = -1};
    struct offset_fetch_request_offset_fetch_request_topics asked = {
        .name = topic ? slice_str(topic) : SLICE_NULL,
        .partition_indexes = &partition,
        .partition_indexes_count = 1};
    if (topic) {
        r.topics = &asked;
        r.topics_count = 1;
    }
    struct offset_fetch_response_offset_fetch_response_group g;
    t->event.version = 9;
    coord_offsets_fetch(shard, &t->event, &r, require_stable, &t->arena, &g);
    if (g.error_code)
        buf_printf(&t->lines, "fetch %s\n", code_name(g.error_code));
    for (int32_t i = 0; i < g.topics_count; i++) {
        for (int32_t p = 0; p < g.topics[i].partitions_count; p++) {
            const struct offset_fetch_response_offset_fetch_response_partitions *item =
                &g.topics[i].partitions[p];
            buf_printf(&t->lines, "%.*s-%d %lld %d '%.*s' %s\n", SLICE_FMT(g.topics[i].name),
                       (int)item->partition_index, (long long)item->committed_offset,
                       (int)item->committed_leader_epoch, SLICE_FMT(item->metadata),
                       code_name(item->error_code));
        }
    }
}

static inline void fetch_offset(struct trace *t, const char *group, const char *topic,
                                int32_t partition)
{
    fetch_lines(t, t->shard, group, topic, partition, false);
}

/* "<group> <state> <type>/<protocol> [<member>=<metadata>/<assignment> ...] <error>" */
static inline void describe_lines(struct trace *t, const struct coord_shard *shard,
                                  const char *group, int16_t version)
{
    struct describe_groups_response_described_group g;
    t->event.version = version;
    coord_groups_describe(shard, &t->event, slice_str(group), &t->arena, &g);
    buf_printf(&t->lines, "%s %.*s %.*s/%.*s [", group, SLICE_FMT(g.group_state),
               SLICE_FMT(g.protocol_type), SLICE_FMT(g.protocol_data));
    for (int32_t i = 0; i < g.members_count; i++)
        buf_printf(&t->lines, "%s%.*s=%.*s/%.*s", i ? " " : "",
                   SLICE_FMT(trace_name(t, g.members[i].member_id)),
                   SLICE_FMT(g.members[i].member_metadata),
                   SLICE_FMT(g.members[i].member_assignment));
    buf_printf(&t->lines, "] %s\n", code_name(g.error_code));
}

static inline void describe(struct trace *t, const char *group)
{
    describe_lines(t, t->shard, group, 5);
}

/* "<group>:<state>:<type> ..." of the groups listed, with at most one filter of each kind. */
static inline void list_lines(struct trace *t, const char *state, const char *type)
{
    struct list_groups_request r;
    struct list_groups_response response;
    wire_init(&wire_list_groups_request, &r);
    wire_init(&wire_list_groups_response, &response);
    if (state)
        *list_groups_request_states_filter_new(&t->arena, &r, 1) = slice_str(state);
    if (type)
        *list_groups_request_types_filter_new(&t->arena, &r, 1) = slice_str(type);
    coord_groups_list(t->shard, &t->event, &r, &t->arena, &response);
    buf_printf(&t->lines, "list");
    if (response.error_code)
        buf_printf(&t->lines, " %s", code_name(response.error_code));
    for (int32_t i = 0; i < response.groups_count; i++)
        buf_printf(&t->lines, " %.*s:%.*s:%.*s:%.*s", SLICE_FMT(response.groups[i].group_id),
                   SLICE_FMT(response.groups[i].protocol_type),
                   SLICE_FMT(response.groups[i].group_state),
                   SLICE_FMT(response.groups[i].group_type));
    buf_printf(&t->lines, "\n");
}

/* a (and b) joined and synced: generation 1, Stable. Traces of it are dropped. */
static inline void stable_one(struct trace *t, const char *a)
{
    join(t, a);
    join(t, a);
    wait_ms(t, 0);
    SYNC(t, a, a);
    buf_clear(&t->lines);
}

static inline void stable_two(struct trace *t, const char *a, const char *b)
{
    join(t, a);
    join(t, b);
    join(t, a);
    join(t, b);
    wait_ms(t, 0);
    SYNC(t, a, a, b);
    sync_members(t, b, NULL);
    buf_clear(&t->lines);
}

#endif
