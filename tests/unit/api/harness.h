/* A whole node in the test's process, over Linux files in a folder of its own, and a client that
 * speaks in request structs. Every test gets a fresh node. */
#ifndef KLAMM_TESTS_API_HARNESS_H
#define KLAMM_TESTS_API_HARNESS_H

#include "../config_text.h"
#include "../temp_dir.h"

#include "api/context.h"
#include "base/arena.h"
#include "base/mem.h"
#include "os/diag.h"
#include "os/io_linux.h"
#include "os/latch.h"
#include "record/builder.h"
#include "server/node.h"
#include "store/log_dirs.h"
#include "wire/api.h"
#include "wire_messages.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

struct harness {
    struct io *io;
    struct loop *loop;
    struct node *node;
    struct config *config;
    struct latch ready, stopped;
    int32_t hung_after_ms; /* 0 = the default */
    _Atomic int hung_count;
    void (*on_stopped)(void *context, int exit_status); /* NULL = the usual one */
    int exit_status;
    char dir[TEMP_DIR_SIZE];
    int fd; /* a connection to the broker's listener */
    struct arena arena;
    int32_t correlation;
};

static inline void harness_on_ready(void *context, struct node *node)
{
    struct harness *h = context;
    h->node = node;
    latch_open(&h->ready);
}

static inline void harness_on_stopped(void *context, int exit_status)
{
    struct harness *h = context;
    h->exit_status = exit_status;
    latch_open(&h->ready);
    latch_open(&h->stopped);
}

static inline void harness_on_hung(void *context)
{
    struct harness *h = context;
    h->hung_count++;
}

static inline void harness_format(struct harness *h)
{
    struct log_meta meta = {.version = 1, .cluster_id = "AAAAAAAAAAAAAAAAAAAAAg", .node_id = 1};
    memset(meta.directory_id.bytes, 7, sizeof meta.directory_id.bytes);
    assert_int_equal(log_meta_write(h->io, h->dir, &meta), ERR_NONE);
}

static inline int harness_connect(struct harness *h)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(node_port(h->node))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* Begins the start only; harness_open awaits its end. */
static inline void harness_launch(struct harness *h, const char *extra)
{
    char text[2048];
    snprintf(text, sizeof text,
             "process.roles=broker,controller\nnode.id=1\n"
             "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n"
             "advertised.listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
             "controller.listener.names=CONTROLLER\n"
             "controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs=%s\n"
             "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=3\n"
             "group.initial.rebalance.delay.ms=0\nnum.network.threads=2\n%s",
             h->dir, extra ? extra : "");
    h->config = config_of(text);
    latch_init(&h->ready);
    latch_init(&h->stopped);
    h->loop = loop_start(h->io, "meta");
    struct node_options options = {.io = h->io,
                                   .loop = h->loop,
                                   .config = h->config,
                                   .ready = harness_on_ready,
                                   .stopped = h->on_stopped ? h->on_stopped : harness_on_stopped,
                                   .hung = harness_on_hung,
                                   .hung_after_ms = h->hung_after_ms,
                                   .context = h};
    char *message = NULL;
    if (node_start(&options, &h->node, &message))
        fail_msg("%s", message);
}

/* `extra`: more lines of properties, or NULL. The folder is kept when it is there already. */
static inline void harness_open(struct harness *h, const char *extra)
{
    harness_launch(h, extra);
    latch_wait(&h->ready);
    h->fd = harness_connect(h);
}

static inline void harness_close(struct harness *h)
{
    close(h->fd);
    node_stop(h->node);
    latch_wait(&h->stopped);
    assert_int_equal(h->exit_status, 0);
    node_free(h->node);
    loop_stop(h->loop);
    config_unref(h->config);
    latch_fini(&h->ready);
    latch_fini(&h->stopped);
    arena_fini(&h->arena);
}

static inline struct harness harness_start(void)
{
    struct harness h = {0};
    temp_dir_make(h.dir, "/tmp");
    h.io = io_linux_new();
    diag_init(h.io, NULL, NULL);
    diag_set_level(DIAG_ROOT, DIAG_ERROR);
    arena_init(&h.arena);
    harness_format(&h);
    return h;
}

static inline void harness_end(struct harness *h)
{
    harness_close(h);
    io_linux_free(h->io);
    temp_dir_remove(h->dir);
}

/* The whole of a test's beginning. */
#define HARNESS(h, extra)               \
    struct harness h = harness_start(); \
    harness_open(&h, extra)

