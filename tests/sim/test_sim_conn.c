/* Connections (src/net) in the simulator: many clients with random frames, parked answers, cold
 * file ranges, small buffers, little memory, resets and cuts; over many seeds. Whatever happens,
 * answers come whole, in order and none twice, on_close comes once, and all memory is given back.
 */
#include "base/be.h"
#include "base/mem.h"
#include "net/conn.h"
#include "os/diag.h"
#include "sim_io.h"

#include <string.h>

#include "../unit/unit.h"

enum { CLIENTS = 8, REQUESTS = 30, LOOPS = 2, FILE_SIZE = 300000 };

struct parked {
    struct loop_timer timer;
    struct world *world;
    struct conn *conn;
    struct frame frame;
};

struct client {
    struct world *world;
    struct loop_watch watch;
    struct loop_timer retry;
    int sent_count, got_count; /* whole requests sent, whole answers received */
    uint8_t *out;              /* the request being sent */
    size_t out_size, out_sent;
    uint8_t in[4 + 128 * 1024];
    size_t in_size;
    uint32_t sizes[REQUESTS];
    char kinds[REQUESTS];
    bool ended, connected;
};

struct world {
    struct sim *sim;
    struct sim_machine *server, *clients_machine;
    struct io *io, *client_io;
    struct loop *loops[LOOPS], *client_loop;
    struct net *net;
    struct loop_task start_task;
    struct io_address address;
    struct client clients[CLIENTS];
    int opened, closed, parked, released;
    int file_fd;
    bool stopped, faulty;
};

/* ---- the server -------------------------------------------------------------------------------
 */

static void on_open(void *context, struct conn *conn)
{
    (void)conn;
    ((struct world *)context)->opened++;
}

static void on_close(void *context, struct conn *conn)
{
    assert_true(conn_is_closed(conn));
    ((struct world *)context)->closed++;
}

static void range_released(void *owner)
{
    ((struct world *)owner)->released++;
}

/* The answer repeats the frame; kind 'f' adds a part of the file. */
static void answer(struct world *w, struct conn *conn, struct frame *frame)
{
    struct buf body;
    buf_init(&body);
    buf_put_slice(&body, frame_slice(frame));
    if (frame->data[0] == 'f') {
        size_t from = be_u32(frame->data + 1) % (FILE_SIZE - 50000);
        struct outq_item items[2] = {
            outq_memory(buf_slice(&body), mem_free, body.data),
            outq_file((struct outq_range){w->file_fd, (int64_t)from, 50000}, range_released, w)};
        conn_send(conn, items, 2);
    } else {
        conn_send_buf(conn, &body);
    }
    frame_free(frame);
    conn_resume(conn);
}

static void parked_over(struct loop_timer *timer)
{
    struct parked *p = LIST_ITEM(timer, struct parked, timer);
    answer(p->world, p->conn, &p->frame);
    conn_unref(p->conn);
    p->world->parked--;
    mem_free(p);
}

static void on_frame(void *context, struct conn *conn, struct frame *frame)
{
    struct world *w = context;
    if (frame->data[0] != 'p') {
        answer(w, conn, frame);
        return;
    }
    struct parked *p = mem_zalloc(sizeof *p);
    p->world = w;
    p->conn = conn_ref(conn);
    p->frame = frame_take(frame);
    p->timer.expired = parked_over;
    w->parked++;
    int64_t wait_us = (int64_t)sim_random_below(w->sim, 20000);
    loop_timer_set(conn_loop(conn), &p->timer, io_mono_ns(w->io) + wait_us * 1000);
}

/* ---- the clients ------------------------------------------------------------------------------
 */

static uint8_t pattern(const struct client *c, int request, size_t at)
{
    return (uint8_t)((c - c->world->clients) * 7 + request * 13 + (int)(at % 251));
}

static void client_end(struct client *c)
{
    if (c->ended)
        return;
    c->ended = true;
    loop_timer_cancel(c->world->client_loop, &c->retry);
    loop_watch_remove(c->world->client_loop, &c->watch);
    io_close(c->world->client_io, c->watch.fd);
    mem_free(c->out);
    c->out = NULL;
}

static void make_request(struct client *c)
{
    struct world *w = c->world;
    int n = c->sent_count;
    static const char kinds[] = "eeeepf";
    c->kinds[n] = kinds[sim_random_below(w->sim, 6)];
    uint64_t limit = sim_chance(w->sim, 20) ? 120000 : 3000;
    c->sizes[n] = (uint32_t)(5 + sim_random_below(w->sim, limit));
    if (c->kinds[n] == 'f' && c->sizes[n] > 60000)
        c->sizes[n] = 60000;
    c->out_size = 4 + c->sizes[n];
    c->out_sent = 0;
    c->out = mem_alloc(c->out_size);
    be_put_u32(c->out, c->sizes[n]);
    for (size_t i = 0; i < c->sizes[n]; i++)
        c->out[4 + i] = pattern(c, n, i);
    c->out[4] = (uint8_t)c->kinds[n];
}

