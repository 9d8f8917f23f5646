/* Machines of the simulated world: switched on and off, their faults, clocks and links. */
#include "sim_internal.h"

#include <stdio.h>
#include <string.h>

struct sim_machine *sim_machine_new(struct sim *sim, const char *name)
{
    ENSURE_CMP(sim->machine_count, <, MACHINES_MAX);
    struct sim_machine *m = mem_zalloc(sizeof *m);
    m->sim = sim;
    m->index = sim->machine_count;
    snprintf(m->name, sizeof m->name, "%s", name);
    snprintf(m->host, sizeof m->host, "10.0.0.%d", m->index + 1);
    disk_init(&m->disk);
    list_init(&m->faults);
    m->file_limit = 1024;
    m->port_next = 32768;
    sim->machines[sim->machine_count++] = m;
    return m;
}

const char *sim_machine_host(const struct sim_machine *machine)
{
    return machine->host;
}

bool sim_machine_is_on(const struct sim_machine *machine)
{
    return machine->process != NULL;
}

struct io *sim_machine_start(struct sim_machine *machine)
{
    ENSURE(!machine->process);
    struct sim_process *process = mem_zalloc(sizeof *process);
    process->io.ops = &sim_ops;
    process->machine = machine;
    process->mono_origin_ns = (int64_t)sim_random_below(machine->sim, UINT64_C(1) << 40);
    list_init(&process->link);
    list_init(&process->loops);
    list_init(&process->jobs);
    machine->process = process;
    sim_note(machine->sim, "start", machine->name, 0);
    return &process->io;
}

/* The kernel's part of an end: connections, files and locks go. Returns how many were open. */
static int process_end(struct sim_machine *machine, bool reset)
{
    struct sim_process *process = machine->process;
    ENSURE(process);
    int open = process->fd_open;
    for (int i = 0; i < process->fd_count; i++) {
        if (process->fds[i].kind == FD_SOCKET && reset) {
            socket_close(process->fds[i].socket, true);
            process->fds[i] = (struct sim_fd){0};
        } else if (process->fds[i].kind != FD_FREE) {
            fd_close(process, i + FD_FIRST);
        }
    }
    loops_drop(process);
    mem_free(process->fds);
    process->fds = NULL;
    process->fd_count = process->fd_open = 0;
    machine->process = NULL;
    list_push_back(&machine->sim->dead, &process->link);
    return open;
}

void sim_machine_kill(struct sim_machine *machine)
{
    sim_note(machine->sim, "kill", machine->name, 0);
    process_end(machine, true);
}

void sim_machine_power_cut(struct sim_machine *machine)
{
    sim_note(machine->sim, "power-cut", machine->name, 0);
    process_end(machine, true);
    disk_power_cut(machine->sim, &machine->disk, &machine->counters);
    machine->boots++;
}

int sim_machine_exit(struct sim_machine *machine)
{
    ENSURE(machine->process && list_empty(&machine->process->loops));
    ENSURE(list_empty(&machine->process->jobs) && machine->process->jobs_waiting == 0);
    sim_note(machine->sim, "exit", machine->name, 0);
    return process_end(machine, false);
}

static void stop_run(struct loop_task *task)
{
    struct sim_process *process = LIST_ITEM(task, struct sim_process, stop_task);
    process->stop(process->stop_context);
}

void sim_machine_terminate(struct sim_machine *machine)
{
    struct sim_process *process = machine->process;
    ENSURE(process);
    if (!process->stop || process->stop_task.run)
        return; /* asked already; a node that does not listen would die: use kill */
    process->stop_task.run = stop_run;
    loop_post(process->stop_loop, &process->stop_task);
}

void sim_clock_jump(struct sim_machine *machine, int64_t by_ms)
{
    machine->wall_offset_ms += by_ms;
}

void sim_disk_set_space(struct sim_machine *machine, int64_t bytes)
{
    machine->disk.space = bytes;
}

void sim_disk_set_slow(struct sim_machine *machine, int64_t max_ms)
{
    machine->slow_ms = max_ms;
}

void sim_disk_set_lying(struct sim_machine *machine, bool lying)
{
    machine->lying = lying;
}

void sim_drop_caches(struct sim_machine *machine)
{
    disk_drop_caches(&machine->disk);
}

bool sim_disk_corrupt(struct sim_machine *machine, const char *path, int64_t offset, unsigned bit)
{
    struct sim_inode *inode;
    if (disk_find(&machine->disk, path, &inode) || inode->is_dir || offset < 0 ||
        offset >= inode->size)
        return false;
    inode->data[offset] ^= (uint8_t)(1U << (bit & 7));
    inode->durable[offset] ^= (uint8_t)(1U << (bit & 7));
    return true;
}

void sim_fault_add(struct sim_machine *machine, const struct sim_fault *fault)
{
    struct sim_fault_rule *rule = mem_zalloc(sizeof *rule);
    rule->fault = *fault;
    rule->path_part = fault->path_part ? mem_strdup(fault->path_part) : NULL;
    rule->fault.path_part = rule->path_part;
    list_push_back(&machine->faults, &rule->link);
}

void sim_fault_clear(struct sim_machine *machine)
{
    for (struct list *link; (link = list_pop_front(&machine->faults));) {
        struct sim_fault_rule *rule = LIST_ITEM(link, struct sim_fault_rule, link);
        mem_free(rule->path_part);
        mem_free(rule);
    }
}

int64_t sim_op_calls(const struct sim_machine *machine, enum sim_op op)
{
    if (op < SIM_OP_COUNT)
        return machine->calls[op];
    int64_t all = 0;
    for (int i = 0; i < SIM_OP_COUNT; i++)
        all += machine->calls[i];
    return all;
}

void sim_net_latency(struct sim *sim, int64_t min_us, int64_t max_us)
{
    ENSURE(min_us > 0 && max_us >= min_us);
    sim->latency_min_us = min_us;
    sim->latency_max_us = max_us;
}

void sim_net_cut(struct sim_machine *a, struct sim_machine *b, bool cut)
{
    a->sim->cut[a->index][b->index] = a->sim->cut[b->index][a->index] = cut;
}

void sim_net_reset(struct sim_machine *a, struct sim_machine *b)
{
    for (int i = 0; a->process && i < a->process->fd_count; i++) {
        struct sim_fd *fd = &a->process->fds[i];
        if (fd->kind == FD_SOCKET && socket_peer_machine(fd->socket) == b)
            socket_reset(fd->socket);
    }
}

void sim_net_reset_chance(struct sim *sim, uint64_t per_million)
{
    sim->reset_per_million = per_million;
}

void sim_set_file_limit(struct sim_machine *machine, int limit)
{
    machine->file_limit = limit;
}

struct sim_counters sim_counters(const struct sim_machine *machine)
{
    return machine->counters;
}

void sim_free(struct sim *sim)
{
    if (!sim)
        return;
    for (int i = 0; i < sim->machine_count; i++)
        if (sim->machines[i]->process)
            process_end(sim->machines[i], true);
    for (int i = 0; i < sim->machine_count; i++) {
        disk_fini(&sim->machines[i]->disk);
        sim_fault_clear(sim->machines[i]);
        mem_free(sim->machines[i]);
    }
    for (struct list *link; (link = list_pop_front(&sim->dead));)
        mem_free(LIST_ITEM(link, struct sim_process, link));
    mem_free(sim);
}
