#include "quorum_stage.h"

#include "os/io_ops.h"
#include "os/lock.h"
#include "wire_messages.h"

#include <stdatomic.h>

static void a_new_node_is_ready_after_its_start(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    assert_int_equal(s.published, 1);
    struct meta_image *image = quorum_image(s.quorum);
    assert_int_equal(meta_image_metadata_version(image), 33);
    assert_true(meta_image_broker_is_active(image, 1));
    assert_non_null(meta_image_controller(image, 1));
    const struct meta_config *config =
        meta_image_config(image, META_RESOURCE_BROKER, SLICE_LIT(""));
    assert_slice_eq(meta_config_get(config, SLICE_LIT("min.insync.replicas")), "1");
    assert_int_equal(meta_image_broker(image, 1)->epoch, quorum_broker_epoch(s.quorum));
    meta_image_unref(image);
    int32_t epoch;
    assert_int_equal(quorum_leader(s.quorum, &epoch), 1);
    assert_int_equal(epoch, 1);
    create(&s, "t");
    stage_close(&s);
    stage_fini(&s);
}

static void decide_look(struct quorum_op *op, struct controller *c)
{
    struct op *o = (struct op *)op;
    const struct meta_topic *topic = meta_image_topic(c->image, slice_str(o->name));
    assert_non_null(topic);
    o->seen = topic->name;
    struct remove_topic_record record;
    wire_init(&wire_remove_topic_record, &record);
    record.topic_id = topic->id;
    meta_records_add(c->records, &wire_remove_topic_record, 0, &record);
}

static void done_look(struct quorum_op *op)
{
    struct op *o = (struct op *)op;
    assert_true(slice_eq_str(o->seen, o->name)); /* freed memory without the op's reference */
    sem_post(&o->done);
}

/* The answer to a deletion may hold views into the image that had the topic. */
static void the_image_of_a_decision_lives_until_it_is_done(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    create(&s, "t");
    struct arena arena;
    arena_init(&arena);
    struct op o = {.name = "t"};
    sem_init(&o.done, 0, 0);
    o.op = (struct quorum_op){
        .decide = decide_look, .done = done_look, .loop = s.loop, .arena = &arena};
    quorum_submit(s.quorum, &o.op);
    sem_wait(&o.done);
    assert_int_equal(o.op.error, ERR_NONE);
    arena_fini(&arena);
    stage_close(&s);
    stage_fini(&s);
}

static void changes_survive_a_stop_and_a_kill(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    create(&s, "t");
    s.self.previous_epoch = quorum_broker_epoch(s.quorum);
    assert_int_equal(shut_down(&s), ERR_NONE);
    stage_close(&s);

    stage_start(&s);
    struct meta_image *image = quorum_image(s.quorum);
    const struct meta_partition *p = meta_image_topic(image, SLICE_LIT("t"))->partitions[0];
    assert_int_equal(p->leader, 1);
    assert_int_equal(p->leader_epoch, 2);
    assert_int_equal(p->recovery_state, 0);
    meta_image_unref(image);
    int32_t epoch;
    quorum_leader(s.quorum, &epoch);
    assert_int_equal(epoch, 2);
    create(&s, "u");
    stage_close(&s); /* no shutdown: as a crash leaves the metadata */

    stage_start(&s);
    image = quorum_image(s.quorum);
    assert_int_equal(meta_image_topic_count(image), 2);
    assert_int_equal(meta_image_topic(image, SLICE_LIT("t"))->partitions[0]->recovery_state, 1);
    meta_image_unref(image);
    stage_close(&s);
    stage_fini(&s);
}

static void many_operations_commit_in_order(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static struct op ops[COUNT];
    static char names[COUNT][16];
    struct stage s;
    struct arena arenas[COUNT];
    stage_init(&s, static_voters);
    stage_start(&s);
    for (int i = 0; i < COUNT; i++) {
        snprintf(names[i], sizeof names[i], "t-%d", i / 2);
        ops[i].name = names[i];
        submit(&s, &ops[i], &arenas[i], i % 2 ? decide_nothing : decide_topic);
    }
    int64_t last = 0;
    for (int i = 0; i < COUNT; i++) {
        assert_int_equal(await(&ops[i]), ERR_NONE);
        assert_true(ops[i].op.offset_next >= last);
        last = ops[i].op.offset_next;
    }
    struct meta_image *image = quorum_image(s.quorum);
    assert_int_equal(meta_image_topic_count(image), COUNT / 2);
    meta_image_unref(image);
    stage_close(&s);
    stage_fini(&s);
}