static void client_send(struct client *c)
{
    while (c->sent_count < REQUESTS && !c->ended) {
        if (!c->out)
            make_request(c);
        struct iovec part = {c->out + c->out_sent, c->out_size - c->out_sent};
        size_t size = 0;
        enum err e = io_sendv(c->world->client_io, c->watch.fd, &part, 1, false, &size);
        if (e == ERR_AGAIN)
            return;
        if (e) {
            assert_true(c->world->faulty);
            client_end(c);
            return;
        }
        c->out_sent += size;
        if (c->out_sent < c->out_size)
            continue;
        mem_free(c->out);
        c->out = NULL;
        c->sent_count++;
        if (sim_chance(c->world->sim, 50)) /* the rest later: not everything is pipelined */
            return;
    }
}

/* Checks whole answers at the front of `in`. */
static void client_check(struct client *c)
{
    while (c->in_size >= 4) {
        int n = c->got_count;
        size_t size = be_u32(c->in);
        assert_true(n < c->sent_count || (n == c->sent_count && c->out)); /* asked for */
        size_t wanted = c->sizes[n] + (c->kinds[n] == 'f' ? 50000 : 0);
        assert_int_equal(size, wanted);
        if (c->in_size < 4 + size)
            return;
        assert_int_equal(c->in[4], c->kinds[n]);
        for (size_t i = 1; i < c->sizes[n]; i++)
            if (c->in[4 + i] != pattern(c, n, i))
                fail_msg("client %d: answer %d differs at %zu", (int)(c - c->world->clients), n, i);
        size_t from = be_u32(c->in + 5) % (FILE_SIZE - 50000);
        for (size_t i = c->sizes[n]; i < size; i++)
            assert_int_equal(c->in[4 + i], (uint8_t)((from + i - c->sizes[n]) * 31 >> 3));
        memmove(c->in, c->in + 4 + size, c->in_size - 4 - size);
        c->in_size -= 4 + size;
        c->got_count++;
    }
}

static void client_ready(struct loop_watch *watch, unsigned events)
{
    struct client *c = LIST_ITEM(watch, struct client, watch);
    struct world *w = c->world;
    if (events & LOOP_READABLE) {
        size_t size = 0;
        enum err e =
            io_recv(w->client_io, watch->fd, c->in + c->in_size, sizeof c->in - c->in_size, &size);
        if (e && e != ERR_AGAIN) {
            assert_true(w->faulty);
            client_end(c);
            return;
        }
        c->in_size += size;
        client_check(c);
    }
    if (events & LOOP_WRITABLE)
        client_send(c);
    if (c->ended)
        return;
    if (c->got_count == REQUESTS) {
        client_end(c);
        return;
    }
    unsigned wanted = sim_chance(w->sim, 10) ? 0 : LOOP_READABLE;
    if (c->sent_count < REQUESTS)
        wanted |= LOOP_WRITABLE;
    if (wanted != (LOOP_READABLE | LOOP_WRITABLE) && !(wanted & LOOP_READABLE))
        loop_timer_set(w->client_loop, &c->retry, io_mono_ns(w->client_io) + 30000000);
    assert_int_equal(loop_watch_set(w->client_loop, watch, wanted), ERR_NONE);
}

static void client_retry(struct loop_timer *timer)
{
    struct client *c = LIST_ITEM(timer, struct client, retry);
    unsigned wanted = LOOP_READABLE | (c->sent_count < REQUESTS ? LOOP_WRITABLE : 0);
    assert_int_equal(loop_watch_set(c->world->client_loop, &c->watch, wanted), ERR_NONE);
}

static void clients_start(struct loop_task *task)
{
    struct world *w = LIST_ITEM(task, struct world, start_task);
    for (int i = 0; i < CLIENTS; i++) {
        struct client *c = &w->clients[i];
        c->world = w;
        c->watch.ready = client_ready;
        c->retry.expired = client_retry;
        assert_int_equal(io_connect(w->client_io, &w->address, &c->watch.fd), ERR_NONE);
        assert_int_equal(loop_watch_set(w->client_loop, &c->watch, LOOP_READABLE | LOOP_WRITABLE),
                         ERR_NONE);
    }
}

