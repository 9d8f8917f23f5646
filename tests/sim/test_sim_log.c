/* One log under random producers, transactions, rolls, flushes, truncations and deletions, killed
 * and cut from power at random points. Beside it a model: the list of batches it took. After every
 * start, and now and then before, the log must hold a prefix of the model that has all that was
 * flushed, and know of its producers, their last batches, the open and the aborted transactions
 * exactly what replaying that prefix gives. --seeds N, --seed S; without arguments fixed seeds. */
#include "sim_io.h"

#include "base/buf.h"
#include "base/ensure.h"
#include "base/mem.h"
#include "os/diag.h"
#include "record/builder.h"
#include "record/control.h"
#include "store/log.h"

#include <stdlib.h>
#include <string.h>

enum { PRODUCERS = 6, TRANSACTIONAL = 3, STEPS = 160, REMEMBERED = 5, WALL_JUMP_MS = 3600000 };

struct written {
    int64_t base, last, timestamp, producer_id;
    int32_t sequence_first, sequence_last, coordinator_epoch;
    int16_t epoch;
    bool transactional, marker, abort;
};

struct known { /* of one producer */
    bool exists;
    int16_t epoch;
    int32_t coordinator_epoch;
    int64_t timestamp, txn_first;
    int batch_count;
    struct written batches[REMEMBERED]; /* oldest first */
};

struct world {
    struct sim *sim;
    struct sim_machine *machine;
    struct io *io;
    struct log *log;
    struct log_config config;
    struct written *batches; /* the model */
    size_t count, capacity;
    int64_t end, start, flushed, checkpoint;
    bool memory_cut; /* batches went that rebuilding would need for the last five */
    struct log_flush flush;
    bool flushing;
    struct buf bytes;
    uint64_t seed;
};

#define CHECK(w, condition)                                                                    \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            fprintf(stderr, "seed %llu: %s:%d: %s\n", (unsigned long long)(w)->seed, __FILE__, \
                    __LINE__, #condition);                                                     \
            abort();                                                                           \
        }                                                                                      \
    } while (0)

/* With --seed alone each step is told. */
static bool telling;
#define TELL(...)  (telling ? (void)fprintf(stderr, __VA_ARGS__) : (void)0)
#define LL(number) ((long long)(number))

/* ---- the model --------------------------------------------------------------------------------
 */

static void replay(struct known *p, const struct written *b)
{
    if (!p->exists)
        *p = (struct known){
            .exists = true, .epoch = -1, .coordinator_epoch = -1, .timestamp = -1, .txn_first = -1};
    if (p->epoch != b->epoch)
        p->batch_count = 0;
    p->epoch = b->epoch;
    p->timestamp = b->timestamp;
    if (b->marker) {
        p->coordinator_epoch = b->coordinator_epoch;
        p->txn_first = -1;
        return;
    }
    if (p->batch_count == REMEMBERED) {
        memmove(p->batches, p->batches + 1, (REMEMBERED - 1) * sizeof *p->batches);
        p->batch_count--;
    }
    p->batches[p->batch_count++] = *b;
    if (b->transactional && p->txn_first < 0)
        p->txn_first = b->base;
}

static void model_state(const struct world *w, struct known known[PRODUCERS])
{
    memset(known, 0, PRODUCERS * sizeof *known);
    for (size_t i = 0; i < w->count; i++)
        if (w->batches[i].producer_id >= 0)
            replay(&known[w->batches[i].producer_id], &w->batches[i]);
}

static void model_add(struct world *w, struct written b)
{
    w->batches = mem_grow(w->batches, &w->capacity, w->count, sizeof *w->batches);
    w->batches[w->count++] = b;
    w->end = b.last + 1;
}

static void model_cut(struct world *w, int64_t end)
{
    while (w->count && w->batches[w->count - 1].last >= end)
        w->count--;
    /* All that was left lay below the log start: the log begins anew there. */
    if (w->count && w->batches[w->count - 1].last + 1 < end)
        w->count = 0;
    w->end = end;
}

/* ---- what the log says ------------------------------------------------------------------------
 */

static enum err append(struct world *w, const struct written *b, struct log_appended *ret_appended)
{
    buf_clear(&w->bytes);
    if (b->marker) {
        struct control_end_txn marker = {.is_commit = !b->abort,
                                         .coordinator_epoch = b->coordinator_epoch};
        ENSURE(!control_build_end_txn(&w->bytes, 0, 0, b->timestamp, b->producer_id, b->epoch,
                                      &marker));
        return log_append(w->log, LOG_COORDINATOR, 0, buf_slice(&w->bytes), ret_appended);
    }
    struct builder_options options = BUILDER_DEFAULTS;
    options.transactional = b->transactional;
    if (b->producer_id >= 0) {
        options.producer_id = b->producer_id;
        options.producer_epoch = b->epoch;
        options.base_sequence = b->sequence_first;
    }
    struct builder builder;
    builder_begin(&builder, &w->bytes, &options);
    int64_t count = b->last - b->base + 1;
    for (int64_t i = 0; i < count; i++)
        builder_append(&builder, b->timestamp, SLICE_NULL, slice_str("a value of some size"));
    ENSURE(!builder_end(&builder));
    return log_append(w->log, LOG_CLIENT, 0, buf_slice(&w->bytes), ret_appended);
}

