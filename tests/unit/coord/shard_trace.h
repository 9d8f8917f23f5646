/* One shard under test over an array as its log, and the lines that a test's trace consists of:
 * what the group coordinator's traces (group_trace.h) and the transaction coordinator's
 * (txn_trace.h) have in common. Answers, and duties, become lines of text; expect() compares the
 * lines since the last one. The clock stands still unless a test lets time pass with wait_ms(). */
#ifndef KLAMM_TESTS_COORD_SHARD_TRACE_H
#define KLAMM_TESTS_COORD_SHARD_TRACE_H

#include "../unit.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/mem.h"
#include "coord/runtime.h"
#include "coord/txns.h"
#include "record/batch.h"
#include "record/builder.h"
#include "wire/codec.h"

enum { TRACE_PARTITION = 3, TRACE_CLIENTS_MAX = 64 };

struct client; /* group_trace.h */

struct trace {
    enum coord_kind kind;
    struct coord_config config;
    struct coord_shard *shard;
    struct coord_event event;
    int32_t epoch; /* leader epoch */
    int64_t deadline_ms;
    struct buf log;       /* all batches, with their offsets */
    int64_t log_end;      /* next offset */
    int64_t acknowledged; /* high watermark */
    bool hold;            /* appended batches stay uncommitted until commit_all() */
    enum err append_error;
    int append_error_after; /* this many appends more, then one fails; 0 = none */
    int batch_count;
    struct buf lines;
    struct arena arena;
    int parked; /* requests without an answer */
    /* Groups. */
    struct client *clients[TRACE_CLIENTS_MAX]; /* in the arena */
    size_t client_count;
    uint8_t random;
    /* Transactions. */
    struct list markers; /* duties not done yet */
    int64_t producer_id_next;
    bool no_producer_ids; /* the source of ids is dry */
};

static inline const char *code_name(int16_t code)
{
    return err_name(err_from_wire(code));
}

static inline enum err trace_append(void *ctx, int32_t partition, struct slice batch,
                                    int64_t *ret_offset_next, int64_t *ret_committed)
{
    struct trace *t = ctx;
    assert_int_equal(partition, TRACE_PARTITION);
    if (t->append_error)
        return t->append_error;
    if (t->append_error_after > 0 && --t->append_error_after == 0)
        return ERR_KAFKA_STORAGE_ERROR;
    size_t at = t->log.size;
    assert_true(batch_check(batch) == ERR_NONE);
    buf_put_slice(&t->log, batch);
    batch_set_base_offset(t->log.data + at, t->log_end);
    t->log_end = batch_offset_next(t->log.data + at);
    t->batch_count++;
    if (!t->hold)
        t->acknowledged = t->log_end;
    *ret_offset_next = t->log_end;
    *ret_committed = t->acknowledged;
    return ERR_NONE;
}

/* The markers of an update become lines, and duties of the test. */
static inline void trace_deliver(struct trace *t, struct coord_update *update)
{
    struct list *node;
    t->deadline_ms = update->deadline_ms;
    while ((node = list_pop_front(&update->markers))) {
        struct coord_txn_markers *m = LIST_ITEM(node, struct coord_txn_markers, link);
        buf_printf(&t->lines, "markers %.*s %s %lld/%d epoch %d v%d",
                   SLICE_FMT(m->transactional_id), m->commit ? "commit" : "abort",
                   (long long)m->producer_id, m->producer_epoch, (int)m->coordinator_epoch,
                   m->transaction_version);
        for (size_t i = 0; i < m->count; i++)
            buf_printf(&t->lines, " %.*s-%d", SLICE_FMT(m->partitions[i].topic),
                       (int)m->partitions[i].partition);
        buf_printf(&t->lines, "\n");
        list_push_back(&t->markers, &m->link);
    }
    coord_update_deliver(update);
}

static inline struct coord_shard *trace_shard_new(struct trace *t)
{
    struct coord_writer writer = {t, trace_append};
    return coord_shard_new(t->kind, &t->config, &writer, TRACE_PARTITION);
}

/* With a shard that loads. */
static inline struct trace *trace_new_of(enum coord_kind kind, const struct coord_config *config)
{
    struct trace *t = mem_zalloc(sizeof *t);
    t->kind = kind;
    t->config = *config;
    t->epoch = 5;
    t->producer_id_next = 1000;
    buf_init(&t->log);
    buf_init(&t->lines);
    arena_init(&t->arena);
    list_init(&t->markers);
    t->event = (struct coord_event){.now_ms = 1000,
                                    .wall_ms = 1700000000000,
                                    .version = 9,
                                    .client_id = SLICE_LIT("client"),
                                    .client_host = SLICE_LIT("/127.0.0.1")};
    t->shard = trace_shard_new(t);
    return t;
}

static inline void trace_activate(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    coord_shard_activate(t->shard, &t->event, t->log_end, t->epoch, &update);
    trace_deliver(t, &update);
}

static inline void drop_markers(struct trace *t)
{
    struct list *node;
    while ((node = list_pop_front(&t->markers)))
        coord_txn_markers_free(LIST_ITEM(node, struct coord_txn_markers, link));
}

static inline void trace_unload(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    coord_shard_unload(t->shard, &update);
    trace_deliver(t, &update);
}

static inline void trace_free(struct trace *t)
{
    trace_unload(t);
    assert_int_equal(t->parked, 0); /* every request was answered */
    drop_markers(t);
    coord_shard_free(t->shard);
    buf_fini(&t->log);
    buf_fini(&t->lines);
    arena_fini(&t->arena);
    mem_free(t);
}

/* Another shard, made from the log alone and not active yet. */
static inline struct coord_shard *trace_load(struct trace *t)
{
    struct coord_shard *shard = trace_shard_new(t);
    assert_int_equal(coord_shard_load(shard, buf_slice(&t->log)), ERR_NONE);
    return shard;
}

/* The node restarts: what is parked is answered, the state comes back from the log, one leader
 * epoch later. */
static inline void trace_restart(struct trace *t)
{
    trace_unload(t);
    drop_markers(t);
    coord_shard_free(t->shard);
    t->epoch++;
    t->shard = trace_load(t);
    trace_activate(t);
}

static inline void expect(struct trace *t, const char *lines)
{
    buf_put_i8(&t->lines, 0);
    assert_string_equal((const char *)t->lines.data, lines);
    buf_clear(&t->lines);
}

/* Lets time pass, firing what is due on the way at its time. */
static inline void wait_ms(struct trace *t, int64_t ms)
{
    int64_t until = t->event.now_ms + ms;
    for (;;) {
        int64_t next = t->deadline_ms < until ? t->deadline_ms : until;
        if (next > t->event.now_ms) {
            t->event.wall_ms += next - t->event.now_ms;
            t->event.now_ms = next;
        }
        struct coord_update update;
        coord_update_init(&update);
        coord_shard_tick(t->shard, &t->event, &update);
        trace_deliver(t, &update);
        if (next == until && t->deadline_ms > until)
            return;
    }
}

/* The high watermark reaches the log end. */
static inline void commit_all(struct trace *t)
{
    struct coord_update update;
    coord_update_init(&update);
    t->acknowledged = t->log_end;
    coord_shard_committed(t->shard, &t->event, t->acknowledged, &update);
    trace_deliver(t, &update);
}

#endif