static bool clients_ended(void *context)
{
    struct world *w = context;
    for (int i = 0; i < CLIENTS; i++)
        if (!w->clients[i].ended)
            return false;
    return true;
}

static bool server_quiet(void *context)
{
    struct world *w = context;
    return w->closed == w->opened && w->parked == 0;
}

static void net_stopped(void *context)
{
    ((struct world *)context)->stopped = true;
}

static bool is_stopped(void *context)
{
    return ((struct world *)context)->stopped;
}

/* ---- one run ----------------------------------------------------------------------------------
 */

static struct world *world_new(uint64_t seed, bool faulty)
{
    struct world *w = mem_zalloc(sizeof *w);
    w->sim = sim_new(seed);
    w->faulty = faulty;
    w->server = sim_machine_new(w->sim, "server");
    w->clients_machine = sim_machine_new(w->sim, "clients");
    w->io = sim_machine_start(w->server);
    w->client_io = sim_machine_start(w->clients_machine);
    static uint8_t bytes[FILE_SIZE];
    for (size_t i = 0; i < FILE_SIZE; i++)
        bytes[i] = (uint8_t)(i * 31 >> 3);
    assert_int_equal(io_open(w->io, "/f", IO_READ | IO_WRITE | IO_CREATE, &w->file_fd), ERR_NONE);
    assert_int_equal(io_pwrite(w->io, w->file_fd, bytes, FILE_SIZE, 0), ERR_NONE);
    sim_drop_caches(w->server);
    struct net_config config;
    net_config_init(&config);
    config.queued_size_max = 200000; /* less than the clients want together */
    config.small_frame_size = 2000;
    config.idle_max_ms = 60000;
    for (int i = 0; i < LOOPS; i++)
        w->loops[i] = loop_start(w->io, i ? "loop-1" : "loop-0");
    w->client_loop = loop_start(w->client_io, "clients");
    struct net_handler handler = {.on_open = on_open, .on_frame = on_frame, .on_close = on_close};
    w->net = net_new(w->io, &config, w->loops, LOOPS, &handler, w);
    struct listener_info info = {.name = "TEST"};
    struct io_address any = {.host = "0.0.0.0", .port = 9092};
    struct listener *listener;
    assert_int_equal(listener_open(w->net, &info, &any, &listener), ERR_NONE);
    assert_int_equal(listener_start(listener), ERR_NONE);
    w->address = (struct io_address){.port = 9092};
    memcpy(w->address.host, sim_machine_host(w->server), 9);
    if (faulty)
        sim_net_reset_chance(w->sim, 2000);
    w->start_task.run = clients_start;
    loop_post(w->client_loop, &w->start_task);
    return w;
}

static struct net_counters seen; /* over all runs: what must have happened at least once */

static void world_end(struct world *w)
{
    struct net_counters counters = net_counters(w->net);
    seen.pauses_memory += counters.pauses_memory;
    seen.frames += counters.frames;
    net_stop(w->net, net_stopped, w);
    assert_true(sim_run_until(w->sim, is_stopped, w, 60000));
    assert_true(sim_run_until(w->sim, server_quiet, w, 60000));
    sim_run_for(w->sim, 100); /* jobs under way */
    assert_int_equal(net_counters(w->net).queued_size, 0);
    for (int i = 0; i < LOOPS; i++)
        loop_stop(w->loops[i]);
    net_free(w->net);
    io_close(w->io, w->file_fd);
    assert_int_equal(sim_machine_exit(w->server), 0);
    loop_stop(w->client_loop);
    assert_int_equal(sim_machine_exit(w->clients_machine), 0);
    assert_int_equal(sim_counters(w->server).cold_sends, 0);
    sim_free(w->sim);
    mem_free(w);
}

static uint64_t play(uint64_t seed, bool faulty)
{
    struct world *w = world_new(seed, faulty);
    if (faulty) {
        sim_run_for(w->sim, 20);
        sim_net_cut(w->server, w->clients_machine, true);
        sim_run_for(w->sim, 50);
        sim_net_cut(w->server, w->clients_machine, false);
    }
    if (!sim_run_until(w->sim, clients_ended, w, 120000))
        fail_msg("seed %llu: clients are stuck", (unsigned long long)seed);
    for (int i = 0; i < CLIENTS; i++)
        assert_true(faulty || w->clients[i].got_count == REQUESTS);
    uint64_t digest = sim_digest(w->sim);
    world_end(w);
    return digest;
}

static void answers_come_whole_and_in_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        play(seed, false);
    assert_int_equal(seen.frames, 30 * CLIENTS * REQUESTS);
    assert_true(seen.pauses_memory > 100);
}