static void check_batches(struct world *w)
{
    size_t at = 0;
    while (at < w->count && w->batches[at].last < log_start(w->log))
        at++;
    for (int64_t next = log_start(w->log); next < log_end(w->log);) {
        buf_clear(&w->bytes);
        int64_t before = next;
        CHECK(w, !log_read_copy(w->log, next, 4096, INT64_MAX, &w->bytes, &next));
        CHECK(w, next > before);
        struct batch_iter iter = batch_iter_of(buf_slice(&w->bytes));
        struct batch_info info;
        for (; batch_iter_next(&iter, &info); at++) {
            CHECK(w, at < w->count && batch_crc_ok(info.data));
            CHECK(w, info.offset_base == w->batches[at].base);
            CHECK(w, info.offset_last == w->batches[at].last);
            CHECK(w, batch_producer_id(info.data) == w->batches[at].producer_id);
        }
    }
    CHECK(w, at == w->count);
}

static void check_producers(struct world *w)
{
    struct known known[PRODUCERS];
    model_state(w, known);
    struct arena arena;
    arena_init(&arena);
    int32_t count;
    struct log_producer *found = log_producers(w->log, &arena, &count);
    int64_t unstable = w->end;
    for (int64_t id = 0; id < PRODUCERS; id++) {
        const struct known *p = &known[id];
        const struct log_producer *f = NULL;
        for (int32_t i = 0; i < count; i++)
            f = found[i].producer_id == id ? &found[i] : f;
        CHECK(w, p->exists == (f != NULL));
        if (!f)
            continue;
        CHECK(w, f->producer_epoch == p->epoch);
        CHECK(w, f->last_timestamp == p->timestamp);
        CHECK(w, f->coordinator_epoch == p->coordinator_epoch);
        CHECK(w, f->txn_offset_first == p->txn_first);
        CHECK(w, f->last_sequence ==
                     (p->batch_count ? p->batches[p->batch_count - 1].sequence_last : -1));
        if (p->txn_first >= 0 && p->txn_first < unstable)
            unstable = p->txn_first;
        /* Each of the last five is known, and answered with the place it has. */
        int from = w->memory_cut && p->batch_count ? p->batch_count - 1 : 0;
        for (int i = from; i < p->batch_count; i++) {
            struct log_appended again;
            CHECK(w, !append(w, &p->batches[i], &again));
            CHECK(w, again.duplicate && again.offset_first == p->batches[i].base);
        }
    }
    arena_fini(&arena);
    if (unstable < log_start(w->log))
        unstable = log_start(w->log);
    if (log_high_watermark(w->log) == w->end)
        CHECK(w, log_last_stable(w->log) == unstable);
}

/* Of every aborted transaction that the read may touch the list must tell; of no other. */
static void check_aborted(struct world *w, int64_t offset)
{
    struct arena arena;
    struct log_aborted *list;
    int32_t count;
    struct log_read read;
    arena_init(&arena);
    CHECK(w, !log_read(w->log, offset, 300, true, INT64_MAX, &read));
    CHECK(w, !log_aborted_for(w->log, &read, &arena, &list, &count));
    int64_t first[PRODUCERS];
    memset(first, -1, sizeof first);
    int32_t certain = 0;
    for (size_t i = 0; i < w->count && read.range.size; i++) {
        const struct written *b = &w->batches[i];
        if (!b->transactional)
            continue;
        if (!b->marker && first[b->producer_id] < 0)
            first[b->producer_id] = b->base;
        if (!b->marker)
            continue;
        int64_t from = first[b->producer_id];
        first[b->producer_id] = -1;
        bool told = false;
        for (int32_t k = 0; k < count; k++)
            told = told || (list[k].producer_id == b->producer_id && list[k].offset_first == from);
        if (!b->abort || from < 0 || b->base < offset)
            CHECK(w, !told || from < 0);
        else if (from <= read.offset_base)
            CHECK(w, told);
        certain += told;
    }
    CHECK(w, certain == count);
    log_range_release(&read.range);
    arena_fini(&arena);
}