static enum err broken_sync(struct io *io, int fd)
{
    (void)io;
    (void)fd;
    return ERR_IO;
}

/* A change that cannot be made durable is answered with an error, and the owner learns it once. */
static void a_failed_sync_is_told(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    create(&s, "t");
    const struct io_ops *sound = s.io->ops;
    struct io_ops broken = *sound;
    broken.fdatasync = broken_sync;
    s.io->ops = &broken;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(run(&s, i ? "v" : "u", decide_topic), ERR_KAFKA_STORAGE_ERROR);
        assert_int_equal(s.failures, 1);
    }
    struct meta_image *image = quorum_image(s.quorum);
    assert_int_equal(meta_image_topic_count(image), 1);
    meta_image_unref(image);
    stage_close(&s);
    s.io->ops = sound;
    stage_fini(&s);
}

static void decide_much(struct quorum_op *op, struct controller *c)
{
    enum { VALUE_SIZE = 30000, RECORDS = 300 }; /* above metadata.log.segment.bytes */
    (void)op;
    char *value = mem_zalloc(VALUE_SIZE);
    memset(value, 'v', VALUE_SIZE);
    for (int i = 0; i < RECORDS; i++) {
        struct config_record record;
        wire_init(&wire_config_record, &record);
        record.resource_type = META_RESOURCE_TOPIC;
        record.resource_name = SLICE_LIT("t");
        record.name = SLICE_LIT("follower.replication.throttled.replicas");
        record.value = slice_of(value, VALUE_SIZE);
        meta_records_add(c->records, &wire_config_record, 0, &record);
    }
    mem_free(value);
}

static void decide_one_large(struct quorum_op *op, struct controller *c)
{
    struct partition_record record;
    wire_init(&wire_partition_record, &record);
    partition_record_replicas_new(op->arena, &record, (8 << 20) / 4);
    meta_records_add(c->records, &wire_partition_record, 1, &record);
}

/* A change that the log cannot take is refused, and the next one is made. */
static void a_change_too_large_costs_nothing_else(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.voters=1@127.0.0.1:40911\n"
                   "metadata.log.segment.bytes=8388608\n");
    stage_start(&s);
    create(&s, "t");
    assert_int_equal(run(&s, NULL, decide_much), ERR_RECORD_LIST_TOO_LARGE);
    assert_int_equal(s.failures, 0);
    create(&s, "u");
    stage_close(&s);
    stage_fini(&s);
}

/* Kafka reads metadata batches of up to 8 MB: what is larger must not get into the log. */
static void a_record_that_kafka_could_not_read_is_refused(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    create(&s, "t");
    assert_int_equal(run(&s, NULL, decide_one_large), ERR_RECORD_LIST_TOO_LARGE);
    assert_int_equal(s.failures, 0);
    create(&s, "u");
    stage_close(&s);
    stage_fini(&s);
}

/* While an image is published: a second operation, which finds nothing to do any more. */
struct late_stage {
    struct stage s;
    struct op late;
    struct arena arena;
    bool is_late; /* it ended after publishing, as it should */
    _Atomic bool in_publish;
};
static struct late_stage *late_stage;

static void late_done(struct quorum_op *op)
{
    late_stage->is_late = !late_stage->in_publish;
    op_done(op);
}

static void published_slowly(void *context, const struct meta_image *old,
                             const struct meta_image *new)
{
    struct late_stage *l = context;
    published(&l->s, old, new);
    if (l->s.published != 2)
        return;
    l->in_publish = true;
    l->late.op = (struct quorum_op){
        .decide = decide_nothing, .done = late_done, .loop = l->late.op.loop, .arena = &l->arena};
    quorum_submit(l->s.quorum, &l->late.op);
    usleep(20000);
    l->in_publish = false;
}

