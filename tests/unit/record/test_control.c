#include "record/control.h"

#include "record_golden.h"
#include "wire_messages.h"

/* The only record of a batch; its views live in the golden's bytes. */
static struct record only_record(struct slice batch)
{
    struct records_iter iter;
    struct record record, next;
    assert_int_equal(batch_check(batch), ERR_NONE);
    assert_true(batch_is_control(batch.data));
    assert_int_equal(records_iter_init(&iter, batch, 0), ERR_NONE);
    assert_true(records_iter_next(&iter, &record));
    assert_false(records_iter_next(&iter, &next));
    records_iter_fini(&iter);
    return record;
}

static void check_built(enum err err, struct buf *out, struct slice java)
{
    assert_int_equal(err, ERR_NONE);
    assert_true(slice_eq(buf_slice(out), java));
    buf_fini(out);
}

static void transaction_markers(void **state)
{
    (void)state;
    static const char *const names[] = {"end-txn-abort", "end-txn-commit"};
    struct arena a;
    arena_init(&a);
    for (int i = 0; i < 2; i++) {
        struct slice java = golden_row("record/java-batches.tsv", names[i], &a);
        struct record record = only_record(java);
        struct control_end_txn marker;
        assert_int_equal(control_parse_end_txn(&record, &marker), ERR_NONE);
        assert_int_equal(marker.is_commit, i);
        assert_int_equal(marker.coordinator_epoch, 8);
        struct buf out;
        buf_init(&out);
        check_built(control_build_end_txn(&out, 42, 5, GOLDEN_TS, 4000, 3, &marker), &out, java);
        record.value.size = 5;
        assert_int_equal(control_parse_end_txn(&record, &marker), ERR_INVALID_RECORD);
        record.key.size = 3;
        assert_int_equal(control_parse_end_txn(&record, &marker), ERR_INVALID_RECORD);
        record.key = SLICE_NULL;
        assert_int_equal(control_parse_end_txn(&record, &marker), ERR_INVALID_RECORD);
    }
    arena_fini(&a);
}

/* A record's value by its schema. */
static void read_as(const struct record *record, const struct wire_schema *schema, struct arena *a,
                    void *ret_message)
{
    struct cursor c = cursor_of(record->value);
    assert_int_equal(wire_decode(schema, be_i16(record->value.data), &c, a, ret_message), ERR_NONE);
}

static void leader_change(void **state)
{
    (void)state;
    struct arena a;
    struct leader_change_message m;
    struct control_end_txn marker;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    struct slice java = golden_row("record/java-batches.tsv", "leader-change", &a);
    struct record record = only_record(java);
    read_as(&record, &wire_leader_change_message, &a, &m);
    assert_int_equal(m.leader_id, 3);
    assert_int_equal(m.voters_count, 2);
    assert_int_equal(m.voters[1].voter_id, 4);
    assert_int_equal(m.granting_voters_count, 1);
    check_built(control_build(&out, 6, 2, GOLDEN_TS, CONTROL_LEADER_CHANGE, &m), &out, java);
    assert_int_equal(control_parse_end_txn(&record, &marker), ERR_INVALID_RECORD);
    arena_fini(&a);
}

static void snapshot_header_and_footer(void **state)
{
    (void)state;
    struct arena a;
    struct snapshot_header_record header;
    struct snapshot_footer_record footer;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    struct slice java = golden_row("record/java-batches.tsv", "snapshot-header", &a);
    struct record record = only_record(java);
    read_as(&record, &wire_snapshot_header_record, &a, &header);
    assert_int_equal(header.last_contained_log_timestamp, GOLDEN_TS - 5);
    check_built(control_build(&out, 0, 2, GOLDEN_TS, CONTROL_SNAPSHOT_HEADER, &header), &out, java);
    java = golden_row("record/java-batches.tsv", "snapshot-footer", &a);
    record = only_record(java);
    read_as(&record, &wire_snapshot_footer_record, &a, &footer);
    check_built(control_build(&out, 9, 2, GOLDEN_TS, CONTROL_SNAPSHOT_FOOTER, &footer), &out, java);
    arena_fini(&a);
}

static void kraft_version_and_voters(void **state)
{
    (void)state;
    struct arena a;
    struct kraft_version_record version;
    struct voters_record voters;
    struct buf out;
    arena_init(&a);
    buf_init(&out);
    struct slice java = golden_row("record/java-batches.tsv", "kraft-version", &a);
    struct record record = only_record(java);
    assert_int_equal(control_parse_kraft_version(&record, &a, &version), ERR_NONE);
    assert_int_equal(version.kraft_version, 1);
    check_built(control_build(&out, 1, 2, GOLDEN_TS, CONTROL_KRAFT_VERSION, &version), &out, java);
    java = golden_row("record/java-batches.tsv", "voters", &a);
    record = only_record(java);
    assert_int_equal(control_parse_voters(&record, &a, &voters), ERR_NONE);
    assert_int_equal(control_parse_kraft_version(&record, &a, &version), ERR_INVALID_RECORD);
    assert_int_equal(voters.voters_count, 1);
    assert_int_equal(voters.voters[0].endpoints[0].port, 9093);
    check_built(control_build(&out, 2, 2, GOLDEN_TS, CONTROL_KRAFT_VOTERS, &voters), &out, java);
    assert_int_equal(control_build(&out, 2, 2, GOLDEN_TS, CONTROL_COMMIT, &voters), ERR_ARGUMENT);
    assert_int_equal(out.size, 0);
    record.value.size -= 3;
    assert_int_equal(control_parse_voters(&record, &a, &voters), ERR_INVALID_RECORD);
    buf_fini(&out);
    arena_fini(&a);
}

static void later_types_and_versions(void **state)
{
    (void)state;
    struct arena a;
    struct kraft_version_record version;
    enum control_type type;
    arena_init(&a);
    uint8_t key[] = {0, 9, 0, 7}, value[] = {0, 9, 0, 1, 0};
    struct record record = {.key = slice_of(key, 4), .value = slice_of(value, 5)};
    assert_int_equal(control_parse_type(&record, &type), ERR_NONE);
    assert_int_equal(type, CONTROL_UNKNOWN);
    key[3] = CONTROL_KRAFT_VERSION;
    assert_int_equal(control_parse_kraft_version(&record, &a, &version), ERR_NONE);
    assert_int_equal(version.kraft_version, 1);
    value[0] = 0xff;
    assert_int_equal(control_parse_kraft_version(&record, &a, &version), ERR_INVALID_RECORD);
    key[0] = 0xff;
    assert_int_equal(control_parse_type(&record, &type), ERR_INVALID_RECORD);
    arena_fini(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transaction_markers),        cmocka_unit_test(leader_change),
        cmocka_unit_test(snapshot_header_and_footer), cmocka_unit_test(kraft_version_and_voters),
        cmocka_unit_test(later_types_and_versions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
