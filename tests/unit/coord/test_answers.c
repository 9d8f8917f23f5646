/* Whole-request errors in the form of each API. */
#include "group_trace.h"

static void test_offset_commit(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct offset_commit_request request;
    wire_init(&wire_offset_commit_request, &request);
    struct offset_commit_request_offset_commit_request_topic *topic =
        offset_commit_request_topics_new(&arena, &request, 1);
    topic->name = SLICE_LIT("t");
    topic->topic_id.bytes[3] = 9;
    offset_commit_request_offset_commit_request_topic_partitions_new(&arena, topic, 2)[1]
        .partition_index = 4;
    struct offset_commit_response response;
    coord_answer_offset_commit(ERR_NOT_COORDINATOR, &request, &arena, &response);
    assert_int_equal(response.topics_count, 1);
    assert_slice_eq(response.topics[0].name, "t");
    assert_int_equal(response.topics[0].topic_id.bytes[3], 9);
    assert_int_equal(response.topics[0].partitions_count, 2);
    assert_int_equal(response.topics[0].partitions[1].partition_index, 4);
    assert_int_equal(response.topics[0].partitions[1].error_code, ERR_NOT_COORDINATOR);
    arena_fini(&arena);
}

/* Version 1 has no place for an error but the partitions. */
static void test_offset_fetch(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    int32_t index = 4;
    struct offset_fetch_request_offset_fetch_request_topics topic = {
        .name = SLICE_LIT("t"), .partition_indexes = &index, .partition_indexes_count = 1};
    struct offset_fetch_request_offset_fetch_request_group request = {
        .group_id = SLICE_LIT("g"), .topics = &topic, .topics_count = 1};
    struct offset_fetch_response_offset_fetch_response_group group;
    coord_answer_offset_fetch(1, ERR_NOT_COORDINATOR, &request, &arena, &group);
    assert_int_equal(group.topics_count, 1);
    assert_int_equal(group.topics[0].partitions[0].partition_index, 4);
    assert_int_equal(group.topics[0].partitions[0].committed_offset, -1);
    assert_int_equal(group.topics[0].partitions[0].error_code, ERR_NOT_COORDINATOR);
    coord_answer_offset_fetch(2, ERR_NOT_COORDINATOR, &request, &arena, &group);
    assert_int_equal(group.topics_count, 0);
    assert_int_equal(group.error_code, ERR_NOT_COORDINATOR);
    arena_fini(&arena);
}

static void test_the_others(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct slice ids[] = {SLICE_LIT("g"), SLICE_LIT("h")};
    struct delete_groups_response deleted;
    coord_answer_delete_groups(ERR_GROUP_AUTHORIZATION_FAILED, ids, 2, &arena, &deleted);
    assert_int_equal(deleted.results_count, 2);
    assert_slice_eq(deleted.results[1].group_id, "h");
    assert_int_equal(deleted.results[1].error_code, ERR_GROUP_AUTHORIZATION_FAILED);
    struct describe_groups_response_described_group described;
    coord_answer_describe(ERR_NOT_COORDINATOR, ids[0], &described);
    assert_int_equal(described.error_code, ERR_NOT_COORDINATOR);
    assert_int_equal(described.members_count, 0);
    assert_false(slice_is_null(described.group_state));
    struct heartbeat_response heartbeat_response;
    coord_answer_heartbeat(ERR_COORDINATOR_LOAD_IN_PROGRESS, &heartbeat_response);
    assert_int_equal(heartbeat_response.error_code, 0);
    coord_answer_heartbeat(ERR_NOT_COORDINATOR, &heartbeat_response);
    assert_int_equal(heartbeat_response.error_code, ERR_NOT_COORDINATOR);
    struct sync_group_response sync;
    coord_answer_sync(ERR_IO, &sync); /* a local error becomes Kafka's */
    assert_int_equal(sync.error_code, ERR_KAFKA_STORAGE_ERROR);
    struct leave_group_response left;
    coord_answer_leave(ERR_NOT_COORDINATOR, &left);
    assert_int_equal(left.error_code, ERR_NOT_COORDINATOR);
    struct offset_delete_response offset_delete;
    coord_answer_offset_delete(ERR_NOT_COORDINATOR, &offset_delete);
    assert_int_equal(offset_delete.error_code, ERR_NOT_COORDINATOR);
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_offset_commit),
        cmocka_unit_test(test_offset_fetch),
        cmocka_unit_test(test_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
