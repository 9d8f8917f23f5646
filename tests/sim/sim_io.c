/* The simulated world's heart: the seed, the clock, and what runs next.
 *
 * One step looks at everything that could run now (a loop's first task, a due timer, a ready
 * socket, a job), picks one by the seed and runs it. Only when nothing can run does the clock move
 * on, to the earliest time at which something may. Nothing depends on addresses: candidates are
 * walked in the order of machines, loops and registrations. */
#include "sim_internal.h"

#include <stdio.h>
#include <string.h>

static uint64_t next_random(uint64_t state[2]) /* xorshift128+ */
{
    uint64_t a = state[0], b = state[1];
    state[0] = b;
    a ^= a << 23;
    state[1] = a ^ b ^ a >> 17 ^ b >> 26;
    return state[1] + b;
}

uint64_t sim_random(struct sim *sim)
{
    return next_random(sim->random);
}

uint64_t sim_random_below(struct sim *sim, uint64_t limit)
{
    ENSURE(limit > 0);
    return sim_random(sim) % limit;
}

uint64_t sim_between(struct sim *sim, uint64_t low, uint64_t high)
{
    return low + sim_random_below(sim, high - low + 1);
}

bool sim_chance(struct sim *sim, unsigned percent)
{
    return sim_random_below(sim, 100) < percent;
}

struct sim *sim_new(uint64_t seed)
{
    struct sim *sim = mem_zalloc(sizeof *sim);
    sim->random[0] = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    sim->random[1] = seed ^ UINT64_C(0xd1b54a32d192ed03);
    for (int i = 0; i < 16; i++)
        sim_random(sim);
    sim->latency_min_us = 50;
    sim->latency_max_us = 500;
    sim->digest = UINT64_C(0xcbf29ce484222325);
    list_init(&sim->dead);
    return sim;
}

int64_t sim_now_ns(const struct sim *sim)
{
    return sim->now_ns;
}

void sim_observe(struct sim *sim, void (*observer)(void *context), void *context)
{
    sim->observer = observer;
    sim->observer_context = context;
}

void sim_trace(struct sim *sim, FILE *to)
{
    sim->trace = to;
}

uint64_t sim_digest(const struct sim *sim)
{
    return sim->digest;
}

int64_t sim_steps(const struct sim *sim)
{
    return sim->steps;
}

static void digest_add(struct sim *sim, const void *data, size_t size)
{
    const uint8_t *bytes = data;
    for (size_t i = 0; i < size; i++)
        sim->digest = (sim->digest ^ bytes[i]) * UINT64_C(0x100000001b3);
}

void sim_note(struct sim *sim, const char *what, const char *where, uint64_t number)
{
    digest_add(sim, what, strlen(what));
    digest_add(sim, where, strlen(where));
    digest_add(sim, &number, sizeof number);
    digest_add(sim, &sim->now_ns, sizeof sim->now_ns);
    if (sim->trace)
        fprintf(sim->trace, "%lld.%06lld %s %s %llu\n", (long long)(sim->now_ns / 1000000),
                (long long)(sim->now_ns % 1000000), what, where, (unsigned long long)number);
}

/* ---- what runs next ---------------------------------------------------------------------------
 */

enum candidate_kind { RUN_TASK, RUN_TIMER, RUN_WATCH, RUN_JOB };

struct candidate {
    enum candidate_kind kind;
    struct sim_process *process;
    struct sim_loop *loop;
    struct loop_watch *watch;
    unsigned events;
    struct sim_job *job;
};

/* One pick among all candidates without listing them: the Nth replaces the pick with chance 1/N. */
struct choice {
    struct sim *sim;
    uint64_t count;
    struct candidate pick;
    int64_t next_ns; /* when something may become ready by itself */
};

static void offer(struct choice *choice, struct candidate candidate)
{
    choice->count++;
    if (sim_random_below(choice->sim, choice->count) == 0)
        choice->pick = candidate;
}

static int64_t mono_ns(const struct sim_process *process)
{
    return process->mono_origin_ns + process->machine->sim->now_ns;
}

