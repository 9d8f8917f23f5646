/* The simulated world: machines with disks, clocks and a network, driven from one thread and one
 * seed. The node's code sees an ordinary `struct io` (os/io.h) and cannot tell the difference.
 *
 *     struct sim *sim = sim_new(seed);
 *     struct sim_machine *m = sim_machine_new(sim, "a");      a disk and an address, switched off
 *     struct io *io = sim_machine_start(m);                   a process on it
 *     ... build a node over io, clients over the io of another machine ...
 *     sim_run_for(sim, 5000);                                 five simulated seconds
 *     sim_machine_power_cut(m);                               what was not synced may be gone
 *     io = sim_machine_start(m);                              the same disk again
 *     sim_free(sim);
 *
 * What is drawn from the seed: which of the ready things runs next (a posted task, a timer, a ready
 * socket, a worker's job, of any loop of any machine), how long jobs and packets take, how many
 * bytes a socket takes or gives at once, its buffer size, which unsynced pages and directory
 * changes survive a power cut and where a write is torn. The same seed and the same calls give the
 * same run on every computer: compare sim_digest. When a seed fails, run it again with sim_trace to
 * a file.
 *
 * Model.
 *  Time       passes only between events: a few microseconds for each, and at once to the next one
 *             when nothing is ready. A callback itself takes no time.
 *  Threads    none. A loop's tasks, timers and sockets are separate events; posts to one loop keep
 *             their order. A job runs as one event (`run`), its `done` comes as a post. Lanes hold.
 *  Disk       a tree of files. Every file has what a reader sees and what is durable. fsync and
 *             fdatasync copy the dirty pages; sync_dir makes a directory's changes durable. A kill
 *             keeps everything. A power cut keeps, of each dirty page: the old bytes, the new ones,
 *             or some 512-byte sectors of each; of an unsynced size: the old, the new or one in
 *             between; of each directory's unsynced changes: a prefix (renames are atomic).
 *             A failed fsync leaves its pages clean but not durable, as Linux does: syncing again
 *             succeeds and saves nothing. A lying disk says yes to every sync and saves nothing
 *             before it is honest again and synced once more. A slow one makes jobs wait, gives
 *             their effect long before they are done, and holds up whoever writes or reads.
 *  Pages      4096 bytes. Written and read ones are cached; a start, or sim_drop_caches, empties
 * the cache. io_sendfile from a page that is not cached works but counts in cold_sends, since a
 * real loop would have waited for the disk. Network    each machine is 10.0.0.N, and 127.0.0.1 to
 * itself. Streams deliver in order after a latency; buffers are small, so short writes and
 * ERR_AGAIN are common. Killing a machine resets its connections.
 *
 * Memory of a killed process is lost, as on a real machine: what the node had allocated is for the
 * test to forget (run with leak detection off) or to free without calling io. */
#ifndef KLAMM_TESTS_SIM_IO_H
#define KLAMM_TESTS_SIM_IO_H

#include "os/io.h"

#include <stdio.h>

struct sim;
struct sim_machine;

/* ---- the world --------------------------------------------------------------------------------
 */

struct sim *sim_new(uint64_t seed);
void sim_free(struct sim *sim); /* with all machines; nothing of theirs may be used afterwards */

int64_t sim_now_ns(const struct sim *sim);
uint64_t sim_random(struct sim *sim);                       /* from the seed's stream */
uint64_t sim_random_below(struct sim *sim, uint64_t limit); /* 0 <= result < limit */
bool sim_chance(struct sim *sim, unsigned percent);

/* Runs one event. When none is ready the clock moves to the next, but not beyond until_ns; false
 * when nothing was left to run before it. */
bool sim_step(struct sim *sim, int64_t until_ns);
void sim_run_for(struct sim *sim, int64_t duration_ms);
/* Runs until the condition holds; false when it does not within timeout_ms. */
bool sim_run_until(struct sim *sim, bool (*condition)(void *context), void *context,
                   int64_t timeout_ms);
/* Runs until nothing is ready and nothing is due within a simulated hour; false after steps_max. */
bool sim_run_idle(struct sim *sim, int64_t steps_max);

/* Called after every event: the place for invariants. */
void sim_observe(struct sim *sim, void (*observer)(void *context), void *context);
/* One line for each event; NULL ends it. */
void sim_trace(struct sim *sim, FILE *to);
/* A hash of all events so far: equal for equal seeds and calls. */
uint64_t sim_digest(const struct sim *sim);
int64_t sim_steps(const struct sim *sim);

/* ---- machines ---------------------------------------------------------------------------------
 */

