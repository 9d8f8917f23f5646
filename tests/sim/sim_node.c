/* Runs whole nodes in the simulator, one seed after the other:
 *
 *     sim_node                     the fixed seeds of the test command
 *     sim_node --seeds N           N fresh seeds (of the clock), or from --first-seed S on
 *     sim_node --seed S            one seed, told step by step; --trace FILE writes each event,
 *                                  --watch TOPIC-N tells each batch that is read of a partition
 *
 * Each seed runs in a process of its own, so that a crash of the node is a result like any other,
 * and what a killed node leaves in memory goes with it. Some seeds run twice, the second time in a
 * newly executed program (other addresses), and must give the same digest. */
#include "node/world.h"

#include "base/ensure.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Seeds that once failed, by what they found; then some for their variety. What a seed does changes
 * with every change of the node: a seed may no longer reach what it found. A finding is held for
 * good only by a unit test, which not each of them has yet. */
static const uint64_t fixed_seeds[] = {
    9,   /* a log begun on a full disk stayed, and was found again beside the one made elsewhere */
    10,  /* after a kill, flush.messages=1 hid acknowledged records until the next append */
    115, /* partitions created on a full disk stayed without a log when there was space again */
    150, /* what recovery cut off came back with a power cut, below the recovery point */
    155, /* a stop did not wait for a flush */
    387, /* as 150, seen by a reader */
    388, /* a hole: a power cut kept a newer segment and lost the end of the one before */
    5,   /* with flush.messages=1 a power cut took a new partition's folder */
    3,   /* after a restart, logs had the settings of no topic */
    217, /* the file cache alone took all descriptors */
    10056,   /* partitions of a folder that failed at the start were made anew elsewhere */
    10171,   /* NOT_LEADER_OR_FOLLOWER could not be encoded for Produce below v10 */
    101106,  /* of two batches without an answer at a stop, the first was refused after it */
    103107,  /* a flush failed on a full disk, and a repeat waited for ever for the watermark */
    200990,  /* DeleteRecords hid batches behind the newest snapshot; a crash forgot their producer
              */
    4211,    /* a transaction that began below the log start was forgotten without a snapshot */
    300365,  /* a segment that recovery had dropped was there again after the next power cut */
    400241,  /* recovery read what was cleaned: the marker was gone, its transaction open again */
    700133,  /* a fenced client got the epoch of another one, and committed its records */
    3001097, /* on a full disk a start showed less than was acknowledged; a coordinator loaded just
                that */
    2000922, /* a flush that a full disk refused was made up for, and nobody moved the watermark */
    6001487, /* cleaned by a commit whose marker a power cut took: the value before was gone, too */
    6003028, /* a start that failed left half of a transaction index, which the next one believed */
    9006265, /* what a full disk had left half made came back with a power cut, beside the log made
                elsewhere: the node did not start */
    12000077, /* the same when the power went just after the log was made elsewhere */
    4034,     4068, 4123, 5115, 400056, 400136, 400215, 500174, 600091, 1,   2,
    4,        6,    7,    8,    100,    110,    120,    200,    210,    220, 230,
};

struct options {
    uint64_t first_seed, seed;
    int64_t seeds;
    int jobs;
    bool one, verbose, digest_only, fixed;
    const char *trace, *watch;
};

