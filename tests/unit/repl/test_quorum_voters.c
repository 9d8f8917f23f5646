#include "quorum_stage.h"

#include "os/io_ops.h"
#include "wire_describe_quorum.h"
#include "wire_update_features.h"

static void decide_upgrade(struct quorum_op *op, struct controller *c)
{
    struct update_features_request request;
    struct update_features_response response;
    wire_init(&wire_update_features_request, &request);
    struct update_features_request_feature_update_key *update =
        update_features_request_feature_updates_new(op->arena, &request, 1);
    update->feature = SLICE_LIT("kraft.version");
    update->max_version_level = 1;
    update->upgrade_type = 1;
    controller_update_features(c, &request, 2, &response);
    ((struct op *)op)->result = err_from_wire(response.error_code);
}

/* The directory and the port of the only voter, as DescribeQuorum has them. */
static struct uuid told_voter(struct stage *s, uint16_t *ret_port)
{
    struct arena arena;
    struct describe_quorum_request request;
    struct describe_quorum_response response;
    arena_init(&arena);
    wire_init(&wire_describe_quorum_request, &request);
    struct describe_quorum_request_topic_data *topic =
        describe_quorum_request_topics_new(&arena, &request, 1);
    topic->topic_name = SLICE_LIT("__cluster_metadata");
    describe_quorum_request_topic_data_partitions_new(&arena, topic, 1);
    quorum_describe(s->quorum, &request, 2, &arena, &response);
    struct describe_quorum_response_partition_data *p = &response.topics[0].partitions[0];
    assert_int_equal(p->current_voters_count, 1);
    struct uuid directory = p->current_voters[0].replica_directory_id;
    *ret_port = response.nodes[0].listeners[0].port;
    arena_fini(&arena);
    return directory;
}

static void check_told(struct stage *s, int16_t version, uint16_t port)
{
    uint16_t told;
    struct uuid directory = told_voter(s, &told);
    assert_int_equal(quorum_kraft_version(s->quorum), version);
    assert_int_equal(told, port);
    assert_true(uuid_eq(&directory, version > 0 ? &s->dir_id : &UUID_ZERO));
}

static const struct io_ops *sound_ops;

static enum err full_pwritev(struct io *io, int fd, const struct iovec *parts, int count,
                             int64_t offset)
{
    (void)io, (void)fd, (void)parts, (void)count, (void)offset;
    return ERR_DISK_FULL;
}

/* What could not be appended is not told, and can be tried again. */
static void a_step_that_fails_is_none(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    sound_ops = s.io->ops;
    struct io_ops full = *sound_ops;
    full.pwritev = full_pwritev;
    s.io->ops = &full;
    assert_int_equal(run(&s, NULL, decide_upgrade), ERR_DISK_FULL);
    s.io->ops = sound_ops;
    check_told(&s, 0, 40911);
    assert_int_equal(run(&s, NULL, decide_upgrade), ERR_NONE);
    check_told(&s, 1, 40911);
    stage_close(&s);
    stage_fini(&s);
}

/* Once made, the step survives what the metadata survives; a voter that listens elsewhere says so
 * at its next election, once. */
static void the_log_knows_its_voter(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    int64_t before = quorum_broker_epoch(s.quorum);
    assert_int_equal(run(&s, NULL, decide_upgrade), ERR_NONE);
    assert_int_equal(run(&s, NULL, decide_upgrade), ERR_NONE); /* is there already */
    stage_close(&s);
    stage_start(&s);
    check_told(&s, 1, 40911);
    stage_close(&s);
    s.controller.port = 40912;
    int64_t epochs[2];
    for (int i = 0; i < 2; i++) {
        stage_start(&s);
        check_told(&s, 1, 40912);
        epochs[i] = quorum_broker_epoch(s.quorum);
        stage_close(&s);
    }
    int64_t per_start = epochs[1] - epochs[0];
    /* Two records of the step; two of the move to another port. */
    assert_int_equal(epochs[1] - before, 3 * per_start + 2 + 2);
    stage_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_that_fails_is_none),
        cmocka_unit_test(the_log_knows_its_voter),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
