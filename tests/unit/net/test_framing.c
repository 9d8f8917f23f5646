#include "net_fixture.h"

static void echoes_frames_of_every_size(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    /* Shared, view, body, direct, and back; sizes around each border. */
    static const size_t sizes[] = {1,       10,      8191,    8192,    16384, 65531, 65532, 65536,
                                   65537,   10,      100000,  100000,  50000, 3,     17000, 17000,
                                   1000000, 1000000, 3000000, 3000000, 20000, 9000,  0,     5};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        put_frame(fd, 'e', sizes[i]);
        expect_echo(fd, 'e', sizes[i]);
    }
    close(fd);
    wait_closed(f, 1);
    assert_int_equal(net_counters(f->net).queued_size, 0);
    assert_int_equal(net_counters(f->net).frames, sizeof sizes / sizeof sizes[0]);
    net_end(f);
}

static void frames_may_come_byte_by_byte(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f), one = 1;
    setsockopt(fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof one);
    uint8_t *bytes = make_frame('e', 40);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 44; i++) {
            put_all(fd, bytes + i, 1);
            if (i < 8)
                usleep(1000);
        }
        expect_echo(fd, 'e', 40);
    }
    free(bytes);
    close(fd);
    net_end(f);
}

/* All sizes in one write: frames end anywhere in the buffers. */
static void pipelined_frames_are_answered_in_order(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    enum { FRAMES = 300 };
    size_t sizes[FRAMES], total = 0;
    uint32_t random = 1;
    for (int i = 0; i < FRAMES; i++) {
        random = random * 1103515245 + 12345;
        sizes[i] = 1 + (random >> 8) % (i % 10 == 0 ? 200000 : 3000);
        total += sizes[i] + 4;
    }
    uint8_t *all = malloc(total), *at = all;
    for (int i = 0; i < FRAMES; i++) {
        uint8_t *frame = make_frame('e', sizes[i]);
        memcpy(at, frame, sizes[i] + 4);
        at += sizes[i] + 4;
        free(frame);
    }
    pid_t writer = fork();
    if (writer == 0) {
        for (size_t done = 0; done < total;) {
            ssize_t put = send(fd, all + done, total - done, MSG_NOSIGNAL);
            if (put <= 0)
                _exit(1);
            done += (size_t)put;
        }
        _exit(0);
    }
    for (int i = 0; i < FRAMES; i++)
        expect_echo(fd, 'e', sizes[i]);
    free(all);
    close(fd);
    net_end(f);
}

/* Small requests that came together may cost any amount of work: other connections of the loop get
 * their turns meanwhile, and every frame is answered in its order. */
static void work_is_done_in_turns(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    enum { FRAMES = 100, SIZE = 10, OTHERS = 3 };
    int fd = client_open(f), others[OTHERS];
    uint8_t all[FRAMES * (SIZE + 4)];
    for (int i = 0; i < FRAMES; i++) {
        uint8_t *frame = make_frame('w', SIZE);
        memcpy(all + i * (SIZE + 4), frame, SIZE + 4);
        free(frame);
    }
    for (int i = 0; i < OTHERS; i++) /* one of them at least is on its loop */
        others[i] = client_open(f);
    put_all(fd, all, sizeof all);
    while (value_of(f, &f->frames) < 2)
        usleep(100);
    for (int i = 0; i < OTHERS; i++) {
        put_frame(others[i], 'e', SIZE);
        expect_echo(others[i], 'e', SIZE);
    }
    assert_true(value_of(f, &f->frames) < FRAMES + OTHERS);
    for (int i = 0; i < FRAMES; i++)
        expect_echo(fd, 'w', SIZE);
    for (int i = 0; i < OTHERS; i++)
        close(others[i]);
    close(fd);
    net_end(f);
}

static void limit_1000(struct net_config *config)
{
    config->request_size_max = 1000;
}

