#include "net_fixture.h"

#include "os/io_ops.h"

#include <errno.h>
#include <sys/resource.h>

static void limit_two(struct net_config *config)
{
    config->connections_max = 2;
}

/* The third client waits in the backlog until one of the others goes. */
static void accepting_pauses_at_the_limit(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(limit_two);
    int a = client_open(f), b = client_open(f);
    put_frame(a, 'e', 3);
    put_frame(b, 'e', 3);
    expect_echo(a, 'e', 3);
    expect_echo(b, 'e', 3);
    int c = client_open(f);
    put_frame(c, 'e', 3);
    assert_false(has_bytes(c, 50));
    close(a);
    expect_echo(c, 'e', 3);
    struct net_config config = f->config;
    config.connections_max = 3;
    int d = client_open(f);
    put_frame(d, 'e', 3);
    assert_false(has_bytes(d, 50));
    net_configure(f->net, &config); /* dynamic: more may come now */
    expect_echo(d, 'e', 3);
    close(b);
    close(c);
    close(d);
    net_end(f);
}

static const struct net_ip_limit overrides[] = {{"10.1.1.1", 100}, {"127.0.0.1", 1}};

static void limit_per_ip(struct net_config *config)
{
    config->connections_per_ip_max = 5;
}

static void too_many_of_one_address_are_closed(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(limit_per_ip);
    net_limit_ips(f->net, overrides, 2);
    int a = client_open(f);
    put_frame(a, 'e', 3);
    expect_echo(a, 'e', 3);
    int b = client_open(f);
    assert_true(is_ended(b));
    assert_int_equal(net_counters(f->net).connections_refused, 1);
    close(b);
    close(a);
    wait_closed(f, 1);
    while (net_counters(f->net).connections != 0)
        usleep(100);
    b = client_open(f);
    put_frame(b, 'e', 3);
    expect_echo(b, 'e', 3);
    close(b);
    net_end(f);
}

/* Without descriptors accepting pauses, and goes on by itself. */
static void survives_without_descriptors(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f), waiting = client_open(f), last = dup(fd);
    put_frame(fd, 'e', 3);
    expect_echo(fd, 'e', 3);
    while (net_counters(f->net).connections < 2)
        usleep(100);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    int late = socket(AF_INET, SOCK_STREAM, 0);
    none = (struct rlimit){(rlim_t)3, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons(f->port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    assert_int_equal(connect(late, (struct sockaddr *)&a, sizeof a), 0);
    while (net_counters(f->net).pauses_files == 0)
        usleep(1000);
    assert_true(diag_has(f, "no file descriptors left"));
    put_frame(waiting, 'e', 3); /* the others are served */
    expect_echo(waiting, 'e', 3);
    setrlimit(RLIMIT_NOFILE, &before);
    put_frame(late, 'e', 3);
    expect_echo(late, 'e', 3);
    close(fd);
    close(last);
    close(waiting);
    close(late);
    net_end(f);
}

static struct {
    const struct io_ops *sound;
    struct io_ops ops;
    _Atomic bool refuses;
    _Atomic int calls;
} accepting;

static enum err accept_or_not(struct io *io, int listen_fd, int *ret_fd,
                              struct io_address *ret_local, struct io_address *ret_peer)
{
    accepting.calls++;
    return accepting.refuses ? ERR_IO
                             : accepting.sound->accept(io, listen_fd, ret_fd, ret_local, ret_peer);
}

static void refuse_to_accept(struct io *io)
{
    accepting.sound = io->ops;
    accepting.ops = *io->ops;
    accepting.ops.accept = accept_or_not;
    accepting.refuses = true;
    io->ops = &accepting.ops;
}

/* A system that lets nobody in, though somebody waits, is asked again after a while. */
static void a_listener_that_fails_does_not_spin(void **state)
{
    (void)state;
    net_io_made = refuse_to_accept;
    struct net_fixture *f = net_start(NULL);
    net_io_made = NULL;
    int fd = client_open(f);
    for (int i = 0; i < 5000 && !diag_has(f, "connections wait meanwhile"); i++)
        usleep(1000);
    assert_true(diag_has(f, "connections wait meanwhile"));
    assert_true(accepting.calls < 1000);
    accepting.refuses = false;
    put_frame(fd, 'e', 3);
    expect_echo(fd, 'e', 3);
    close(fd);
    net_end(f);
}

static int client_connect(uint16_t port)
{
    struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    int failed = connect(fd, (struct sockaddr *)&a, sizeof a) ? errno : 0;
    close(fd);
    return failed;
}

static void ports(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    struct listener_info info = {.name = "OTHER"};
    struct io_address address = listener_info(f->listener)->bound;
    struct listener *other = NULL;
    assert_int_equal(listener_open(f->net, &info, &address, &other), ERR_BUSY);
    assert_null(other);
    address.port = 0;
    assert_int_equal(listener_open(f->net, &info, &address, &other), ERR_NONE);
    assert_int_not_equal(listener_info(other)->bound.port, f->port);
    assert_int_equal(client_connect(listener_info(other)->bound.port), ECONNREFUSED);
    assert_int_equal(listener_start(other), ERR_NONE);
    assert_int_equal(client_connect(listener_info(other)->bound.port), 0);
    struct listener *third = NULL;
    assert_int_equal(listener_open(f->net, &info, &address, &third), ERR_NONE);
    net_end(f); /* one listener was never started */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(accepting_pauses_at_the_limit),
                                       cmocka_unit_test(too_many_of_one_address_are_closed),
                                       cmocka_unit_test(survives_without_descriptors),
                                       cmocka_unit_test(a_listener_that_fails_does_not_spin),
                                       cmocka_unit_test(ports)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