/* Up to 254; the Nth has the address 10.0.0.N. `name` is for traces; copied. */
struct sim_machine *sim_machine_new(struct sim *sim, const char *name);
const char *sim_machine_host(const struct sim_machine *machine); /* "10.0.0.1" */
/* Starts a process; it must be off. The io lives until sim_free but is dead after kill, power cut
 * or sim_machine_exit. */
struct io *sim_machine_start(struct sim_machine *machine);
bool sim_machine_is_on(const struct sim_machine *machine);
/* The process ends at once; all that was written stays. */
void sim_machine_kill(struct sim_machine *machine);
/* The machine loses power: what was not synced may be lost (see above). */
void sim_machine_power_cut(struct sim_machine *machine);
/* An orderly end: the node has stopped its loops and freed everything. ENSUREs that no loop runs
 * and no job waits; open files and sockets are closed as by the kernel. Returns how many there
 * were. */
int sim_machine_exit(struct sim_machine *machine);
/* SIGTERM: posts the callback of io_on_stop. */
void sim_machine_terminate(struct sim_machine *machine);

/* ---- clocks -----------------------------------------------------------------------------------
 */

/* Moves the machine's wall clock; its monotonic clock does not notice. */
void sim_clock_jump(struct sim_machine *machine, int64_t by_ms);

/* ---- disks ------------------------------------------------------------------------------------
 */

/* Space of the file system in bytes (unlimited at first); files count by whole pages. */
void sim_disk_set_space(struct sim_machine *machine, int64_t bytes);
void sim_drop_caches(struct sim_machine *machine);
/* Jobs and calls take up to so long (0: as usual). */
void sim_disk_set_slow(struct sim_machine *machine, int64_t max_ms);
/* fsync, fdatasync and sync_dir succeed without doing anything. */
void sim_disk_set_lying(struct sim_machine *machine, bool lying);
/* Flips one bit of a file, durable copy included; false when there is no such byte. */
bool sim_disk_corrupt(struct sim_machine *machine, const char *path, int64_t offset, unsigned bit);

enum sim_op {            /* what a fault applies to */
              SIM_OPEN,  /* io_open, io_lock_file */
              SIM_READ,  /* io_pread, io_sendfile */
              SIM_WRITE, /* io_pwrite, io_pwritev */
              SIM_FSYNC, /* io_fsync, io_fdatasync */
              SIM_TRUNCATE,
              SIM_RENAME,
              SIM_UNLINK, /* io_unlink, io_rmdir */
              SIM_MKDIR,
              SIM_SYNC_DIR,
              SIM_LIST, /* io_list_dir, io_stat */
              SIM_OP_COUNT,
              SIM_ANY = SIM_OP_COUNT,
};

struct sim_fault {
    enum sim_op op;
    const char *path_part; /* a part of the path; NULL = any. Copied */
    int64_t skip;          /* this many matching calls pass first */
    int64_t count;         /* then so many fail; < 0 = all */
    enum err error;        /* ERR_IO, ERR_DISK_FULL, ERR_TOO_MANY_FILES ... */
    /* SIM_WRITE: a random prefix is written before it fails (else nothing is). */
    bool torn;
};

/* Faults are asked in the order they were added. They belong to the machine and outlive crashes. */
void sim_fault_add(struct sim_machine *machine, const struct sim_fault *fault);
void sim_fault_clear(struct sim_machine *machine);
/* Calls of a kind since the machine was made: run once to count, then fail each in turn. */
int64_t sim_op_calls(const struct sim_machine *machine, enum sim_op op); /* SIM_ANY: all */

/* ---- network ----------------------------------------------------------------------------------
 */

void sim_net_latency(struct sim *sim, int64_t min_us, int64_t max_us); /* default 50 to 500 */
/* Nothing passes between the two until the link is mended; then what waited arrives. */
void sim_net_cut(struct sim_machine *a, struct sim_machine *b, bool cut);
/* Resets all connections between the two; a == b: those within the machine. */
void sim_net_reset(struct sim_machine *a, struct sim_machine *b);
/* Every send fails with this chance by a reset, in 1/1000000. */
void sim_net_reset_chance(struct sim *sim, uint64_t per_million);
/* The stream ends for the peer's reads, but can still be read here (shutdown of the write side). */
void sim_net_half_close(struct io *io, int fd);
/* Open files and sockets a process may have (1024 at first). */
void sim_set_file_limit(struct sim_machine *machine, int limit);

/* ---- counters ---------------------------------------------------------------------------------
 */

struct sim_counters {
    int64_t cold_sends; /* io_sendfile that a real kernel would have waited for */
    int64_t fsyncs;
    int64_t lost_pages; /* in power cuts */
    int64_t lost_names; /* directory changes undone by power cuts */
    int64_t faults;     /* calls that a fault failed */
    int64_t lies;       /* syncs that saved nothing, and said they did */
};
struct sim_counters sim_counters(const struct sim_machine *machine);

#endif