static void offer_loop(struct choice *choice, struct sim_loop *loop)
{
    struct candidate c = {.process = loop->process, .loop = loop};
    if (!list_empty(&loop->tasks)) {
        c.kind = RUN_TASK;
        offer(choice, c);
    }
    struct heap_node *first = heap_min(&loop->timers);
    if (first && first->key <= mono_ns(loop->process)) {
        c.kind = RUN_TIMER;
        offer(choice, c);
    } else if (first) {
        int64_t at_ns = first->key - loop->process->mono_origin_ns;
        choice->next_ns = at_ns < choice->next_ns ? at_ns : choice->next_ns;
    }
    for (int i = 0; i < loop->watch_count; i++) {
        struct loop_watch *watch = loop->watches[i];
        unsigned ready = socket_ready(loop->process, watch->fd, &choice->next_ns);
        ready &= watch->events | LOOP_HANGUP;
        if (ready == 0)
            continue;
        c.kind = RUN_WATCH;
        c.watch = watch;
        c.events = ready;
        offer(choice, c);
    }
}

static void offer_process(struct choice *choice, struct sim_process *process)
{
    LIST_FOREACH(link, &process->loops)
    offer_loop(choice, LIST_ITEM(link, struct sim_loop, link));
    LIST_FOREACH(link, &process->jobs)
    {
        struct sim_job *job = LIST_ITEM(link, struct sim_job, link);
        if (job->ready_ns <= choice->sim->now_ns)
            offer(choice, (struct candidate){.kind = RUN_JOB, .process = process, .job = job});
        else if (job->ready_ns < choice->next_ns)
            choice->next_ns = job->ready_ns;
    }
}

static void run(struct sim *sim, struct candidate *c)
{
    const char *where = c->loop ? c->loop->name : c->process->machine->name;
    sim->current = c->loop;
    switch (c->kind) {
    case RUN_TASK: {
        sim_note(sim, "task", where, (uint64_t)c->process->machine->index);
        struct list *link = list_pop_front(&c->loop->tasks);
        struct loop_task *task = LIST_ITEM(link, struct loop_task, link);
        task->run(task);
        break;
    }
    case RUN_TIMER: {
        sim_note(sim, "timer", where, (uint64_t)c->process->machine->index);
        struct heap_node *node = heap_min(&c->loop->timers);
        heap_remove(&c->loop->timers, node);
        struct loop_timer *timer = LIST_ITEM(node, struct loop_timer, node);
        timer->expired(timer);
        break;
    }
    case RUN_WATCH:
        sim_note(sim, "socket", where, (uint64_t)c->watch->fd << 8 | c->events);
        c->watch->ready(c->watch, c->events);
        break;
    case RUN_JOB:
        sim_note(sim, "job", where, 0);
        job_run(c->process, c->job);
        break;
    }
    sim->current = NULL;
}

bool sim_step(struct sim *sim, int64_t until_ns)
{
    ENSURE(!sim->current); /* not from inside a callback */
    for (;;) {
        struct choice choice = {.sim = sim, .next_ns = INT64_MAX};
        for (int i = 0; i < sim->machine_count; i++)
            if (sim->machines[i]->process)
                offer_process(&choice, sim->machines[i]->process);
        if (choice.count > 0) {
            run(sim, &choice.pick);
            sim->steps++;
            sim->now_ns += 1000 * (int64_t)sim_between(sim, 1, 5);
            if (sim->observer)
                sim->observer(sim->observer_context);
            return true;
        }
        if (choice.next_ns > until_ns) {
            if (until_ns != INT64_MAX && sim->now_ns < until_ns)
                sim->now_ns = until_ns;
            return false;
        }
        ENSURE_CMP(choice.next_ns, >, sim->now_ns);
        sim->now_ns = choice.next_ns;
    }
}

void sim_run_for(struct sim *sim, int64_t duration_ms)
{
    int64_t until_ns = sim->now_ns + duration_ms * 1000000;
    while (sim->now_ns < until_ns && sim_step(sim, until_ns))
        ;
}

bool sim_run_until(struct sim *sim, bool (*condition)(void *context), void *context,
                   int64_t timeout_ms)
{
    int64_t until_ns = sim->now_ns + timeout_ms * 1000000;
    while (!condition(context))
        if (sim->now_ns >= until_ns || !sim_step(sim, until_ns))
            return condition(context);
    return true;
}