/* A killed node's memory is lost on purpose. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static _Noreturn void usage(void)
{
    fprintf(stderr,
            "usage: sim_node [--seeds N] [--first-seed S] [--seed S] [--jobs N] [--verbose] "
            "[--trace FILE] [--watch TOPIC-N]\n");
    exit(2);
}

static uint64_t number(const char *text)
{
    int64_t value;
    if (!text || !slice_to_i64(slice_str(text), 0, INT64_MAX, &value))
        usage();
    return (uint64_t)value;
}

static struct options parse(int argc, char **argv)
{
    struct options o = {.jobs = 1, .seeds = -1};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        bool takes_value = true;
        if (!strcmp(argv[i], "--seeds")) {
            o.seeds = (int64_t)number(value);
        } else if (!strcmp(argv[i], "--first-seed")) {
            o.first_seed = number(value);
        } else if (!strcmp(argv[i], "--seed")) {
            o.seed = number(value);
            o.one = true;
        } else if (!strcmp(argv[i], "--jobs")) {
            o.jobs = (int)number(value);
        } else if (!strcmp(argv[i], "--trace")) {
            o.trace = value;
        } else if (!strcmp(argv[i], "--watch")) {
            o.watch = value;
        } else {
            takes_value = false;
            if (!strcmp(argv[i], "--verbose"))
                o.verbose = true;
            else if (!strcmp(argv[i], "--digest"))
                o.digest_only = true;
            else
                usage();
        }
        i += takes_value;
    }
    if (o.seeds < 0) {
        o.seeds = (int64_t)(sizeof fixed_seeds / sizeof fixed_seeds[0]);
        o.fixed = true;
    } else if (!o.first_seed) {
        o.first_seed = (uint64_t)time(NULL) * 1000;
    }
    if (o.jobs < 1)
        usage();
    return o;
}

static int run_one(const struct options *o)
{
    FILE *trace = o->trace ? fopen(o->trace, "w") : NULL;
    uint64_t digest = world_run(&(struct world_options){
        .seed = o->seed, .verbose = !o->digest_only, .trace = trace, .watch = o->watch});
    printf("%016llx\n", (unsigned long long)digest);
    if (trace)
        fclose(trace);
    return 0;
}

/* ---- many ---- */

struct slot {
    pid_t pid;
    uint64_t seed;
    int pipe;
    bool again; /* the second run, for its digest */
    uint64_t digest;
};

static void start(struct slot *slot, const char *program)
{
    int ends[2];
    ENSURE(pipe(ends) == 0);
    fflush(NULL);
    slot->pid = fork();
    ENSURE(slot->pid >= 0);
    if (slot->pid == 0) {
        close(ends[0]);
        if (slot->again) {
            char seed[32];
            snprintf(seed, sizeof seed, "%llu", (unsigned long long)slot->seed);
            dup2(ends[1], STDOUT_FILENO);
            execl(program, program, "--seed", seed, "--digest", (char *)NULL);
            _exit(127);
        }
        uint64_t digest = world_run(&(struct world_options){.seed = slot->seed});
        dprintf(ends[1], "%016llx\n", (unsigned long long)digest);
        _exit(0);
    }
    close(ends[1]);
    slot->pipe = ends[0];
}

/* True when the seed is through. */
static bool end(struct slot *slot, int status, bool twice, const char *program, int *failures)
{
    char text[32] = "";
    ssize_t size = read(slot->pipe, text, sizeof text - 1);
    close(slot->pipe);
    slot->pid = 0;
    uint64_t digest = size > 0 ? strtoull(text, NULL, 16) : 0;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || size <= 0) {
        printf("FAILED seed %llu (%s %d)\n", (unsigned long long)slot->seed,
               WIFSIGNALED(status) ? "signal" : "status",
               WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        ++*failures;
        return true;
    }
    if (slot->again && digest != slot->digest) {
        printf("FAILED seed %llu: a second run went another way\n", (unsigned long long)slot->seed);
        ++*failures;
    }
    if (slot->again || !twice)
        return true;
    slot->again = true;
    slot->digest = digest;
    start(slot, program);
    return false;
}

static int run_many(const struct options *o, const char *program)
{
    struct slot slots[64] = {0};
    int jobs = o->jobs < 64 ? o->jobs : 64, busy = 0, failures = 0;
    int64_t next = 0, through = 0;
    while (next < o->seeds || busy) {
        for (int i = 0; i < jobs && next < o->seeds; i++) {
            if (slots[i].pid)
                continue;
            uint64_t seed = o->fixed ? fixed_seeds[next] : o->first_seed + (uint64_t)next;
            slots[i] = (struct slot){.seed = seed};
            start(&slots[i], program);
            next++;
            busy++;
        }
        int status;
        pid_t pid = wait(&status);
        ENSURE(pid > 0);
        for (int i = 0; i < jobs; i++) {
            if (slots[i].pid != pid)
                continue;
            bool twice = slots[i].seed % 10 == 0;
            if (!end(&slots[i], status, twice, program, &failures))
                continue;
            busy--;
            if (++through % 500 == 0 && through < o->seeds)
                printf("%lld of %lld seeds, %d failed\n", (long long)through, (long long)o->seeds,
                       failures);
        }
        fflush(stdout);
    }
    printf("%lld seeds, %d failed\n", (long long)through, failures);
    return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
    struct options options = parse(argc, argv);
    return options.one ? run_one(&options) : run_many(&options, argv[0]);
}