static void nothing_ends_before_a_commit_is_published(void **state)
{
    (void)state;
    struct late_stage l = {0};
    late_stage = &l;
    stage_init(&l.s, static_voters);
    arena_init(&l.arena);
    sem_init(&l.late.done, 0, 0);
    l.late.op.loop = loop_start(l.s.io, "other");
    l.s.subscriber = (struct quorum_subscriber){published_slowly, &l};
    stage_start(&l.s);
    create(&l.s, "t");
    sem_wait(&l.late.done);
    assert_int_equal(l.late.op.error, ERR_NONE);
    assert_true(l.is_late);
    stage_close(&l.s);
    loop_stop(l.late.op.loop);
    arena_fini(&l.arena);
    stage_fini(&l.s);
}

static struct {
    const struct io_ops *sound;
    _Atomic int calls;
    sem_t entered, go;
    enum err first, later; /* ERR_NONE: the real sync */
} first_sync;

static enum err sync_held(struct io *io, int fd)
{
    bool is_first = first_sync.calls++ == 0;
    if (is_first) {
        sem_post(&first_sync.entered);
        sem_wait(&first_sync.go);
    }
    enum err e = is_first ? first_sync.first : first_sync.later;
    return e ? e : first_sync.sound->fdatasync(io, fd);
}

/* A change, and while it is being synced the shutdown; then the first sync ends, and others. */
static void shut_down_beside_a_sync(struct stage *s, enum err first, enum err later,
                                    enum err *ret_change, enum err *ret_shutdown)
{
    struct op change = {.name = "t"}, shutdown = {0};
    struct arena arenas[2];
    first_sync.sound = s->io->ops;
    first_sync.calls = 0;
    first_sync.first = first;
    first_sync.later = later;
    sem_init(&first_sync.entered, 0, 0);
    sem_init(&first_sync.go, 0, 0);
    struct io_ops ops = *first_sync.sound;
    ops.fdatasync = sync_held;
    s->io->ops = &ops;
    submit(s, &change, &arenas[0], decide_topic);
    sem_wait(&first_sync.entered);
    op_init(s, &shutdown, &arenas[1]);
    quorum_shutdown(s->quorum, &shutdown.op);
    sem_post(&first_sync.go);
    *ret_change = await(&change);
    *ret_shutdown = await(&shutdown);
    while (!quorum_idle(s->quorum))
        usleep(1000);
    s->io->ops = first_sync.sound;
    sem_destroy(&first_sync.entered);
    sem_destroy(&first_sync.go);
}

/* What was appended before the shutdown ends, too, but who was told of images takes everything down
 * by then. */
static void nothing_is_published_after_the_shutdown(void **state)
{
    (void)state;
    struct stage s;
    enum err change, shutdown;
    stage_init(&s, static_voters);
    stage_start(&s);
    int published_before = s.published;
    shut_down_beside_a_sync(&s, ERR_NONE, ERR_NONE, &change, &shutdown);
    assert_int_equal(change, ERR_NONE);
    assert_int_equal(shutdown, ERR_NONE);
    assert_int_equal(s.published, published_before);
    struct meta_image *image = quorum_image(s.quorum);
    assert_non_null(meta_image_topic(image, SLICE_LIT("t")));
    assert_true(meta_image_broker(image, 1)->fenced);
    meta_image_unref(image);
    stage_close(&s);
    stage_fini(&s);
}

/* The shutdown's sync is not one beside it, which finds nothing wrong any more: the system tells of
 * what was lost once. */
static void a_sync_that_fails_beside_a_shutdown_is_told(void **state)
{
    (void)state;
    struct stage s;
    enum err change, shutdown;
    stage_init(&s, static_voters);
    stage_start(&s);
    shut_down_beside_a_sync(&s, ERR_IO, ERR_NONE, &change, &shutdown);
    assert_int_equal(change, ERR_KAFKA_STORAGE_ERROR);
    assert_int_equal(shutdown, ERR_KAFKA_STORAGE_ERROR);
    assert_int_equal(s.failures, 1);
    stage_close(&s);
    stage_fini(&s);
}

static void a_shutdown_that_cannot_be_synced_ends(void **state)
{
    (void)state;
    struct stage s;
    enum err change, shutdown;
    stage_init(&s, static_voters);
    stage_start(&s);
    shut_down_beside_a_sync(&s, ERR_NONE, ERR_DISK_FULL, &change, &shutdown);
    assert_int_equal(change, ERR_NONE);
    assert_int_equal(shutdown, ERR_DISK_FULL);
    stage_close(&s);
    stage_fini(&s);
}

