#include "net_fixture.h"

static void idle_400(struct net_config *config)
{
    config->idle_max_ms = 400;
}

/* Silent and half-frame clients are closed; one with a request under way is not. */
static void idle_connections_are_closed(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(idle_400);
    int parked = client_open(f);
    put_frame(parked, 'p', 20);
    wait_parked(f);
    int half = client_open(f);
    put_all(half, "\0\0\1\0half", 8);
    int silent = client_open(f);
    /* Later than the parked one's time, had it one, for they came later. */
    assert_true(is_ended(half));
    assert_true(is_ended(silent));
    release_parked(f);
    expect_echo(parked, 'p', 20);
    assert_true(is_ended(parked));
    assert_int_equal(net_counters(f->net).connections_idle_closed, 3);
    close(silent);
    close(half);
    close(parked);
    net_end(f);
}

static void echo_of(int fd, char what)
{
    put_frame(fd, what, 10);
    expect_echo(fd, what, 10);
}

/* A limit of its own ends a silent connection; not one that talks, has a request under way, or was
 * told that it has none any more. */
static void a_limit_closes_idle_connections_earlier(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int silent = client_open(f), talks = client_open(f), parked = client_open(f),
        unlimited = client_open(f);
    echo_of(talks, 'l');
    echo_of(parked, 'l');
    put_frame(parked, 'p', 20);
    wait_parked(f);
    echo_of(unlimited, 'l');
    echo_of(unlimited, 'L');
    echo_of(silent, 'l');
    while (!has_bytes(silent, 20))
        echo_of(talks, 'e');
    assert_true(is_ended(silent));
    assert_false(has_bytes(parked, 0));
    assert_false(has_bytes(unlimited, 0));
    release_parked(f);
    expect_echo(parked, 'p', 20);
    assert_true(is_ended(parked));
    assert_true(is_ended(talks));
    echo_of(unlimited, 'l');
    assert_true(is_ended(unlimited));
    assert_int_equal(net_counters(f->net).connections_idle_closed, 4);
    close(silent);
    close(talks);
    close(parked);
    close(unlimited);
    net_end(f);
}

static void defaults_are_kafkas(void **state)
{
    (void)state;
    struct net_config config;
    net_config_init(&config);
    assert_int_equal(config.request_size_max, 104857600);
    assert_int_equal(config.connections_max, INT32_MAX);
    assert_int_equal(config.idle_max_ms, 600000);
    assert_int_equal(config.backlog, 50);
}

static void counts(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    put_frame(fd, 'e', 100);
    expect_echo(fd, 'e', 100);
    struct net_counters c = net_counters(f->net);
    assert_int_equal(c.connections, 1);
    assert_int_equal(c.connections_accepted, 1);
    assert_int_equal(c.frames, 1);
    assert_int_equal(c.received_size, 104);
    close(fd);
    wait_closed(f, 1);
    while (net_counters(f->net).connections != 0)
        usleep(100);
    assert_int_equal(net_counters(f->net).sent_size, 104);
    assert_int_equal(net_counters(f->net).connections_closed, 1);
    net_end(f);
}

/* Nobody waits for a SYN to be sent again, a second or more each, because the loop was late. */
static void room_for_all(struct net_config *config)
{
    config->backlog = 1000;
}

/* Connections opened and dropped at once, many of them. */
static void churn(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(room_for_all);
    for (int i = 0; i < 1000; i++) {
        int fd = client_open(f);
        if (i % 3 == 0)
            put_frame(fd, 'e', 10);
        if (i % 5 == 0) {
            struct linger reset = {1, 0};
            setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
        close(fd);
    }
    net_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(idle_connections_are_closed),
                                       cmocka_unit_test(a_limit_closes_idle_connections_earlier),
                                       cmocka_unit_test(defaults_are_kafkas),
                                       cmocka_unit_test(counts), cmocka_unit_test(churn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
