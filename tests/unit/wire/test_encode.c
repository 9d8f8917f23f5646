#include "../unit.h"

#include "sample.h"
#include "wire_messages.h"

static void bytes_of_a_plain_version(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    struct arena a;
    arena_init(&a);
    struct list_groups_request request;
    wire_init(&wire_list_groups_request, &request);
    assert_int_equal(wire_encode(&wire_list_groups_request, 0, &request, &out, NULL), ERR_NONE);
    assert_int_equal(out.size, 0);
    *list_groups_request_states_filter_new(&a, &request, 1) = SLICE_LIT("Empty");
    assert_int_equal(wire_encode(&wire_list_groups_request, 4, &request, &out, NULL), ERR_NONE);
    assert_int_equal(out.size, 8);
    assert_memory_equal(out.data, "\2\6Empty\0", 8);
    arena_fini(&a);
    buf_fini(&out);
}

static void tags_rise_and_defaults_are_left_out(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    struct fetch_request_fetch_partition *partition;
    struct fetch_request request;
    struct arena a;
    arena_init(&a);
    wire_init(&wire_fetch_request, &request);
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&a, &request, 1);
    partition = fetch_request_fetch_topic_partitions_new(&a, topic, 1);
    partition->replica_directory_id.bytes[15] = 9;
    request.cluster_id = SLICE_LIT("abc");
    request.replica_state.replica_id = 3; /* its epoch stays at the default but is inside */
    assert_int_equal(wire_encode(&wire_fetch_request, 18, &request, &out, NULL), ERR_NONE);
    static const uint8_t
        want[] = {0,    0,    0,    0,    0,    0,    0,    0,    0x7f, 0xff, 0xff,
                  0xff, 0,                                        /* wait, min, max, isolation */
                  0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, /* session */
                  2,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                  0,    0,    0,    0,    0,    0,                      /* one topic */
                  2,    0,    0,    0,    0,    0xff, 0xff, 0xff, 0xff, /* partition, leader epoch
                                                                         */
                  0,    0,    0,    0,    0,    0,    0,    0,    0xff, 0xff, 0xff,
                  0xff, /* offset, last epoch */
                  0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0,    0,    0,
                  0,    1,    0,    16,   0,    0,    0,    0,    0,    0,    0,
                  0,    0,    0,    0,    0,    0,    0,    0,    9, /* tag 0: directory id */
                  0,    1,    1,                           /* topic's tags, forgotten, rack */
                  2,    0,    4,    4,    'a',  'b',  'c', /* tag 0: cluster id */
                  1,    13,   0,    0,    0,    3,    0xff, 0xff, 0xff, 0xff, 0xff,
                  0xff, 0xff, 0xff, 0};
    assert_int_equal(out.size, sizeof want);
    assert_memory_equal(out.data, want, sizeof want);
    arena_fini(&a);
    buf_fini(&out);
}

static void set_fields_must_not_get_lost(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    struct find_coordinator_request request;
    wire_init(&wire_find_coordinator_request, &request);
    request.key_type = 1; /* from version 1 on, not ignorable */
    buf_put_i8(&out, 1);
    assert_int_equal(wire_encode(&wire_find_coordinator_request, 0, &request, &out, NULL),
                     ERR_UNSUPPORTED_VERSION);
    assert_int_equal(out.size, 1);
    assert_int_equal(wire_encode(&wire_find_coordinator_request, 1, &request, &out, NULL),
                     ERR_NONE);
    assert_int_equal(wire_encode(&wire_find_coordinator_request, 7, &request, &out, NULL),
                     ERR_UNSUPPORTED_VERSION);

    struct find_coordinator_response response;
    wire_init(&wire_find_coordinator_response, &response);
    response.throttle_time_ms = 5; /* ignorable */
    assert_int_equal(wire_encode(&wire_find_coordinator_response, 0, &response, &out, NULL),
                     ERR_NONE);

    struct fetch_request fetch;
    wire_init(&wire_fetch_request, &fetch);
    fetch.replica_state.replica_id = 1; /* a tagged struct that version 12 lacks */
    assert_int_equal(wire_encode(&wire_fetch_request, 12, &fetch, &out, NULL),
                     ERR_UNSUPPORTED_VERSION);
    buf_fini(&out);
}

