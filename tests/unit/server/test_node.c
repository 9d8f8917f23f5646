#include "../api/harness_group.h"

#include "os/io_ops.h"

#include <errno.h>
#include <pthread.h>

/* Records, topics and ids are there again after a stop and a start. */
static void what_was_there_comes_back(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    assert_int_equal(harness_create(&h, "t", 3), 0);
    assert_int_equal(harness_produce(&h, "t", 2, 4)->base_offset, 0);
    harness_close(&h);
    harness_open(&h, NULL);
    assert_int_equal(harness_create(&h, "t", 3), ERR_TOPIC_ALREADY_EXISTS);
    assert_int_equal(harness_produce(&h, "t", 2, 4)->base_offset, 4);
    harness_end(&h);
}

/* A stop right after the start, before it is ready, ends in order. */
static void stopped_while_starting(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_close(&h);
    for (int i = 0; i < 20; i++) {
        latch_init(&h.ready);
        latch_init(&h.stopped);
        h.loop = loop_start(h.io, "meta");
        char text[512];
        snprintf(text, sizeof text,
                 "process.roles=broker,controller\nnode.id=1\n"
                 "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n"
                 "advertised.listeners=PLAINTEXT://a:1,CONTROLLER://a:2\n"
                 "controller.listener.names=CONTROLLER\n"
                 "controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs=%s\n",
                 h.dir);
        h.config = config_of(text);
        struct node_options options = {.io = h.io,
                                       .loop = h.loop,
                                       .config = h.config,
                                       .ready = harness_on_ready,
                                       .stopped = harness_on_stopped,
                                       .context = &h};
        char *message = NULL;
        struct node *node; /* h.node is for harness_on_ready, on the node's thread */
        assert_int_equal(node_start(&options, &node, &message), ERR_NONE);
        node_stop(node);
        latch_wait(&h.stopped);
        assert_int_equal(h.exit_status, 0);
        node_free(node);
        loop_stop(h.loop);
        config_unref(h.config);
        latch_fini(&h.ready);
        latch_fini(&h.stopped);
    }
    harness_open(&h, NULL);
    harness_end(&h);
}

/* A second node on the same folder, and one on the same port, explain themselves. */
static void refused_at_once(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    struct node_options options = {.io = h.io, .loop = h.loop, .config = h.config};
    struct node *node = NULL;
    char *text = NULL;
    assert_int_equal(node_start(&options, &node, &text), ERR_BUSY);
    assert_non_null(strstr(text, h.dir));
    mem_free(text);
    harness_end(&h);
}

static void parked_requests_end_with_the_node(void **state)
{
    (void)state;
    HARNESS(h, NULL);
    harness_find(&h, "g");
    assert_int_equal(harness_create(&h, "t", 1), 0);
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.max_wait_ms = 60000;
    body.min_bytes = 1;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h.arena, &body, 1);
    topic->topic = slice_str("t");
    fetch_request_fetch_topic_partitions_new(&h.arena, topic, 1)->partition_max_bytes = 1000;
    int fd = harness_connect(&h);
    harness_ask(&h, fd, WIRE_API_FETCH, 11, &body);
    usleep(10000);
    harness_end(&h);
    close(fd);
}

static _Atomic bool sync_is_broken;
static const struct io_ops *sound;

static enum err fdatasync_or_not(struct io *io, int fd)
{
    return sync_is_broken ? ERR_IO : sound->fdatasync(io, fd);
}

/* PROMISES: a failed metadata fsync ends the node. */
static void a_failed_metadata_sync_ends_the_node(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.fdatasync = fdatasync_or_not;
    h.io->ops = &ops;
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    harness_open(&h, NULL);
    sync_is_broken = true;
    struct create_topics_request body;
    wire_init(&wire_create_topics_request, &body);
    struct create_topics_request_creatable_topic *topic =
        create_topics_request_topics_new(&h.arena, &body, 1);
    topic->name = slice_str("t");
    topic->num_partitions = topic->replication_factor = 1;
    harness_ask(&h, h.fd, WIRE_API_CREATE_TOPICS, 7, &body);
    latch_wait(&h.stopped);
    assert_int_equal(h.exit_status, 1);
    h.exit_status = 0; /* for harness_close */
    sync_is_broken = false;
    harness_end(&h);
}

