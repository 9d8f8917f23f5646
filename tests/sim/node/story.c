/* The story that a seed tells: settings, clients, then rounds of ordinary life, each ended by an
 * event (crash, restart, full disk, failing calls, network, clock); then a phase without faults in
 * which everything must come to its end; then the last look at all records, and an orderly stop.
 *
 * After a power cut all partitions are read before clients may go on: only so is it known where
 * each log ends now. After other events that read happens beside the clients' work. */
#include "base/ensure.h"
#include "base/mem.h"
#include "world.h"

#include <stdarg.h>
#include <stdlib.h>

enum { FINISH_MS = 180000, SCAN_MS = 180000, SPACE_UNLIMITED = -1 };

static struct world *current;

void world_fail(const char *format, ...)
{
    fflush(stdout);
    fprintf(stderr, "seed %llu, at %lld ms: ", (unsigned long long)current->seed,
            (long long)(sim_now_ns(current->sim) / 1000000));
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n");
    fflush(stderr);
    abort(); /* so that a debugger stops here */
}

void world_say(const char *format, ...)
{
    if (!current->verbose)
        return;
    printf("%10lld ms: ", (long long)(sim_now_ns(current->sim) / 1000000));
    va_list arguments;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

bool world_watches(const char *topic, int32_t partition)
{
    if (!current->watch)
        return false;
    char name[64];
    snprintf(name, sizeof name, "%s-%d", topic, partition);
    return !strcmp(name, current->watch);
}

static void draw_settings(struct world *world)
{
    struct world_settings *s = &world->settings;
    s->dirs = (int)between(world, 1, WORLD_DIRS_MAX);
    s->power_cuts = chance(world, 60);
    s->flush_all = chance(world, 40);
    s->lies = chance(world, 10);
    s->resets = chance(world, 40);
    s->producers = (int)between(world, 1, 4);
    s->consumers = (int)between(world, 1, 2);
    s->members = (int)between(world, 0, 4);
    s->rounds = (int)between(world, 2, 8);
    s->checkpoint_ms = between(world, 200, 20000);
    s->retention_check_ms = between(world, 300, 20000);
    s->snapshot_bytes = chance(world, 50) ? between(world, 200, 20000) : 20971520;
    s->roll_ms = chance(world, 30) ? between(world, 200, 5000) : 0;
    s->rebalance_delay_ms = chance(world, 50) ? 0 : (int)between(world, 0, 1000);
    s->network_threads = (int)between(world, 1, 3);
    s->groups_partitions = (int)between(world, 1, 4);
    s->transactions_partitions = (int)between(world, 1, 4);
    s->timeouts_ms = (int)between(world, 100, 5000);
    s->cleaner_backoff_ms = (int)between(world, 100, chance(world, 50) ? 1000 : 15000);
    s->cleaner_threads = (int)between(world, 1, 3);
    s->cells = (int)between(world, 1, MODEL_CELLS_MAX);
    s->transactors = chance(world, 75) ? (int)between(world, 1, 4) : 0;
}

static void unlimit_space(struct world *world)
{
    sim_disk_set_space(world->server, SPACE_UNLIMITED);
    if (world->full)
        world->full_until_ns = world->troubled_ns = sim_now_ns(world->sim) + INT64_C(5000000000);
    world->full = false;
}

/* 0: as fast as it can. */
static void set_slow(struct world *world, int64_t ms)
{
    sim_disk_set_slow(world->server, ms);
    if (world->slow)
        world->slow_until_ns = sim_now_ns(world->sim) + INT64_C(5000000000);
    world->slow = ms > 0;
}

static void add_actor(struct world *world, struct actor *actor)
{
    ENSURE_CMP(world->actor_count, <, WORLD_ACTORS_MAX);
    world->actors[world->actor_count++] = actor;
}

static void add_actors(struct world *world)
{
    const struct world_settings *s = &world->settings;
    add_actor(world, admin_new(world));
    for (int i = 0; i < s->producers; i++)
        add_actor(world, producer_new(world, i));
    for (int i = 0; i < s->consumers; i++)
        add_actor(world, consumer_new(world, i));
    for (int i = 0; i < s->transactors; i++)
        add_actor(world, transactor_new(world, i));
    for (int i = 0; i < s->members; i++)
        add_actor(world, joiner_new(world, i));
    world->scanner = scanner_new(world);
    add_actor(world, world->scanner);
    world->inspector = inspector_new(world);
    add_actor(world, world->inspector);
}

/* ---- reading everything ---- */

static bool scan_is_over(void *context)
{
    struct world *world = context;
    return world->state != WORLD_READY || world->scanner->is_done(world->scanner);
}

/* Nobody but the scanner works from now on; connections that wait for the node end. */
static void be_quiet(struct world *world)
{
    world->quiet = true;
    for (int i = 0; i < world->actor_count; i++)
        if (world->actors[i] != world->scanner && world->actors[i] != world->inspector)
            client_close(&world->actors[i]->client);
}

/* Waits for the scan; quiet: nobody else works meanwhile. */
static void scan(struct world *world, bool quiet)
{
    world->scans++;
    if (quiet)
        be_quiet(world);
    scanner_start(world->scanner);
    if (!sim_run_until(world->sim, scan_is_over, world, SCAN_MS)) {
        scanner_tell(world->scanner);
        world_fail("not all partitions could be read within %d s", SCAN_MS / 1000);
    }
    world->quiet = world->lied;
    if (world->state == WORLD_READY)
        world->lossy = false;
}

/* ---- up again ---- */

static void faults_off(struct world *world)
{
    sim_fault_clear(world->server);
    unlimit_space(world);
}

/* Starts the node; at the second try nothing may be in its way. */
static void bring_up(struct world *world)
{
    if (world->state == WORLD_ENDED) {
        if (!world->faulty)
            world_fail("the node ended by itself, status %d", world->exit_status);
        node_life_reap(world);
    }
    if (world->state == WORLD_READY)
        return;
    if (world->lossy)
        be_quiet(world);
    if (!node_life_start(world)) {
        faults_off(world);
        world->faulty = false;
        node_life_start(world);
    }
    if (world->lossy && world->faulty) { /* folders may be away: look without faults */
        sim_fault_clear(world->server);
        node_life_kill(world);
        world->faulty = false;
        node_life_start(world);
    }
    bool lossy = world->lossy;
    set_slow(world, 0); /* reading everything has a limit of time */
    if (!world->faulty && (lossy || chance(world, 50)))
        scan(world, lossy || chance(world, 50));
}

/* Ends the node in one of the ways that leave everything acknowledged in place. */
static void take_down_gently(struct world *world)
{
    if (world->state == WORLD_ENDED)
        return;
    if (chance(world, 50))
        node_life_kill(world);
    else
        node_life_terminate(world);
}

static void run_for(struct world *world, int64_t ms)
{
    sim_run_for(world->sim, ms);
}

static bool inspection_is_over(void *context)
{
    struct world *world = context;
    return world->state != WORLD_READY || world->inspector->is_done(world->inspector);
}

static void inspect(struct world *world, int life)
{
    inspector_start(world->inspector, life);
    if (!sim_run_until(world->sim, inspection_is_over, world, SCAN_MS))
        world_fail("the state could not be asked for within %d s", SCAN_MS / 1000);
}

/* What the node knows before it goes down must be what it finds in its logs. */
static void compare_lives(struct world *world)
{
    if (world->state != WORLD_READY || world_is_troubled(world) || !world->has_transactions)
        return;
    be_quiet(world);
    run_for(world, 2000); /* what came in before is still worked on */
    inspect(world, 0);
    take_down_gently(world);
    node_life_start(world);
    inspect(world, 1);
    world->comparisons += inspector_compare(world->inspector);
    world->quiet = false;
}

/* ---- events ---- */

static void limit_space(struct world *world)
{
    struct io_space space;
    if (io_space(world->io, "/d0", &space))
        return;
    int64_t room = chance(world, 30) ? 0 : between(world, 0, chance(world, 50) ? 100000 : 80 << 20);
    sim_disk_set_space(world->server, space.total - space.free + room);
    world->full = true;
    world_say("the disk has %lld bytes left", (long long)room);
}

static void event_disk_full(struct world *world)
{
    limit_space(world);
    run_for(world, between(world, 100, 8000));
    if (chance(world, 40)) { /* it starts on a full disk, too */
        if (world->settings.power_cuts && chance(world, 30))
            node_life_power_cut(world);
        else
            take_down_gently(world);
        bring_up(world);
        run_for(world, between(world, 100, 3000));
    }
    unlimit_space(world);
    world_say("the disk has space again");
}

static void add_fault(struct world *world)
{
    static const enum sim_op ops[] = {SIM_WRITE,  SIM_READ,     SIM_OPEN,    SIM_WRITE,
                                      SIM_RENAME, SIM_TRUNCATE, SIM_UNLINK,  SIM_MKDIR,
                                      SIM_LIST,   SIM_FSYNC,    SIM_SYNC_DIR};
    static const char *const parts[] = {NULL,     "/d0",        "/d1",  "/d2",       "topic-",
                                        ".index", "checkpoint", ".log", "__cluster", "__consumer"};
    int op_count = (int)(sizeof ops / sizeof ops[0]) - (world->settings.power_cuts ? 2 : 0);
    struct sim_fault fault = {.op = ops[draw(world, (uint64_t)op_count)],
                              .path_part = parts[draw(world, sizeof parts / sizeof parts[0])]};
    fault.skip = chance(world, 50) ? 0 : between(world, 0, 50);
    fault.count = chance(world, 30) ? -1 : between(world, 1, 3);
    fault.error = fault.op == SIM_OPEN && chance(world, 50) ? ERR_TOO_MANY_FILES : ERR_IO;
    fault.torn = chance(world, 50);
    sim_fault_add(world->server, &fault);
    world->faulty = true;
    world_say("fault: op %d on %s, %lld after %lld", (int)fault.op,
              fault.path_part ? fault.path_part : "any", (long long)fault.count,
              (long long)fault.skip);
}

static void event_faults(struct world *world)
{
    for (int i = (int)between(world, 1, 2); i > 0; i--)
        add_fault(world);
    run_for(world, between(world, 100, 5000));
    if (chance(world, 30)) { /* a start with faults, too */
        if (world->settings.power_cuts && chance(world, 50))
            node_life_power_cut(world);
        else
            take_down_gently(world);
        bring_up(world);
        run_for(world, between(world, 100, 3000));
    }
    sim_fault_clear(world->server);
    take_down_gently(world); /* a folder that went offline comes back with a start */
    if (world->state == WORLD_ENDED)
        node_life_reap(world);
    world->faulty = false;
    world->troubled_ns = sim_now_ns(world->sim);
    bring_up(world);
}

/* Everything still gets its answer, if late; killed or not in the middle of it. */
static void event_slow_disk(struct world *world)
{
    int64_t ms = chance(world, 50) ? between(world, 5, 200) : between(world, 200, 4000);
    world_say("the disk is slow: up to %lld ms", (long long)ms);
    set_slow(world, ms);
    run_for(world, between(world, 500, 15000));
    if (chance(world, 50)) {
        if (world->settings.power_cuts && chance(world, 50))
            node_life_power_cut(world);
        else
            take_down_gently(world);
        bring_up(world); /* and starts on it */
        run_for(world, between(world, 100, 3000));
    }
    set_slow(world, 0);
}

static void event_network(struct world *world)
{
    switch (draw(world, 3)) {
    case 0: sim_net_reset(world->clients, world->server); break;
    case 1:
        sim_net_cut(world->clients, world->server, true);
        run_for(world, between(world, 100, 30000));
        sim_net_cut(world->clients, world->server, false);
        break;
    default: {
        int64_t low = between(world, 1, 20000);
        sim_net_latency(world->sim, low, low + between(world, 1, 20000));
        run_for(world, between(world, 100, 3000));
        sim_net_latency(world->sim, 50, 500);
    }
    }
}

/* Two days at most for each: all jumps together stay below producer.id.expiration.ms, after which a
 * node may forget a producer's sequences. */
static void event_clock(struct world *world)
{
    int64_t ms = between(world, 1, INT64_C(2) * 86400000);
    if (chance(world, 40))
        ms = -ms;
    sim_clock_jump(world->server, ms);
    world->jumped = true;
    world->clock_ms += ms;
    if (world->clock_ms > world->clock_max_ms)
        world->clock_max_ms = world->clock_ms;
}

static void event(struct world *world)
{
    uint64_t what = draw(world, 100);
    if (what < 25) {
        world_say("kill");
        node_life_kill(world);
        bring_up(world);
    } else if (what < 45) {
        if (world->settings.power_cuts) {
            world_say("power cut");
            node_life_power_cut(world);
        } else {
            node_life_kill(world);
        }
        bring_up(world);
    } else if (what < 55) {
        world_say("terminate");
        node_life_terminate(world);
        bring_up(world);
    } else if (what < 68) {
        event_disk_full(world);
    } else if (what < 82) {
        event_faults(world);
    } else if (what < 88) {
        event_slow_disk(world);
    } else if (what < 93) {
        world_say("network");
        event_network(world);
    } else if (what < 97) {
        world_say("clock");
        event_clock(world);
    } else if (what < 99) {
        compare_lives(world);
    } else {
        sim_drop_caches(world->server);
    }
}

/* ---- the end ---- */

static bool all_done(void *context)
{
    struct world *world = context;
    if (world->state != WORLD_READY)
        return true;
    for (int i = 0; i < world->actor_count; i++)
        if (!world->actors[i]->is_done(world->actors[i]))
            return false;
    return true;
}

/* Without faults everything comes to its end: what waits is acknowledged, consumers reach the high
 * watermark, groups are stable. */
static void finish(struct world *world)
{
    faults_off(world);
    sim_net_reset_chance(world->sim, 0);
    if (world->faulty)
        take_down_gently(world);
    if (world->state == WORLD_ENDED && world->faulty)
        node_life_reap(world);
    world->faulty = false;
    bring_up(world);
    /* A transaction that began before the clock was set back waits for its timeout. */
    sim_clock_jump(world->server, world->clock_max_ms - world->clock_ms);
    world->finishing = true;
    world_say("finishing");
    if (!sim_run_until(world->sim, all_done, world, FINISH_MS)) {
        for (int i = 0; i < world->actor_count; i++)
            if (!world->actors[i]->is_done(world->actors[i])) {
                fprintf(stderr, "%s is not done\n", world->actors[i]->name);
                transactor_tell(world->actors[i]);
            }
        world_fail("without faults, not everything came to its end within %d s", FINISH_MS / 1000);
    }
    bring_up(world);
    scan(world, true);
    compare_lives(world);
    scan(world, true);
    node_life_terminate(world);
}

/* A disk that lies about its syncs. While the node is only killed and stopped, nothing is lost.
 * With a power cut everything may be, the metadata too: then the node starts or says why not, and
 * what passes for a record is one (docs/PROMISES.md). */
static void finish_on_lies(struct world *world)
{
    faults_off(world);
    if (world->faulty)
        take_down_gently(world);
    if (world->state == WORLD_ENDED && world->faulty)
        node_life_reap(world);
    world->faulty = false;
    bring_up(world);
    world_say("the disk lies");
    sim_disk_set_lying(world->server, true);
    run_for(world, between(world, 100, 10000));
    for (int i = (int)draw(world, 3); i > 0; i--) {
        take_down_gently(world);
        bring_up(world);
        run_for(world, between(world, 100, 5000));
    }
    be_quiet(world);
    node_life_power_cut(world);
    sim_disk_set_lying(world->server, false);
    world->lied = world->faulty = true;
    world_say("power cut, after %lld lies", (long long)sim_counters(world->server).lies);
    for (int i = 0; i < 2; i++) {
        if (!node_life_start(world))
            continue;
        scan(world, true);
        if (world->state == WORLD_READY)
            node_life_terminate(world);
        else
            node_life_reap(world);
    }
}

uint64_t world_run(const struct world_options *options)
{
    struct world *world = mem_zalloc(sizeof *world);
    current = world;
    world->seed = options->seed;
    world->verbose = options->verbose;
    world->watch = options->watch;
    world->sim = sim_new(world->seed);
    sim_trace(world->sim, options->trace);
    model_init(&world->model);
    draw_settings(world);
    world->server = sim_machine_new(world->sim, "node");
    world->clients = sim_machine_new(world->sim, "clients");
    world->client_io = sim_machine_start(world->clients);
    world->client_loop = loop_start(world->client_io, "clients");
    world->address = (struct io_address){.host = "10.0.0.1", .port = 9092};
    if (world->settings.resets)
        sim_net_reset_chance(world->sim, (uint64_t)between(world, 50, 2000));
    node_life_format(world);
    node_life_start(world);
    world->open = true;
    add_actors(world);
    for (int i = 0; i < world->settings.rounds; i++) {
        run_for(world, between(world, 20, 4000));
        event(world);
        if (world->state == WORLD_ENDED)
            bring_up(world);
    }
    if (world->settings.lies)
        finish_on_lies(world);
    else
        finish(world);
    for (int i = 0; i < world->actor_count; i++)
        world->actors[i]->free(world->actors[i]);
    loop_stop(world->client_loop);
    world_say(
        "%d starts, %d kills, %lld power cuts, %d stops, %d scans, %d lives compared; %lld records "
        "acknowledged, "
        "%lld read, %lld lost as allowed, %lld commits; %zu transactions, seen committed %lld "
        "times, aborted %lld times; %lld missing for their key; %lld steps",
        world->starts, world->kills, (long long)world->cuts, world->terminations, world->scans,
        world->comparisons, (long long)world->model.records_acked,
        (long long)world->model.records_seen, (long long)world->model.records_lost,
        (long long)world->model.commits_acked, world->model.txn_count,
        (long long)world->model.outcomes_seen[1], (long long)world->model.outcomes_seen[0],
        (long long)world->model.records_compacted, (long long)sim_steps(world->sim));
    uint64_t digest = sim_digest(world->sim);
    model_fini(&world->model);
    sim_free(world->sim);
    mem_free(world);
    return digest;
}
