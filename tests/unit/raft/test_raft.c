#include "../unit.h"

#include "raft/raft.h"

static const struct uuid own_dir = {{1, 2, 3}}, other_dir = {{4, 5, 6}};

static void setup(struct raft *raft, struct raft_voters *voters, int32_t epoch)
{
    raft_voters_init(voters);
    raft_voters_set_one(voters, 1, own_dir, NULL, 0);
    struct raft_quorum_state state;
    raft_quorum_state_init(&state);
    state.leader_epoch = epoch;
    raft_init(raft, 1, own_dir, voters, &state);
}

static struct raft_update step(struct raft *raft, enum raft_event_kind kind, int64_t end,
                               int32_t epoch)
{
    struct raft_update update;
    struct raft_event event = {kind, end, epoch};
    raft_step(raft, &event, &update);
    return update;
}

static void the_only_voter_leads_the_next_epoch(void **state)
{
    (void)state;
    struct raft raft;
    struct raft_voters voters;
    setup(&raft, &voters, 4);
    struct raft_update u = step(&raft, RAFT_START, 100, 7); /* the log knows more than the file */
    assert_true(u.persist);
    assert_true(u.became_leader);
    assert_int_equal(raft.role, RAFT_LEADER);
    assert_int_equal(raft.state.leader_epoch, 8);
    assert_int_equal(raft.state.leader_id, 1);
    assert_int_equal(raft.state.voted_id, -1);
    raft_voters_fini(&voters);
}

static void commits_begin_with_the_own_epoch(void **state)
{
    (void)state;
    struct raft raft;
    struct raft_voters voters;
    setup(&raft, &voters, 0);
    step(&raft, RAFT_START, 100, 3);
    assert_false(step(&raft, RAFT_FLUSHED, 100, 0).watermark_moved);
    assert_int_equal(raft.high_watermark, 0);
    step(&raft, RAFT_APPENDED, 105, 0);
    assert_int_equal(raft.high_watermark, 0);
    assert_true(step(&raft, RAFT_FLUSHED, 103, 0).watermark_moved);
    assert_int_equal(raft.high_watermark, 103);
    assert_false(step(&raft, RAFT_FLUSHED, 101, 0).watermark_moved); /* late, never back */
    assert_int_equal(raft.high_watermark, 103);
    raft_voters_fini(&voters);
}

static void others_do_not_lead(void **state)
{
    (void)state;
    struct raft raft;
    struct raft_voters voters;
    setup(&raft, &voters, 0);
    raft.directory_id = other_dir; /* the voter is another incarnation of the disk */
    struct raft_update u = step(&raft, RAFT_START, 0, -1);
    assert_false(u.persist || u.became_leader);
    assert_int_equal(raft.role, RAFT_UNATTACHED);
    raft_voters_fini(&voters);

    setup(&raft, &voters, 0);
    raft_voters_add_static(&voters, 2, (struct raft_endpoint){SLICE_LIT("C"), SLICE_LIT("h"), 1});
    u = step(&raft, RAFT_START, 0, -1);
    assert_int_equal(raft.role, RAFT_UNATTACHED);
    raft_voters_fini(&voters);
}

static void resigned_nodes_commit_nothing(void **state)
{
    (void)state;
    struct raft raft;
    struct raft_voters voters;
    setup(&raft, &voters, 0);
    step(&raft, RAFT_START, 0, -1);
    assert_int_equal(raft.state.leader_epoch, 1);
    step(&raft, RAFT_APPENDED, 3, 0);
    step(&raft, RAFT_RESIGN, 0, 0);
    assert_false(step(&raft, RAFT_FLUSHED, 3, 0).watermark_moved);
    raft_voters_fini(&voters);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_only_voter_leads_the_next_epoch),
        cmocka_unit_test(commits_begin_with_the_own_epoch),
        cmocka_unit_test(others_do_not_lead),
        cmocka_unit_test(resigned_nodes_commit_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
