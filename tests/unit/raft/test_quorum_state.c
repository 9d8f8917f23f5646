#include "../unit.h"

#include "raft/quorum_state.h"
#include "raft/voters.h"

/* The file of a 4.4.0 node with kraft.version 1 after its second start. */
static const char v1[] = "{\"leaderId\":1,\"leaderEpoch\":2,\"votedId\":-1,\"votedDirectoryId\":"
                         "\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}";
/* The same with controller.quorum.voters. */
static const char v0[] = "{\"clusterId\":\"\",\"leaderId\":1,\"leaderEpoch\":3,\"votedId\":-1,"
                         "\"appliedOffset\":0,\"currentVoters\":[{\"voterId\":1}],"
                         "\"data_version\":0}";

static void both_versions_are_read_and_written_as_they_are(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena);
    struct raft_quorum_state s;
    struct slice text;
    assert_int_equal(raft_quorum_state_parse(slice_str(v1), &arena, &s, &text), ERR_NONE);
    assert_int_equal(s.leader_epoch, 2);
    assert_int_equal(s.leader_id, 1);
    assert_int_equal(s.voted_id, -1);
    struct buf out;
    buf_init(&out);
    raft_quorum_state_format(&s, 1, NULL, &out);
    assert_slice_eq(buf_slice(&out), v1);

    assert_int_equal(raft_quorum_state_parse(slice_str(v0), &arena, &s, &text), ERR_NONE);
    assert_int_equal(s.leader_epoch, 3);
    struct raft_voters voters;
    raft_voters_init(&voters);
    raft_voters_add_static(&voters, 1, (struct raft_endpoint){SLICE_LIT("C"), SLICE_LIT("h"), 1});
    buf_clear(&out);
    raft_quorum_state_format(&s, 0, &voters, &out);
    assert_slice_eq(buf_slice(&out), v0);
    raft_voters_fini(&voters);
    buf_fini(&out);
    arena_fini(&arena);
}

static void broken_files_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "{\"data_version\":2}",
        "{\"data_version\":1}",
        "{\"data_version\":1",
        ("{\"leaderId\":1,\"leaderEpoch\":2,\"votedId\":-1,\"votedDirectoryId\":"
         "\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":10}"),
        ("{\"leaderId\":1,\"leaderEpoch\":2147483647,\"votedId\":-1,\"votedDirectoryId\":"
         "\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}"),
        ("{\"leaderId\":\"x\",\"leaderEpoch\":2,\"votedId\":-1,\"votedDirectoryId\":"
         "\"AAAAAAAAAAAAAAAAAAAAAA\",\"data_version\":1}"),
    };
    struct arena arena;
    arena_init(&arena);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct raft_quorum_state s;
        struct slice text;
        assert_int_equal(raft_quorum_state_parse(slice_str(bad[i]), &arena, &s, &text),
                         ERR_MALFORMED);
    }
    arena_fini(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_are_read_and_written_as_they_are),
        cmocka_unit_test(broken_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