bool sim_run_idle(struct sim *sim, int64_t steps_max)
{
    for (int64_t i = 0; i < steps_max; i++)
        if (!sim_step(sim, sim->now_ns + INT64_C(3600000000000)))
            return true;
    return false;
}

/* ---- clock and process ------------------------------------------------------------------------
 */

static int64_t sim_wall_ms(struct io *io)
{
    struct sim_process *process = process_of(io);
    return INT64_C(1700000000000) + process->machine->wall_offset_ms +
           process->machine->sim->now_ns / 1000000;
}

static int64_t sim_mono_ns(struct io *io)
{
    return mono_ns(process_of(io));
}

static void sim_io_random(struct io *io, void *ret_bytes, size_t size)
{
    uint8_t *bytes = ret_bytes;
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)sim_random(sim_of(io));
}

static void sim_io_close(struct io *io, int fd)
{
    fd_close(process_of(io), fd);
}

static const char *sim_error_text(struct io *io, enum err err)
{
    int kind = (int)err - (int)ERR_IO;
    const char *text =
        kind >= 0 && kind < SIM_ERROR_KINDS ? process_of(io)->error_texts[kind] : NULL;
    return text ? text : err_name(err);
}

static enum err sim_on_stop(struct io *io, struct loop *loop, void (*stop)(void *context),
                            void *context)
{
    struct sim_process *process = process_of(io);
    process->stop_loop = loop;
    process->stop = stop;
    process->stop_context = context;
    return ERR_NONE;
}

static int64_t sim_memory_limit(struct io *io)
{
    (void)io;
    return INT64_C(1) << 30;
}

static int64_t sim_raise_file_limit(struct io *io)
{
    return process_of(io)->machine->file_limit;
}

static int sim_processors(struct io *io)
{
    (void)io;
    return 2;
}

static enum err sim_boot_id(struct io *io, char ret_id[IO_BOOT_ID_SIZE])
{
    struct sim_machine *machine = process_of(io)->machine;
    snprintf(ret_id, IO_BOOT_ID_SIZE, "%.24s-%d", machine->name, machine->boots);
    return ERR_NONE;
}

const struct io_ops sim_ops = {
    .wall_ms = sim_wall_ms,
    .mono_ns = sim_mono_ns,
    .random = sim_io_random,
    .open = sim_io_open,
    .close = sim_io_close,
    .pread = sim_io_pread,
    .pwritev = sim_io_pwritev,
    .fsync = sim_io_fsync,
    .fdatasync = sim_io_fsync,
    .truncate = sim_io_truncate,
    .fstat = sim_io_fstat,
    .is_cached = sim_io_is_cached,
    .stat = sim_io_stat,
    .rename = sim_io_rename,
    .unlink = sim_io_unlink,
    .mkdir = sim_io_mkdir,
    .rmdir = sim_io_rmdir,
    .sync_dir = sim_io_sync_dir,
    .set_mtime = sim_io_set_mtime,
    .list_dir = sim_io_list_dir,
    .space = sim_io_space,
    .absolute_path = sim_io_absolute_path,
    .lock_file = sim_io_lock_file,
    .error_text = sim_error_text,
    .loop_start = sim_loop_start,
    .loop_stop = sim_loop_stop,
    .loop_is_current = sim_loop_is_current,
    .loop_post = sim_loop_post,
    .timer_set = sim_timer_set,
    .timer_cancel = sim_timer_cancel,
    .watch_set = sim_watch_set,
    .watch_remove = sim_watch_remove,
    .resolve = sim_io_resolve,
    .bind = sim_io_bind,
    .listen = sim_io_listen,
    .accept = sim_io_accept,
    .connect = sim_io_connect,
    .connect_result = sim_io_connect_result,
    .recv = sim_io_recv,
    .sendv = sim_io_sendv,
    .sendfile = sim_io_sendfile,
    .set_buffers = sim_io_set_buffers,
    .submit = sim_io_submit,
    .on_stop = sim_on_stop,
    .memory_limit = sim_memory_limit,
    .raise_file_limit = sim_raise_file_limit,
    .processors = sim_processors,
    .boot_id = sim_boot_id,
};