static struct {
    _Atomic bool on;
    struct latch go;
} hung_sync;

static enum err fdatasync_hung(struct io *io, int fd)
{
    if (hung_sync.on)
        latch_wait(&hung_sync.go);
    return sound->fdatasync(io, fd);
}

/* The first step down is a change of the metadata: a disk that does not answer is told of there,
 * too, and what others ask meanwhile is answered. */
static void a_hung_metadata_disk_is_told_of(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.fdatasync = fdatasync_hung;
    h.io->ops = &ops;
    h.hung_after_ms = 20;
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    harness_open(&h, NULL);
    latch_init(&hung_sync.go);
    hung_sync.on = true;
    node_stop(h.node);
    for (int i = 0; i < 5000 && !h.hung_count; i++)
        usleep(1000);
    assert_int_equal(h.hung_count, 1);
    assert_int_equal(harness_create(&h, "t", 1), ERR_NOT_CONTROLLER);
    hung_sync.on = false;
    latch_open(&hung_sync.go);
    harness_end(&h);
    latch_fini(&hung_sync.go);
}

static struct {
    const char *path; /* its loading waits for `go`; who starts the node looks at it before */
    pthread_t starter;
    struct latch go;
    enum err listen_err;
} held;

static enum err list_dir_held(struct io *io, const char *path, char ***ret_names, size_t *ret_count)
{
    if (held.path && !strcmp(path, held.path) && !pthread_equal(pthread_self(), held.starter))
        latch_wait(&held.go);
    return sound->list_dir(io, path, ret_names, ret_count);
}

static enum err listen_or_not(struct io *io, int fd, int backlog)
{
    return held.listen_err ? held.listen_err : sound->listen(io, fd, backlog);
}

static int dial(uint16_t port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = connect(fd, (struct sockaddr *)&to, sizeof to) ? errno : 0;
    close(fd);
    return failed;
}

/* While logs are recovered the port is held, so that no other node takes it, and who connects is
 * refused at once, as by Apache Kafka: a client would wait in vain for an answer. */
static void nobody_connects_before_it_is_ready(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.list_dir = list_dir_held;
    h.io->ops = &ops;
    held.path = h.dir;
    held.starter = pthread_self();
    latch_init(&held.go);
    harness_launch(&h, NULL);
    uint16_t port = node_port(h.node);
    assert_int_not_equal(port, 0);
    usleep(20000);
    assert_int_equal(dial(port), ECONNREFUSED);
    struct io_address address = {.host = "127.0.0.1", .port = port};
    int fd;
    assert_int_equal(io_bind(h.io, &address, &fd, NULL), ERR_BUSY);
    latch_open(&held.go);
    latch_wait(&h.ready);
    h.fd = harness_connect(&h);
    harness_end(&h);
    held.path = NULL;
    latch_fini(&held.go);
}

static char fatal[256];

static void keep_fatal(void *context, struct slice line)
{
    (void)context;
    snprintf(fatal, sizeof fatal, "%.*s", SLICE_FMT(line));
}

/* A port that cannot be served in the end stops the node, and it says which. */
static void a_listener_that_cannot_listen_ends_the_node(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.listen = listen_or_not;
    h.io->ops = &ops;
    held.listen_err = ERR_BUSY;
    diag_init(h.io, keep_fatal, NULL);
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    harness_launch(&h, NULL);
    latch_wait(&h.stopped);
    assert_int_equal(h.exit_status, 1);
    char port[16];
    snprintf(port, sizeof port, "port %u", node_port(h.node));
    assert_non_null(strstr(fatal, port));
    held.listen_err = ERR_NONE;
    diag_init(h.io, NULL, NULL);
    h.exit_status = 0; /* for harness_close */
    h.fd = -1;
    harness_end(&h);
}

static struct {
    _Atomic bool on, reads_ahead, has_stopped;
    struct latch entered, go;
} cold;

