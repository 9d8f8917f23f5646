#include "net_fixture.h"

#include <fcntl.h>

/* While a request is under way nothing more is parsed, though it has been received. */
static void one_request_at_a_time(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    uint8_t *first = make_frame('p', 20), *second = make_frame('e', 30);
    uint8_t both[58];
    memcpy(both, first, 24);
    memcpy(both + 24, second, 34);
    free(first);
    free(second);
    put_all(fd, both, sizeof both); /* one segment: the second waits in the stash */
    wait_parked(f);
    put_frame(fd, 'e', 40); /* this one waits in the socket */
    assert_false(has_bytes(fd, 30));
    assert_int_equal(value_of(f, &f->frames), 1);
    release_parked(f);
    expect_echo(fd, 'p', 20);
    expect_echo(fd, 'e', 30);
    expect_echo(fd, 'e', 40);
    close(fd);
    net_end(f);
}

static void no_reply_then_a_reply(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    put_frame(fd, 'n', 100);
    put_frame(fd, 'n', 100000);
    put_frame(fd, 'e', 7);
    expect_echo(fd, 'e', 7);
    assert_int_equal(value_of(f, &f->frames), 3);
    close(fd);
    net_end(f);
}

static void closes_as_told(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    put_frame(fd, 'c', 5);
    assert_true(is_ended(fd));
    close(fd);
    wait_closed(f, 1);
    net_end(f);
}

/* A client that goes away while its request is parked: on_close comes, the late answer is dropped.
 */
static void an_answer_after_the_close(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    put_frame(fd, 'p', 20);
    wait_parked(f);
    client_reset(fd);
    wait_closed(f, 1);
    release_parked(f);
    net_end(f);
}

/* A half-closed client still gets its answers. */
static void a_half_closed_client(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    put_frame(fd, 'p', 20);
    wait_parked(f);
    shutdown(fd, SHUT_WR);
    release_parked(f);
    expect_echo(fd, 'p', 20);
    assert_true(is_ended(fd));
    close(fd);
    fd = client_open(f); /* one whose answer does not fit into the socket */
    put_frame(fd, 'e', 500000);
    shutdown(fd, SHUT_WR);
    expect_echo(fd, 'e', 500000);
    assert_true(is_ended(fd));
    close(fd);
    wait_closed(f, 2);
    net_end(f);
}

static void small_buffers(struct net_config *config)
{
    config->send_buffer_size = 8192;
}

/* A client that does not read holds one answer and its connection is not read; others go on. */
static void a_slow_reader_is_bounded(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(small_buffers);
    set_reply(f, 3000000, f->range);
    int fd = client_open(f), other = client_open(f);
    for (int i = 0; i < 5; i++)
        put_frame(fd, 's', 10);
    put_frame(other, 'e', 10);
    expect_echo(other, 'e', 10);
    usleep(30000);
    assert_int_equal(value_of(f, &f->frames), 2);
    uint8_t *got = malloc(3000004);
    for (int i = 0; i < 5; i++) {
        assert_true(get_all(fd, got, 3000004));
        assert_int_equal(be_i32(got), 3000000);
        for (size_t k = 0; k < 3000000; k += 997)
            assert_int_equal(got[4 + k], 'a' + k % 26);
    }
    free(got);
    put_frame(fd, 'e', 1);
    expect_echo(fd, 'e', 1);
    assert_int_equal(value_of(f, &f->released), 5);
    close(fd);
    close(other);
    net_end(f);
}

static void file_open(struct net_fixture *f, size_t size)
{
    char path[] = "/tmp/klamm-test-XXXXXX";
    f->file_fd = mkstemp(path);
    unlink(path);
    uint8_t *bytes = make_frame('F', size);
    assert_int_equal(write(f->file_fd, bytes + 4, size), size);
    free(bytes);
    set_reply(f, f->reply_size, (struct outq_range){f->file_fd, 0, size});
}

static void expect_file(int fd, size_t from, size_t size)
{
    uint8_t *wanted = make_frame('F', from + size), *got = malloc(size + 6);
    assert_true(get_all(fd, got, size + 6));
    assert_int_equal(be_i32(got), size + 2);
    assert_memory_equal(got + 4, "ok", 2);
    assert_memory_equal(got + 6, wanted + 4 + from, size);
    free(wanted);
    free(got);
}

static void sends_file_ranges(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    file_open(f, 5000000);
    int fd = client_open(f);
    put_frame(fd, 'f', 5);
    put_frame(fd, 'f', 5);
    expect_file(fd, 0, 5000000);
    expect_file(fd, 0, 5000000);
    fsync(f->file_fd);
    posix_fadvise(f->file_fd, 0, 0, POSIX_FADV_DONTNEED); /* cold: read ahead by a worker */
    put_frame(fd, 'f', 5);
    expect_file(fd, 0, 5000000);
    set_reply(f, 0, (struct outq_range){f->file_fd, 0, 0});
    put_frame(fd, 'f', 5);
    expect_file(fd, 0, 0);
    close(fd);
    wait_closed(f, 1); /* the client may have the bytes before the loop has released them */
    assert_int_equal(value_of(f, &f->released), 4);
    close(f->file_fd);
    net_end(f);
}

/* Padding would be invented bytes: a range that ends early closes the connection. */
static void a_short_file_closes(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    file_open(f, 1000);
    set_reply(f, 0, (struct outq_range){f->file_fd, 0, 5000});
    int fd = client_open(f);
    put_frame(fd, 'f', 5);
    uint8_t got[2000];
    assert_false(get_all(fd, got, sizeof got));
    close(fd);
    wait_closed(f, 1);
    assert_int_equal(value_of(f, &f->released), 1);
    assert_true(diag_has(f, "a file ended before"));
    close(f->file_fd);
    net_end(f);
}

/* net_stop with requests under way, half frames and queued answers. */
static void stops_in_the_middle(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(small_buffers);
    set_reply(f, 2000000, f->range);
    file_open(f, 2000000);
    int fds[4];
    for (int i = 0; i < 4; i++)
        fds[i] = client_open(f);
    put_frame(fds[0], 'p', 20);
    wait_parked(f);
    put_frame(fds[1], 's', 20);
    put_frame(fds[2], 'f', 20);
    put_all(fds[3], "\0\0\1\0half", 8);
    usleep(10000);
    net_end(f);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
}

static void addresses(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    put_frame(fd, 'p', 2);
    wait_parked(f);
    struct conn *conn = f->parked;
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    getsockname(fd, (struct sockaddr *)&own, &size);
    assert_string_equal(conn_peer(conn)->host, "127.0.0.1");
    assert_int_equal(conn_peer(conn)->port, ntohs(own.sin_port));
    assert_int_equal(conn_local(conn)->port, f->port);
    assert_string_equal(conn_listener(conn)->name, "TEST");
    assert_ptr_equal(conn_net(conn), f->net);
    release_parked(f);
    expect_echo(fd, 'p', 2);
    close(fd);
    net_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_request_at_a_time), cmocka_unit_test(no_reply_then_a_reply),
        cmocka_unit_test(closes_as_told),        cmocka_unit_test(an_answer_after_the_close),
        cmocka_unit_test(a_half_closed_client),  cmocka_unit_test(a_slow_reader_is_bounded),
        cmocka_unit_test(sends_file_ranges),     cmocka_unit_test(a_short_file_closes),
        cmocka_unit_test(stops_in_the_middle),   cmocka_unit_test(addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
