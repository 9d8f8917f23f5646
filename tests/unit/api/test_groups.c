#include "harness_group.h"

/* Join with an empty id, again with the given one, sync, heartbeat, describe, list. */
static void one_member(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "g");
    struct slice member = harness_join(&h, "g");
    assert_int_equal(harness_heartbeat(&h, "g", member, 1), 0);
    assert_int_equal(harness_heartbeat(&h, "g", member, 9), ERR_ILLEGAL_GENERATION);
    struct describe_groups_request describe;
    wire_init(&wire_describe_groups_request, &describe);
    describe_groups_request_groups_new(&h.arena, &describe, 1)[0] = slice_str("g");
    describe.include_authorized_operations = true;
    const struct describe_groups_response *d =
        harness_call(&h, WIRE_API_DESCRIBE_GROUPS, 5, &describe);
    assert_slice_eq(d->groups[0].group_state, "Stable");
    assert_int_equal(d->groups[0].members_count, 1);
    assert_slice_eq(d->groups[0].members[0].client_host, "/127.0.0.1");
    assert_int_equal(d->groups[0].authorized_operations, 3400);
    struct list_groups_request list;
    wire_init(&wire_list_groups_request, &list);
    const struct list_groups_response *l = harness_call(&h, WIRE_API_LIST_GROUPS, 4, &list);
    assert_int_equal(l->groups_count, 1);
    assert_slice_eq(l->groups[0].group_id, "g");
    harness_end(&h);
}

/* Members keep a group from being deleted; each group of the request has its own answer. */
static void deletion(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "g");
    struct slice member = harness_join(&h, "g");
    struct delete_groups_request delete;
    wire_init(&wire_delete_groups_request, &delete);
    struct slice *names = delete_groups_request_groups_names_new(&h.arena, &delete, 4);
    names[0] = slice_str("g");
    names[1] = slice_str("none");
    names[2] = slice_str(""); /* a name like any other here */
    names[3] = names[0];
    const struct delete_groups_response *r = harness_call(&h, WIRE_API_DELETE_GROUPS, 2, &delete);
    assert_int_equal(r->results_count, 3);
    assert_int_equal(r->results[0].error_code, ERR_NON_EMPTY_GROUP);
    assert_int_equal(r->results[1].error_code, ERR_GROUP_ID_NOT_FOUND);
    assert_int_equal(r->results[2].error_code, ERR_GROUP_ID_NOT_FOUND);
    struct leave_group_request leave;
    wire_init(&wire_leave_group_request, &leave);
    leave.group_id = slice_str("g");
    leave_group_request_members_new(&h.arena, &leave, 1)->member_id = member;
    const struct leave_group_response *l = harness_call(&h, WIRE_API_LEAVE_GROUP, 4, &leave);
    assert_int_equal(l->error_code, 0);
    r = harness_call(&h, WIRE_API_DELETE_GROUPS, 2, &delete);
    assert_int_equal(r->results[0].error_code, 0);
    harness_end(&h);
}

static void without_a_coordinator(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_heartbeat(&h, "g", slice_str("m"), 1), ERR_NOT_COORDINATOR);
    assert_int_equal(harness_heartbeat(&h, "", slice_str("m"), 1), ERR_INVALID_GROUP_ID);
    struct join_group_request join;
    wire_init(&wire_join_group_request, &join);
    join.group_id = slice_str("g");
    join.session_timeout_ms = 1;
    const struct join_group_response *r = harness_call(&h, WIRE_API_JOIN_GROUP, 9, &join);
    assert_int_equal(r->error_code, ERR_INVALID_SESSION_TIMEOUT);
    join.session_timeout_ms = 10000;
    r = harness_call(&h, WIRE_API_JOIN_GROUP, 9, &join);
    assert_int_equal(r->error_code, ERR_NOT_COORDINATOR);
    harness_end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_member),
        cmocka_unit_test(deletion),
        cmocka_unit_test(without_a_coordinator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
