/* A net over the Linux io with a scripted handler, and blocking clients in the test's own thread.
 * The first byte of a frame says what the handler does with it:
 *   e  echo the frame                n  no reply (acks=0)
 *   p  park until `release_parked`   s  reply with `reply_size` bytes in pieces
 *   f  reply: 2 bytes and the file   x  echo, then close      c  close at once
 *   h  hold the frame until the next request of any connection, reply at once
 *   w  work for 2 ms, then echo
 *   l  limit idling to 400 ms, echo  L  without such a limit again, echo */
#ifndef KLAMM_TESTS_NET_FIXTURE_H
#define KLAMM_TESTS_NET_FIXTURE_H

#include "base/be.h"
#include "base/mem.h"
#include "net/conn.h"
#include "net/listener.h"
#include "net/net.h"
#include "os/diag.h"
#include "os/io_linux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../unit.h"

enum { LOOPS = 2 };

struct net_fixture {
    struct io *io;
    struct loop *loops[LOOPS];
    struct net *net;
    struct net_config config;
    struct listener *listener;
    uint16_t port;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool done;
    int opened, closed, frames, released;
    struct conn *parked;
    struct frame parked_frame, held[64];
    int held_count;
    struct loop_task release_task;
    size_t reply_size;
    int file_fd;
    struct outq_range range;
    char last_diag[512];
};

static inline void count_release(void *owner)
{
    struct net_fixture *f = owner;
    pthread_mutex_lock(&f->mutex);
    f->released++;
    pthread_mutex_unlock(&f->mutex);
}

static inline void fixture_open(void *context, struct conn *conn)
{
    struct net_fixture *f = context;
    conn_set_user(conn, f);
    pthread_mutex_lock(&f->mutex);
    f->opened++;
    pthread_mutex_unlock(&f->mutex);
}

static inline void fixture_close(void *context, struct conn *conn)
{
    struct net_fixture *f = context;
    assert_true(conn_is_closed(conn));
    assert_ptr_equal(conn_user(conn), f);
    pthread_mutex_lock(&f->mutex);
    f->closed++;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

static inline void echo(struct conn *conn, const struct frame *frame)
{
    struct buf body;
    buf_init(&body);
    buf_put_slice(&body, frame_slice(frame));
    conn_send_buf(conn, &body);
}

static inline void reply_pieces(struct net_fixture *f, struct conn *conn)
{
    static uint8_t letters[26] = "abcdefghijklmnopqrstuvwxyz";
    size_t count = (f->reply_size + 25) / 26, left = f->reply_size;
    struct outq_item *items = mem_array(count, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        size_t part = left < 26 ? left : 26;
        items[i] = outq_memory(slice_of(letters, part), i + 1 == count ? count_release : NULL, f);
        left -= part;
    }
    conn_send(conn, items, count);
    mem_free(items);
}

static inline void fixture_frame(void *context, struct conn *conn, struct frame *frame)
{
    struct net_fixture *f = context;
    assert_true(loop_is_current(conn_loop(conn)));
    pthread_mutex_lock(&f->mutex);
    f->frames++;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->mutex);
    char what = frame->size ? (char)frame->data[0] : 'e';
    if (what == 'p') {
        pthread_mutex_lock(&f->mutex);
        f->parked = conn_ref(conn);
        f->parked_frame = frame_take(frame);
        pthread_cond_signal(&f->changed);
        pthread_mutex_unlock(&f->mutex);
        return;
    }
    if (what == 'c') {
        conn_close(conn);
        return;
    }
    if (what == 'h') {
        echo(conn, frame);
        f->held[f->held_count++] = frame_take(frame);
    } else if (what == 's') {
        reply_pieces(f, conn);
    } else if (what == 'f') {
        struct outq_item items[2] = {outq_memory(SLICE_LIT("ok"), NULL, NULL),
                                     outq_file(f->range, count_release, f)};
        conn_send(conn, items, 2);
    } else if (what != 'n') {
        if (what == 'w')
            usleep(2000);
        if (what == 'l' || what == 'L')
            conn_limit_idle(conn, what == 'l' ? 400 : 0);
        echo(conn, frame);
    }
    conn_resume(conn);
    frame_free(frame);
}

static inline void release_run(struct loop_task *task)
{
    struct net_fixture *f = LIST_ITEM(task, struct net_fixture, release_task);
    struct conn *conn = f->parked;
    f->parked = NULL;
    echo(conn, &f->parked_frame);
    frame_free(&f->parked_frame);
    conn_resume(conn);
    conn_unref(conn);
}

static inline void wait_parked(struct net_fixture *f)
{
    pthread_mutex_lock(&f->mutex);
    while (!f->parked)
        pthread_cond_wait(&f->changed, &f->mutex);
    pthread_mutex_unlock(&f->mutex);
}

static inline void release_parked(struct net_fixture *f)
{
    wait_parked(f);
    f->release_task.run = release_run;
    loop_post(conn_loop(f->parked), &f->release_task);
}

static inline void wait_closed(struct net_fixture *f, int count)
{
    pthread_mutex_lock(&f->mutex);
    while (f->closed < count)
        pthread_cond_wait(&f->changed, &f->mutex);
    pthread_mutex_unlock(&f->mutex);
}

static inline void stop_done(void *context)
{
    struct net_fixture *f = context;
    pthread_mutex_lock(&f->mutex);
    f->done = true;
    pthread_cond_signal(&f->changed);
    pthread_mutex_unlock(&f->mutex);
}

