/* The cleaner's tasks: log.cleaner.threads of them, each with at most one round under way.
 *
 * A task's life, on the loop: a slice on a worker -> what it asks for: the next one at once, after
 * a pause for the throttle, or after log.cleaner.backoff.ms when nothing was there to clean. Slices
 * are short, so that many tasks, flushes and loads share the workers, and a stop need not wait.
 *
 * Invariants: for each task that is neither stopped nor resting `job` is under way or `timer` is
 * set, never both; a job counts in the `busy` of the log folders. `lock` covers config, throttle
 * and dedupe_taken: the shares of the rounds under way, which stay within the whole also when it,
 * or log.cleaner.threads, changes. Answers to Kafka's LogCleaner. */
#include "store/cleaner_internal.h"

#include "base/deadline.h"
#include "base/mem.h"
#include "os/diag.h"
#include "store/cleaner_throttle.h"

enum { SLICE_SIZE = 4 << 20, THREADS_MAX = 64, SHARE_WAIT_MS = 1000 };

struct task {
    struct cleaner *cleaner;
    struct io_job job;
    struct loop_timer timer;
    bool busy;
    struct cleaner_round *round;
    int64_t share;   /* of the dedupe buffer, for `round` */
    int64_t wait_ns; /* what the last slice asks for */
    int index;
    bool resting; /* one too many by log.cleaner.threads */
};

struct cleaner {
    struct log_dirs *dirs;
    struct loop *loop; /* NULL: not started */
    struct lock lock;
    struct cleaner_config config;
    struct cleaner_throttle throttle;
    int64_t dedupe_taken;
    bool checkpoint_busy, checkpoint_again;
    uint32_t retains;  /* atomic */
    uint32_t stopping; /* atomic: set on the loop */
    struct task *tasks[THREADS_MAX];
    int task_count; /* on the loop */
    struct loop_task configure_task;
    bool configure_posted;
};

void cleaner_config_init(struct cleaner_config *config)
{
    *config = (struct cleaner_config){
        .enabled = true,
        .threads = 1,
        .dedupe_size = 128 << 20,
        .load_factor = 0.9,
        .io_buffer_size = 512 << 10,
        .io_rate_max = 1.7976931348623157e308,
        .backoff_ms = 15000,
    };
}

struct cleaner *cleaner_new(struct log_dirs *dirs, const struct cleaner_config *config)
{
    struct cleaner *cleaner = mem_zalloc(sizeof *cleaner);
    cleaner->dirs = dirs;
    cleaner->config = *config;
    lock_init(&cleaner->lock, LOCK_LEAF);
    cleaner_throttle_init(&cleaner->throttle, config->io_rate_max);
    return cleaner;
}

void cleaner_free(struct cleaner *cleaner)
{
    if (!cleaner)
        return;
    for (int i = 0; i < cleaner->task_count; i++) {
        struct task *task = cleaner->tasks[i];
        if (loop_timer_is_set(&task->timer))
            loop_timer_cancel(cleaner->loop, &task->timer);
        if (task->round) {
            /* As if killed: what is on disk is the next start's. */
            cleaner_output_fini(&task->round->output);
            cleaner_round_free(task->round);
        }
        mem_free(task);
    }
    lock_fini(&cleaner->lock);
    mem_free(cleaner);
}

bool cleaner_retains(const struct cleaner *cleaner)
{
    return __atomic_load_n(&cleaner->retains, __ATOMIC_ACQUIRE);
}

static struct cleaner_config config_of(struct cleaner *cleaner)
{
    lock_take(&cleaner->lock);
    struct cleaner_config config = cleaner->config;
    lock_release(&cleaner->lock);
    return config;
}

/* ---- between rounds ---------------------------------------------------------------------------
 */

static void retain(struct log *log, void *context)
{
    if (cleaner_compacts(log) && !log->cleaning && !log->uncleanable)
        log_apply_retention(log, *(int64_t *)context);
}