static void check(struct world *w)
{
    CHECK(w, log_end(w->log) == w->end);
    check_batches(w);
    check_producers(w);
    for (int i = 0; i < 6 && log_start(w->log) < w->end; i++)
        check_aborted(w, log_start(w->log) +
                             (int64_t)sim_random_below(w->sim, (uint64_t)(w->end - w->start)));
}

/* ---- life -------------------------------------------------------------------------------------
 */

static void open_log(struct world *w, bool clean)
{
    struct log_open_options options = {.io = w->io,
                                       .path = "/d/t-0",
                                       .topic = SLICE_LIT("t"),
                                       .config = w->config,
                                       .recovery_point = w->checkpoint,
                                       .log_start = w->start,
                                       .clean = clean};
    CHECK(w, !log_open(&options, &w->log));
    TELL("opened: %lld to %lld\n", LL(log_start(w->log)), LL(log_end(w->log)));
    CHECK(w, log_end(w->log) >= w->flushed && log_end(w->log) <= w->end);
    model_cut(w, log_end(w->log));
    /* Nothing is left but what was deleted, and that was not flushed: what is known of it depends
     * on which names the disk kept. */
    if (w->end == w->start && w->flushed < w->start) {
        CHECK(w, !log_truncate_fully(w->log, w->end));
        w->count = 0;
    }
    w->flushed = log_recovery_point(w->log);
    log_set_high_watermark(w->log, w->end);
    check(w);
}

static void drop_flush(struct world *w, struct log *log)
{
    if (w->flushing && !log_flush_finish(log, &w->flush) && log)
        w->flushed = log_recovery_point(log);
    if (w->flushing && log)
        TELL("flush ended, recovery point %lld\n", LL(log_recovery_point(log)));
    w->flushing = false;
}

static void restart(struct world *w)
{
    unsigned how = (unsigned)sim_random_below(w->sim, 3);
    bool clean = how == 0;
    TELL("%s at %lld, flushed %lld, checkpoint %lld\n",
         how == 0   ? "stop"
         : how == 1 ? "kill"
                    : "power cut",
         LL(w->end), LL(w->flushed), LL(w->checkpoint));
    if (clean) {
        if (w->flushing)
            log_flush_run(&w->flush);
        drop_flush(w, w->log);
        CHECK(w, !log_close(w->log, true));
        w->checkpoint = w->flushed = log_recovery_point(w->log);
        CHECK(w, w->flushed == w->end);
    }
    drop_flush(w, NULL);
    log_free(w->log);
    if (how == 1)
        sim_machine_kill(w->machine);
    else if (how == 2)
        sim_machine_power_cut(w->machine);
    else
        sim_machine_exit(w->machine);
    w->io = sim_machine_start(w->machine);
    /* As a start of a node does: the folder may have been made by a process that was killed. */
    CHECK(w, !io_sync_dir(w->io, "/d"));
    open_log(w, clean);
}

static void produce(struct world *w)
{
    struct known known[PRODUCERS];
    model_state(w, known);
    int64_t id = (int64_t)sim_random_below(w->sim, PRODUCERS + 1) - 1;
    int32_t extra = (int32_t)sim_random_below(w->sim, 4);
    struct written b = {.base = w->end,
                        .last = w->end + extra,
                        .timestamp = 1000 + (int64_t)sim_steps(w->sim) + w->end,
                        .producer_id = id,
                        .epoch = -1,
                        .sequence_first = -1,
                        .sequence_last = -1,
                        .coordinator_epoch = -1,
                        .transactional = id >= 0 && id < TRANSACTIONAL};
    if (id >= 0) {
        const struct known *p = &known[id];
        bool bump = p->exists && p->epoch < 30000 && sim_chance(w->sim, 5);
        b.epoch = p->exists ? (int16_t)(p->epoch + bump) : 0;
        if (!p->exists)
            b.sequence_first = id == PRODUCERS - 1 ? INT32_MAX - 3 : 0;
        else if (bump || !p->batch_count)
            b.sequence_first = 0;
        else
            b.sequence_first = batch_sequence_add(p->batches[p->batch_count - 1].sequence_last, 1);
        b.sequence_last = batch_sequence_add(b.sequence_first, extra);
    }
    struct log_appended appended;
    CHECK(w, !append(w, &b, &appended));
    CHECK(w, !appended.duplicate && appended.offset_first == b.base);
    model_add(w, b);
}