static inline void keep_diag(void *context, struct slice line)
{
    struct net_fixture *f = context;
    pthread_mutex_lock(&f->mutex);
    snprintf(f->last_diag, sizeof f->last_diag, "%.*s", SLICE_FMT(line));
    pthread_mutex_unlock(&f->mutex);
}

/* Whether the last line of diagnostics has the text. */
static inline bool diag_has(struct net_fixture *f, const char *text)
{
    pthread_mutex_lock(&f->mutex);
    bool has = strstr(f->last_diag, text) != NULL;
    pthread_mutex_unlock(&f->mutex);
    return has;
}

static inline int value_of(struct net_fixture *f, const int *counter)
{
    pthread_mutex_lock(&f->mutex);
    int value = *counter;
    pthread_mutex_unlock(&f->mutex);
    return value;
}

/* What the 's' and 'f' replies are made of from now on. */
static inline void set_reply(struct net_fixture *f, size_t reply_size, struct outq_range range)
{
    pthread_mutex_lock(&f->mutex);
    f->reply_size = reply_size;
    f->range = range;
    pthread_mutex_unlock(&f->mutex);
}

/* For a test with calls of its own, before any loop makes one; NULL: none. */
static void (*net_io_made)(struct io *io);

/* `adjust` may change the limits first. */
static inline struct net_fixture *net_start(void (*adjust)(struct net_config *config))
{
    struct net_fixture *f = calloc(1, sizeof *f);
    pthread_mutex_init(&f->mutex, NULL);
    pthread_cond_init(&f->changed, NULL);
    f->io = io_linux_new();
    if (net_io_made)
        net_io_made(f->io);
    diag_init(f->io, keep_diag, f);
    for (int i = 0; i < LOOPS; i++)
        f->loops[i] = loop_start(f->io, "test");
    net_config_init(&f->config);
    if (adjust)
        adjust(&f->config);
    struct net_handler handler = {
        .on_open = fixture_open, .on_frame = fixture_frame, .on_close = fixture_close};
    f->net = net_new(f->io, &f->config, f->loops, LOOPS, &handler, f);
    struct listener_info info = {.name = "TEST", .protocol = SECURITY_PLAINTEXT};
    struct io_address address = {.host = "127.0.0.1"};
    assert_int_equal(listener_open(f->net, &info, &address, &f->listener), ERR_NONE);
    f->port = listener_info(f->listener)->bound.port;
    assert_int_equal(listener_start(f->listener), ERR_NONE);
    return f;
}

static inline void net_end(struct net_fixture *f)
{
    net_stop(f->net, stop_done, f);
    pthread_mutex_lock(&f->mutex);
    while (!f->done)
        pthread_cond_wait(&f->changed, &f->mutex);
    pthread_mutex_unlock(&f->mutex);
    assert_int_equal(f->opened, f->closed);
    while (net_is_busy(f->net))
        usleep(1000);
    for (int i = 0; i < f->held_count; i++)
        frame_free(&f->held[i]);
    if (f->parked) {
        frame_free(&f->parked_frame);
        conn_unref(f->parked);
    }
    for (int i = 0; i < LOOPS; i++)
        loop_stop(f->loops[i]);
    net_free(f->net);
    diag_init(NULL, NULL, NULL);
    io_linux_free(f->io);
    pthread_mutex_destroy(&f->mutex);
    pthread_cond_destroy(&f->changed);
    free(f);
}

static inline int client_open(struct net_fixture *f)
{
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(f->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof a), 0);
    struct timeval limit = {.tv_sec = 10};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return fd;
}

/* Closes with a reset, so that the server sees it even with a request under way. */
static inline void client_reset(int fd)
{
    struct linger reset = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    close(fd);
}

static inline void put_all(int fd, const void *data, size_t size)
{
    const uint8_t *at = data;
    while (size > 0) {
        ssize_t put = send(fd, at, size, MSG_NOSIGNAL);
        assert_true(put > 0);
        at += put;
        size -= (size_t)put;
    }
}

/* A frame of `size` bytes: `what`, then a pattern that depends on the position. */
static inline uint8_t *make_frame(char what, size_t size)
{
    uint8_t *bytes = malloc(size + 16);
    be_put_i32(bytes, (int32_t)size);
    for (size_t i = 0; i < size; i++)
        bytes[4 + i] = (uint8_t)(i * 31 + i / 251);
    if (size > 0)
        bytes[4] = (uint8_t)what;
    return bytes;
}

static inline void put_frame(int fd, char what, size_t size)
{
    uint8_t *bytes = make_frame(what, size);
    put_all(fd, bytes, size + 4);
    free(bytes);
}

/* False when the connection ends first. */
static inline bool get_all(int fd, void *ret_data, size_t size)
{
    uint8_t *at = ret_data;
    while (size > 0) {
        ssize_t got = recv(fd, at, size, 0);
        if (got < 0 && errno == EINTR)
            continue;
        assert_true(got >= 0 || errno == ECONNRESET);
        if (got <= 0)
            return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static inline void expect_echo(int fd, char what, size_t size)
{
    uint8_t *wanted = make_frame(what, size), *got = malloc(size + 4);
    assert_true(get_all(fd, got, size + 4));
    assert_memory_equal(got, wanted, size + 4);
    free(wanted);
    free(got);
}

static inline bool is_ended(int fd)
{
    uint8_t byte;
    return !get_all(fd, &byte, 1);
}

static inline bool has_bytes(int fd, int wait_ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, wait_ms) == 1;
}

#endif
