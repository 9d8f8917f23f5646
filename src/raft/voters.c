/* Voter sets; see voters.h. Used by the quorum driver at start and by `storage format`. */
#include "raft/voters.h"

#include "wire_raft_records.h"

enum { KRAFT_VERSION_MAX = 1 };

void raft_voters_init(struct raft_voters *voters)
{
    arena_init(&voters->arena);
    voters->voters = NULL;
    voters->count = 0;
}

void raft_voters_fini(struct raft_voters *voters)
{
    arena_fini(&voters->arena);
    voters->voters = NULL;
    voters->count = 0;
}

/* Room for `count` voters in a fresh arena. What is copied in must not lie in the old one. */
static void reset(struct raft_voters *voters, int32_t count)
{
    raft_voters_fini(voters);
    arena_init(&voters->arena);
    voters->voters = arena_array(&voters->arena, (size_t)count, sizeof *voters->voters);
    voters->count = count;
}

static void copy_endpoint(struct arena *arena, struct raft_endpoint *to, struct slice name,
                          struct slice host, uint16_t port)
{
    *to = (struct raft_endpoint){arena_dup(arena, name), arena_dup(arena, host), port};
}

void raft_voters_from_record(struct raft_voters *voters, const struct voters_record *record)
{
    reset(voters, record->voters_count);
    for (int32_t i = 0; i < record->voters_count; i++) {
        const struct voters_record_voter *from = &record->voters[i];
        struct raft_voter *to = &voters->voters[i];
        to->id = from->voter_id;
        to->directory_id = from->voter_directory_id;
        to->kraft_min = from->kraft_version_feature.min_supported_version;
        to->kraft_max = from->kraft_version_feature.max_supported_version;
        to->endpoint_count = from->endpoints_count;
        to->endpoints =
            arena_array(&voters->arena, (size_t)from->endpoints_count, sizeof *to->endpoints);
        for (int32_t e = 0; e < from->endpoints_count; e++)
            copy_endpoint(&voters->arena, &to->endpoints[e], from->endpoints[e].name,
                          from->endpoints[e].host, from->endpoints[e].port);
    }
}

void raft_voters_set_one(struct raft_voters *voters, int32_t id, struct uuid directory_id,
                         const struct raft_endpoint *endpoints, int32_t endpoint_count)
{
    reset(voters, 1);
    struct raft_voter *to = &voters->voters[0];
    to->id = id;
    to->directory_id = directory_id;
    to->kraft_max = KRAFT_VERSION_MAX;
    to->endpoint_count = endpoint_count;
    to->endpoints = arena_array(&voters->arena, (size_t)endpoint_count, sizeof *to->endpoints);
    for (int32_t e = 0; e < endpoint_count; e++)
        copy_endpoint(&voters->arena, &to->endpoints[e], endpoints[e].name, endpoints[e].host,
                      endpoints[e].port);
}

void raft_voters_add_static(struct raft_voters *voters, int32_t id, struct raft_endpoint endpoint)
{
    struct raft_voter *list = arena_array(&voters->arena, (size_t)voters->count + 1, sizeof *list);
    if (voters->count > 0)
        memcpy(list, voters->voters, (size_t)voters->count * sizeof *list);
    struct raft_voter *to = &list[voters->count++];
    voters->voters = list;
    to->id = id;
    to->endpoint_count = 1;
    to->endpoints = arena_array(&voters->arena, 1, sizeof *to->endpoints);
    copy_endpoint(&voters->arena, to->endpoints, endpoint.name, endpoint.host, endpoint.port);
}

static bool endpoint_eq(const struct raft_endpoint *a, const struct raft_endpoint *b)
{
    return slice_eq(a->name, b->name) && slice_eq(a->host, b->host) && a->port == b->port;
}

static bool voter_eq(const struct raft_voter *a, const struct raft_voter *b)
{
    bool same = a->id == b->id && uuid_eq(&a->directory_id, &b->directory_id) &&
                a->kraft_min == b->kraft_min && a->kraft_max == b->kraft_max &&
                a->endpoint_count == b->endpoint_count;
    for (int32_t i = 0; same && i < a->endpoint_count; i++)
        same = endpoint_eq(&a->endpoints[i], &b->endpoints[i]);
    return same;
}

bool raft_voters_eq(const struct raft_voters *a, const struct raft_voters *b)
{
    bool same = a->count == b->count;
    for (int32_t i = 0; same && i < a->count; i++)
        same = voter_eq(&a->voters[i], &b->voters[i]);
    return same;
}

void raft_voters_to_record(const struct raft_voters *voters, struct arena *arena,
                           struct voters_record *ret_record)
{
    wire_init(&wire_voters_record, ret_record);
    struct voters_record_voter *list = voters_record_voters_new(arena, ret_record, voters->count);
    for (int32_t i = 0; i < voters->count; i++) {
        const struct raft_voter *from = &voters->voters[i];
        list[i].voter_id = from->id;
        list[i].voter_directory_id = from->directory_id;
        list[i].kraft_version_feature.min_supported_version = from->kraft_min;
        list[i].kraft_version_feature.max_supported_version = from->kraft_max;
        struct voters_record_endpoint *endpoints =
            voters_record_voter_endpoints_new(arena, &list[i], from->endpoint_count);
        for (int32_t e = 0; e < from->endpoint_count; e++) {
            endpoints[e].name = from->endpoints[e].name;
            endpoints[e].host = from->endpoints[e].host;
            endpoints[e].port = from->endpoints[e].port;
        }
    }
}

bool raft_voters_only(const struct raft_voters *voters, int32_t id, const struct uuid *directory_id)
{
    if (voters->count != 1 || voters->voters[0].id != id)
        return false;
    const struct uuid *own = &voters->voters[0].directory_id;
    return uuid_is_zero(own) || uuid_eq(own, directory_id);
}
