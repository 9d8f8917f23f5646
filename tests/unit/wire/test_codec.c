#include "../unit.h"

#include "wire/codec.h"
#include "wire/tables.h"
#include "wire_messages.h"

static void presets_are_the_schemas(void **state)
{
    (void)state;
    struct fetch_request fetch;
    memset(&fetch, 0x55, sizeof fetch);
    wire_init(&wire_fetch_request, &fetch);
    assert_null(fetch.cluster_id.data);
    assert_int_equal(fetch.replica_id, -1);
    assert_int_equal(fetch.replica_state.replica_epoch, -1);
    assert_int_equal(fetch.max_bytes, INT32_MAX);
    assert_int_equal(fetch.session_epoch, -1);
    assert_int_equal(fetch.topics_count, 0);
    assert_non_null(fetch.rack_id.data); /* empty, not null */
    assert_int_equal(fetch.rack_id.size, 0);

    struct partition_change_record change;
    wire_init(&wire_partition_change_record, &change);
    assert_int_equal(change.leader, -2);
    assert_int_equal(change.isr_count, -1);
    assert_int_equal(change.leader_recovery_state, -1);

    struct consumer_group_heartbeat_response heartbeat;
    wire_init(&wire_consumer_group_heartbeat_response, &heartbeat);
    assert_null(heartbeat.assignment);

    struct fetch_response response;
    wire_init(&wire_fetch_response, &response);
    struct arena a;
    arena_init(&a);
    struct fetch_response_fetchable_topic_response *topics =
        fetch_response_responses_new(&a, &response, 2);
    assert_ptr_equal(topics, response.responses);
    assert_int_equal(response.responses_count, 2);
    struct fetch_response_partition_data *partition =
        fetch_response_fetchable_topic_response_partitions_new(&a, &topics[1], 1);
    assert_int_equal(partition->last_stable_offset, -1);
    assert_int_equal(partition->preferred_read_replica, -1);
    assert_int_equal(partition->snapshot_id.epoch, -1);
    assert_null(partition->records.bytes.data);
    assert_null(fetch_response_responses_new(&a, &response, 0));
    assert_int_equal(response.responses_count, 0);
    arena_fini(&a);
}

static void string_arrays_start_empty_not_null(void **state)
{
    (void)state;
    struct arena a;
    arena_init(&a);
    struct describe_groups_request request;
    wire_init(&wire_describe_groups_request, &request);
    struct slice *groups = describe_groups_request_groups_new(&a, &request, 2);
    assert_non_null(groups[1].data);
    assert_int_equal(groups[1].size, 0);
    arena_fini(&a);
}

static void every_field_knows_its_preset(void **state)
{
    (void)state;
    for (size_t i = 0; i < wire_schemas_count; i++) {
        const struct wire_struct *s = &wire_structs[wire_schemas[i]->root];
        char at[4096];
        assert_true(s->size <= sizeof at);
        memset(at, 0x55, sizeof at);
        for (unsigned n = 0; n < s->field_count; n++) {
            const struct wire_field *f = &wire_fields[s->field_first + n];
            if (!(f->flags & WIRE_ARRAY) && (f->type == WIRE_STRUCT || f->type == WIRE_BOOL))
                continue; /* padding and 0x55 are no values of theirs */
            assert_false(wire_is_preset(f, at + f->offset));
        }
        wire_init(wire_schemas[i], at);
        for (unsigned n = 0; n < s->field_count; n++) {
            const struct wire_field *f = &wire_fields[s->field_first + n];
            if (!(f->flags & WIRE_POINTER) || f->flags & WIRE_DEFAULT_NULL)
                assert_true(wire_is_preset(f, at + f->offset));
        }
    }
}

static void schemas_are_found(void **state)
{
    (void)state;
    assert_string_equal(wire_schema_name(&wire_produce_request), "ProduceRequest");
    assert_string_equal(wire_schema_name(&wire_kraft_version_record), "KRaftVersionRecord");
    assert_true(wire_schema_has(&wire_produce_request, 3));
    assert_true(wire_schema_has(&wire_produce_request, 13));
    assert_false(wire_schema_has(&wire_produce_request, 2));
    assert_false(wire_schema_has(&wire_produce_request, 14));
    assert_false(wire_schema_has(&wire_produce_request, -1));
    assert_int_equal(wire_schema_size(&wire_topic_record), sizeof(struct topic_record));

    assert_ptr_equal(wire_schema_of_record(WIRE_METADATA_LOG, WIRE_METADATA, 2),
                     &wire_topic_record);
    assert_ptr_equal(wire_schema_of_record(WIRE_STORAGE, WIRE_METADATA, 0),
                     &wire_remote_log_segment_metadata_record);
    assert_ptr_equal(wire_schema_of_record(WIRE_GROUP, WIRE_COORDINATOR_KEY, 2),
                     &wire_group_metadata_key);
    assert_ptr_equal(wire_schema_of_record(WIRE_GROUP, WIRE_COORDINATOR_VALUE, 2),
                     &wire_group_metadata_value);
    assert_ptr_equal(wire_schema_of_record(WIRE_TRANSACTION, WIRE_COORDINATOR_VALUE, 0),
                     &wire_transaction_log_value);
    for (size_t i = 0; i < wire_schemas_count; i++) {
        const struct wire_schema *schema = wire_schemas[i];
        if (schema->kind >= WIRE_METADATA)
            assert_ptr_equal(wire_schema_of_record((enum wire_folder)schema->folder,
                                                   (enum wire_kind)schema->kind, schema->key),
                             schema);
    }
    assert_null(wire_schema_of_record(WIRE_METADATA_LOG, WIRE_METADATA, 999));
    assert_null(wire_schema_of_record(WIRE_RAFT, WIRE_DATA, -1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(presets_are_the_schemas),
        cmocka_unit_test(string_arrays_start_empty_not_null),
        cmocka_unit_test(every_field_knows_its_preset),
        cmocka_unit_test(schemas_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