/* One task writes at a time; who comes meanwhile leaves it to that one. */
static void write_checkpoints(struct cleaner *cleaner)
{
    lock_take(&cleaner->lock);
    bool again = !cleaner->checkpoint_busy;
    cleaner->checkpoint_again = !again;
    cleaner->checkpoint_busy = true;
    lock_release(&cleaner->lock);
    while (again) {
        cleaner_write_checkpoints(cleaner->dirs);
        lock_take(&cleaner->lock);
        again = cleaner->checkpoint_again;
        cleaner->checkpoint_again = false;
        cleaner->checkpoint_busy = again;
        lock_release(&cleaner->lock);
    }
}

static void tidy(struct cleaner *cleaner, int64_t now_ms)
{
    log_walk_each(cleaner->dirs, NULL, retain, &now_ms);
    write_checkpoints(cleaner);
}

/* ---- a slice ----------------------------------------------------------------------------------
 */

static int64_t throttle(struct cleaner *cleaner, uint64_t bytes)
{
    int64_t now_ns = io_mono_ns(cleaner->dirs->io);
    lock_take(&cleaner->lock);
    int64_t wait_ns = cleaner_throttle_add(&cleaner->throttle, bytes, now_ns);
    lock_release(&cleaner->lock);
    return wait_ns;
}

static uint32_t slice_size(struct cleaner *cleaner)
{
    lock_take(&cleaner->lock);
    uint32_t size = cleaner_throttle_slice(&cleaner->throttle, SLICE_SIZE);
    lock_release(&cleaner->lock);
    return size;
}

/* Takes what a round of these settings may use, unless rounds of other settings have it still. */
static bool take_share(struct task *task, const struct cleaner_config *config)
{
    struct cleaner *cleaner = task->cleaner;
    int64_t share = cleaner_share(config);
    lock_take(&cleaner->lock);
    bool fits = !cleaner->dedupe_taken || share <= config->dedupe_size - cleaner->dedupe_taken;
    if (fits) {
        cleaner->dedupe_taken += share;
        task->share = share;
    }
    lock_release(&cleaner->lock);
    return fits;
}

static void give_share_back(struct task *task)
{
    struct cleaner *cleaner = task->cleaner;
    lock_take(&cleaner->lock);
    cleaner->dedupe_taken -= task->share;
    lock_release(&cleaner->lock);
    task->share = 0;
}

static bool end_round(struct task *task)
{
    bool cleaned = task->round && cleaner_round_free(task->round);
    task->round = NULL;
    give_share_back(task);
    return cleaned;
}

static void run_slice(struct task *task)
{
    struct cleaner *cleaner = task->cleaner;
    struct io *io = cleaner->dirs->io;
    struct cleaner_config config = config_of(cleaner);
    uint64_t bytes = 0;
    task->wait_ns = 0;
    if (__atomic_load_n(&cleaner->stopping, __ATOMIC_ACQUIRE)) {
        end_round(task);
        return;
    }
    if (!task->round && !take_share(task, &config)) {
        task->wait_ns = deadline_ns_of_ms(SHARE_WAIT_MS);
        return;
    }
    if (!task->round)
        task->round = cleaner_pick(cleaner->dirs, &config, io_wall_ms(io));
    if (task->round && cleaner_round_step(task->round, slice_size(cleaner), &bytes)) {
        task->wait_ns = throttle(cleaner, bytes);
        return;
    }
    bool cleaned = end_round(task);
    tidy(cleaner, io_wall_ms(io));
    task->wait_ns = cleaned ? throttle(cleaner, bytes) : deadline_ns_of_ms(config.backoff_ms);
}

static void run_job(struct io_job *job)
{
    run_slice(LIST_ITEM(job, struct task, job));
}

static void submit(struct task *task);

/* One too many, and not within a round: it takes no memory for a new one. */
static bool is_surplus(const struct task *task)
{
    return !task->round && task->index >= config_of(task->cleaner).threads;
}