static inline bool harness_receive(int fd, struct buf *frame)
{
    uint8_t size[4];
    if (recv(fd, size, 4, MSG_WAITALL) != 4)
        return false;
    size_t left = be_u32(size);
    uint8_t *to = buf_extend(frame, left);
    while (left) {
        ssize_t n = recv(fd, to, left, 0);
        if (n <= 0)
            return false;
        to += n;
        left -= (size_t)n;
    }
    return true;
}

static inline void harness_send(int fd, struct slice frame)
{
    uint8_t size[4];
    be_put_u32(size, (uint32_t)frame.size);
    assert_int_equal(send(fd, size, 4, MSG_NOSIGNAL), 4);
    assert_int_equal(send(fd, frame.data, frame.size, MSG_NOSIGNAL), (ssize_t)frame.size);
}

static inline void harness_ask(struct harness *h, int fd, int16_t key, int16_t version,
                               const void *body)
{
    const struct wire_api *api = wire_api_find(key);
    struct buf frame;
    buf_init(&frame);
    wire_api_put_request_header(api, version, ++h->correlation, slice_str("unit"), &frame);
    assert_int_equal(wire_encode(api->request, version, body, &frame, NULL), ERR_NONE);
    harness_send(fd, buf_slice(&frame));
    buf_fini(&frame);
}

/* NULL: the connection was closed. The response lives until the harness closes. */
static inline void *harness_answer(struct harness *h, int fd, int16_t key, int16_t version)
{
    const struct wire_api *api = wire_api_find(key);
    struct buf frame;
    buf_init(&frame);
    void *response = NULL;
    if (harness_receive(fd, &frame)) {
        struct slice kept = arena_dup(&h->arena, buf_slice(&frame));
        struct cursor c = cursor_of(kept);
        cursor_take(&c, wire_api_response_header_version(api, version) ? 5 : 4);
        response = arena_alloc(&h->arena, wire_schema_size(api->response));
        assert_int_equal(wire_decode(api->response, version, &c, &h->arena, response), ERR_NONE);
        assert_int_equal(cursor_left(&c), 0);
    }
    buf_fini(&frame);
    return response;
}

static inline void *harness_call(struct harness *h, int16_t key, int16_t version, const void *body)
{
    harness_ask(h, h->fd, key, version, body);
    void *response = harness_answer(h, h->fd, key, version);
    assert_non_null(response);
    return response;
}

/* ---- common errands ---- */

static inline int16_t harness_create(struct harness *h, const char *topic, int32_t partitions)
{
    struct create_topics_request body;
    wire_init(&wire_create_topics_request, &body);
    struct create_topics_request_creatable_topic *item =
        create_topics_request_topics_new(&h->arena, &body, 1);
    item->name = slice_str(topic);
    item->num_partitions = partitions;
    item->replication_factor = 1;
    const struct create_topics_response *r = harness_call(h, WIRE_API_CREATE_TOPICS, 7, &body);
    return r->topics[0].error_code;
}

/* One batch of `count` records "v0", "v1" ...; returns the partition's answer. */
static inline const struct produce_response_partition_produce_response *harness_produce(
    struct harness *h, const char *topic, int32_t partition, int count)
{
    struct buf batch;
    buf_init(&batch);
    struct builder b;
    struct builder_options options = BUILDER_DEFAULTS;
    builder_begin(&b, &batch, &options);
    for (int i = 0; i < count; i++) {
        char value[16];
        int size = snprintf(value, sizeof value, "v%d", i);
        builder_append(&b, io_wall_ms(h->io), slice_str("k"), slice_of(value, (size_t)size));
    }
    assert_int_equal(builder_end(&b), ERR_NONE);
    struct produce_request body;
    wire_init(&wire_produce_request, &body);
    body.acks = -1;
    body.timeout_ms = 5000;
    struct produce_request_topic_produce_data *t =
        produce_request_topic_data_new(&h->arena, &body, 1);
    t->name = slice_str(topic);
    struct produce_request_partition_produce_data *p =
        produce_request_topic_produce_data_partition_data_new(&h->arena, t, 1);
    p->index = partition;
    p->records.bytes = buf_slice(&batch);
    const struct produce_response *r = harness_call(h, WIRE_API_PRODUCE, 9, &body);
    buf_fini(&batch);
    return &r->responses[0].partition_responses[0];
}

#endif
