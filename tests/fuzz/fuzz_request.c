/* Arbitrary requests to a whole node in this process, over a connection: header, body, handler,
 * answer. The node lives on from input to input, as does what the requests before have made.
 *
 * Input: frames one after the other, each `uint16 size (little endian), bytes`; a size beyond the
 * end means the rest. They are sent in one go, then the sending side is closed and the answers are
 * read. A parked answer (a join that waits for others) is waited for shortly only. */
#include "fuzz.h"

#include "base/be.h"
#include "base/buf.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "conf/config.h"
#include "os/diag.h"
#include "os/io_linux.h"
#include "os/latch.h"
#include "server/node.h"
#include "store/log_dirs.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static struct {
    struct io *io;
    struct loop *loop;
    struct node *node;
    struct config *config;
    struct latch ready, stopped;
    char dir[32];
    bool ending;
} fuzzed;

static void on_ready(void *context, struct node *node)
{
    (void)context;
    fuzzed.node = node;
    latch_open(&fuzzed.ready);
}

/* No request may end the node. */
static void on_stopped(void *context, int exit_status)
{
    (void)context;
    ENSURE(fuzzed.ending && exit_status == 0);
    latch_open(&fuzzed.stopped);
}

static void end_node(void)
{
    fuzzed.ending = true;
    node_stop(fuzzed.node);
    latch_wait(&fuzzed.stopped);
    node_free(fuzzed.node);
    loop_stop(fuzzed.loop);
    config_unref(fuzzed.config);
    latch_fini(&fuzzed.ready);
    latch_fini(&fuzzed.stopped);
    io_linux_free(fuzzed.io);
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", fuzzed.dir);
    ENSURE(system(command) == 0);
}

static void start_node(void)
{
    snprintf(fuzzed.dir, sizeof fuzzed.dir, "/tmp/klamm-fuzz-XXXXXX");
    ENSURE(mkdtemp(fuzzed.dir));
    fuzzed.io = io_linux_new();
    diag_init(fuzzed.io, NULL, NULL);
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    struct log_meta meta = {.version = 1, .cluster_id = "AAAAAAAAAAAAAAAAAAAAAg", .node_id = 1};
    memset(meta.directory_id.bytes, 7, sizeof meta.directory_id.bytes);
    ENSURE(log_meta_write(fuzzed.io, fuzzed.dir, &meta) == ERR_NONE);
    char text[2048], *message = NULL;
    snprintf(text, sizeof text,
             "process.roles=broker,controller\nnode.id=1\nlog.dirs=%s\n"
             "listeners=PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0\n"
             "advertised.listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n"
             "controller.listener.names=CONTROLLER\ncontroller.quorum.voters=1@127.0.0.1:9093\n"
             "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
             "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
             "transaction.state.log.num.partitions=1\n"
             "group.initial.rebalance.delay.ms=0\nnum.network.threads=1\n"
             "auto.create.topics.enable=false\n",
             fuzzed.dir);
    struct properties properties;
    properties_init(&properties);
    int line;
    ENSURE(properties_parse(&properties, slice_str(text), &line) == ERR_NONE);
    ENSURE(config_new(&properties, &fuzzed.config, &message) == ERR_NONE);
    properties_fini(&properties);
    latch_init(&fuzzed.ready);
    latch_init(&fuzzed.stopped);
    fuzzed.loop = loop_start(fuzzed.io, "meta");
    struct node_options options = {.io = fuzzed.io,
                                   .loop = fuzzed.loop,
                                   .config = fuzzed.config,
                                   .ready = on_ready,
                                   .stopped = on_stopped};
    ENSURE(node_start(&options, &fuzzed.node, &message) == ERR_NONE);
    latch_wait(&fuzzed.ready);
    atexit(end_node);
}

/* -1 = libFuzzer's alarm came in between. */
static int try_dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(node_port(fuzzed.node))};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), late = 1;
    struct timeval limit = {.tv_usec = 100000};
    ENSURE(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    /* Thousands a second: one address would soon have no port that is not in TIME_WAIT. */
    static uint32_t count;
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &late, sizeof late);
    struct sockaddr_in from = {.sin_family = AF_INET};
    from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + count++ % 251);
    ENSURE(bind(fd, (struct sockaddr *)&from, sizeof from) == 0);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    ENSURE(errno == EINTR);
    close(fd);
    return -1;
}

static int dial(void)
{
    int fd;
    while ((fd = try_dial()) < 0)
        ;
    return fd;
}

static void put_frames(struct buf *out, const uint8_t *data, size_t size)
{
    while (size >= 2) {
        size_t part = (size_t)(data[0] | data[1] << 8);
        part = part < size - 2 ? part : size - 2;
        be_put_u32(buf_extend(out, 4), (uint32_t)part);
        buf_put(out, data + 2, part);
        data += 2 + part;
        size -= 2 + part;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!fuzzed.node)
        start_node();
    struct buf stream;
    buf_init(&stream);
    put_frames(&stream, data, size);
    int fd = dial();
    /* The node may close before all is sent. */
    if (send(fd, stream.data, stream.size, MSG_NOSIGNAL) == (ssize_t)stream.size &&
        shutdown(fd, SHUT_WR) == 0) {
        static uint8_t sink[1 << 16];
        while (recv(fd, sink, sizeof sink, 0) > 0)
            ;
    }
    close(fd);
    buf_fini(&stream);
    return 0;
}