static void bad_contents_are_refused(void **state)
{
    (void)state;
    struct buf out;
    buf_init(&out);
    struct heartbeat_request request;
    wire_init(&wire_heartbeat_request, &request);
    request.group_id = SLICE_NULL;
    assert_int_equal(wire_encode(&wire_heartbeat_request, 4, &request, &out, NULL), ERR_ARGUMENT);
    static const char big[INT16_MAX + 1];
    request.group_id = slice_of(big, INT16_MAX + 1);
    assert_int_equal(wire_encode(&wire_heartbeat_request, 0, &request, &out, NULL), ERR_TOO_LARGE);
    assert_int_equal(wire_encode(&wire_heartbeat_request, 4, &request, &out, NULL), ERR_TOO_LARGE);
    request.group_id = slice_of(big, INT16_MAX);
    assert_int_equal(wire_encode(&wire_heartbeat_request, 0, &request, &out, NULL), ERR_NONE);
    assert_int_equal(out.size, 2 + INT16_MAX + 4 + 2);

    struct metadata_request metadata;
    wire_init(&wire_metadata_request, &metadata);
    metadata.topics_count = -1; /* null topics = all, from version 1 on */
    assert_int_equal(wire_encode(&wire_metadata_request, 0, &metadata, &out, NULL), ERR_ARGUMENT);
    assert_int_equal(wire_encode(&wire_metadata_request, 1, &metadata, &out, NULL), ERR_NONE);

    struct arena a;
    arena_init(&a);
    struct consumer_group_heartbeat_request group; /* its topics may be null, but not one of them */
    wire_init(&wire_consumer_group_heartbeat_request, &group);
    *consumer_group_heartbeat_request_subscribed_topic_names_new(&a, &group, 1) = SLICE_NULL;
    assert_int_equal(wire_encode(&wire_consumer_group_heartbeat_request, 0, &group, &out, NULL),
                     ERR_ARGUMENT);
    arena_fini(&a);

    buf_clear(&out);
    out.size_max = 3;
    buf_put_i8(&out, 1);
    assert_int_equal(wire_encode(&wire_metadata_request, 1, &metadata, &out, NULL), ERR_TOO_LARGE);
    assert_int_equal(out.size, 1);
    assert_false(out.failed);
    buf_fini(&out);
}

static void external_records_leave_splices(void **state)
{
    (void)state;
    struct buf out;
    struct wire_splices splices;
    struct arena a;
    buf_init(&out);
    arena_init(&a);
    wire_splices_init(&splices);
    struct fetch_response response;
    wire_init(&wire_fetch_response, &response);
    struct fetch_response_fetchable_topic_response *topic =
        fetch_response_responses_new(&a, &response, 1);
    struct fetch_response_partition_data *partitions =
        fetch_response_fetchable_topic_response_partitions_new(&a, topic, 3);
    int file;
    partitions[0].records = (struct wire_records){.ext = &file, .ext_size = 1000};
    partitions[1].records = (struct wire_records){.bytes = SLICE_LIT("inline")};
    partitions[2].records = (struct wire_records){.ext = &file, .ext_size = 7};
    buf_put_i32(&out, 0);
    assert_int_equal(wire_encode(&wire_fetch_response, 18, &response, &out, NULL), ERR_ARGUMENT);
    assert_int_equal(out.size, 4);
    assert_int_equal(wire_encode(&wire_fetch_response, 18, &response, &out, &splices), ERR_NONE);
    assert_int_equal(splices.count, 2);
    assert_int_equal(splices.size, 1007);
    assert_ptr_equal(splices.items[0].ext, &file);
    /* the length (uvarint of 1001) stands right before the splice, the tag count right after */
    assert_memory_equal(out.data + splices.items[0].at - 2, "\xe9\x07\x00", 3);
    assert_memory_equal(out.data + splices.items[1].at - 1, "\x08\x00", 2);

    /* a failure behind the records takes the splices back, too */
    fetch_response_node_endpoints_new(&a, &response, 1)->host = SLICE_NULL;
    assert_int_equal(wire_encode(&wire_fetch_response, 18, &response, &out, &splices),
                     ERR_ARGUMENT);
    assert_int_equal(splices.count, 2);
    assert_int_equal(splices.size, 1007);
    wire_splices_fini(&splices);
    arena_fini(&a);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_of_a_plain_version),
        cmocka_unit_test(tags_rise_and_defaults_are_left_out),
        cmocka_unit_test(set_fields_must_not_get_lost),
        cmocka_unit_test(bad_contents_are_refused),
        cmocka_unit_test(external_records_leave_splices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
