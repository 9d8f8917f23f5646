/* Loops, timers and jobs of the simulated io. Nothing runs here by itself: sim_io.c picks what runs
 * next. Misuse that a real system would only show now and then ends the run at once: a task posted
 * twice, a timer or watch set from elsewhere than its loop, a loop stopped with timers left. */
#include "sim_internal.h"

#include <stdio.h>

static struct sim_loop *loop_of(struct loop *loop)
{
    return (struct sim_loop *)(void *)loop;
}

/* On its loop, or outside all callbacks (the test itself sets things up). */
static struct sim_loop *own_loop(struct loop *loop)
{
    struct sim_loop *l = loop_of(loop);
    struct sim_loop *current = l->process->machine->sim->current;
    ENSURE(!current || current == l);
    return l;
}

struct loop *sim_loop_start(struct io *io, const char *name)
{
    struct sim_process *process = process_of(io);
    struct sim_loop *l = mem_zalloc(sizeof *l);
    l->loop.io = io;
    l->process = process;
    snprintf(l->name, sizeof l->name, "%s", name);
    list_init(&l->tasks);
    heap_init(&l->timers);
    list_push_back(&process->loops, &l->link);
    return &l->loop;
}

static void loop_free(struct sim_loop *l)
{
    list_remove(&l->link);
    heap_fini(&l->timers);
    mem_free(l->watches);
    mem_free(l);
}

void sim_loop_stop(struct loop *loop)
{
    struct sim_loop *l = loop_of(loop);
    struct sim *sim = l->process->machine->sim;
    struct sim_loop *before = sim->current;
    ENSURE(before != l);
    sim->current = l;
    for (struct list *link; (link = list_pop_front(&l->tasks));) {
        struct loop_task *task = LIST_ITEM(link, struct loop_task, link);
        task->run(task);
    }
    sim->current = before;
    ENSURE_CMP(l->timers.count, ==, 0);
    loop_free(l);
}

bool sim_loop_is_current(struct loop *loop)
{
    struct sim_loop *l = loop_of(loop);
    return l->process->machine->sim->current == l;
}

void sim_loop_post(struct loop *loop, struct loop_task *task)
{
    struct sim_loop *l = loop_of(loop);
    LIST_FOREACH(link, &l->tasks)
    ENSURE(link != &task->link);
    list_push_back(&l->tasks, &task->link);
}

void sim_timer_set(struct loop *loop, struct loop_timer *timer, int64_t deadline_ns)
{
    struct sim_loop *l = own_loop(loop);
    heap_remove(&l->timers, &timer->node);
    heap_add(&l->timers, &timer->node, deadline_ns);
}

void sim_timer_cancel(struct loop *loop, struct loop_timer *timer)
{
    heap_remove(&own_loop(loop)->timers, &timer->node);
}

enum err sim_watch_set(struct loop *loop, struct loop_watch *watch, unsigned events)
{
    struct sim_loop *l = own_loop(loop);
    fd_get(l->process, watch->fd, FD_SOCKET);
    if (!watch->registered) {
        if (l->watch_count == l->watch_capacity) {
            l->watch_capacity = l->watch_capacity ? l->watch_capacity * 2 : 16;
            l->watches = mem_realloc(l->watches, (size_t)l->watch_capacity * sizeof l->watches[0]);
        }
        l->watches[l->watch_count++] = watch;
        watch->registered = true;
    }
    watch->events = events;
    return ERR_NONE;
}

void sim_watch_remove(struct loop *loop, struct loop_watch *watch)
{
    struct sim_loop *l = own_loop(loop);
    if (!watch->registered)
        return;
    int i = 0;
    while (i < l->watch_count && l->watches[i] != watch)
        i++;
    ENSURE_CMP(i, <, l->watch_count);
    l->watches[i] = l->watches[--l->watch_count];
    watch->registered = false;
    watch->events = 0;
}

/* ---- jobs -------------------------------------------------------------------------------------
 */

static int64_t slowness_ns(struct sim_machine *machine)
{
    if (!machine->slow_ms || sim_chance(machine->sim, 50))
        return 0;
    return (int64_t)sim_random_below(machine->sim, (uint64_t)machine->slow_ms * 1000000);
}

static void job_start(struct sim_process *process, struct io_job *job)
{
    struct sim *sim = process->machine->sim;
    struct sim_job *entry = mem_zalloc(sizeof *entry);
    entry->job = job;
    /* Mostly quick, now and then as slow as a busy disk. */
    uint64_t us = sim_chance(sim, 5) ? sim_between(sim, 1000, 50000) : sim_between(sim, 5, 1000);
    entry->ready_ns = sim->now_ns + (int64_t)us * 1000 + slowness_ns(process->machine);
    list_push_back(&process->jobs, &entry->link);
}

void sim_io_submit(struct io *io, struct io_job *job)
{
    struct sim_process *process = process_of(io);
    struct io_lane *lane = job->lane;
    if (lane && !lane->started) {
        list_init(&lane->waiting);
        lane->started = true;
    }
    if (lane && lane->running) {
        list_push_back(&lane->waiting, &job->link);
        process->jobs_waiting++;
        return;
    }
    if (lane)
        lane->running = true;
    job_start(process, job);
}

static void job_done(struct loop_task *task)
{
    struct io_job *job = LIST_ITEM(task, struct io_job, task);
    job->done(job);
}

void job_run(struct sim_process *process, struct sim_job *entry)
{
    struct io_job *job = entry->job;
    struct io_lane *lane = job->lane;
    struct loop *loop = job->done ? job->loop : NULL;
    if (!entry->ran) {
        /* A job that nobody waits for may be gone after its run. */
        int64_t late_ns = loop ? slowness_ns(process->machine) : 0;
        list_remove(&entry->link);
        job->run(job);
        if (late_ns) {
            entry->ran = true;
            entry->ready_ns = process->machine->sim->now_ns + late_ns;
            list_push_back(&process->jobs, &entry->link);
            return;
        }
    } else {
        list_remove(&entry->link);
    }
    mem_free(entry);
    if (lane) {
        struct list *next = list_pop_front(&lane->waiting);
        lane->running = next != NULL;
        if (next) {
            process->jobs_waiting--;
            job_start(process, LIST_ITEM(next, struct io_job, link));
        }
    }
    if (loop) {
        job->task.run = job_done;
        sim_loop_post(loop, &job->task);
    }
}

void loops_drop(struct sim_process *process)
{
    for (struct list *link; (link = list_pop_front(&process->jobs));)
        mem_free(LIST_ITEM(link, struct sim_job, link));
    while (!list_empty(&process->loops))
        loop_free(LIST_ITEM(process->loops.next, struct sim_loop, link));
}
