/* A stream of frames cut anywhere: each frame reaches the handler whole, in order and once, and a
 * size that is not allowed ends the connection.
 *
 * Input: a first byte (bit 0: memory for frames is nearly used up from the start), then steps of
 * three bytes `uint8 kind, uint16 size (little endian)`: kind % 8 = 0..3 a frame of that size,
 * 4 one of 16 times that size, 5 what was collected is sent now, 6 a frame whose end never comes,
 * 7 a size that is not allowed. The handler answers with a hash of what it got. */
#include "fuzz.h"

#include "base/be.h"
#include "base/buf.h"
#include "base/ensure.h"
#include "base/map.h"
#include "net/conn.h"
#include "net/listener.h"
#include "net/net.h"
#include "os/diag.h"
#include "os/io_linux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { REQUEST_SIZE_MAX = 1 << 20, TIGHT_SIZE = 128 << 10, STEPS_MAX = 200, ANSWER_SIZE = 8 };

static struct net *net;
static struct listener *listener;

static void answer(void *context, struct conn *conn, struct frame *frame)
{
    (void)context;
    struct buf body;
    buf_init(&body);
    be_put_u64(buf_extend(&body, ANSWER_SIZE), hash_bytes(frame->data, frame->size));
    conn_send_buf(conn, &body);
    conn_resume(conn);
    frame_free(frame);
}

static void start(void)
{
    struct io *io = io_linux_new();
    diag_init(io, NULL, NULL);
    diag_set_level(DIAG_ROOT, DIAG_FATAL);
    static struct loop *loop; /* net keeps the array's contents, the leak check finds it here */
    loop = loop_start(io, "net");
    struct net_config config;
    net_config_init(&config);
    struct net_handler handler = {.on_frame = answer};
    net = net_new(io, &config, &loop, 1, &handler, NULL);
    struct listener_info info = {.name = "FUZZ", .protocol = SECURITY_PLAINTEXT};
    struct io_address address = {.host = "127.0.0.1"};
    ENSURE(listener_open(net, &info, &address, &listener) == ERR_NONE);
    ENSURE(listener_start(listener) == ERR_NONE);
}

static int dial(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons(listener_info(listener)->bound.port)};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
    struct timeval limit = {.tv_sec = 30};
    ENSURE(fd >= 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    ENSURE(connect(fd, (struct sockaddr *)&to, sizeof to) == 0);
    return fd;
}

/* Sends what was collected; the node may have closed already. */
static void send_now(int fd, struct buf *stream)
{
    for (size_t at = 0; at < stream->size;) {
        ssize_t n = send(fd, stream->data + at, stream->size - at, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        at += (size_t)n;
    }
    stream->size = 0;
    sched_yield();
}

static uint64_t put_frame(struct buf *out, size_t size, uint8_t seed)
{
    be_put_u32(buf_extend(out, 4), (uint32_t)size);
    size_t from = out->size;
    uint8_t *bytes = buf_extend(out, size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(i * 31 + (i >> 8) + seed);
    return hash_bytes(out->data + from, size);
}

/* An answer, less at the end; libFuzzer's alarm may come in between. */
static size_t receive(int fd, uint8_t *bytes, size_t size)
{
    size_t got = 0;
    while (got < size) {
        ssize_t n = recv(fd, bytes + got, size - got, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        got += (size_t)n;
    }
    return got;
}

/* Answers until the end of the stream: these, all of them unless the node ended it. */
static void expect(int fd, const uint64_t *hashes, int count, bool all)
{
    uint8_t bytes[4 + ANSWER_SIZE];
    int got = 0;
    size_t size;
    while ((size = receive(fd, bytes, sizeof bytes)) == sizeof bytes) {
        ENSURE(got < count);
        ENSURE(be_u32(bytes) == ANSWER_SIZE);
        ENSURE(be_u64(bytes + 4) == hashes[got]);
        got++;
    }
    ENSURE(!all || (size == 0 && got == count));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    if (!net)
        start();
    struct net_config config;
    net_config_init(&config);
    config.request_size_max = REQUEST_SIZE_MAX;
    config.queued_size_max = data[0] & 1 ? TIGHT_SIZE : 0;
    net_configure(net, &config);
    uint64_t hashes[STEPS_MAX];
    int count = 0;
    bool refused = false, cut = false;
    struct buf stream;
    buf_init(&stream);
    int fd = dial();
    for (size_t at = 1; at + 3 <= size && at < 3 * STEPS_MAX && !refused && !cut; at += 3) {
        unsigned kind = data[at] % 8;
        size_t step_size = (size_t)(data[at + 1] | data[at + 2] << 8);
        if (kind == 5) {
            send_now(fd, &stream);
        } else if (kind == 6) {
            put_frame(&stream, step_size + 1, 0);
            stream.size -= 1 + step_size / 2;
            cut = true;
        } else if (kind == 7) {
            be_put_u32(buf_extend(&stream, 4), (uint32_t)(0x7fffffff + (step_size & 1)));
            refused = true;
        } else {
            hashes[count] =
                put_frame(&stream, kind == 4 ? step_size * 16 : step_size, (uint8_t)count);
            count++;
        }
    }
    send_now(fd, &stream);
    shutdown(fd, SHUT_WR);
    expect(fd, hashes, count, !refused);
    close(fd);
    buf_fini(&stream);
    return 0;
}
