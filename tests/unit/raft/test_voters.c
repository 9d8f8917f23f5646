#include "../unit.h"

#include "raft/voters.h"
#include "wire_raft_records.h"

static void a_record_and_back(void **state)
{
    (void)state;
    struct uuid dir = {{7}};
    struct raft_endpoint endpoint = {SLICE_LIT("CONTROLLER"), SLICE_LIT("h"), 9093};
    struct raft_voters voters, again;
    raft_voters_init(&voters);
    raft_voters_init(&again);
    raft_voters_set_one(&voters, 5, dir, &endpoint, 1);
    struct arena arena;
    arena_init(&arena);
    struct voters_record record;
    raft_voters_to_record(&voters, &arena, &record);
    assert_int_equal(record.voters_count, 1);
    assert_int_equal(record.voters[0].kraft_version_feature.max_supported_version, 1);
    raft_voters_from_record(&again, &record);
    assert_int_equal(again.count, 1);
    const struct raft_voter *v = &again.voters[0];
    assert_int_equal(v->id, 5);
    assert_true(uuid_eq(&v->directory_id, &dir));
    assert_slice_eq(v->endpoints[0].name, "CONTROLLER");
    assert_int_equal(v->endpoints[0].port, 9093);
    assert_true(raft_voters_only(&again, 5, &dir));
    assert_true(raft_voters_eq(&voters, &again));
    struct raft_endpoint moved[] = {{SLICE_LIT("CONTROLLER"), SLICE_LIT("h"), 9094},
                                    {SLICE_LIT("CONTROLLER"), SLICE_LIT("g"), 9093},
                                    {SLICE_LIT("C"), SLICE_LIT("h"), 9093}};
    for (int i = 0; i < 3; i++) {
        raft_voters_set_one(&again, 5, dir, &moved[i], 1);
        assert_false(raft_voters_eq(&voters, &again));
    }
    raft_voters_set_one(&again, 5, (struct uuid){{8}}, &endpoint, 1);
    assert_false(raft_voters_eq(&voters, &again));
    arena_fini(&arena);
    raft_voters_fini(&voters);
    raft_voters_fini(&again);
}

static void static_voters_have_no_directory(void **state)
{
    (void)state;
    struct uuid dir = {{7}};
    struct raft_endpoint endpoint = {SLICE_LIT("C"), SLICE_LIT("h"), 1};
    struct raft_voters voters;
    raft_voters_init(&voters);
    assert_false(raft_voters_only(&voters, 1, &dir));
    raft_voters_add_static(&voters, 1, endpoint);
    assert_true(raft_voters_only(&voters, 1, &dir));
    assert_false(raft_voters_only(&voters, 2, &dir));
    raft_voters_add_static(&voters, 2, endpoint);
    assert_false(raft_voters_only(&voters, 1, &dir));
    assert_int_equal(voters.voters[0].id, 1);
    raft_voters_fini(&voters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_and_back),
        cmocka_unit_test(static_voters_have_no_directory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
