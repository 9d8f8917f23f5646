/* Group errands over a harness. */
#ifndef KLAMM_TESTS_API_HARNESS_GROUP_H
#define KLAMM_TESTS_API_HARNESS_GROUP_H

#include "harness.h"

static inline void harness_find(struct harness *h, const char *group)
{
    struct find_coordinator_request body;
    wire_init(&wire_find_coordinator_request, &body);
    body.key = slice_str(group);
    const struct find_coordinator_response *r =
        harness_call(h, WIRE_API_FIND_COORDINATOR, 2, &body);
    assert_int_equal(r->error_code, 0);
}

static inline const struct join_group_response *harness_try_join(struct harness *h,
                                                                 const char *group,
                                                                 struct slice member)
{
    struct join_group_request body;
    wire_init(&wire_join_group_request, &body);
    body.group_id = slice_str(group);
    body.session_timeout_ms = 10000;
    body.rebalance_timeout_ms = 10000;
    body.member_id = member;
    body.protocol_type = slice_str("consumer");
    struct join_group_request_join_group_request_protocol *p =
        join_group_request_protocols_new(&h->arena, &body, 1);
    p->name = slice_str("range");
    p->metadata = slice_str("m");
    return harness_call(h, WIRE_API_JOIN_GROUP, 7, &body);
}

/* A group of one, joined and synced, in generation 1; returns the member id. */
static inline struct slice harness_join(struct harness *h, const char *group)
{
    const struct join_group_response *r = harness_try_join(h, group, slice_str(""));
    assert_int_equal(r->error_code, ERR_MEMBER_ID_REQUIRED);
    r = harness_try_join(h, group, r->member_id);
    assert_int_equal(r->error_code, 0);
    assert_int_equal(r->generation_id, 1);
    struct sync_group_request sync;
    wire_init(&wire_sync_group_request, &sync);
    sync.group_id = slice_str(group);
    sync.generation_id = 1;
    sync.member_id = r->member_id;
    sync.protocol_type = slice_str("consumer");
    sync.protocol_name = slice_str("range");
    struct sync_group_request_sync_group_request_assignment *a =
        sync_group_request_assignments_new(&h->arena, &sync, 1);
    a->member_id = r->member_id;
    a->assignment = slice_str("a");
    const struct sync_group_response *s = harness_call(h, WIRE_API_SYNC_GROUP, 5, &sync);
    assert_int_equal(s->error_code, 0);
    assert_slice_eq(s->assignment, "a");
    return r->member_id;
}

static inline int16_t harness_heartbeat(struct harness *h, const char *group, struct slice member,
                                        int32_t generation)
{
    struct heartbeat_request body;
    wire_init(&wire_heartbeat_request, &body);
    body.group_id = slice_str(group);
    body.member_id = member;
    body.generation_id = generation;
    const struct heartbeat_response *r = harness_call(h, WIRE_API_HEARTBEAT, 4, &body);
    return r->error_code;
}

/* Commits `offset` for partition 0 of `topic`, as nobody's member. */
static inline int16_t harness_commit(struct harness *h, const char *group, const char *topic,
                                     int64_t offset)
{
    struct offset_commit_request body;
    wire_init(&wire_offset_commit_request, &body);
    body.group_id = slice_str(group);
    struct offset_commit_request_offset_commit_request_topic *t =
        offset_commit_request_topics_new(&h->arena, &body, 1);
    t->name = slice_str(topic);
    struct offset_commit_request_offset_commit_request_partition *p =
        offset_commit_request_offset_commit_request_topic_partitions_new(&h->arena, t, 1);
    p->committed_offset = offset;
    p->committed_metadata = slice_str("note");
    const struct offset_commit_response *r = harness_call(h, WIRE_API_OFFSET_COMMIT, 8, &body);
    return r->topics[0].partitions[0].error_code;
}

/* The committed offset of partition 0 of `topic`; -1 = none. */
static inline int64_t harness_committed(struct harness *h, const char *group, const char *topic)
{
    struct offset_fetch_request body;
    wire_init(&wire_offset_fetch_request, &body);
    struct offset_fetch_request_offset_fetch_request_group *g =
        offset_fetch_request_groups_new(&h->arena, &body, 1);
    g->group_id = slice_str(group);
    struct offset_fetch_request_offset_fetch_request_topics *t =
        offset_fetch_request_offset_fetch_request_group_topics_new(&h->arena, g, 1);
    t->name = slice_str(topic);
    offset_fetch_request_offset_fetch_request_topics_partition_indexes_new(&h->arena, t, 1)[0] = 0;
    const struct offset_fetch_response *r = harness_call(h, WIRE_API_OFFSET_FETCH, 8, &body);
    assert_int_equal(r->groups[0].error_code, 0);
    return r->groups[0].topics[0].partitions[0].committed_offset;
}

#endif
