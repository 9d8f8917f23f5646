#include "os_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

static void wait_for(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    assert_int_equal(poll(&p, 1, 5000), 1);
}

struct pair {
    int listen_fd, client, server;
    struct io_address bound, local, peer;
};

static struct pair pair_open(struct fixture *f)
{
    struct pair p;
    struct io_address address;
    assert_int_equal(io_resolve(f->io, "127.0.0.1", 0, &address), ERR_NONE);
    assert_int_equal(io_bind(f->io, &address, &p.listen_fd, &p.bound), ERR_NONE);
    assert_int_equal(io_listen(f->io, p.listen_fd, 8), ERR_NONE);
    assert_int_not_equal(p.bound.port, 0);
    int none = -3;
    assert_int_equal(io_accept(f->io, p.listen_fd, &none, NULL, NULL), ERR_AGAIN);
    assert_int_equal(io_connect(f->io, &p.bound, &p.client), ERR_NONE);
    wait_for(p.client, POLLOUT);
    assert_int_equal(io_connect_result(f->io, p.client), ERR_NONE);
    wait_for(p.listen_fd, POLLIN);
    assert_int_equal(io_accept(f->io, p.listen_fd, &p.server, &p.local, &p.peer), ERR_NONE);
    return p;
}

static void pair_close(struct fixture *f, struct pair *p)
{
    io_close(f->io, p->client);
    io_close(f->io, p->server);
    io_close(f->io, p->listen_fd);
}

static void addresses(void **state)
{
    struct fixture *f = *state;
    struct pair p = pair_open(f);
    assert_string_equal(p.local.host, "127.0.0.1");
    assert_int_equal(p.local.port, p.bound.port);
    assert_string_equal(p.peer.host, "127.0.0.1");
    assert_int_not_equal(p.peer.port, p.bound.port);
    int fd;
    struct io_address again;
    assert_int_equal(io_bind(f->io, &p.bound, &fd, &again), ERR_BUSY);
    struct io_address a;
    assert_int_equal(io_resolve(f->io, "", 9092, &a), ERR_NONE);
    assert_string_equal(a.host, "::");
    assert_int_equal(a.port, 9092);
    assert_int_equal(io_resolve(f->io, "localhost", 1, &a), ERR_NONE);
    assert_string_equal(a.host, "127.0.0.1");
    assert_int_equal(io_resolve(f->io, "no such host!", 1, &a), ERR_NOT_FOUND);
    pair_close(f, &p);
}

/* A dual-stack listener shows an IPv4 client as IPv4. */
static void wildcard_takes_both(void **state)
{
    struct fixture *f = *state;
    struct io_address any = {.host = "::"}, bound, local, peer;
    int listen_fd, client, server;
    assert_int_equal(io_bind(f->io, &any, &listen_fd, &bound), ERR_NONE);
    assert_int_equal(io_listen(f->io, listen_fd, 8), ERR_NONE);
    struct io_address v4 = {.host = "127.0.0.1", .port = bound.port};
    assert_int_equal(io_connect(f->io, &v4, &client), ERR_NONE);
    wait_for(listen_fd, POLLIN);
    assert_int_equal(io_accept(f->io, listen_fd, &server, &local, &peer), ERR_NONE);
    assert_string_equal(local.host, "127.0.0.1");
    assert_string_equal(peer.host, "127.0.0.1");
    io_close(f->io, client);
    io_close(f->io, server);
    io_close(f->io, listen_fd);
}

static int dial(uint16_t port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port)};
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int failed = connect(fd, (struct sockaddr *)&a, sizeof a) ? errno : 0;
    close(fd);
    return failed;
}

/* Whoever connects before io_listen is told at once that nobody is there, and who wants the port
 * that it is taken: also with a connection of an earlier listener that waits for its end there. */
static void check_bound(struct fixture *f, struct io_address address)
{
    struct io_address bound;
    for (int round = 0; round < 3; round++) {
        int fd, other;
        assert_int_equal(io_bind(f->io, &address, &fd, &bound), ERR_NONE);
        address.port = bound.port;
        assert_int_equal(dial(bound.port), ECONNREFUSED);
        assert_int_equal(io_bind(f->io, &bound, &other, NULL), ERR_BUSY);
        assert_int_equal(io_listen(f->io, fd, 8), ERR_NONE);
        assert_int_equal(io_bind(f->io, &bound, &other, NULL), ERR_BUSY);
        struct pair p = {.listen_fd = fd};
        struct io_address v4 = {.host = "127.0.0.1", .port = bound.port};
        assert_int_equal(io_connect(f->io, &v4, &p.client), ERR_NONE);
        wait_for(fd, POLLIN);
        assert_int_equal(io_accept(f->io, fd, &p.server, NULL, NULL), ERR_NONE);
        io_close(f->io, p.server); /* the side that closes first holds the port for a while */
        wait_for(p.client, POLLIN);
        io_close(f->io, p.client);
        io_close(f->io, fd);
    }
}