static void what_comes_after_the_shutdown_is_refused(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    assert_int_equal(shut_down(&s), ERR_NONE);
    assert_int_equal(run(&s, "late", decide_topic), ERR_NOT_CONTROLLER);
    assert_int_equal(shut_down(&s), ERR_NOT_CONTROLLER);
    struct meta_image *image = quorum_image(s.quorum);
    assert_true(meta_image_broker(image, 1)->fenced);
    meta_image_unref(image);
    stage_close(&s);
    stage_fini(&s);
}

static enum err held_fsync(struct io *io, int fd)
{
    if (!first_sync.calls++) {
        sem_post(&first_sync.entered);
        sem_wait(&first_sync.go);
    }
    return first_sync.sound->fsync(io, fd);
}

static size_t checkpoints(struct stage *s)
{
    char *path = mem_printf("%s/__cluster_metadata-0", s->dir);
    char **names;
    size_t count, found = 0;
    assert_int_equal(io_list_dir(s->io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++)
        found += strstr(names[i], ".checkpoint") != NULL;
    io_free_names(names, count);
    mem_free(path);
    return found;
}

/* What is appended while a snapshot is written may be the last for long: no commit follows that
 * would make the next one. */
static void a_snapshot_follows_the_one_that_took_long(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.voters=1@127.0.0.1:40911\n"
                   "metadata.log.max.record.bytes.between.snapshots=2000\n");
    stage_start(&s);
    first_sync.sound = s.io->ops;
    first_sync.calls = 0;
    sem_init(&first_sync.entered, 0, 0);
    sem_init(&first_sync.go, 0, 0);
    struct io_ops ops = *first_sync.sound;
    ops.fsync = held_fsync;
    s.io->ops = &ops;
    char name[16];
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "t-%d", i);
        create(&s, name);
        if (i == 30)
            sem_wait(&first_sync.entered);
    }
    sem_post(&first_sync.go);
    while (!quorum_idle(s.quorum))
        usleep(1000);
    assert_int_equal(checkpoints(&s), 2);
    s.io->ops = first_sync.sound;
    stage_close(&s);
    sem_destroy(&first_sync.entered);
    sem_destroy(&first_sync.go);
    stage_fini(&s);
}

/* A folder that is not there has none; of one that cannot be read nobody knows. */
static void a_history_that_cannot_be_read_may_be_one(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    assert_false(quorum_has_history(s.io, slice_str(s.dir)));
    char path[128];
    snprintf(path, sizeof path, "%s/__cluster_metadata-0", s.dir);
    assert_int_equal(io_mkdir(s.io, path), ERR_NONE);
    assert_false(quorum_has_history(s.io, slice_str(s.dir)));
    assert_int_equal(io_rmdir(s.io, path), ERR_NONE);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fclose(file);
    assert_true(quorum_has_history(s.io, slice_str(s.dir)));
    char *text = NULL;
    assert_int_not_equal(stage_open(&s, &text), ERR_NONE);
    assert_non_null(strstr(text, path));
    mem_free(text);
    stage_fini(&s);
}

static const struct io_ops *sound_ops;
static struct quorum *asked;
static atomic_int unlinked;

/* Takes the controller lock, which the caller must not hold. (A new segment makes sure that it has
 * no index yet: under the lock, but nothing is there.) */
static enum err asking_unlink(struct io *io, const char *path)
{
    int32_t epoch;
    if (strstr(path, ".deleted") || strstr(path, ".checkpoint"))
        quorum_leader(asked, &epoch);
    atomic_fetch_add(&unlinked, strstr(path, ".log.deleted") != NULL);
    return sound_ops->unlink(io, path);
}

/* Files are unlinked while changes go on: the lock is free. */
static void old_files_go_off_the_lock(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.voters=1@127.0.0.1:40911\n"
                   "metadata.log.max.record.bytes.between.snapshots=2000\n"
                   "metadata.max.retention.bytes=1\nmetadata.log.segment.ms=1\n");
    stage_start(&s);
    sound_ops = s.io->ops;
    asked = s.quorum;
    struct io_ops ops = *sound_ops;
    ops.unlink = asking_unlink;
    s.io->ops = &ops;
    char name[16];
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "t-%d", i);
        create(&s, name);
        while (i % 20 == 19 && !quorum_idle(s.quorum))
            usleep(1000);
    }
    while (!quorum_idle(s.quorum))
        usleep(1000);
    s.io->ops = sound_ops;
    stage_close(&s);
    assert_true(unlinked > 0);
    char path[128];
    snprintf(path, sizeof path, "%s/__cluster_metadata-0", s.dir);
    char **names;
    size_t count;
    assert_int_equal(io_list_dir(s.io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++)
        assert_null(strstr(names[i], ".deleted"));
    io_free_names(names, count);
    stage_fini(&s);
}