static void resets_and_cuts_leave_nothing_behind(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 30; seed++)
        play(seed, true);
}

/* Some clients send the beginning of big frames and stop. Together they hold all memory for frames;
 * the others are served all the same, once the half frames have stood still for a while. */
static void half_frames_do_not_starve_others(void **state)
{
    (void)state;
    enum { ATTACKERS = 3 };
    for (uint64_t seed = 1; seed <= 10; seed++) {
        struct world *w = world_new(seed, false);
        int fds[ATTACKERS];
        static uint8_t half[100000];
        be_put_u32(half, 150000);
        for (int i = 0; i < ATTACKERS; i++)
            assert_int_equal(io_connect(w->client_io, &w->address, &fds[i]), ERR_NONE);
        size_t sent[ATTACKERS] = {0};
        for (int round = 0; round < 400; round++) {
            sim_run_for(w->sim, 1);
            for (int i = 0; i < ATTACKERS; i++) {
                struct iovec part = {half + sent[i], sizeof half - sent[i]};
                size_t size = 0;
                enum err e = io_sendv(w->client_io, fds[i], &part, 1, false, &size);
                assert_true(e == ERR_NONE || e == ERR_AGAIN);
                sent[i] += size;
            }
        }
        if (!sim_run_until(w->sim, clients_ended, w, 50000))
            fail_msg("seed %llu: half frames starve the others", (unsigned long long)seed);
        for (int i = 0; i < CLIENTS; i++)
            assert_int_equal(w->clients[i].got_count, REQUESTS);
        assert_true(net_counters(w->net).connections_stalled_closed > 0);
        for (int i = 0; i < ATTACKERS; i++)
            io_close(w->client_io, fds[i]);
        world_end(w);
    }
}

static void runs_are_replayable(void **state)
{
    (void)state;
    assert_true(play(77, true) == play(77, true));
    assert_true(play(78, false) == play(78, false));
    assert_true(play(77, true) != play(78, true));
}

/* The server's process dies in the middle: clients see resets, its disk and port are free again. */
static void a_killed_server(void **state)
{
    (void)state;
    struct sim *sim = sim_new(5);
    struct sim_machine *server = sim_machine_new(sim, "server");
    struct sim_machine *client = sim_machine_new(sim, "client");
    struct io *io = sim_machine_start(server), *client_io = sim_machine_start(client);
    struct io_address any = {.host = "0.0.0.0", .port = 9092};
    struct io_address address = {.host = "10.0.0.1", .port = 9092};
    int listen_fd, fd, accepted, refused;
    assert_int_equal(io_bind(io, &any, &listen_fd, NULL), ERR_NONE);
    assert_int_equal(io_bind(io, &any, &fd, NULL), ERR_BUSY);
    assert_int_equal(io_connect(client_io, &address, &refused), ERR_NONE);
    sim_run_for(sim, 10);
    assert_int_equal(io_connect_result(client_io, refused),
                     ERR_CLOSED); /* it does not listen yet */
    assert_int_equal(io_listen(io, listen_fd, 5), ERR_NONE);
    assert_int_equal(io_connect(client_io, &address, &fd), ERR_NONE);
    assert_int_equal(io_connect_result(client_io, fd), ERR_AGAIN);
    sim_run_for(sim, 10);
    assert_int_equal(io_connect_result(client_io, fd), ERR_NONE);
    struct io_address local, peer;
    assert_int_equal(io_accept(io, listen_fd, &accepted, &local, &peer), ERR_NONE);
    assert_string_equal(peer.host, "10.0.0.2");
    assert_string_equal(local.host, "10.0.0.1");
    sim_machine_kill(server);
    char byte;
    size_t size;
    assert_int_equal(io_recv(client_io, fd, &byte, 1, &size), ERR_CLOSED);
    assert_int_equal(io_connect(client_io, &address, &refused), ERR_NONE);
    sim_run_for(sim, 10);
    assert_int_equal(io_connect_result(client_io, refused), ERR_CLOSED);
    io = sim_machine_start(server);
    assert_int_equal(io_bind(io, &any, &listen_fd, NULL), ERR_NONE);
    sim_free(sim);
}

static void no_diag(void *context, struct slice line)
{
    (void)context;
    (void)line;
}

int main(void)
{
    diag_init(NULL, no_diag, NULL);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_whole_and_in_order),
        cmocka_unit_test(resets_and_cuts_leave_nothing_behind),
        cmocka_unit_test(half_frames_do_not_starve_others),
        cmocka_unit_test(runs_are_replayable),
        cmocka_unit_test(a_killed_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