static void mark(struct world *w)
{
    struct known known[PRODUCERS];
    model_state(w, known);
    int64_t id = (int64_t)sim_random_below(w->sim, TRANSACTIONAL);
    const struct known *p = &known[id];
    struct written b = {.base = w->end,
                        .last = w->end,
                        .timestamp = 1000 + (int64_t)sim_steps(w->sim) + w->end,
                        .producer_id = id,
                        .epoch = p->exists ? (int16_t)(p->epoch + sim_chance(w->sim, 70)) : 0,
                        .sequence_first = -1,
                        .sequence_last = -1,
                        .coordinator_epoch = p->coordinator_epoch +
                                             (p->coordinator_epoch < 0 ? 1 : 0) +
                                             (int32_t)sim_random_below(w->sim, 2),
                        .transactional = true,
                        .marker = true,
                        .abort = sim_chance(w->sim, 60)};
    if (!p->exists)
        b.coordinator_epoch = 0;
    struct log_appended appended;
    CHECK(w, !append(w, &b, &appended));
    TELL("%s of %lld at %lld, began at %lld\n", b.abort ? "abort" : "commit", LL(id), LL(b.base),
         LL(p->exists ? p->txn_first : -1));
    model_add(w, b);
}

static void flush(struct world *w)
{
    /* One that was begun earlier ends now: what came meanwhile is not its own. */
    if (w->flushing) {
        log_flush_run(&w->flush);
        drop_flush(w, w->log);
        return;
    }
    w->flushing = log_flush_prepare(w->log, &w->flush);
    if (w->flushing)
        TELL("flush of %d segments to %lld\n", w->flush.count, LL(w->flush.offset_end));
    if (w->flushing && sim_chance(w->sim, 50))
        flush(w);
}

static void truncate_log(struct world *w)
{
    if (!w->count)
        return;
    size_t from = w->count > 8 ? w->count - 8 : 0;
    int64_t to = w->batches[from + sim_random_below(w->sim, w->count - from)].base;
    if (to < w->start)
        return;
    TELL("truncate to %lld\n", LL(to));
    CHECK(w, !log_truncate_to(w->log, to));
    model_cut(w, to);
    if (w->flushed > to)
        w->flushed = to;
    if (w->checkpoint > to)
        w->checkpoint = to;
}

static void delete_records(struct world *w)
{
    int64_t to =
        w->start + (int64_t)sim_random_below(w->sim, (uint64_t)(w->end - w->start) / 2 + 1);
    log_set_high_watermark(w->log, w->end);
    CHECK(w, !log_set_start(w->log, to));
    w->start = log_start(w->log);
    TELL("start %lld\n", LL(w->start));
    if (log_apply_retention(w->log, 0))
        w->memory_cut = true;
}

static void roll(struct world *w)
{
    TELL("roll at %lld\n", LL(w->end));
    CHECK(w, !log_roll(w->log));
}

static void step(struct world *w)
{
    uint64_t what = sim_random_below(w->sim, 100);
    if (what < 55)
        produce(w);
    else if (what < 75)
        mark(w);
    else if (what < 83)
        flush(w);
    else if (what < 88)
        roll(w);
    else if (what < 90)
        w->checkpoint = log_recovery_point(w->log);
    else if (what < 92)
        truncate_log(w);
    else if (what < 93)
        delete_records(w);
    else if (what < 96)
        check(w);
    else
        restart(w);
    if (sim_chance(w->sim, 80))
        log_set_high_watermark(w->log, w->end);
}

static void run_seed(uint64_t seed)
{
    struct world w = {.sim = sim_new(seed), .seed = seed};
    w.machine = sim_machine_new(w.sim, "a");
    w.io = sim_machine_start(w.machine);
    buf_init(&w.bytes);
    ENSURE(!io_mkdir(w.io, "/d"));
    ENSURE(!io_sync_dir(w.io, "/"));
    log_config_init(&w.config);
    w.config.segment_size_max = 1000 + (int32_t)sim_random_below(w.sim, 4000);
    w.config.index_interval = (int32_t)sim_random_below(w.sim, 300);
    w.config.retention_ms = w.config.retention_size = -1;
    w.config.producer_expiry_ms = INT64_MAX;
    w.config.verify_transactions = false;
    open_log(&w, false);
    for (int i = 0; i < STEPS; i++)
        step(&w);
    restart(&w);
    drop_flush(&w, NULL);
    log_free(w.log);
    mem_free(w.batches);
    buf_fini(&w.bytes);
    sim_free(w.sim);
}

static void no_line(void *context, struct slice line)
{
    (void)context;
    (void)line;
}

int main(int argc, char **argv)
{
    uint64_t first = 1, count = 150;
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t value = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--seeds"))
            count = value;
        else if (!strcmp(argv[i], "--seed"))
            first = value;
    }
    if (argc == 3 && !strcmp(argv[1], "--seed"))
        count = telling = 1;
    else
        diag_init(NULL, no_line, NULL);
    for (uint64_t seed = first; seed < first + count; seed++)
        run_seed(seed);
    printf("%llu seeds\n", (unsigned long long)count);
    return 0;
}