static void snapshots_replace_the_log(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, "controller.quorum.voters=1@127.0.0.1:40911\n"
                   "metadata.log.max.record.bytes.between.snapshots=2000\n"
                   "metadata.max.retention.bytes=1\n");
    stage_start(&s);
    char name[16];
    for (int i = 0; i < 60; i++) {
        snprintf(name, sizeof name, "t-%d", i);
        create(&s, name);
    }
    stage_close(&s);
    char path[128];
    snprintf(path, sizeof path, "%s/__cluster_metadata-0", s.dir);
    char **names;
    size_t count, checkpoints = 0;
    assert_int_equal(io_list_dir(s.io, path, &names, &count), ERR_NONE);
    for (size_t i = 0; i < count; i++)
        checkpoints += strstr(names[i], ".checkpoint") && names[i][0] == '0';
    assert_int_equal(checkpoints, 1); /* retention leaves the newest */
    io_free_names(names, count);
    stage_start(&s);
    struct meta_image *image = quorum_image(s.quorum);
    assert_int_equal(meta_image_topic_count(image), 60);
    assert_int_equal(meta_image_metadata_version(image), 33);
    meta_image_unref(image);
    stage_close(&s);
    stage_fini(&s);
}

static void the_quorum_describes_itself(void **state)
{
    (void)state;
    struct stage s;
    stage_init(&s, static_voters);
    stage_start(&s);
    struct arena arena;
    arena_init(&arena);
    struct describe_quorum_request request;
    struct describe_quorum_response response;
    wire_init(&wire_describe_quorum_request, &request);
    describe_quorum_request_topics_new(&arena, &request, 2);
    request.topics[0].topic_name = SLICE_LIT("__cluster_metadata");
    describe_quorum_request_topic_data_partitions_new(&arena, &request.topics[0], 1);
    request.topics[1].topic_name = SLICE_LIT("t");
    describe_quorum_request_topic_data_partitions_new(&arena, &request.topics[1], 1);
    quorum_describe(s.quorum, &request, 2, &arena, &response);
    const struct describe_quorum_response_partition_data *p = response.topics[0].partitions;
    assert_int_equal(p->leader_id, 1);
    assert_int_equal(p->leader_epoch, 1);
    assert_true(p->high_watermark > 10);
    assert_int_equal(p->current_voters_count, 1);
    assert_int_equal(p->current_voters[0].log_end_offset, p->high_watermark);
    assert_int_equal(response.nodes[0].listeners[0].port, 40911);
    assert_int_equal(response.topics[1].partitions[0].error_code, ERR_UNKNOWN_TOPIC_OR_PARTITION);
    arena_fini(&arena);
    stage_close(&s);
    stage_fini(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_node_is_ready_after_its_start),
        cmocka_unit_test(the_image_of_a_decision_lives_until_it_is_done),
        cmocka_unit_test(changes_survive_a_stop_and_a_kill),
        cmocka_unit_test(many_operations_commit_in_order),
        cmocka_unit_test(a_failed_sync_is_told),
        cmocka_unit_test(a_change_too_large_costs_nothing_else),
        cmocka_unit_test(a_record_that_kafka_could_not_read_is_refused),
        cmocka_unit_test(nothing_ends_before_a_commit_is_published),
        cmocka_unit_test(nothing_is_published_after_the_shutdown),
        cmocka_unit_test(a_sync_that_fails_beside_a_shutdown_is_told),
        cmocka_unit_test(a_shutdown_that_cannot_be_synced_ends),
        cmocka_unit_test(a_history_that_cannot_be_read_may_be_one),
        cmocka_unit_test(what_comes_after_the_shutdown_is_refused),
        cmocka_unit_test(snapshots_replace_the_log),
        cmocka_unit_test(a_snapshot_follows_the_one_that_took_long),
        cmocka_unit_test(old_files_go_off_the_lock),
        cmocka_unit_test(the_quorum_describes_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