static void job_done(struct io_job *job)
{
    struct task *task = LIST_ITEM(job, struct task, job);
    struct cleaner *cleaner = task->cleaner;
    task->busy = false;
    if (cleaner->stopping) {
        if (task->round)
            submit(task);
    } else if (is_surplus(task)) {
        task->resting = true;
    } else if (task->wait_ns > 0) {
        loop_timer_set(cleaner->loop, &task->timer,
                       deadline_after(io_mono_ns(cleaner->dirs->io), task->wait_ns));
    } else {
        submit(task);
    }
    log_dirs_job_ended(cleaner->dirs);
}

static void submit(struct task *task)
{
    struct cleaner *cleaner = task->cleaner;
    task->busy = true;
    cleaner->dirs->busy++;
    task->job.run = run_job;
    task->job.done = job_done;
    task->job.loop = cleaner->loop;
    io_submit(cleaner->dirs->io, &task->job);
}

static void timer_expired(struct loop_timer *timer)
{
    struct task *task = LIST_ITEM(timer, struct task, timer);
    task->resting = is_surplus(task);
    if (!task->resting)
        submit(task);
}

/* ---- on the loop ------------------------------------------------------------------------------
 */

/* Of too many tasks the last ones rest, each after the round that it is in. */
static void fit_tasks(struct cleaner *cleaner)
{
    int threads = config_of(cleaner).threads;
    for (int i = 0; i < cleaner->task_count && i < threads; i++) {
        struct task *task = cleaner->tasks[i];
        if (task->resting) {
            task->resting = false;
            submit(task);
        }
    }
    while (cleaner->task_count < threads && cleaner->task_count < THREADS_MAX) {
        struct task *task = mem_zalloc(sizeof *task);
        task->cleaner = cleaner;
        task->index = cleaner->task_count;
        task->timer.expired = timer_expired;
        cleaner->tasks[cleaner->task_count++] = task;
        submit(task);
    }
}

void cleaner_start(struct cleaner *cleaner, struct loop *loop)
{
    if (!cleaner->config.enabled) {
        diag(DIAG_STORE, DIAG_WARN,
             "log.cleaner.enable=false: topics with cleanup.policy=compact keep all their records");
        return;
    }
    cleaner->loop = loop;
    __atomic_store_n(&cleaner->retains, 1, __ATOMIC_RELEASE);
    fit_tasks(cleaner);
}

void cleaner_stop(struct cleaner *cleaner)
{
    __atomic_store_n(&cleaner->stopping, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < cleaner->task_count; i++) {
        struct task *task = cleaner->tasks[i];
        if (loop_timer_is_set(&task->timer))
            loop_timer_cancel(cleaner->loop, &task->timer);
        if (!task->busy && task->round)
            submit(task);
    }
}

static void configured(struct loop_task *loop_task)
{
    struct cleaner *cleaner = LIST_ITEM(loop_task, struct cleaner, configure_task);
    lock_take(&cleaner->lock);
    cleaner->configure_posted = false;
    lock_release(&cleaner->lock);
    if (!cleaner->stopping)
        fit_tasks(cleaner);
}

void cleaner_configure(struct cleaner *cleaner, const struct cleaner_config *config)
{
    lock_take(&cleaner->lock);
    bool enabled = cleaner->config.enabled;
    cleaner->config = *config;
    cleaner->config.enabled = enabled;
    cleaner_throttle_set_rate(&cleaner->throttle, config->io_rate_max);
    bool post = cleaner->loop && !cleaner->configure_posted;
    cleaner->configure_posted = cleaner->configure_posted || post;
    lock_release(&cleaner->lock);
    if (!post)
        return;
    cleaner->configure_task.run = configured;
    loop_post(cleaner->loop, &cleaner->configure_task);
}

int cleaner_run_now(struct cleaner *cleaner, int64_t now_ms)
{
    struct cleaner_config config = config_of(cleaner);
    struct cleaner_round *round;
    int cleaned = 0;
    bool went_well = true;
    while (went_well && (round = cleaner_pick(cleaner->dirs, &config, now_ms))) {
        uint64_t bytes;
        while (cleaner_round_step(round, SLICE_SIZE, &bytes))
            ;
        went_well = cleaner_round_free(round);
        cleaned += went_well;
    }
    tidy(cleaner, now_ms);
    return cleaned;
}
