/* One simulated run: a machine with a node, a machine with its clients, the model they share, and
 * the story that the seed tells. One run at a time in a process. */
#ifndef KLAMM_TESTS_SIM_WORLD_H
#define KLAMM_TESTS_SIM_WORLD_H

#include "../sim_io.h"
#include "client.h"
#include "model.h"

struct config;
struct node;
struct actor;

enum { WORLD_DIRS_MAX = 3, WORLD_ACTORS_MAX = 20 };

/* What the seed drew before the first event. */
struct world_settings {
    int dirs;
    bool power_cuts; /* else failing fsync may be drawn: after one, a power cut may take anything */
    bool flush_all;  /* log.flush.interval.messages=1 */
    bool lies;       /* the story ends with a disk that said "synced" and a power cut */
    bool resets;     /* connections are lost now and then */
    int producers, consumers, members, transactors;
    int cells; /* of transactions: see txn_model.h */
    int rounds;
    int64_t checkpoint_ms, retention_check_ms;
    int64_t snapshot_bytes;
    int64_t roll_ms;
    int rebalance_delay_ms;
    int cleaner_backoff_ms, cleaner_threads;
    int timeouts_ms; /* how often transactions are looked at for theirs */
    int network_threads;
    int groups_partitions, transactions_partitions;
};

enum world_state { WORLD_OFF, WORLD_STARTING, WORLD_READY, WORLD_ENDED };

struct world {
    uint64_t seed;
    bool verbose;
    const char *watch;
    struct sim *sim;
    struct sim_machine *server, *clients;
    struct io *io, *client_io; /* of the process that runs now */
    struct loop *client_loop;
    struct io_address address;
    struct world_settings settings;
    struct model model;

    /* the node */
    struct node *node;
    struct loop *meta_loop;
    struct config *config;
    enum world_state state;
    int exit_status;

    bool stopping; /* SIGTERM was sent */

    bool open;  /* clients may connect */
    bool quiet; /* only the scanner may */
    struct actor *scanner, *inspector;
    bool finishing;        /* no new work: what is under way comes to its end */
    bool faulty;           /* faults are on, or were since the node started */
    bool full;             /* the disk's space is limited */
    int64_t full_until_ns; /* errors that came of it may still be on their way */
    bool slow;             /* the disk is */
    int64_t slow_until_ns; /* calls that began then may still be under way */
    bool tight;            /* ... and no reserve was there when the node started */
    bool lossy;            /* a power cut since the last scan */
    bool points_due;     /* no start since the power cut: the recovery points are as it left them */
    bool lied;           /* ... after syncs that were none: nothing is promised any more */
    int64_t cuts;        /* power cuts so far */
    int64_t troubled_ns; /* when the last trouble ended */
    bool jumped;         /* the node's clock was set */
    int64_t clock_ms, clock_max_ms; /* all jumps so far, and the farthest */
    bool has_transactions;          /* the node serves their APIs */
    struct model_topic *pinned;     /* never deleted */
    int cell_clients[MODEL_CELLS_MAX];

    struct actor *actors[WORLD_ACTORS_MAX];
    int actor_count;
    int starts, kills, terminations, scans, comparisons;
};

/* The run fails: prints seed, time and the text, and ends the process. */
_Noreturn void world_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* With --verbose. */
void world_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Told of with --watch TOPIC-N: each batch that is read. */
bool world_watches(const char *topic, int32_t partition);

struct world_options {
    uint64_t seed;
    bool verbose;
    FILE *trace;
    const char *watch;
};

/* Runs the whole story; returns the digest. */
uint64_t world_run(const struct world_options *options);

/* ---- node.c: the node's life ---- */

void node_life_format(struct world *world);
/* Starts it; false when it refused or ended at once (allowed only while faults are on). */
bool node_life_start(struct world *world);
void node_life_kill(struct world *world);
void node_life_power_cut(struct world *world);
/* SIGTERM; waits for the end and checks that nothing is left behind. */
void node_life_terminate(struct world *world);
/* The node ended by itself, or was told to: frees it. */
void node_life_reap(struct world *world);

/* Storage errors are to be expected. */
static inline bool world_is_troubled(const struct world *world)
{
    return world->faulty || world->full || sim_now_ns(world->sim) < world->full_until_ns;
}

/* What was acknowledged may take its time to be done. */
static inline bool world_is_slow(const struct world *world)
{
    return world->slow || sim_now_ns(world->sim) < world->slow_until_ns;
}

/* ---- random choices ---- */

static inline uint64_t draw(struct world *world, uint64_t limit)
{
    return sim_random_below(world->sim, limit);
}

static inline bool chance(struct world *world, unsigned percent)
{
    return sim_chance(world->sim, percent);
}

static inline int64_t between(struct world *world, int64_t low, int64_t high)
{
    return low + (int64_t)draw(world, (uint64_t)(high - low + 1));
}

/* ---- actors ---- */

/* A client with a will of its own. `act` is called again and again while it is connected, and must
 * not send while calls are under way unless it keeps count of them itself. */
struct actor {
    struct world *world;
    struct client client;
    struct loop_timer timer;
    int64_t pause_max_us;
    void (*act)(struct actor *actor);
    /* Has nothing under way and, in the finishing phase, nothing left to do. */
    bool (*is_done)(struct actor *actor);
    void (*free)(struct actor *actor);
    char name[24];
};

void actor_init(struct actor *actor, struct world *world, const char *name, int index);
void actor_fini(struct actor *actor);

struct actor *producer_new(struct world *world, int index);
struct actor *consumer_new(struct world *world, int index);
struct actor *joiner_new(struct world *world, int index);
struct actor *transactor_new(struct world *world, int index);
void transactor_tell(struct actor *actor); /* its state, to stderr, if it is one */
struct actor *admin_new(struct world *world);
/* Reads all partitions from the start, once for each scan. */
struct actor *scanner_new(struct world *world);
void scanner_start(struct actor *actor);
/* Asks for the state that a start rebuilds: before it (life 0) and after it (1). */
struct actor *inspector_new(struct world *world);
void inspector_start(struct actor *actor, int life);
/* Fails when the two differ; false: something was open, so that they may. */
bool inspector_compare(struct actor *actor);
/* Where it stands, to stderr. */
void scanner_tell(struct actor *actor);

/* A version between those given that both sides know. */
int actor_version(struct actor *actor, enum wire_api_key key, int first);

#endif