/* As Apache Kafka: -1 and 1001 close the connection without an answer; 1000 is served. */
static void bad_sizes_close_with_one_line(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(limit_1000);
    static const int32_t sizes[] = {-1, 1001, INT32_MIN, INT32_MAX};
    for (int i = 0; i < 4; i++) {
        int fd = client_open(f);
        put_frame(fd, 'e', 1000);
        expect_echo(fd, 'e', 1000);
        uint8_t prefix[4];
        be_put_i32(prefix, sizes[i]);
        put_all(fd, prefix, 4);
        assert_true(is_ended(fd));
        close(fd);
        wait_closed(f, i + 1);
        char wanted[64];
        snprintf(wanted, sizeof wanted, "announced a request of %d bytes", sizes[i]);
        assert_true(diag_has(f, wanted));
        assert_true(diag_has(f, "socket.request.max.bytes"));
    }
    assert_int_equal(net_counters(f->net).frames_bad, 4);
    net_end(f);
}

/* A client announces 100 MB and sends little: memory follows the bytes received. */
static void memory_grows_with_the_bytes(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(NULL);
    int fd = client_open(f);
    uint8_t prefix[4];
    be_put_i32(prefix, 104857600);
    put_all(fd, prefix, 4);
    static uint8_t part[300000];
    put_all(fd, part, 1000);
    while (net_counters(f->net).received_size < 1004)
        usleep(1000);
    assert_in_range(net_counters(f->net).queued_size, 1, 65536);
    put_all(fd, part, sizeof part);
    while (net_counters(f->net).received_size < 301004)
        usleep(1000);
    assert_in_range(net_counters(f->net).queued_size, 301000, 700000);
    close(fd);
    wait_closed(f, 1);
    assert_int_equal(net_counters(f->net).queued_size, 0);
    net_end(f);
}

static void small_budget(struct net_config *config)
{
    config->queued_size_max = 1 << 20;
    config->small_frame_size = 4096;
}

/* Held frames use the budget up: a big frame waits, a small one gets through, and the big one comes
 * once memory is free. */
static void reading_pauses_without_memory(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(small_budget);
    int holder = client_open(f), big = client_open(f), small = client_open(f);
    put_frame(holder, 'p', 900000);
    wait_parked(f);
    put_frame(big, 'e', 300000);
    while (net_counters(f->net).pauses_memory == 0)
        usleep(1000);
    put_frame(small, 'e', 500);
    expect_echo(small, 'e', 500);
    assert_false(has_bytes(big, 50));
    assert_true(net_counters(f->net).queued_size <= (1 << 20) + (1 << 17));
    release_parked(f);
    expect_echo(holder, 'p', 900000);
    expect_echo(big, 'e', 300000);
    close(holder);
    close(big);
    close(small);
    wait_closed(f, 3);
    assert_int_equal(net_counters(f->net).queued_size, 0);
    net_end(f);
}

/* Half frames alone fill the budget: one of them may go beyond it, so nothing is stuck for ever. A
 * frame above the whole budget gets through likewise. */
static void half_frames_cannot_block_each_other(void **state)
{
    (void)state;
    struct net_fixture *f = net_start(small_budget);
    enum { CLIENTS = 6 };
    int fds[CLIENTS];
    uint8_t *frame = make_frame('e', 2500000);
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = client_open(f);
        put_all(fds[i], frame, 250000);
    }
    pid_t writer = fork();
    if (writer == 0) {
        for (int i = 0; i < CLIENTS; i++)
            if (fork() == 0) {
                for (size_t done = 250000; done < 2500004;) {
                    ssize_t put = send(fds[i], frame + done, 2500004 - done, MSG_NOSIGNAL);
                    if (put <= 0)
                        _exit(1);
                    done += (size_t)put;
                }
                _exit(0);
            }
        _exit(0);
    }
    for (int i = 0; i < CLIENTS; i++) {
        expect_echo(fds[i], 'e', 2500000);
        close(fds[i]);
    }
    free(frame);
    wait_closed(f, CLIENTS);
    assert_int_equal(net_counters(f->net).queued_size, 0);
    net_end(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(echoes_frames_of_every_size),
        cmocka_unit_test(frames_may_come_byte_by_byte),
        cmocka_unit_test(pipelined_frames_are_answered_in_order),
        cmocka_unit_test(work_is_done_in_turns),
        cmocka_unit_test(bad_sizes_close_with_one_line),
        cmocka_unit_test(memory_grows_with_the_bytes),
        cmocka_unit_test(reading_pauses_without_memory),
        cmocka_unit_test(half_frames_cannot_block_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