static void bound_is_not_listening(void **state)
{
    check_bound(*state, (struct io_address){.host = "127.0.0.1"});
    check_bound(*state, (struct io_address){.host = "::"});
}

static void sends_and_receives(void **state)
{
    struct fixture *f = *state;
    struct pair p = pair_open(f);
    char data[64];
    size_t size = 77;
    assert_int_equal(io_recv(f->io, p.server, data, sizeof data, &size), ERR_AGAIN);
    assert_int_equal(size, 77);
    struct iovec parts[2] = {{(void *)(uintptr_t) "ab", 2}, {(void *)(uintptr_t) "cde", 3}};
    assert_int_equal(io_sendv(f->io, p.client, parts, 2, false, &size), ERR_NONE);
    assert_int_equal(size, 5);
    wait_for(p.server, POLLIN);
    assert_int_equal(io_recv(f->io, p.server, data, sizeof data, &size), ERR_NONE);
    assert_int_equal(size, 5);
    assert_memory_equal(data, "abcde", 5);

    int fd;
    assert_int_equal(io_open(f->io, in_folder(f, "a"), IO_READ | IO_WRITE | IO_CREATE, &fd),
                     ERR_NONE);
    assert_int_equal(io_pwrite(f->io, fd, "0123456789", 10, 0), ERR_NONE);
    assert_int_equal(io_sendv(f->io, p.client, parts, 1, true, &size), ERR_NONE);
    assert_int_equal(io_sendfile(f->io, p.client, fd, 3, 4, &size), ERR_NONE);
    assert_int_equal(size, 4);
    assert_int_equal(io_sendfile(f->io, p.client, fd, 10, 4, &size), ERR_CORRUPT);
    wait_for(p.server, POLLIN);
    assert_int_equal(io_recv(f->io, p.server, data, sizeof data, &size), ERR_NONE);
    assert_memory_equal(data, "ab3456", size);
    io_close(f->io, fd);
    pair_close(f, &p);
}

static void a_closed_peer_is_no_signal(void **state)
{
    struct fixture *f = *state;
    struct pair p = pair_open(f);
    io_set_buffers(f->io, p.server, 20000, -1);
    static char block[1 << 20];
    struct iovec part = {block, sizeof block};
    size_t size, total = 0;
    enum err e;
    while ((e = io_sendv(f->io, p.server, &part, 1, false, &size)) == ERR_NONE)
        total += size;
    assert_int_equal(e, ERR_AGAIN);
    assert_true(total > 0);
    io_close(f->io, p.client); /* with unread bytes: a reset */
    wait_for(p.server, POLLIN);
    assert_int_equal(io_recv(f->io, p.server, block, 10, &size), ERR_CLOSED);
    assert_int_equal(io_sendv(f->io, p.server, &part, 1, false, &size), ERR_CLOSED);
    int fd;
    assert_int_equal(io_open(f->io, "/proc/self/exe", IO_READ, &fd), ERR_NONE);
    assert_int_equal(io_sendfile(f->io, p.server, fd, 0, 4096, &size), ERR_CLOSED);
    io_close(f->io, fd);
    io_close(f->io, p.server);
    io_close(f->io, p.listen_fd);
}

static void a_refused_connect_is_closed(void **state)
{
    struct fixture *f = *state;
    struct pair p = pair_open(f);
    pair_close(f, &p);
    int fd;
    enum err e = io_connect(f->io, &p.bound, &fd);
    if (e == ERR_NONE) {
        wait_for(fd, POLLOUT);
        e = io_connect_result(f->io, fd);
        io_close(f->io, fd);
    }
    assert_int_equal(e, ERR_CLOSED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {FIXTURE_TEST(addresses),
                                       FIXTURE_TEST(wildcard_takes_both),
                                       FIXTURE_TEST(bound_is_not_listening),
                                       FIXTURE_TEST(sends_and_receives),
                                       FIXTURE_TEST(a_closed_peer_is_no_signal),
                                       FIXTURE_TEST(a_refused_connect_is_closed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