static bool is_cached_or_not(struct io *io, int fd, int64_t position, size_t size)
{
    if (!cold.on)
        return sound->is_cached(io, fd, position, size);
    cold.reads_ahead = true;
    return false;
}

static enum err pread_held(struct io *io, int fd, void *data, size_t size, int64_t position,
                           size_t *ret_size)
{
    if (cold.reads_ahead) {
        latch_open(&cold.entered);
        latch_wait(&cold.go);
    }
    return sound->pread(io, fd, data, size, position, ret_size);
}

static void note_stopped(void *context, int exit_status)
{
    cold.has_stopped = true;
    harness_on_stopped(context, exit_status);
}

/* A worker that reads ahead for a client that is gone comes back to the loop of its connection, and
 * the file is open as long: the node waits for it. */
static void a_read_ahead_is_awaited(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.is_cached = is_cached_or_not;
    ops.pread = pread_held;
    h.io->ops = &ops;
    h.on_stopped = note_stopped;
    latch_init(&cold.entered);
    latch_init(&cold.go);
    harness_open(&h, NULL);
    assert_int_equal(harness_create(&h, "t", 1), 0);
    assert_int_equal(harness_produce(&h, "t", 0, 4)->error_code, 0);
    cold.on = true;
    struct fetch_request body;
    wire_init(&wire_fetch_request, &body);
    body.min_bytes = 1;
    struct fetch_request_fetch_topic *topic = fetch_request_topics_new(&h.arena, &body, 1);
    topic->topic = slice_str("t");
    fetch_request_fetch_topic_partitions_new(&h.arena, topic, 1)->partition_max_bytes = 100000;
    harness_ask(&h, h.fd, WIRE_API_FETCH, 11, &body);
    latch_wait(&cold.entered);
    node_stop(h.node);
    usleep(100000);
    bool waits = !cold.has_stopped;
    if (!waits) {
        node_free(h.node); /* the worker comes back to what was freed */
        h.node = NULL;
    }
    latch_open(&cold.go);
    assert_true(waits);
    cold.on = cold.reads_ahead = false;
    harness_end(&h);
    latch_fini(&cold.entered);
    latch_fini(&cold.go);
}

static struct latch freed;

static void stop_again(void *context, int exit_status)
{
    struct harness *h = context;
    node_stop(h->node);
    harness_on_stopped(context, exit_status);
    latch_wait(&freed);
}

/* A node that ends by itself and is asked to stop at that moment: nothing of it is left behind on
 * the metadata loop, which outlives it. */
static void stopped_while_it_ends(void **state)
{
    (void)state;
    struct harness h = harness_start();
    sound = h.io->ops;
    struct io_ops ops = *sound;
    ops.listen = listen_or_not;
    h.io->ops = &ops;
    held.listen_err = ERR_BUSY;
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    diag_init(h.io, keep_fatal, NULL);
    latch_init(&freed);
    h.on_stopped = stop_again;
    harness_launch(&h, NULL);
    latch_wait(&h.stopped);
    node_free(h.node);
    latch_open(&freed);
    loop_stop(h.loop);
    held.listen_err = ERR_NONE;
    diag_init(h.io, NULL, NULL);
    config_unref(h.config);
    latch_fini(&h.ready);
    latch_fini(&h.stopped);
    latch_fini(&freed);
    arena_fini(&h.arena);
    io_linux_free(h.io);
    temp_dir_remove(h.dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_there_comes_back),
        cmocka_unit_test(stopped_while_starting),
        cmocka_unit_test(refused_at_once),
        cmocka_unit_test(parked_requests_end_with_the_node),
        cmocka_unit_test(a_failed_metadata_sync_ends_the_node),
        cmocka_unit_test(a_hung_metadata_disk_is_told_of),
        cmocka_unit_test(nobody_connects_before_it_is_ready),
        cmocka_unit_test(a_listener_that_cannot_listen_ends_the_node),
        cmocka_unit_test(a_read_ahead_is_awaited),
        cmocka_unit_test(stopped_while_it_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
